#pragma once

#include "tilebeat/workload/tensor.h"

#include <cstdint>

namespace tilebeat {

/// What a layer of a float network computes, for the inputs that a workload file names, and what the elements
/// of the layer that stands for it mean: (element - zero_point) * scale (SPEC RN-3).
struct FloatReference {
  Tensor values;  ///< float32, in the layer's shape
  double scale = 1;
  std::int32_t zero_point = 0;
};

/// How well elements stand for the numbers of the float network.
struct Quality {
  double sqnr_db = 0;  ///< signal to quantisation noise; within 200 and -200, 200 where there is no noise
  double cosine = 0;   ///< of the angle between the two
};

/// Compares a layer's output, bytes, int32 or float32, with the numbers that it stands for.
Quality quality_of(const Tensor& made, const FloatReference& reference);

}  // namespace tilebeat
