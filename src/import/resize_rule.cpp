#include "import/resize_rule.h"

#include "base/types.h"
#include "import/problems.h"

#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr double kMostExtent = 65535;

const Constant* filled(const KnownInputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i] != nullptr && inputs[i]->elements() > 0 ? inputs[i] : nullptr;
}

void set_sizes(const std::vector<double>& scales, const Extents& shape, ResizeRule& rule) {
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1)
    throw Unsupported("scales of batch or channels");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double exact = static_cast<double>(shape[2 + axis]) * scales[2 + axis];
    if (!(exact >= 1) || exact > kMostExtent)
      throw Unsupported(fmt::format("a scale of {}", scales[2 + axis]));
    rule.size[axis] = static_cast<std::int64_t>(std::floor(exact));
    // Positions follow from the scale; they change if it is not the quotient of the sizes.
    if (exact != std::floor(exact))
      throw Unsupported(fmt::format("a scale of {} that makes no whole number of pixels", scales[2 + axis]));
  }
}

void check_rule(Attributes& attributes, ResizeRule& rule) {
  rule.coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  rule.nearest = attributes.text("nearest_mode", "round_prefer_floor");
  if (rule.coordinates != "half_pixel" && rule.coordinates != "pytorch_half_pixel" &&
      rule.coordinates != "align_corners" && rule.coordinates != "asymmetric")
    throw Unsupported(fmt::format("coordinate_transformation_mode {}", rule.coordinates));
  if (attributes.integer("antialias", 0) != 0) throw Unsupported("antialias");
  if (attributes.integer("exclude_outside", 0) != 0) throw Unsupported("exclude_outside");
  if (attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    throw Unsupported("keep_aspect_ratio_policy");
  if (attributes.has("axes")) throw Unsupported("its attribute axes");
  for (const char* name : {"cubic_coeff_a", "extrapolation_value"})
    attributes.without_effect(name);  // of refused modes
}

}  // namespace

ResizeRule read_resize(const GraphNode& node, Attributes& attributes, const KnownInputs& inputs,
                       const Extents& shape, std::int64_t opset) {
  if (shape.size() != 4) throw Unsupported("a tensor that is no map");
  ResizeRule rule;
  const std::string mode = attributes.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear") throw Unsupported(fmt::format("mode {}", mode));
  rule.mode = mode == "linear" ? "bilinear" : "nearest";
  if (node.op == "Upsample" || opset < 11) {
    rule.coordinates = "asymmetric", rule.nearest = "floor";
    const auto list = attributes.reals("scales");
    const Constant* input = filled(inputs, 1);
    if (!list && input == nullptr) throw Unsupported("scales that are not known");
    set_sizes(list ? std::vector<double>(list->begin(), list->end()) : input->values(), shape, rule);
    return rule;
  }
  check_rule(attributes, rule);
  if (const Constant* sizes = filled(inputs, 3)) {
    const std::vector<std::int64_t> wish = sizes->integers();
    if (wish.size() != 4 || wish[0] != shape[0] || wish[1] != shape[1])
      throw Unsupported("sizes of batch or channels");
    for (std::size_t axis = 0; axis < 2; ++axis) {
      rule.size[axis] = wish[2 + axis];
      if (rule.size[axis] < 1 || rule.size[axis] > 65535)
        throw Unsupported(fmt::format("a size of {}", rule.size[axis]));
    }
    return rule;
  }
  const Constant* scales = filled(inputs, 2);
  if (scales == nullptr) throw Unsupported("scales that are not known");
  set_sizes(scales->values(), shape, rule);
  return rule;
}

}  // namespace tilebeat
