#include "import/calibrate.h"

#include "base/types.h"
#include "import/evaluate.h"
#include "import/operator_table.h"
#include "import/problems.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kKept = std::size_t{1} << 20;  // magnitudes a tensor that a percentile is taken of

/// Operators that keep scale and zero point, so that nothing is rounded twice.
const std::set<std::string>& movements() {
  static const std::set<std::string> names{"Transpose", "Reshape",       "Flatten", "Squeeze", "Unsqueeze",
                                           "Identity",  "Dropout",       "Slice",   "Split",   "MaxPool",
                                           "Pad",       "GlobalMaxPool", "Gather",  "Resize",  "Upsample"};
  return names;
}

/// Numbers below kMasked beside others of usual size are those of attention masks, such as -1e9.
constexpr double kMasked = -1e4, kBelowMask = 16;

/// The range and a sample of magnitudes of a tensor's values.
class Spread {
 public:
  void add(const std::vector<double>& values) {
    const std::size_t stride = std::max<std::size_t>(1, values.size() / kKept);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= kMasked) masked_ = true, least_ = std::min(least_, values[i]);
      if (!std::isfinite(values[i]) || values[i] <= kMasked) continue;
      low_ = std::min(low_, values[i]), high_ = std::max(high_, values[i]);
      if (i % stride == 0 && magnitudes_.size() < 4 * kKept)
        magnitudes_.push_back(static_cast<float>(std::abs(values[i])));
    }
  }
  Quantisation range(double percentile) {
    // What a mask takes out of a softmax only has to be far below the rest.
    const bool mask = masked_ && low_ > kMasked / 10;
    if (mask) return range_between(low_ - kBelowMask, high_);
    if (masked_ && std::isfinite(least_)) low_ = least_;
    if (percentile >= 100 || magnitudes_.empty()) return range_between(low_, high_);
    const auto rank =
        static_cast<std::size_t>(percentile / 100 * static_cast<double>(magnitudes_.size() - 1));
    std::nth_element(magnitudes_.begin(), magnitudes_.begin() + to_signed(rank), magnitudes_.end());
    const auto limit = static_cast<double>(magnitudes_[rank]);
    return range_between(std::max(low_, -limit), std::min(high_, limit));
  }

 private:
  double low_ = 0, high_ = 0, least_ = 0;
  bool masked_ = false;
  std::vector<float> magnitudes_;
};

/// Sample `number` of an input: samples are stacked along the first axis, or along an additional axis before
/// it.
Constant sample_of(const Constant& samples, const GraphTensor& input, std::size_t number) {
  Constant made{samples.type, input.shape.value(), {}};
  const std::size_t bytes = to_size(element_count(made.shape)) * element_bytes(made.type);
  const auto begin = samples.bytes.begin() + to_signed(number * bytes);
  made.bytes.assign(begin, begin + to_signed(bytes));
  return made;
}

std::size_t samples_in(const Constant& samples, const GraphTensor& input, const std::string& path) {
  const std::int64_t each = element_count(input.shape.value()), all = samples.elements();
  Extents one = samples.shape;
  const Extents& wanted = *input.shape;
  bool fits = one == wanted;
  if (one.size() == wanted.size() + 1) fits = Extents(one.begin() + 1, one.end()) == wanted;
  if (one.size() == wanted.size() && !wanted.empty())
    fits = Extents(one.begin() + 1, one.end()) == Extents(wanted.begin() + 1, wanted.end());
  if (!fits || each == 0 || all % each != 0 || samples.type != ElementType::kFloat32)
    throw UserError(one_line(fmt::format("{}: --calibrate: samples of {} {} for the input {} of {} float32",
                                         path, extents_text(samples.shape), element_name(samples.type),
                                         input.name, extents_text(wanted))));
  return to_size(all / each);
}

using Values = std::vector<std::optional<Constant>>;

/// An If is decided by constants and shapes alone, not by a sample.
void decide(const ModelGraph& graph, std::size_t index, const Values& values,
            const std::vector<bool>& constant) {
  const auto& condition = graph.nodes[index].inputs.at(0);
  if (!condition || !constant[*condition] || !values[*condition] || values[*condition]->elements() != 1)
    throw Unsupported(
        "its condition depends on data; export the network with a constant in its place, so that one branch "
        "is left");
  throw DecidedBranch{index, values[*condition]->values()[0] != 0};
}

void run_nodes(const ModelGraph& graph, Values& values, Problems& problems) {
  std::vector<bool> constant(graph.tensors.size());  // constants, and what shapes alone determine
  for (std::size_t i = 0; i < constant.size(); ++i) constant[i] = graph.tensors[i].data.has_value();
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const GraphNode& node = graph.nodes[index];
    KnownInputs inputs;
    bool there = true, determined = true;
    for (const auto& input : node.inputs) {
      inputs.push_back(input && values[*input] ? &*values[*input] : nullptr);
      there = there && (!input || values[*input]);
      determined = determined && (!input || constant[*input]);
    }
    for (const auto& output : node.outputs) {
      if (output) constant[*output] = determined || node.op == "Shape" || node.op == "Size";
    }
    try {
      if (node.op == "If") decide(graph, index, values, constant);
      if (!evaluates(node.op)) throw Unsupported(not_built(node.op));
      if (!there) continue;
      Evaluated made = evaluate(node, inputs, graph.opset);
      for (std::size_t i = 0; i < node.outputs.size() && i < made.size(); ++i) {
        if (node.outputs[i]) values[*node.outputs[i]] = std::move(made[i]);
      }
    } catch (const Unsupported& reason) {
      problems.add(node, reason.what());
    }
  }
}

bool is_real(const std::optional<Constant>& value) {
  return value && value->type == ElementType::kFloat32;
}

/// Shares ranges: results that only move elements, or have a known range, take their scales from elsewhere.
void share_ranges(const ModelGraph& graph, std::vector<std::optional<Quantisation>>& ranges) {
  for (const GraphNode& node : graph.nodes) {
    if (node.inputs.empty() || !node.inputs[0] || !ranges[*node.inputs[0]]) continue;
    for (const auto& output : node.outputs) {
      if (!output || !ranges[*output]) continue;
      if (movements().count(node.op) != 0) ranges[*output] = ranges[*node.inputs[0]];
      if (node.op == "Softmax" || node.op == kCausalSoftmax || node.op == "Sigmoid")
        ranges[*output] = Quantisation{{1.0F / 256}, {-128}, 0};
      if (node.op == "Tanh") ranges[*output] = Quantisation{{1.0F / 128}, {0}, 0};
    }
  }
}

/// A batch normalisation as a map of each channel: x * factor + offset.
struct ChannelMap {
  std::vector<double> factors, offsets;
};

const Constant* data_of(const ModelGraph& graph, const GraphNode& node, std::size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i]) return nullptr;
  const auto& data = graph.tensors[*node.inputs[i]].data;
  return data ? &*data : nullptr;
}

/// The channel map of a batch normalisation; none if its parameters are unknown, or if it does more.
std::optional<ChannelMap> channel_map_of(const ModelGraph& graph, const GraphNode& norm) {
  Attributes attributes(norm);
  const double epsilon = attributes.real("epsilon", 1e-5F);
  if (attributes.integer("training_mode", 0) != 0 || attributes.integer("spatial", 1) != 1)
    return std::nullopt;
  std::array<std::vector<double>, 4> of;  // gamma, beta, mean, variance
  for (std::size_t k = 0; k < of.size(); ++k) {
    const Constant* data = data_of(graph, norm, k + 1);
    if (data == nullptr) return std::nullopt;
    of[k] = data->values();
    if (of[k].size() != of[0].size()) return std::nullopt;
  }
  ChannelMap made;
  for (std::size_t c = 0; c < of[0].size(); ++c) {
    made.factors.push_back(of[0][c] / std::sqrt(of[3][c] + epsilon));
    made.offsets.push_back(of[1][c] - of[2][c] * made.factors[c]);
  }
  return made;
}

/// The same; none also for one that cannot be imported, because lowering reports the reason later.
std::optional<ChannelMap> known_channel_map(const ModelGraph& graph, const GraphNode& norm) {
  try {
    return channel_map_of(graph, norm);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

std::size_t add_constant(ModelGraph& graph, const std::string& name, Constant data) {
  GraphTensor tensor;
  tensor.name = name, tensor.type = data.type, tensor.shape = data.shape, tensor.data = std::move(data);
  graph.tensors.push_back(std::move(tensor));
  return graph.tensors.size() - 1;
}

/// Moves the map of the output channels into the weights and bias of `conv`. Returns whether that is
/// possible.
bool takes_in(ModelGraph& graph, GraphNode& conv, const ChannelMap& map) {
  const Constant* weights = data_of(graph, conv, 1);
  const bool biased = conv.inputs.size() > 2 && conv.inputs[2];
  const std::size_t channels = map.factors.size();
  if (weights == nullptr || channels == 0 || weights->shape.empty() ||
      weights->shape[0] != to_signed(channels))
    return false;
  if (biased && data_of(graph, conv, 2) == nullptr) return false;
  std::vector<double> values = weights->values(), bias(channels, 0);
  if (biased) bias = data_of(graph, conv, 2)->values();
  if (bias.size() != channels) return false;
  const Extents shape = weights->shape;
  const std::size_t inner = values.size() / channels;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= map.factors[i / inner];
  for (std::size_t c = 0; c < channels; ++c) bias[c] = bias[c] * map.factors[c] + map.offsets[c];
  conv.inputs.resize(3);
  conv.inputs[1] =
      add_constant(graph, conv.name + "_folded_weights", make_constant(ElementType::kFloat32, shape, values));
  conv.inputs[2] = add_constant(graph, conv.name + "_folded_bias",
                                make_constant(ElementType::kFloat32, {to_signed(channels)}, bias));
  return true;
}

}  // namespace

bool has_float_parts(const ModelGraph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](std::size_t i) { return graph.tensors[i].type == ElementType::kFloat32; });
}

void fold_batch_norms(ModelGraph& graph) {
  std::vector<std::size_t> readers(graph.tensors.size(), 0);
  std::vector<std::size_t> maker(graph.tensors.size(), graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto& input : graph.nodes[i].inputs) readers[input.value_or(0)] += input ? 1U : 0U;
    for (const auto& output : graph.nodes[i].outputs) {
      if (output) maker[*output] = i;
    }
  }
  for (const std::size_t output : graph.outputs) ++readers[output];
  std::vector<GraphNode> kept;
  for (GraphNode& norm : graph.nodes) {
    const bool folds = norm.op == "BatchNormalization" && norm.inputs.size() == 5 && norm.inputs[0] &&
                       norm.outputs.size() == 1 && norm.outputs[0];
    const std::size_t source = folds ? maker[*norm.inputs[0]] : graph.nodes.size();
    // Nodes come after those that they read, so the convolution has been kept already.
    const auto conv =
        source == graph.nodes.size() || readers[*norm.inputs[0]] != 1
            ? kept.end()
            : std::find_if(kept.begin(), kept.end(), [&](const GraphNode& node) {
                return node.op == "Conv" && node.outputs.size() == 1 && node.outputs[0] == norm.inputs[0];
              });
    const auto map = conv == kept.end() ? std::nullopt : known_channel_map(graph, norm);
    if (map && takes_in(graph, *conv, *map)) {
      conv->outputs[0] = norm.outputs[0];
    } else {
      kept.push_back(std::move(norm));
    }
  }
  graph.nodes = std::move(kept);
}

namespace {

/// The samples of an input: by its name, or the only ones of the only input.
const Constant* samples_of(const ModelGraph& graph, const GraphTensor& input, const ImportOptions& options) {
  auto found = options.calibration.find(input.name);
  if (found == options.calibration.end() && graph.inputs.size() == 1) found = options.calibration.find("");
  return found == options.calibration.end() ? nullptr : &found->second;
}

}  // namespace

void shape_inputs(ModelGraph& graph, const ImportOptions& options) {
  for (const std::size_t index : graph.inputs) {
    GraphTensor& input = graph.tensors[index];
    const Constant* samples = samples_of(graph, input, options);
    if (input.shape || input.open_shape.empty() || samples == nullptr) continue;
    Extents shape = input.open_shape;
    const std::size_t more = samples->shape.size() - shape.size();  // an axis of samples before the others
    if (samples->shape.size() < shape.size() || more > 1) continue;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] < 0) shape[axis] = samples->shape[axis + more];
    }
    element_count(shape);
    input.shape = std::move(shape);
  }
}

Calibration calibrate(const ModelGraph& graph, const ImportOptions& options) {
  Calibration made;
  made.ranges.resize(graph.tensors.size());
  std::vector<Spread> spreads(graph.tensors.size());
  std::size_t count = 0;
  std::map<std::size_t, const Constant*> given;
  for (const std::size_t input : graph.inputs) {
    const GraphTensor& tensor = graph.tensors[input];
    if (!tensor.shape || tensor.type != ElementType::kFloat32)
      throw UserError(one_line(
          fmt::format("{}: input {} is {} of {} shape, --calibrate needs float32 of known shape", graph.path,
                      tensor.name, type_text(tensor), tensor.shape ? "known" : "unknown")));
    const Constant* found = samples_of(graph, tensor, options);
    if (found == nullptr)
      throw UserError(one_line(fmt::format("{}: --calibrate {}=X.npy is missing: it has {} inputs",
                                           graph.path, tensor.name, graph.inputs.size())));
    given[input] = found;
    const std::size_t samples = samples_in(*found, tensor, graph.path);
    count = count == 0 ? samples : std::min(count, samples);
  }
  for (std::size_t number = 0; number < count; ++number) {
    Values values(graph.tensors.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = graph.tensors[i].data;
    for (const auto& [input, samples] : given)
      values[input] = sample_of(*samples, graph.tensors[input], number);
    Problems problems;
    run_nodes(graph, values, problems);
    if (!problems.empty()) problems.refuse(graph.path);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (graph.tensors[i].data) values[i].reset();
      if (is_real(values[i])) spreads[i].add(values[i]->values());
    }
    if (number == 0) made.first = std::move(values);
  }
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    if (i < made.first.size() && is_real(made.first[i]))
      made.ranges[i] = spreads[i].range(options.percentile);
  }
  share_ranges(graph, made.ranges);
  return made;
}

namespace {

constexpr double kLeast = -128, kMost = 127;
constexpr float kSmallestScale = 1e-12F;

/// Elements behind each index of `axis`.
std::size_t inner_of(const Extents& shape, std::int64_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = to_size(axis) + 1; i < shape.size(); ++i) inner *= to_size(shape[i]);
  return inner;
}

}  // namespace

Quantisation range_between(double low, double high) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const float scale = std::max(static_cast<float>((high - low) / (kMost - kLeast)), kSmallestScale);
  const double zero = std::nearbyint(kLeast - low / static_cast<double>(scale));
  return {{scale}, {static_cast<std::int64_t>(std::clamp(zero, kLeast, kMost))}, 0};
}

Quantisation range_of(const std::vector<double>& values) {
  double low = 0, high = 0, least = 0;
  for (const double value : values) {
    if (value <= kMasked) least = std::min(least, value);
    if (!std::isfinite(value) || value <= kMasked) continue;
    low = std::min(low, value), high = std::max(high, value);
  }
  if (least < 0) low = low > kMasked / 10 ? kMasked : std::isfinite(least) ? least : low;
  return range_between(low, high);
}

Quantisation weight_scales(const Constant& weights, std::int64_t axis, double most) {
  const bool whole = axis < 0 || weights.shape.empty();
  const std::size_t count = whole ? 1 : to_size(nth(weights.shape, axis));
  const std::vector<double> values = weights.values();
  const std::size_t inner = whole ? std::max<std::size_t>(1, values.size()) : inner_of(weights.shape, axis);
  std::vector<double> magnitudes(count, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& greatest = magnitudes[i / inner % count];
    if (std::isfinite(values[i])) greatest = std::max(greatest, std::abs(values[i]));
  }
  Quantisation made;
  made.axis = whole ? 0 : axis;
  for (const double greatest : magnitudes)
    made.scales.push_back(std::max(static_cast<float>(greatest / most), kSmallestScale));
  made.zero_points.assign(count, 0);
  return made;
}

Constant quantised_constant(const Constant& real, const Quantisation& quantisation, ElementType type) {
  std::vector<double> values = real.values();
  const std::size_t count = quantisation.scales.size();
  const std::size_t inner =
      count == 1 ? std::max<std::size_t>(1, values.size()) : inner_of(real.shape, quantisation.axis);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / inner % count;
    const float quotient = static_cast<float>(values[i]) / quantisation.scales[c];
    values[i] =
        static_cast<double>(std::nearbyint(quotient)) + static_cast<double>(quantisation.zero_points[c]);
  }
  return make_constant(type, real.shape, values);
}

Constant real_constant(const Constant& integers, const Quantisation& quantisation) {
  std::vector<double> values = integers.values();
  const std::size_t count = quantisation.scales.size();
  const std::size_t inner =
      count == 1 ? std::max<std::size_t>(1, values.size()) : inner_of(integers.shape, quantisation.axis);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = i / inner % count;
    const auto distance = static_cast<float>(values[i] - static_cast<double>(quantisation.zero_points[c]));
    values[i] = static_cast<double>(distance * quantisation.scales[c]);
  }
  return make_constant(ElementType::kFloat32, integers.shape, values);
}

}  // namespace tilebeat
