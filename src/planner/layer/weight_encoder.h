#pragma once

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Weights in the order in which a stream brings them.
struct EncodableWeights {
  std::vector<std::uint8_t>
      bytes;  ///< as they lie in the memory of a core: int8 weights, or others in between
  std::vector<std::uint8_t>
      codes;  ///< as WeightCodes::codes; where it does not give the byte, this is no weight
  std::vector<std::uint8_t> scales;  ///< one a code
  int shift = 0;
  bool is_signed = true, has_zero_points = false;

  /// Elements `begin` to `end`.
  EncodableWeights part(std::int64_t begin, std::int64_t end) const;
};

/// A stream (isa/weight_stream.h) from which a decoder makes `weights.bytes`; it is at most a header longer
/// than they, if they are no more than kMostWeightCount. The sections follow from the scales: from the first
/// weight that is not encoded on, the one that takes the fewest bytes a weight.
std::vector<std::uint8_t> encoded_stream(const EncodableWeights& weights);

/// The same for weights of which those of both halves of an int16 map are alike (SPEC DT-2): wherever runs of
/// `twins` weights come twice, for one of these numbers, the stream has them once. Without codes they are
/// int8.
std::vector<std::uint8_t> stream_of_twins(const EncodableWeights& weights, const std::vector<int>& twins);

/// The expected bytes of a stream of `weights` weights in groups of `group`, of kernels of `k` weights; with
/// a group of 0 all have one scale.
std::int64_t expected_stream_bytes(std::int64_t weights, std::int64_t k, int group, bool has_zero_points);

}  // namespace tilebeat
