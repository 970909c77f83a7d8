#pragma once

#include "base/numerics.h"

#include <cstdint>

namespace tilebeat {

// Streams of weights (SPEC DT-1, DT-2, docs/types.md), which a DMA engine that decodes turns into int8.
//
// A stream is a sequence of sections. A section is a header and then `frames` frames. A frame has `scales`
// scales of a byte, then, if `zero_points`, as many zero points of four bits, then `periods` periods of codes
// of four bits: in each for every scale in turn `run` codes that have this scale, for the last one `tail`,
// unless that is 0. Fields of four bits lie two a byte, the low half first; those of scales, zero points and
// codes each begin with a byte of their own. A section without scales holds `run` bytes a frame as they are.
// Of a section with `twins` every so many weights come twice, one time behind the other, also where a section
// of the same `twins` goes on with them.

/// The header of a section, kWeightHeaderBytes bytes little-endian, from the lowest bit on: run 16 bits,
/// scales 11, is_signed 1, zero_points 1, shift 3, periods 8, tail 8, frames 15, whether there are twins 1;
/// twins follow as kTwinBytes bytes.
struct WeightSection {
  int run = 0, scales = 0, tail = 0, periods = 1, frames = 1;
  int shift = 0;
  int twins = 0;
  bool is_signed = true, zero_points = false;

  /// Codes of run `i` of a period.
  int run_length(int i) const { return tail > 0 && i == scales - 1 ? tail : run; }
  std::int64_t weights_of_period() const { return std::int64_t{run} * (scales - 1) + run_length(scales - 1); }
  std::int64_t weights_of_frame() const { return scales == 0 ? run : weights_of_period() * periods; }
  std::int64_t weights() const { return weights_of_frame() * frames; }
  /// Bytes of a frame.
  std::int64_t frame_bytes() const {
    if (scales == 0) return run;
    return scales + (zero_points ? (scales + 1) / 2 : 0) + (weights_of_frame() + 1) / 2;
  }
  /// Bytes of the header and all frames.
  std::int64_t bytes() const;
  /// The header, without the twins.
  std::uint64_t encoded() const;
  /// Whether twins follow a header.
  static bool has_twins(std::uint64_t header) { return header >> 63 != 0; }
  /// Throws SimulationError for a header that no section has.
  static WeightSection decoded(std::uint64_t header, int twins);
};

constexpr int kWeightHeaderBytes = 8, kTwinBytes = 2;
constexpr int kMostWeightCount = 65535;  ///< of a run, or twins
constexpr int kMostWeightFrames = 32767;
constexpr int kMostWeightPeriods = 255, kMostWeightTail = 255;

inline std::int64_t WeightSection::bytes() const {
  return kWeightHeaderBytes + (twins > 0 ? kTwinBytes : 0) + frame_bytes() * frames;
}

}  // namespace tilebeat
