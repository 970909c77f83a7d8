// Convolutions, poolings and batch normalisation of maps [N, C, H, W]; norms; index of the maximum.
#include "base/types.h"
#include "import/evaluate.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

const Constant* maybe(const KnownInputs& inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}

/// One channel of a map times one kernel, added to one channel of the output.
void add_channel(const double* in, const double* kernel, const OnnxWindow& w, std::int64_t height,
                 std::int64_t width, double* out) {
  for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
    for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
      const double weight = kernel[i * w.kernel[1] + j];
      const std::int64_t shift = j * w.dilation[1] - w.pads[1];
      std::int64_t begin = 0, end = w.output[1];
      while (begin < end && begin * w.stride[1] + shift < 0) ++begin;
      while (end > begin && (end - 1) * w.stride[1] + shift >= width) --end;
      for (std::int64_t row = 0; row < w.output[0]; ++row) {
        const std::int64_t h = row * w.stride[0] + i * w.dilation[0] - w.pads[0];
        if (h < 0 || h >= height) continue;
        const double* line = in + h * width + shift;
        double* sums = out + row * w.output[1];
        for (std::int64_t c = begin; c < end; ++c) sums[c] += weight * line[c * w.stride[1]];
      }
    }
  }
}

Constant convolution(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &kernels = need(inputs, 1);
  const Extents map = as_map(x.shape), k = as_map(kernels.shape);
  const OnnxWindow window = read_window(attributes, map, Extents{k[2], k[3]}, x.shape.size());
  const std::int64_t groups = attributes.integer("group", 1);
  if (groups < 1 || k[0] % groups != 0 || k[1] * groups != map[1])
    throw Unsupported(fmt::format("{} groups", groups));
  const std::vector<double> in = x.values(), weights = kernels.values();
  const Extents shape{map[0], k[0], window.output[0], window.output[1]};
  std::vector<double> made(room_for(shape));
  const std::int64_t pixels = window.output[0] * window.output[1], plane = map[2] * map[3];
  const std::vector<double> bias = maybe(inputs, 2) ? maybe(inputs, 2)->values() : std::vector<double>{};
  for (std::int64_t n = 0; n < map[0]; ++n) {
    for (std::int64_t co = 0; co < k[0]; ++co) {
      double* out = &nth(made, (n * k[0] + co) * pixels);
      if (!bias.empty()) std::fill_n(out, pixels, bias.at(to_size(co)));
      const std::int64_t first = co / (k[0] / groups) * k[1];
      for (std::int64_t ci = 0; ci < k[1]; ++ci)
        add_channel(&nth(in, (n * map[1] + first + ci) * plane),
                    &nth(weights, (co * k[1] + ci) * k[2] * k[3]), window, map[2], map[3], out);
    }
  }
  return make_constant(x.type, from_map(shape, x.shape.size()), made);
}

Constant transposed(const KnownInputs& inputs, Attributes& attributes) {
  const Constant &x = need(inputs, 0), &kernels = need(inputs, 1);
  const Extents map = as_map(x.shape), k = as_map(kernels.shape);  // [C, Co / groups, Kh, Kw]
  const OnnxWindow w = read_transposed_window(attributes, map, {k[2], k[3]}, x.shape.size()).window;
  const std::int64_t groups = attributes.integer("group", 1);
  if (groups < 1 || map[1] % groups != 0 || k[0] != map[1])
    throw Unsupported(fmt::format("{} groups", groups));
  const std::vector<double> in = x.values(), weights = kernels.values();
  const std::int64_t outputs = k[1] * groups, pixels = w.output[0] * w.output[1];
  std::vector<double> made(to_size(map[0] * outputs * pixels));
  const std::vector<double> bias = maybe(inputs, 2) ? maybe(inputs, 2)->values() : std::vector<double>{};
  for (std::int64_t i = 0; !bias.empty() && i < map[0] * outputs; ++i)
    std::fill_n(&nth(made, i * pixels), pixels, bias.at(to_size(i % outputs)));
  std::size_t at = 0;
  for (std::int64_t image = 0; image < map[0]; ++image) {
    for (std::int64_t ci = 0; ci < map[1]; ++ci) {
      for (std::int64_t pixel = 0; pixel < map[2] * map[3]; ++pixel, ++at) {
        const std::int64_t top = pixel / map[3] * w.stride[0] - w.pads[0];
        const std::int64_t left = pixel % map[3] * w.stride[1] - w.pads[1];
        for (std::int64_t tap = 0; tap < k[1] * k[2] * k[3]; ++tap) {
          const std::int64_t co = ci / (map[1] / groups) * k[1] + tap / (k[2] * k[3]);
          const std::int64_t h = top + tap / k[3] % k[2], v = left + tap % k[3];
          if (h < 0 || h >= w.output[0] || v < 0 || v >= w.output[1]) continue;
          nth(made, ((image * outputs + co) * w.output[0] + h) * w.output[1] + v) +=
              in[at] * nth(weights, ci * k[1] * k[2] * k[3] + tap);
        }
      }
    }
  }
  return make_constant(x.type, from_map({map[0], outputs, w.output[0], w.output[1]}, x.shape.size()), made);
}

struct PoolCell {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t cells = 0, padded = 0;
};

PoolCell pooled(const double* plane, const Extents& map, const OnnxWindow& w, std::int64_t row,
                std::int64_t column) {
  PoolCell cell;
  for (std::int64_t i = 0; i < w.kernel[0]; ++i) {
    const std::int64_t h = row * w.stride[0] + i * w.dilation[0] - w.pads[0];
    for (std::int64_t j = 0; j < w.kernel[1]; ++j) {
      const std::int64_t v = column * w.stride[1] + j * w.dilation[1] - w.pads[1];
      if (h < map[2] + w.pads[2] && v < map[3] + w.pads[3]) ++cell.padded;
      if (h < 0 || h >= map[2] || v < 0 || v >= map[3]) continue;
      const double value = plane[h * map[3] + v];
      cell.most = std::max(cell.most, value), cell.sum += value, ++cell.cells;
    }
  }
  return cell;
}

Constant pool(const GraphNode& node, const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const bool global = node.op.rfind("Global", 0) == 0, max = node.op.find("Max") != std::string::npos;
  const Extents map = as_map(x.shape);
  OnnxWindow window;
  window.kernel = {map[2], map[3]};
  if (!global) window = read_window(attributes, map, std::nullopt, x.shape.size());
  const bool include = !max && attributes.integer("count_include_pad", 0) != 0;
  if (max && attributes.integer("storage_order", 0) != 0) throw Unsupported("storage_order 1");
  const std::vector<double> in = x.values();
  Extents shape{map[0], map[1], window.output[0], window.output[1]};
  std::vector<double> made;
  for (std::int64_t plane = 0; plane < map[0] * map[1]; ++plane) {
    const double* begin = &nth(in, plane * map[2] * map[3]);
    for (std::int64_t i = 0; i < window.output[0] * window.output[1]; ++i) {
      const PoolCell cell = pooled(begin, map, window, i / window.output[1], i % window.output[1]);
      made.push_back(max ? cell.most
                         : cell.sum / static_cast<double>(
                                          std::max<std::int64_t>(1, include ? cell.padded : cell.cells)));
    }
  }
  return make_constant(x.type, from_map(shape, x.shape.size()), made);
}

Constant batch_norm(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  if (attributes.integer("training_mode", 0) != 0) throw Unsupported("training_mode");
  attributes.without_effect("momentum");  // only used in training
  if (attributes.integer("spatial", 1) != 1) throw Unsupported("spatial 0");
  if (attributes.integer("is_test", 1) != 1) throw Unsupported("is_test 0");  // before opset 7
  const double epsilon = attributes.real("epsilon", 1e-5F);
  if (x.shape.size() < 2) throw Unsupported("a tensor of less than two axes");
  std::array<std::vector<double>, 4> of;  // gamma, beta, mean, variance
  const auto channels = to_size(x.shape[1]);
  for (std::size_t i = 0; i < of.size(); ++i) {
    of[i] = need(inputs, i + 1).values();
    if (of[i].size() != channels) throw Unsupported("parameters of another number of channels");
  }
  std::vector<double> values = x.values();
  const std::size_t inner =
      values.size() / to_size(std::max<std::int64_t>(1, x.shape[0])) / std::max<std::size_t>(1, channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / inner % channels;
    values[i] = (values[i] - of[2][c]) / std::sqrt(of[3][c] + epsilon) * of[0][c] + of[1][c];
  }
  return make_constant(x.type, x.shape, values);
}

constexpr std::array<std::string_view, 7> kWindowOps{
    "Conv",          "ConvTranspose",     "MaxPool",           "AveragePool",
    "GlobalMaxPool", "GlobalAveragePool", "BatchNormalization"};

}  // namespace

bool is_window_op(const std::string& op) {
  return std::find(kWindowOps.begin(), kWindowOps.end(), op) != kWindowOps.end();
}

Evaluated evaluate_window(const GraphNode& node, const KnownInputs& inputs, std::int64_t,
                          Attributes& attributes) {
  if (node.outputs.size() > 1 && node.op != "BatchNormalization") throw Unsupported("a second output");
  if (node.op == "Conv") return {convolution(inputs, attributes)};
  if (node.op == "ConvTranspose") return {transposed(inputs, attributes)};
  if (node.op == "BatchNormalization") return {batch_norm(inputs, attributes)};
  return {pool(node, inputs, attributes)};
}

namespace {

/// `centres`: distances from the mean are normalised, and not the elements.
Constant layer_norm(const KnownInputs& inputs, Attributes& attributes, bool centres) {
  const Constant& x = need(inputs, 0);
  const std::size_t first = axis_of(attributes.integer("axis", -1), x.shape.size());
  const double epsilon = attributes.real("epsilon", 1e-5F);
  attributes.without_effect("stash_type");  // type of the sums, which are double here
  std::size_t row = 1;
  for (std::size_t axis = first; axis < x.shape.size(); ++axis) row *= to_size(x.shape[axis]);
  const std::vector<double> gamma = need(inputs, 1).values();
  const std::vector<double> beta =
      inputs.size() > 2 && inputs[2] != nullptr ? inputs[2]->values() : std::vector<double>(row, 0);
  if (gamma.size() != row || beta.size() != row) throw Unsupported("a scale of another shape than the rows");
  std::vector<double> values = x.values();
  for (std::size_t begin = 0; begin < values.size(); begin += row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < row && centres; ++i) mean += values[begin + i] / static_cast<double>(row);
    for (std::size_t i = 0; i < row; ++i)
      variance += (values[begin + i] - mean) * (values[begin + i] - mean) / static_cast<double>(row);
    for (std::size_t i = 0; i < row; ++i)
      values[begin + i] = (values[begin + i] - mean) / std::sqrt(variance + epsilon) * gamma[i] + beta[i];
  }
  return make_constant(x.type, x.shape, values);
}

Constant response_norm(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  if (x.shape.size() < 3) throw Unsupported("a tensor that is no map");
  const std::int64_t size = attributes.integer("size", 0), channels = x.shape[1];
  if (size < 1) throw Unsupported("it lacks its size");
  const double alpha = ratio_of(attributes.real("alpha", 1e-4F), size);
  const double beta = static_cast<double>(attributes.real("beta", 0.75F)),
               bias = static_cast<double>(attributes.real("bias", 1));
  const std::vector<double> in = x.values();
  std::vector<double> made(in.size());
  const std::int64_t plane = channels == 0 || x.shape[0] == 0 ? 1 : ssize(in) / x.shape[0] / channels;
  for (std::int64_t i = 0; i < ssize(in); ++i) {
    const std::int64_t c = i / plane % channels;
    double sum = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, c - (size - 1) / 2);
         k <= std::min(channels - 1, c + size / 2); ++k) {
      const double value = nth(in, i + (k - c) * plane);
      sum += value * value;
    }
    nth(made, i) = nth(in, i) / std::pow(bias + alpha * sum, beta);
  }
  return make_constant(x.type, x.shape, made);
}

Constant arg_max(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  const bool last = attributes.integer("select_last_index", 0) != 0;
  const bool keep = attributes.integer("keepdims", 1) != 0;
  const auto count = to_size(x.shape[axis]);
  std::size_t inner = 1;
  Extents shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i > axis) inner *= to_size(x.shape[i]);
    if (i != axis || keep) shape.push_back(i == axis ? 1 : x.shape[i]);
  }
  const std::vector<double> values = x.values();
  std::vector<double> made;
  for (std::size_t begin = 0; begin < values.size(); begin += count * inner) {
    for (std::size_t j = begin; j < begin + inner; ++j) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < count; ++i) {
        const double value = values[j + i * inner], most = values[j + best * inner];
        best = value > most || (last && value == most) ? i : best;
      }
      made.push_back(static_cast<double>(best));
    }
  }
  return make_constant(ElementType::kInt64, shape, made);
}

}  // namespace

bool is_norm_op(const std::string& op) {
  return op == "LayerNormalization" || op == "RMSNormalization" || op == "LRN" || op == "ArgMax";
}

Evaluated evaluate_norm(const GraphNode& node, const KnownInputs& inputs, std::int64_t,
                        Attributes& attributes) {
  const bool second = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                  [](const auto& output) { return output.has_value(); });
  if (second) throw Unsupported("a second output");
  if (node.op == "LRN") return {response_norm(inputs, attributes)};
  if (node.op == "ArgMax") return {arg_max(inputs, attributes)};
  return {layer_norm(inputs, attributes, node.op == "LayerNormalization")};
}

}  // namespace tilebeat
