// Normalisations, and the place of the greatest element.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evaluate.h"
#include "problems.h"

namespace tilebeat {
namespace {

const Constant& need(const KnownInputs& inputs, std::size_t i) {
  if (i >= inputs.size() || inputs[i] == nullptr) throw Unsupported(fmt::format("it lacks input {}", i));
  return *inputs[i];
}

Constant layer_norm(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t first = axis_of(attributes.integer("axis", -1), x.shape.size());
  const double epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
  attributes.without_effect("stash_type");  // of the sums, which are double here
  std::size_t row = 1;
  for (std::size_t axis = first; axis < x.shape.size(); ++axis)
    row *= static_cast<std::size_t>(x.shape[axis]);
  const std::vector<double> gamma = need(inputs, 1).values();
  const std::vector<double> beta =
      inputs.size() > 2 && inputs[2] != nullptr ? inputs[2]->values() : std::vector<double>(row, 0);
  if (gamma.size() != row || beta.size() != row) throw Unsupported("a scale of another shape than the rows");
  std::vector<double> values = x.values();
  for (std::size_t begin = 0; begin < values.size(); begin += row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < row; ++i) mean += values[begin + i] / static_cast<double>(row);
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
  const double alpha = static_cast<double>(attributes.real("alpha", 1e-4F)) / static_cast<double>(size);
  const double beta = static_cast<double>(attributes.real("beta", 0.75F)),
               bias = static_cast<double>(attributes.real("bias", 1));
  const std::vector<double> in = x.values();
  std::vector<double> made(in.size());
  const std::int64_t plane =
      channels == 0 || x.shape[0] == 0 ? 1 : static_cast<std::int64_t>(in.size()) / x.shape[0] / channels;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(in.size()); ++i) {
    const std::int64_t c = i / plane % channels;
    double sum = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, c - (size - 1) / 2);
         k <= std::min(channels - 1, c + size / 2); ++k) {
      const double value = in[static_cast<std::size_t>(i + (k - c) * plane)];
      sum += value * value;
    }
    made[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i)] / std::pow(bias + alpha * sum, beta);
  }
  return make_constant(x.type, x.shape, made);
}

Constant arg_max(const KnownInputs& inputs, Attributes& attributes) {
  const Constant& x = need(inputs, 0);
  const std::size_t axis = axis_of(attributes.integer("axis", 0), x.shape.size());
  const bool last = attributes.integer("select_last_index", 0) != 0;
  const bool keep = attributes.integer("keepdims", 1) != 0;
  const auto count = static_cast<std::size_t>(x.shape[axis]);
  std::size_t inner = 1;
  Extents shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i > axis) inner *= static_cast<std::size_t>(x.shape[i]);
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
  return op == "LayerNormalization" || op == "LRN" || op == "ArgMax";
}

Evaluated evaluate_norm(const GraphNode& node, const KnownInputs& inputs, std::int64_t,
                        Attributes& attributes) {
  const bool second = std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                                  [](const auto& output) { return output.has_value(); });
  if (second) throw Unsupported("a second output");
  if (node.op == "LRN") return {response_norm(inputs, attributes)};
  if (node.op == "ArgMax") return {arg_max(inputs, attributes)};
  return {layer_norm(inputs, attributes)};
}

}  // namespace tilebeat
