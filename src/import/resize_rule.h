#pragma once

#include "import/attributes.h"
#include "import/evaluate.h"

#include <array>
#include <string>

namespace tilebeat {

/// The rule of a Resize or an Upsample of [N, C, H, W], in terms of the workload's `resize`.
struct ResizeRule {
  std::array<std::int64_t, 2> size{1, 1};
  std::string mode;         ///< "nearest" or "bilinear"
  std::string coordinates;  ///< "half_pixel", "pytorch_half_pixel", "align_corners" or "asymmetric"
  std::string nearest;      ///< "floor", "ceil", "round_prefer_floor" or "round_prefer_ceil"
};

/// Throws Unsupported for other rules, and for scales that are not quotients of the sizes, as the workload's
/// operator has exact positions.
ResizeRule read_resize(const GraphNode& node, Attributes& attributes, const KnownInputs& inputs,
                       const Extents& shape, std::int64_t opset);

}  // namespace tilebeat
