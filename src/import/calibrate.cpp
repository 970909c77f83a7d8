#include "calibrate.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "evaluate.h"
#include "problems.h"
#include "quantise.h"

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

/// What a tensor's values were.
class Spread {
 public:
  void add(const std::vector<double>& values) {
    const std::size_t stride = std::max<std::size_t>(1, values.size() / kKept);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      low_ = std::min(low_, values[i]), high_ = std::max(high_, values[i]);
      if (i % stride == 0 && magnitudes_.size() < 4 * kKept)
        magnitudes_.push_back(static_cast<float>(std::abs(values[i])));
    }
  }
  Quantisation range(double percentile) {
    if (percentile >= 100 || magnitudes_.empty()) return range_between(low_, high_);
    const auto rank =
        static_cast<std::size_t>(percentile / 100 * static_cast<double>(magnitudes_.size() - 1));
    std::nth_element(magnitudes_.begin(), magnitudes_.begin() + static_cast<std::ptrdiff_t>(rank),
                     magnitudes_.end());
    const auto limit = static_cast<double>(magnitudes_[rank]);
    return range_between(std::max(low_, -limit), std::min(high_, limit));
  }

 private:
  double low_ = 0, high_ = 0;
  std::vector<float> magnitudes_;
};

/// Sample `number` of an input: samples are stacked along the first axis, or along one more before it.
Constant sample_of(const Constant& samples, const GraphTensor& input, std::size_t number) {
  Constant made{samples.type, input.shape.value(), {}};
  const std::size_t bytes = static_cast<std::size_t>(element_count(made.shape)) * element_bytes(made.type);
  const auto begin = samples.bytes.begin() + static_cast<std::ptrdiff_t>(number * bytes);
  made.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(bytes));
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
  return static_cast<std::size_t>(all / each);
}

using Values = std::vector<std::optional<Constant>>;

void run_nodes(const ModelGraph& graph, Values& values, Problems& problems) {
  for (const GraphNode& node : graph.nodes) {
    KnownInputs inputs;
    bool there = true;
    for (const auto& input : node.inputs) {
      inputs.push_back(input && values[*input] ? &*values[*input] : nullptr);
      there = there && (!input || values[*input]);
    }
    try {
      if (!evaluates(node.op)) throw Unsupported("is no operator that is built");
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

/// Results that move what is there, or whose range is known, take scales from elsewhere.
void share_ranges(const ModelGraph& graph, std::vector<std::optional<Quantisation>>& ranges) {
  for (const GraphNode& node : graph.nodes) {
    if (node.inputs.empty() || !node.inputs[0] || !ranges[*node.inputs[0]]) continue;
    for (const auto& output : node.outputs) {
      if (!output || !ranges[*output]) continue;
      if (movements().count(node.op) != 0) ranges[*output] = ranges[*node.inputs[0]];
      if (node.op == "Softmax" || node.op == "Sigmoid")
        ranges[*output] = Quantisation{{1.0F / 256}, {-128}, 0};
      if (node.op == "Tanh") ranges[*output] = Quantisation{{1.0F / 128}, {0}, 0};
    }
  }
}

}  // namespace

bool is_float_network(const ModelGraph& graph) {
  const auto quantised = [](const GraphNode& node) {
    return node.op == "QuantizeLinear" || node.op == "DequantizeLinear" ||
           node.op == "DynamicQuantizeLinear" || node.op.find("Integer") != std::string::npos ||
           node.op.find("QLinear") != std::string::npos || node.op.find("QGemm") != std::string::npos;
  };
  const bool real = std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](std::size_t i) {
    return graph.tensors[i].type == ElementType::kFloat32;
  });
  return real && std::none_of(graph.nodes.begin(), graph.nodes.end(), quantised);
}

void fold_batch_norms(ModelGraph& graph) {
  std::vector<std::size_t> readers(graph.tensors.size(), 0);
  for (const GraphNode& node : graph.nodes) {
    for (const auto& input : node.inputs) readers[input.value_or(0)] += input ? 1 : 0;
  }
  for (const std::size_t output : graph.outputs) ++readers[output];
  std::vector<std::size_t> maker(graph.tensors.size(), graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto& output : graph.nodes[i].outputs) {
      if (output) maker[*output] = i;
    }
  }
  std::vector<GraphNode> kept;
  std::vector<bool> gone(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& norm = graph.nodes[i];
    if (norm.op != "BatchNormalization" || norm.inputs.size() != 5 || norm.outputs.empty() || !norm.inputs[0])
      continue;
    const std::size_t source = maker[*norm.inputs[0]];
    if (source == graph.nodes.size() || graph.nodes[source].op != "Conv" || readers[*norm.inputs[0]] != 1)
      continue;
    GraphNode& conv = graph.nodes[source];
    const auto data = [&](const GraphNode& node, std::size_t k) {
      return k < node.inputs.size() && node.inputs[k] && graph.tensors[*node.inputs[k]].data;
    };
    if (!data(conv, 1) || (conv.inputs.size() > 2 && conv.inputs[2] && !data(conv, 2))) continue;
    if (!data(norm, 1) || !data(norm, 2) || !data(norm, 3) || !data(norm, 4)) continue;
    // The normalisation of an impulse on the weights, and of 0, are factor and offset of each channel.
    Attributes attributes(norm);
    const double epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
    if (attributes.integer("training_mode", 0) != 0 || attributes.integer("spatial", 1) != 1) continue;
    std::array<std::vector<double>, 4> of;
    for (std::size_t k = 0; k < of.size(); ++k) of[k] = graph.tensors[*norm.inputs[k + 1]].data->values();
    Constant weights = *graph.tensors[*conv.inputs[1]].data;
    std::vector<double> values = weights.values();
    const std::size_t channels = of[0].size();
    if (channels == 0 || weights.shape.empty() || weights.shape[0] != static_cast<std::int64_t>(channels) ||
        values.size() % channels != 0)
      continue;
    if (std::any_of(of.begin(), of.end(), [&](const auto& list) { return list.size() != channels; }))
      continue;
    std::vector<double> bias(channels, 0);
    if (conv.inputs.size() > 2 && conv.inputs[2]) bias = graph.tensors[*conv.inputs[2]].data->values();
    if (bias.size() != channels) continue;
    const std::size_t inner = values.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const double factor = of[0][c] / std::sqrt(of[3][c] + epsilon);
      for (std::size_t k = 0; k < inner; ++k) values[c * inner + k] *= factor;
      bias[c] = (bias[c] - of[2][c]) * factor + of[1][c];
    }
    const auto add = [&](const std::string& name, Constant folded) {
      GraphTensor tensor;
      tensor.name = name, tensor.type = folded.type, tensor.shape = folded.shape,
      tensor.data = std::move(folded);
      graph.tensors.push_back(std::move(tensor));
      return graph.tensors.size() - 1;
    };
    conv.inputs.resize(3);
    conv.inputs[1] =
        add(conv.name + "_folded_weights", make_constant(ElementType::kFloat32, weights.shape, values));
    conv.inputs[2] = add(conv.name + "_folded_bias",
                         make_constant(ElementType::kFloat32, {static_cast<std::int64_t>(channels)}, bias));
    conv.outputs[0] = norm.outputs[0];
    gone[i] = true;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
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
      throw UserError(
          one_line(fmt::format("{}: input {} is no float32 tensor of known shape", graph.path, tensor.name)));
    auto found = options.calibration.find(tensor.name);
    if (found == options.calibration.end() && graph.inputs.size() == 1) found = options.calibration.find("");
    if (found == options.calibration.end())
      throw UserError(one_line(fmt::format("{}: --calibrate {}=X.npy is missing: it has {} inputs",
                                           graph.path, tensor.name, graph.inputs.size())));
    given[input] = &found->second;
    const std::size_t samples = samples_in(found->second, tensor, graph.path);
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

}  // namespace tilebeat
