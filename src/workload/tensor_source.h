#pragma once

#include "workload/tensor.h"
#include "workload/workload_values.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

// Sources of tensor elements, as a workload file names them.

struct RandomSpec {
  std::int64_t seed = 0;
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};

/// The source of a tensor's elements; exactly one of the two is set.
struct SourceSpec {
  std::optional<std::string> file;
  std::optional<RandomSpec> random;
};

void describe(Fields& v, RandomSpec& s);
void describe(Fields& v, SourceSpec& s);

/// Number `index` (from 0) of the SplitMix64 sequence that starts at `seed`: the same on every machine, and
/// computed without its predecessors.
std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t index);

/// A tensor of `"random": {"seed": ..., "min": ..., "max": ...}` (SPEC UI-6). Element i in C order is
/// min + floor(u * (max - min + 1) / 2^32) with u the upper 32 bits of splitmix64(seed, i): uniform, both
/// ends included. `min <= max`, both within the range of `dtype`.
Tensor random_tensor(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t seed,
                     std::int64_t min, std::int64_t max);

/// The requirements on a tensor that is loaded.
struct TensorWish {
  std::vector<std::int64_t> shape;
  std::optional<DType> dtype;  ///< any type if absent
  DType random_dtype;          ///< type of random elements
  /// range of random elements without `min` and `max`; absent: that of the type
  std::optional<Range> random;
  bool ones_may_differ = false;  ///< a file may have extents of 1 more, or leave some out
};

/// Loads or generates the tensor of `source`, which stands at `place` in its file. Throws UserError if it
/// does not meet `wish`.
Tensor load_tensor(const SourceSpec& source, const TensorWish& wish, const Place& place);

/// Reads the .npy file `file` named at `place`, relative to the folder of the workload file.
Tensor load_npy(const std::string& file, const Place& place);

/// Throws UserError at `place` if a tensor of this shape has dimensions or elements beyond the limits.
void check_shape(const std::vector<std::int64_t>& shape, const Place& place);

/// Whether shapes are the same without their extents of 1: [N, C] stands for [N, 1, 1, C].
bool same_but_ones(std::vector<std::int64_t> a, std::vector<std::int64_t> b);

/// "shape [1, 8, 14, 3] of int8".
std::string tensor_text(const std::vector<std::int64_t>& shape, DType dtype);

}  // namespace tilebeat
