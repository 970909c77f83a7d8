#include "onnx_window.h"

#include <algorithm>

#include <fmt/format.h>

#include "problems.h"

namespace tilebeat {
namespace {

constexpr std::int64_t kMostPixels = 65535;

/// A list with one number an axis as [height, width].
std::array<std::int64_t, 2> pair_of(Attributes& attributes, const std::string& name, std::size_t spatial,
                                    std::int64_t otherwise, std::int64_t least) {
  std::array<std::int64_t, 2> pair{
      spatial == 1 ? std::max(least, std::int64_t{name != "output_padding"}) : otherwise, otherwise};
  const auto list = attributes.integers(name);
  if (!list) return pair;
  if (list->size() != spatial) throw Unsupported(fmt::format("{} of {} numbers", name, list->size()));
  for (std::size_t i = 0; i < spatial; ++i) {
    if ((*list)[i] < least || (*list)[i] > kMostPixels)
      throw Unsupported(fmt::format("{} of {}", name, (*list)[i]));
    pair[2 - spatial + i] = (*list)[i];
  }
  return pair;
}

std::array<std::int64_t, 4> pads_of(Attributes& attributes, std::size_t spatial) {
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};
  const auto list = attributes.integers("pads");
  if (!list) return pads;
  if (list->size() != 2 * spatial) throw Unsupported(fmt::format("pads of {} numbers", list->size()));
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t pad = (*list)[side * spatial + i];
      if (pad < 0 || pad > kMostPixels) throw Unsupported(fmt::format("pads of {}", pad));
      pads[side * 2 + 2 - spatial + i] = pad;
    }
  }
  return pads;
}

void check_kernel(OnnxWindow& window, Attributes& attributes, const std::optional<Extents>& kernel,
                  std::size_t spatial) {
  window.kernel = pair_of(attributes, "kernel_shape", spatial, 0, 1);
  if (!kernel) {
    if (!attributes.has("kernel_shape")) throw Unsupported("it lacks kernel_shape");
    return;
  }
  const std::array<std::int64_t, 2> real{(*kernel)[0], (*kernel)[1]};
  if (attributes.has("kernel_shape") && window.kernel != real)
    throw Unsupported("a kernel_shape that is not the weights'");
  window.kernel = real;
}

}  // namespace

Extents as_map(const Extents& shape) {
  if (shape.size() == 4) return shape;
  if (shape.size() == 3) return {shape[0], shape[1], 1, shape[2]};
  throw Unsupported(
      fmt::format("a tensor of shape {}, maps of one or two spatial axes are read", extents_text(shape)));
}

Extents from_map(const Extents& map, std::size_t rank) {
  return rank == 4 ? map : Extents{map[0], map[1], map[3]};
}

OnnxWindow read_window(Attributes& attributes, const Extents& map, const std::optional<Extents>& kernel,
                       std::size_t rank) {
  const std::size_t spatial = rank - 2;
  OnnxWindow window;
  check_kernel(window, attributes, kernel, spatial);
  window.stride = pair_of(attributes, "strides", spatial, 1, 1);
  window.dilation = pair_of(attributes, "dilations", spatial, 1, 1);
  window.pads = pads_of(attributes, spatial);
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    throw Unsupported(fmt::format("auto_pad {}", automatic));
  if (automatic != "NOTSET") window.pads = {0, 0, 0, 0};
  const bool up = attributes.integer("ceil_mode", 0) != 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t in = map[2 + axis], stride = window.stride[axis];
    const std::int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    if (same) {
      window.output[axis] = (in + stride - 1) / stride;
      const std::int64_t total = std::max<std::int64_t>(0, (window.output[axis] - 1) * stride + extent - in);
      window.pads[axis] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
      window.pads[axis + 2] = total - window.pads[axis];
      continue;
    }
    const std::int64_t room = in + window.pads[axis] + window.pads[axis + 2] - extent;
    if (room < 0) throw Unsupported("its kernel is larger than the padded map");
    window.output[axis] = (room + (up ? stride - 1 : 0)) / stride + 1;
    // A window that would begin in the padding behind the map is left out.
    if (up && (window.output[axis] - 1) * stride >= in + window.pads[axis]) --window.output[axis];
  }
  return window;
}

OnnxTransposedWindow read_transposed_window(Attributes& attributes, const Extents& map, const Extents& kernel,
                                            std::size_t rank) {
  const std::size_t spatial = rank - 2;
  OnnxTransposedWindow made;
  OnnxWindow& window = made.window;
  check_kernel(window, attributes, kernel, spatial);
  window.stride = pair_of(attributes, "strides", spatial, 1, 1);
  window.dilation = pair_of(attributes, "dilations", spatial, 1, 1);
  if (window.dilation != std::array<std::int64_t, 2>{1, 1}) throw Unsupported("dilations");
  window.pads = pads_of(attributes, spatial);
  made.more = pair_of(attributes, "output_padding", spatial, 0, 0);
  const std::string automatic = attributes.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    throw Unsupported(fmt::format("auto_pad {}", automatic));
  const bool wished = attributes.has("output_shape");
  const auto wish = pair_of(attributes, "output_shape", spatial, 1, 1);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t stride = window.stride[axis];
    const std::int64_t whole = (map[2 + axis] - 1) * stride + window.kernel[axis] + made.more[axis];
    if (same || wished) {
      window.output[axis] = wished ? wish[axis] : map[2 + axis] * stride;
      const std::int64_t total = whole - window.output[axis];
      if (total < 0) made.more[axis] -= total;
      const std::int64_t cut = std::max<std::int64_t>(0, total);
      window.pads[axis] = automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      window.pads[axis + 2] = cut - window.pads[axis];
    } else {
      window.output[axis] = whole - window.pads[axis] - window.pads[axis + 2];
    }
    if (window.output[axis] < 1) throw Unsupported("pads that leave no output");
  }
  return made;
}

}  // namespace tilebeat
