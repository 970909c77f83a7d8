#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source_spec.h"

namespace tilebeat {

/// What a tensor has to be when it is loaded.
struct TensorWish {
  std::vector<std::int64_t> shape;
  std::optional<DType> dtype;    ///< any type if absent
  DType random_dtype;            ///< of random elements
  std::optional<Range> random;   ///< range of random elements without `min` and `max`; absent: the type's
  bool ones_may_differ = false;  ///< a file may have extents of 1 more, or leave some out
};

/// Loads or makes the tensor of `source`, which stands at `place`. Throws UserError if it is not what is
/// wished.
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
