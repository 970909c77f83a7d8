#include "import/onnx_lowering.h"

#include "base/types.h"
#include "import/problems.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace tilebeat {

const std::map<std::string, OnnxLowering::Row>& OnnxLowering::table() {
  using T = OnnxLowering;
  static const std::map<std::string, Row> operators{
      {"Conv", {&T::convolution, Layout::kMap, Promise::kRule}},
      {"ConvInteger", {&T::integer_convolution, Layout::kMap, Promise::kRule}},
      {"QLinearConv", {&T::quantised_convolution, Layout::kMap, Promise::kRule}},
      {"ConvTranspose", {&T::transposed_convolution, Layout::kMap}},
      {"BatchNormalization", {&T::batch_norm, Layout::kMap}},
      {"Gemm", {&T::gemm, Layout::kPlain, Promise::kRule}},
      {"com.microsoft.QGemm", {&T::quantised_gemm, Layout::kPlain, Promise::kRule}},
      {"MatMul", {&T::matmul, Layout::kPlain, Promise::kRule}},
      {"QLinearMatMul", {&T::quantised_matmul, Layout::kPlain, Promise::kRule}},
      {"MatMulInteger", {&T::integer_matmul, Layout::kPlain, Promise::kRule}},
      {"Add", {&T::elementwise, Layout::kPlain, Promise::kRule}},
      {"Sub", {&T::elementwise}},
      {"Mul", {&T::elementwise, Layout::kPlain, Promise::kRule}},
      {"Div", {&T::elementwise}},
      {"Sum", {&T::elementwise, Layout::kPlain, Promise::kRule}},
      {"Cast", {&T::cast, Layout::kPlain, Promise::kRule}},
      {"Max", {&T::extreme, Layout::kPlain, Promise::kRule}},
      {"Min", {&T::extreme, Layout::kPlain, Promise::kRule}},
      {"Neg", {&T::linear, Layout::kPlain, Promise::kRule}},
      {"HardSigmoid", {&T::linear}},
      {"com.microsoft.QLinearAdd", {&T::quantised_elementwise, Layout::kPlain, Promise::kRule}},
      {"com.microsoft.QLinearMul", {&T::quantised_elementwise, Layout::kPlain, Promise::kRule}},
      {"MaxPool", {&T::pool, Layout::kMap, Promise::kMoves}},
      {"AveragePool", {&T::pool, Layout::kMap, Promise::kRule}},
      {"GlobalMaxPool", {&T::pool, Layout::kMap, Promise::kMoves}},
      {"GlobalAveragePool", {&T::reduce, Layout::kMap, Promise::kRule}},
      {"ReduceMean", {&T::reduce}},
      {"ReduceSum", {&T::reduce}},
      {"ReduceMax", {&T::reduce, Layout::kPlain, Promise::kByClass}},
      {"com.microsoft.QLinearAveragePool", {&T::quantised_pool, Layout::kMap, Promise::kRule}},
      {"com.microsoft.QLinearGlobalAveragePool", {&T::quantised_global_pool, Layout::kMap, Promise::kRule}},
      {"LayerNormalization", {&T::layer_norm}},
      {"RMSNormalization", {&T::layer_norm}},
      {"LRN", {&T::response_norm, Layout::kMap}},
      {"ArgMax", {&T::arg_max, Layout::kPlain, Promise::kMoves}},
      {"Softmax", {&T::softmax, Layout::kPlain, Promise::kRule}},
      {kCausalSoftmax, {&T::causal_softmax}},
      {"com.microsoft.QLinearSoftmax", {&T::softmax, Layout::kPlain, Promise::kRule}},
      {"Relu", {&T::function, Layout::kPlain, Promise::kRule}},
      {"Clip", {&T::function, Layout::kPlain, Promise::kRule}},
      {"LeakyRelu", {&T::function, Layout::kPlain, Promise::kRule}},
      {"Sigmoid", {&T::function}},
      {"Tanh", {&T::function}},
      {"HardSwish", {&T::function}},
      {"Gelu", {&T::function}},
      {"Exp", {&T::function}},
      {"Sqrt", {&T::function}},
      {"Erf", {&T::function}},
      {"com.microsoft.QLinearSigmoid", {&T::function}},
      {"com.microsoft.QLinearLeakyRelu", {&T::function, Layout::kPlain, Promise::kByClass}},
      {"QuantizeLinear", {&T::quantize, Layout::kPlain, Promise::kByClass}},
      {"DequantizeLinear", {&T::dequantize, Layout::kPlain, Promise::kRule}},
      {"DynamicQuantizeLinear", {&T::dynamic_quantize, Layout::kPlain, Promise::kRule}},
      {"Transpose", {&T::transpose, Layout::kPlain, Promise::kMoves}},
      {"Reshape", {&T::reshape, Layout::kPlain, Promise::kMoves}},
      {"Flatten", {&T::reshape, Layout::kPlain, Promise::kMoves}},
      {"Squeeze", {&T::reshape, Layout::kPlain, Promise::kMoves}},
      {"Unsqueeze", {&T::reshape, Layout::kPlain, Promise::kMoves}},
      {"Concat", {&T::concat, Layout::kPlain, Promise::kRule}},
      {"com.microsoft.QLinearConcat", {&T::quantised_concat, Layout::kPlain, Promise::kRule}},
      {"Pad", {&T::pad, Layout::kPlain, Promise::kMoves}},
      {"Resize", {&T::resize, Layout::kMap, Promise::kByClass}},
      {"Upsample", {&T::resize, Layout::kMap, Promise::kByClass}},
      {"Slice", {&T::slice, Layout::kPlain, Promise::kMoves}},
      {"Split", {&T::split, Layout::kPlain, Promise::kMoves}},
      {"Tile", {&T::repeat, Layout::kPlain, Promise::kMoves}},
      {"Expand", {&T::repeat, Layout::kPlain, Promise::kMoves}},
      {"Gather", {&T::gather, Layout::kPlain, Promise::kMoves}},
      {"DepthToSpace", {&T::blocks, Layout::kMap, Promise::kMoves}},
      {"SpaceToDepth", {&T::blocks, Layout::kMap, Promise::kMoves}},
      {"Identity", {&T::same, Layout::kPlain, Promise::kMoves}},
      {"Dropout", {&T::same, Layout::kPlain, Promise::kMoves}},
  };
  return operators;
}

std::optional<Promise> OnnxLowering::promise(const std::string& op) {
  const auto found = table().find(op);
  if (found != table().end()) return found->second.promise;
  const auto exact = chain_promise(op);
  if (!exact) return std::nullopt;
  return *exact ? Promise::kRule : Promise::kInexact;
}

std::optional<Promise> onnx_promise(const std::string& op) {
  return OnnxLowering::promise(op);
}

bool OnnxLowering::reads_maps(const GraphNode& node) {
  const auto last = node.attributes.find("channels_last");
  const auto* flag = last == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&last->second);
  if (flag != nullptr && *flag != 0) return false;
  const auto found = table().find(node.op);
  return found != table().end() && found->second.reads == Layout::kMap;
}

OnnxLowering::OnnxLowering(const ModelGraph& graph, const ImportOptions& options,
                           const Calibration* calibration)
    : graph_(graph),
      options_(options),
      calibration_(calibration),
      builder_(options.arithmetic.value_or(Arithmetic::kFloat32Ort)),
      emitter_(builder_, options.float_on_host, options.four_bits),
      values_(graph.tensors.size()),
      readers_(graph.tensors.size()),
      is_output_(graph.tensors.size()),
      done_(graph.nodes.size()),
      is_quantised_(graph.tensors.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op == "QuantizeLinear" && !graph.nodes[i].outputs.empty() && graph.nodes[i].outputs[0])
      is_quantised_[*graph.nodes[i].outputs[0]] = true;
    for (const auto& input : graph.nodes[i].inputs) {
      if (input && (readers_[*input].empty() || readers_[*input].back() != i)) readers_[*input].push_back(i);
    }
    if (graph.format == ModelFormat::kOnnx && reads_maps(graph.nodes[i])) input_layout_ = Layout::kMap;
  }
  for (const std::size_t output : graph.outputs) is_output_[output] = true;
}

ImportedNetwork OnnxLowering::run() {
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (!graph_.tensors[i].data) continue;
    OnnxValue value;
    value.constant = graph_.tensors[i].data;
    value.shape = value.constant->shape;
    values_[i] = std::move(value);
  }
  add_inputs();
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!done_[i]) lower(i);
    free_operands(i);
  }
  if (!problems_.empty()) problems_.refuse(graph_.path);
  ImportedNetwork network;
  finish(network);
  if (!problems_.empty()) problems_.refuse(graph_.path);
  return network;
}

void OnnxLowering::add_inputs() {
  for (const std::size_t index : graph_.inputs) {
    if (values_[index]) continue;
    try {
      add_input(index);
    } catch (const Unsupported& reason) {
      problems_.add(graph_.tensors[index].name, fmt::format("input: {}", reason.what()));
    }
  }
}

void OnnxLowering::add_input(std::size_t index) {
  const GraphTensor& tensor = graph_.tensors[index];
  if (!tensor.shape)
    throw Unsupported(
        "its shape is not known, only the first axis may be without a number (with --calibrate all)");
  const std::size_t rank = tensor.shape->size();
  if (rank > 6) throw Unsupported(fmt::format("it has {} axes", rank));
  if (element_count(*tensor.shape) == 0) throw Unsupported("it has no elements");
  const bool is_real = tensor.type == ElementType::kFloat32;
  if (!is_real && !is_byte(tensor.type))
    throw Unsupported(fmt::format("it is {}, float32, int8 and uint8 are read", type_text(tensor)));
  OnnxValue value;
  value.shape = value.viewed = *tensor.shape;
  value.axes = layout_axes(input_layout_, rank);
  Extents held, file_axes;
  for (const std::int64_t axis : value.axes) held.push_back(nth((*tensor.shape), axis));
  value.held = {"", map_shape(held), tensor.type};
  if (!is_real) {
    if (const auto q = input_quantisation(index))
      value.held.scale = q->scales[0], value.held.zero_point = q->zero_points[0];
  }
  FieldsJson source = FieldsJson::object();
  if (value.axes != layout_axes(Layout::kPlain, rank)) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto at = std::find(value.axes.begin(), value.axes.end(), to_signed(axis)) - value.axes.begin();
      file_axes.push_back(to_signed(map_axis(to_size(at), rank)));
    }
    if (rank == 3) file_axes.push_back(1);
    source["file_axes"] = file_axes;
  }
  if (is_real) {
    const std::size_t count = room_for(*tensor.shape);
    const Constant values =
        calibration_ != nullptr && calibration_->first[index]
            ? *calibration_->first[index]
            : make_constant(ElementType::kFloat32, *tensor.shape, std::vector<double>(count, 0));
    Constant stored = values;
    stored.shape = *tensor.shape;
    if (source.contains("file_axes")) {
      stored.shape.resize(value.held.shape.size(), 1);
    } else {
      stored.shape = value.held.shape;
    }
    source.update(builder_.add_tensor(tensor.name, stored));
  } else {
    source["random"] = {{"seed", index + 1}};
  }
  value.held.holder =
      builder_.add_input(tensor.name, value.held.shape, tensor.type, value.held.zero_point, source);
  const bool quantised_by_nodes =
      std::any_of(readers_[index].begin(), readers_[index].end(), [&](std::size_t reader) {
        const std::string& op = graph_.nodes[reader].op;
        return op == "QuantizeLinear" || op == "DynamicQuantizeLinear";
      });
  if (is_real && calibration_ != nullptr && !quantised_by_nodes) {
    const Quantisation& q = calibration_->ranges[index].value();
    value.held = emitter_.quantize(
        value.held, {tensor.name + "_quantized", ElementType::kInt8, q.scales[0], q.zero_points[0]});
    value.real = true;
  }
  values_[index] = std::move(value);
}

/// The scale and zero point that the first reader of an integer tensor gives for it.
std::optional<Quantisation> OnnxLowering::input_quantisation(std::size_t index) const {
  for (const std::size_t reader : readers_[index]) {
    const GraphNode& node = graph_.nodes[reader];
    const auto position = to_size(std::find(node.inputs.begin(), node.inputs.end(), std::optional(index)) -
                                  node.inputs.begin());
    const bool plain = node.op == "ConvInteger" || node.op == "MatMulInteger";
    const std::size_t scale = position + 1, zero = position + 2;
    const auto number = [&](std::size_t i) -> std::optional<double> {
      if (!has(node, i) || !graph_.tensors[*node.inputs[i]].data) return std::nullopt;
      const std::vector<double> values = graph_.tensors[*node.inputs[i]].data->values();
      return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
    };
    const bool known = plain || node.op == "DequantizeLinear" ||
                       node.op.find("QLinear") != std::string::npos ||
                       node.op.find("QGemm") != std::string::npos;
    if (!known) continue;
    const double zero_point = number(zero).value_or(0);
    if (!(std::abs(zero_point) <= 255)) continue;  // not a byte: the reader reports it
    return Quantisation{{plain ? 1.0F : static_cast<float>(number(scale).value_or(1))},
                        {static_cast<std::int64_t>(zero_point)},
                        0};
  }
  return std::nullopt;
}

bool OnnxLowering::folded(const GraphNode& node) {
  if (!evaluates(node.op) || node.op == "DequantizeLinear") return false;  // integers that stand for reals
  const KnownInputs inputs = known(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && node.inputs[i]) {
      const bool counts = node.op == "Shape" || node.op == "Size";
      if (!counts || !values_[*node.inputs[i]]) return false;
      // The shape of a tensor is known even where its elements are unknown.
      const Extents& shape = values_[*node.inputs[i]]->shape;
      Constant shaped{ElementType::kInt8, shape, {}};
      OnnxValue made;
      made.constant = budget_.evaluate(node, {&shaped}, graph_.opset).at(0);
      budget_.keep(*made.constant);
      made.shape = made.constant->shape;
      values_[node.outputs.at(0).value()] = std::move(made);
      return true;
    }
  }
  const Evaluated results = budget_.evaluate(node, inputs, graph_.opset);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    if (i >= results.size()) throw Unsupported("a second output");
    budget_.keep(results[i]);
    OnnxValue made;
    made.constant = results[i];
    made.shape = results[i].shape;
    values_[*node.outputs[i]] = std::move(made);
  }
  return true;
}

/// Frees constants that no later node reads.
void OnnxLowering::free_operands(std::size_t index) {
  for (const auto& input : graph_.nodes[index].inputs) {
    if (!input || is_output_[*input] || readers_[*input].back() != index) continue;
    const auto& found = values_[*input];
    if (!found || !found->known()) continue;
    if (!graph_.tensors[*input].data && !found->stands) budget_.free(*found->constant);
    values_[*input].reset();
  }
}

/// An If whose condition is known is replaced by its branch, and lowering begins anew.
void OnnxLowering::decide(std::size_t index) const {
  const OnnxValue& condition = value(graph_.nodes[index], 0);
  if (!condition.known() || condition.constant->elements() != 1)
    throw Unsupported(
        "its condition depends on data; export the network with a constant in its place, so that one branch "
        "is left");
  throw DecidedBranch{index, condition.constant->values()[0] != 0};
}

void OnnxLowering::lower(std::size_t index) {
  const GraphNode& node = graph_.nodes[index];
  const auto found = table().find(node.op);
  result_.reset();
  builder_.set_source(fmt::format("{} ({})", node.op, node.name));
  problems_.collect(node, [&] {
    if (node.op == "If") decide(index);
    if (found == table().end() && !evaluates(node.op)) throw Unsupported(not_built(node.op));
    const bool reads_unknown =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& i) { return i && !values_[*i]; });
    if (reads_unknown) return false;  // its producer is in the list already
    if (folded(node)) return true;
    if (stays_on_host(index)) {
      Attributes attributes(node);
      attributes.without_effect("added_bias");
      host(node, attributes);
      attributes.finish();
      return true;
    }
    if (tabulated(index)) return true;
    if (found == table().end())
      throw Unsupported(is_rewritten(node.op)
                            ? not_built(node.op)
                            : "reads results of the network, it is built for constants alone");
    Attributes attributes(node);
    const bool added = attributes.integer("added_bias", 0) != 0;
    (this->*found->second.lower)(node, attributes);
    attributes.finish();
    if (added) name_product(node);
    return true;
  });
}

/// An output that is a constant: float32, or bytes.
OnnxValue OnnxLowering::output_constant(const OnnxValue& value, const std::string& name) {
  const Constant& x = *value.constant;
  if (value.stands) return held_constant(x, *value.stands, name);
  if (x.elements() == 0 || x.shape.size() > 6)
    throw Unsupported(fmt::format("a constant of shape {}", extents_text(x.shape)));
  const std::vector<double> values = x.values();
  const auto within = [&](double low, double high) {
    return std::all_of(values.begin(), values.end(), [&](double v) { return v >= low && v <= high; });
  };
  const bool real =
      x.type == ElementType::kFloat32 || x.type == ElementType::kFloat16 || x.type == ElementType::kFloat64;
  ElementType type = ElementType::kFloat32;
  if (!real && within(-128, 127) && x.type != ElementType::kUint8 && x.type != ElementType::kBool) {
    type = ElementType::kInt8;
  } else if (!real && within(0, 255)) {
    type = ElementType::kUint8;
  } else if (!real) {
    throw Unsupported(fmt::format(
        "a constant of {} beyond 8 bits, which no layer makes; leave this output out", element_name(x.type)));
  }
  OnnxValue made = held_constant(make_constant(type, x.shape, values), {{1}, {0}, 0}, name);
  made.real = false;
  return made;
}

void OnnxLowering::write_output(std::size_t index, std::size_t& copies) {
  auto& found = values_[index];
  if (!found) return problems_.add(graph_.tensors[index].name, "an output that is not made");
  if (found->known()) *found = output_constant(*found, graph_.tensors[index].name);
  *found = materialised(*found);
  if (found->real) {
    found->held = emitter_.dequantize(found->held, graph_.tensors[index].name);
    found->real = false;
  }
  if (!builder_.is_layer(found->held.holder))
    found->held = emitter_.movement("reshape", {found->held}, found->held.shape,
                                    fmt::format("output_{}", copies++), {{"shape", found->held.shape}});
  builder_.add_output(found->held.holder);
}

/// Adds the float network's values for the first sample, in the order of the quantised layer. Where several
/// source tensors have the same layer, the first one counts.
void OnnxLowering::add_float_reference(std::size_t index, const SourceTensor& tensor) {
  const Held& held = values_[index]->held;
  if (calibration_ == nullptr || !calibration_->first[index] || !builder_.is_layer(held.holder)) return;
  if (!referenced_.insert(held.holder).second) return;
  const std::vector<double> values = in_held_order(calibration_->first[index]->values(), tensor);
  if (ssize(values) != element_count(held.shape)) return;
  builder_.add_float_reference(held.holder, make_constant(ElementType::kFloat32, held.shape, values),
                               is_byte(held.type) ? static_cast<double>(held.scale) : 1.0);
}

/// Names the layer of a product whose bias was an addition of its own, which a runtime does in float32.
void OnnxLowering::name_product(const GraphNode& node) {
  for (std::size_t tensor = *node.outputs.at(0);;) {
    if (const auto& made = values_[tensor])
      return emitter_.name_inexact(made->held, lower_case(node.op) + " with a bias behind it");
    const auto& readers = readers_[tensor];
    if (readers.size() != 1 || graph_.nodes[readers[0]].outputs.empty()) return;
    tensor = graph_.nodes[readers[0]].outputs[0].value();
  }
}

/// Whether the file itself quantises: calibration alone gives elements that no runtime defines.
bool OnnxLowering::has_runtime_bytes() const {
  return calibration_ == nullptr ||
         std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const GraphNode& node) {
           return node.op == "QuantizeLinear" || node.op.find("QLinear") != std::string::npos ||
                  node.op == "com.microsoft.QGemm";
         });
}

void OnnxLowering::finish(ImportedNetwork& network) {
  std::size_t copies = 0;
  for (const std::size_t index : graph_.outputs) {
    try {
      write_output(index, copies);
    } catch (const Unsupported& reason) {
      problems_.add(graph_.tensors[index].name, fmt::format("output: {}", reason.what()));
    }
  }
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    SourceTensor tensor{i, graph_.tensors[i].name, std::nullopt, {}, {}, std::nullopt};
    const auto& value = values_[i];
    // A holder of integers does not hold the real numbers that they stand for, except where the source has
    // only those.
    const bool holds = value && !value->known() && (!value->real || calibration_ != nullptr);
    if (holds) {
      tensor.holder = value->held.holder;
      if (value->axes != layout_axes(Layout::kPlain, value->axes.size()) || value->viewed != value->shape)
        tensor.axes = value->axes, tensor.viewed = value->viewed;
      if (is_byte(value->held.type))
        tensor.scale = value->held.scale, tensor.zero_point = value->held.zero_point;
      if (options_.keep_all && builder_.is_layer(value->held.holder)) builder_.add_output(value->held.holder);
      add_float_reference(i, tensor);
    }
    network.tensors.push_back(std::move(tensor));
  }
  network.nodes = graph_.nodes.size();
  network.layers = builder_.layers();
  if (has_runtime_bytes()) network.exact_layers = emitter_.exact_layers();
  network.layer_sources = builder_.sources();
  network.files = builder_.files(std::filesystem::path(graph_.path).stem().string());
}

}  // namespace tilebeat
