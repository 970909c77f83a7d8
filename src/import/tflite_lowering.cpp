#include "import/tflite_lowering.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kMostReal = std::int64_t{1} << 27;  // elements of an input, which a file has to hold

/// The element of `real`, as TensorFlow Lite computes the ends of an activation.
std::int64_t element_of(float real, const Quantisation& q) {
  constexpr float kBeyond = 1e12F;  // of any element
  return q.zero_points.front() +
         whole_number(std::clamp(std::round(real / q.scales.front()), -kBeyond, kBeyond));
}

}  // namespace

TfliteLowering::TfliteLowering(const ModelGraph& graph, const ImportOptions& options)
    : graph_(graph),
      options_(options),
      builder_(options.arithmetic.value_or(Arithmetic::kFixed)),
      emitter_(builder_) {}

ImportedNetwork TfliteLowering::run() {
  add_inputs();
  for (const GraphNode& node : graph_.nodes) lower(node);
  if (!problems_.empty()) problems_.refuse(graph_.path);
  ImportedNetwork network;
  finish(network);
  return network;
}

void TfliteLowering::add_inputs() {
  for (const std::size_t index : graph_.inputs) {
    const GraphTensor& tensor = graph_.tensors[index];
    if (held_.count(index) != 0 || tensor.data) continue;
    const bool real = tensor.type == ElementType::kFloat32;
    if (!real && (!is_quantised(tensor.type) || tensor.quantisation.scales.size() != 1)) {
      problems_.add(tensor.name,
                    fmt::format("an input of {}, int8, uint8 and int16 with one scale and float32 are read",
                                type_text(tensor)));
      continue;
    }
    if (element_count(*tensor.shape) == 0 || element_count(*tensor.shape) > kMostReal ||
        tensor.shape->size() > 6) {
      problems_.add(tensor.name, fmt::format("an input of shape {}", extents_text(*tensor.shape)));
      continue;
    }
    Held held{"", map_shape(*tensor.shape), tensor.type};
    if (!real)
      held.scale = tensor.quantisation.scales[0], held.zero_point = tensor.quantisation.zero_points[0];
    const std::vector<double> zeros(real ? to_size(element_count(held.shape)) : 0);
    const FieldsJson source =
        real ? builder_.add_tensor(tensor.name, make_constant(ElementType::kFloat32, held.shape, zeros))
             : FieldsJson{{"random", {{"seed", index + 1}}}};
    held.holder = builder_.add_input(tensor.name, held.shape, tensor.type, held.zero_point, source);
    held_[index] = held;
  }
}

void TfliteLowering::lower(const GraphNode& node) {
  const auto found = table().find(node.op);
  GraphNode named = node;
  named.name = node_text(node, graph_);
  builder_.set_source(fmt::format("{} ({})", node.op, named.name));
  try {
    if (found == table().end()) throw Unsupported(not_built(node.op));
    Attributes attributes(node);
    check_int16(node);
    (this->*found->second.lower)(node, attributes);
    attributes.finish();
  } catch (const Unsupported& reason) {
    problems_.add(named, reason.what());
  } catch (const std::out_of_range&) {
    problems_.add(named, "its operands do not fit each other");
  }
  // Later nodes are processed as if this one had worked, so that the list of problems is complete.
  for (const auto& output : node.outputs) {
    if (!output || held_.count(*output) != 0) continue;
    const GraphTensor& tensor = graph_.tensors[*output];
    held_[*output] = {"unknown", map_shape(tensor.shape.value_or(Extents{})), tensor.type};
  }
}

void TfliteLowering::finish(ImportedNetwork& network) {
  std::size_t copies = 0;
  const auto write = [&](std::size_t index) {
    const auto held = held_.find(index);
    if (held == held_.end()) return;
    if (!builder_.is_layer(held->second.holder)) {
      if (std::find(graph_.outputs.begin(), graph_.outputs.end(), index) == graph_.outputs.end()) return;
      const Held copy =
          emitter_.movement("reshape", {held->second}, held->second.shape, fmt::format("output_{}", copies++),
                            {{"shape", held->second.shape}});
      held->second = copy;
    }
    builder_.add_output(held->second.holder);
  };
  for (const std::size_t index : graph_.outputs) write(index);
  for (std::size_t i = 0; options_.keep_all && i < graph_.tensors.size(); ++i) write(i);
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    SourceTensor tensor{i, graph_.tensors[i].name, std::nullopt, {}, {}, std::nullopt};
    if (const auto held = held_.find(i); held != held_.end()) tensor.holder = held->second.holder;
    if (const auto held = constants_.find(i); held != constants_.end()) tensor.holder = held->second;
    const Quantisation& q = graph_.tensors[i].quantisation;
    if (q.scales.size() == 1) tensor.scale = q.scales[0], tensor.zero_point = q.zero_points[0];
    network.tensors.push_back(tensor);
  }
  network.nodes = graph_.nodes.size();
  network.layers = builder_.layers();
  network.exact_layers = emitter_.exact_layers();
  network.layer_sources = builder_.sources();
  network.files = builder_.files(std::filesystem::path(graph_.path).stem().string());
}

std::string node_text(const GraphNode& node, const ModelGraph& graph) {
  std::string text = fmt::format("operator {}", node.name);
  if (!node.outputs.empty() && node.outputs[0])
    text += fmt::format(" making {}", graph.tensors[*node.outputs[0]].name);
  return text;
}

bool TfliteLowering::in_fixed_point() const {
  return builder_.arithmetic() == Arithmetic::kFixed || is_micro();
}

void TfliteLowering::check_int16(const GraphNode& node) const {
  static const std::set<std::string> known{"CONV_2D",
                                           "DEPTHWISE_CONV_2D",
                                           "FULLY_CONNECTED",
                                           "TRANSPOSE_CONV",
                                           "ADD",
                                           "SUB",
                                           "MUL",
                                           "AVERAGE_POOL_2D",
                                           "MAX_POOL_2D",
                                           "MEAN",
                                           "SOFTMAX",
                                           "LOGISTIC",
                                           "TANH",
                                           "RELU",
                                           "RELU6",
                                           "LEAKY_RELU",
                                           "QUANTIZE",
                                           "DEQUANTIZE",
                                           "MAXIMUM",
                                           "MINIMUM",
                                           "RESHAPE",
                                           "SQUEEZE",
                                           "EXPAND_DIMS",
                                           "PAD",
                                           "CONCATENATION",
                                           "TRANSPOSE",
                                           "SLICE",
                                           "STRIDED_SLICE",
                                           "SPLIT",
                                           "SPLIT_V",
                                           "GATHER",
                                           "PACK",
                                           "UNPACK"};
  bool found = false;
  for (const auto* ends : {&node.inputs, &node.outputs}) {
    for (const auto& index : *ends) {
      if (!index || graph_.tensors[*index].type != ElementType::kInt16) continue;
      found = true;
      const std::vector<std::int64_t>& zeros = graph_.tensors[*index].quantisation.zero_points;
      if (std::any_of(zeros.begin(), zeros.end(), [](std::int64_t zero) { return zero != 0; }))
        throw Unsupported(
            fmt::format("{} of int16 with another zero point than 0", graph_.tensors[*index].name));
    }
  }
  if (!found) return;
  if (known.count(node.op) == 0) throw Unsupported("tensors of int16");
  if (builder_.arithmetic() != Arithmetic::kFixed && builder_.arithmetic() != Arithmetic::kFloat32)
    throw Unsupported(fmt::format("tensors of int16 in arithmetic {}; import with --arithmetic fixed",
                                  arithmetic_name(builder_.arithmetic())));
}

const GraphTensor& TfliteLowering::input(const GraphNode& node, std::size_t i) const {
  if (i >= node.inputs.size() || !node.inputs[i]) throw Unsupported(fmt::format("it lacks input {}", i));
  return graph_.tensors[*node.inputs[i]];
}

const GraphTensor& TfliteLowering::output(const GraphNode& node, std::size_t i) const {
  if (i >= node.outputs.size() || !node.outputs[i]) throw Unsupported(fmt::format("it lacks output {}", i));
  return graph_.tensors[*node.outputs[i]];
}

const Constant& TfliteLowering::constant(const GraphNode& node, std::size_t i) const {
  const GraphTensor& tensor = input(node, i);
  if (!tensor.data) throw Unsupported(fmt::format("its input {} is no constant", i));
  return *tensor.data;
}

Held TfliteLowering::held(const GraphNode& node, std::size_t i, std::size_t rank) {
  const GraphTensor& tensor = input(node, i);
  const std::size_t index = *node.inputs[i];
  if (!is_quantised(tensor.type) && tensor.type != ElementType::kFloat32)
    throw Unsupported(
        fmt::format("its input {} is {}, int8, uint8 and int16 are read", i, type_text(tensor)));
  if (is_quantised(tensor.type) && tensor.quantisation.scales.size() != 1)
    throw Unsupported(fmt::format("its input {} has {} scales", i, tensor.quantisation.scales.size()));
  Extents shape = *tensor.shape;
  if (rank > shape.size()) shape.insert(shape.begin(), rank - shape.size(), 1);
  if (shape.size() > 6) throw Unsupported(fmt::format("its input {} has {} axes", i, shape.size()));
  Held result;
  if (tensor.data) {
    result = {"", map_shape(shape), tensor.type};
    if (is_quantised(tensor.type))
      result.scale = tensor.quantisation.scales[0], result.zero_point = tensor.quantisation.zero_points[0];
    Constant values = *tensor.data;
    values.shape = result.shape;
    result.holder = builder_.add_input(fmt::format("constant_t{}", index), result.shape, tensor.type,
                                       result.zero_point, builder_.add_tensor(tensor.name, values));
    constants_[index] = result.holder;
    return result;
  }
  const auto found = held_.find(index);
  if (found == held_.end()) throw Unsupported(fmt::format("its input {} is made by nothing before it", i));
  result = found->second;
  return emitter_.reshape(result, map_shape(shape), result.holder + "_map");
}

Wanted TfliteLowering::wanted(const GraphNode& node, const std::string& activation) const {
  const GraphTensor& tensor = output(node);
  const Quantisation& q = tensor.quantisation;
  if (!is_quantised(tensor.type))
    throw Unsupported(fmt::format("its output is {}, int8, uint8 and int16 are made", type_text(tensor)));
  if (q.scales.size() != 1) throw Unsupported(fmt::format("its output has {} scales", q.scales.size()));
  const auto [low, high] = element_bounds(tensor.type);
  if (q.zero_points[0] < low || q.zero_points[0] > high) throw Unsupported("its zero point is no element");
  Wanted wanted{layer_name(node), tensor.type, q.scales[0], q.zero_points[0]};
  std::array<std::int64_t, 2> range{low, high};
  if (activation == "RELU" || activation == "RELU6") range[0] = std::max(low, element_of(0, q));
  if (activation == "RELU6") range[1] = std::min(high, element_of(6, q));
  if (activation == "RELU_N1_TO_1")
    range = {std::max(low, element_of(-1, q)), std::min(high, element_of(1, q))};
  if (activation == "TANH" || activation == "SIGN_BIT" || activation == "unknown")
    throw Unsupported(fmt::format("a fused activation {}", activation));
  wanted.range = range;
  return wanted;
}

void TfliteLowering::set(const GraphNode& node, const Held& held, std::size_t i) {
  const GraphTensor& tensor = output(node, i);
  const Extents shape = map_shape(*tensor.shape);
  if (element_count(shape) != element_count(held.shape))
    throw Unsupported(fmt::format("its output is declared as {}, its operands make {}",
                                  extents_text(*tensor.shape), extents_text(held.shape)));
  Held& made = held_[*node.outputs[i]] = emitter_.reshape(held, shape, held.holder + "_map");
  if (tensor.type == ElementType::kInt16) made.scale = tensor.quantisation.scales.at(0);
}

void TfliteLowering::need_same_scale(const GraphNode& node, std::size_t i, std::size_t o) const {
  const GraphTensor &from = input(node, i), &to = output(node, o);
  if (from.type == ElementType::kInt16 && to.type == from.type) return;
  const bool same = from.type == to.type && from.quantisation.scales == to.quantisation.scales &&
                    from.quantisation.zero_points == to.quantisation.zero_points;
  if (!same) throw Unsupported("its output has another type, scale or zero point than its input");
}

std::string TfliteLowering::layer_name(const GraphNode& node, std::size_t o) const {
  std::string name = node.op;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return fmt::format("{}_t{}", name, o < node.outputs.size() ? *node.outputs[o] : 0);
}

}  // namespace tilebeat
