#pragma once

#include "import/attributes.h"
#include "import/evaluate.h"

#include <array>
#include <string>

namespace tilebeat {

/// What a Resize or an Upsample of [N, C, H, W] does, in the words of the workload's `resize`.
struct ResizeRule {
  std::array<std::int64_t, 2> size{1, 1};
  std::string mode;         ///< "nearest" or "bilinear"
  std::string coordinates;  ///< "half_pixel", "pytorch_half_pixel", "align_corners" or "asymmetric"
  std::string nearest;      ///< "floor", "ceil", "round_prefer_floor" or "round_prefer_ceil"
};

/// Throws Unsupported for other rules, and where scales are no quotients of the sizes, which the exact places
/// of the workload's operator need.
ResizeRule read_resize(const GraphNode& node, Attributes& attributes, const KnownInputs& inputs,
                       const Extents& shape, std::int64_t opset);

}  // namespace tilebeat
