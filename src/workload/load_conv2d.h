#pragma once

#include "workload_file.h"

namespace tilebeat {

/// The layer of `spec`, which stands at `place` and reads a tensor like `input`: shapes inferred, tensors
/// loaded, SPEC NU-1 to NU-3 checked. Throws UserError.
Layer load_conv2d(const LayerSpec& spec, const TensorInfo& input, const Place& place);

/// Throws UserError at `place` if `zero_point` is not a value of `dtype`.
void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place);

}  // namespace tilebeat
