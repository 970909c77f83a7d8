#pragma once

#include "import/attributes.h"
#include "import/calibrate.h"
#include "import/emitter.h"
#include "import/evaluate.h"
#include "import/graph.h"
#include "import/imported.h"
#include "import/operator_table.h"
#include "import/problems.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilebeat {

/// The window of a convolution or a pooling on maps [N, C, H, W]; [N, C, W] has H = 1 and a kernel of 1
/// there.
struct OnnxWindow {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};  ///< [top, left, bottom, right]
  std::array<std::int64_t, 2> output{1, 1};  ///< pixels; with ceil_mode the last window may leave the pads
};

/// Shape of a map as [N, C, H, W]. Throws Unsupported for other ranks than 3 and 4.
Extents as_map(const Extents& shape);
/// The shape [N, C, H, W] as one of `rank` axes.
Extents from_map(const Extents& map, std::size_t rank);

/// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `kernel`: the weights' extents, none
/// of poolings. Throws Unsupported when they do not fit.
OnnxWindow read_window(Attributes& attributes, const Extents& map, const std::optional<Extents>& kernel,
                       std::size_t rank);

/// The window of a transposed convolution: strides, pads, output_padding, output_shape, auto_pad.
struct OnnxTransposedWindow {
  OnnxWindow window;  ///< its pads are cut off the output
  std::array<std::int64_t, 2> more{0, 0};
};
OnnxTransposedWindow read_transposed_window(Attributes& attributes, const Extents& map, const Extents& kernel,
                                            std::size_t rank);

/// The window with the padding that its last row and column need beyond the pads (ceil_mode).
WindowFields whole_windows(const OnnxWindow& window, const Extents& map);

/// The ways to import float32 parts of a quantised network, for messages.
constexpr const char* kFloatParts =
    "--calibrate X.npy quantises such parts of a network, --float-on-host leaves them to the host";

/// The value of an ONNX tensor during lowering: known elements, or a layer's or an input's tensor.
struct OnnxValue {
  std::optional<Constant> constant;
  std::optional<Quantisation> stands;  ///< a constant of integers that stand for real numbers
  Held held;
  Extents shape;  ///< the source's
  /// The holder has the elements of the source, seen in shape `viewed`, with axis axes[i] as its axis i.
  Extents viewed, axes;
  bool real = false;  ///< held integers that stand for real numbers: behind a DequantizeLinear

  bool known() const { return constant.has_value(); }
};

/// Order of the axes in a holder: as in the source, or with the channels of [N, C, H, W] last.
enum class Layout : std::uint8_t { kPlain, kMap };

/// Makes layers from the operators of an ONNX file: from quantised operators, from real ones between
/// DequantizeLinear and QuantizeLinear, and from real ones whose tensors have calibrated ranges.
class OnnxLowering {
 public:
  /// `calibration`: none for a quantised file.
  OnnxLowering(const ModelGraph& graph, const ImportOptions& options, const Calibration* calibration);
  ImportedNetwork run();
  /// What is promised of an operator between quantised tensors; none: there is no layer of it.
  static std::optional<Promise> promise(const std::string& op);

 private:
  using Lower = void (OnnxLowering::*)(const GraphNode&, Attributes&);
  /// An operator, and the layout of its maps: with their channels at axis 1, or in any order.
  struct Row {
    Lower lower;
    Layout reads = Layout::kPlain;
    Promise promise = Promise::kInexact;
  };
  static const std::map<std::string, Row>& table();
  static bool reads_maps(const GraphNode& node);

  // ---- onnx_matrix_ops.cpp ----
  void convolution(const GraphNode& node, Attributes& attributes);
  void quantised_convolution(const GraphNode& node, Attributes& attributes);
  void integer_convolution(const GraphNode& node, Attributes& attributes);
  void transposed_convolution(const GraphNode& node, Attributes& attributes);
  void batch_norm(const GraphNode& node, Attributes& attributes);
  void convolve(const GraphNode& node, Attributes& attributes, const OnnxValue& x, Kernels kernels,
                const std::optional<Wanted>& wanted);

  // ---- onnx_product_ops.cpp ----
  void gemm(const GraphNode& node, Attributes& attributes);
  void quantised_gemm(const GraphNode& node, Attributes& attributes);
  void matmul(const GraphNode& node, Attributes& attributes);
  void quantised_matmul(const GraphNode& node, Attributes& attributes);
  void integer_matmul(const GraphNode& node, Attributes& attributes);
  void rows_times(const GraphNode& node, const OnnxValue& x, Kernels kernels,
                  const std::optional<Wanted>& wanted);
  void integer_rows(const GraphNode& node, const OnnxValue& x, Kernels kernels);
  void multiply(const GraphNode& node, OnnxValue a, OnnxValue b, const std::optional<Wanted>& wanted);

  // ---- onnx_element_ops.cpp ----
  void elementwise(const GraphNode& node, Attributes& attributes);
  /// Handles an operand of a float network that is a number, or one per channel, without making a tensor of
  /// it.
  bool with_constant(const GraphNode& node, std::size_t constant);
  void linear(const GraphNode& node, Attributes& attributes);
  /// The maximum or minimum of tensors of one shape.
  void extreme(const GraphNode& node, Attributes& attributes);
  void quantised_elementwise(const GraphNode& node, Attributes& attributes);
  void pool(const GraphNode& node, Attributes& attributes);
  void quantised_pool(const GraphNode& node, Attributes& attributes);
  void reduce(const GraphNode& node, Attributes& attributes);
  OnnxValue with_neighbours(const OnnxValue& value, const std::vector<std::int64_t>& axes);
  void quantised_global_pool(const GraphNode& node, Attributes& attributes);
  void softmax(const GraphNode& node, Attributes& attributes);
  void causal_softmax(const GraphNode& node, Attributes& attributes);
  void function(const GraphNode& node, Attributes& attributes);
  OnnxValue combined(const std::string& op, OnnxValue a, OnnxValue b, const Wanted& wanted,
                     Rounding rounding);
  void combine(const GraphNode& node, const std::string& op, OnnxValue a, OnnxValue b, const Wanted& wanted);
  void average(const GraphNode& node, Attributes& attributes, OnnxValue x, const Wanted& wanted,
               Layout layout);
  void mean(const GraphNode& node, const std::string& op, OnnxValue x, std::vector<std::int64_t> axes,
            bool keep, const Wanted& wanted, Rounding rounding);
  // ---- onnx_tables.cpp ----
  /// Operators on single elements, in order: the last one's result is a function of the elements of `source`.
  struct Chain {
    std::size_t source = 0;
    std::vector<std::size_t> nodes;
  };
  /// Whether an operator on single elements has one result in float32; none: it is no such operator.
  static std::optional<bool> chain_promise(const std::string& op);
  std::vector<std::size_t> unknown_operands(const GraphNode& node) const;
  /// The longest chain that begins with node `first`; no nodes: there is none.
  Chain chain_from(std::size_t first) const;
  Chain ancestors(const Chain& chain) const;
  /// Whether only the chain reads its inner results.
  bool closed(const Chain& chain) const;
  /// Makes one table of the chain that begins with node `first`. Returns whether there is one.
  bool tabulated(std::size_t first);
  std::vector<std::int64_t> results_of(const Chain& chain, const Held& x, const Wanted& wanted) const;
  bool changes_nothing(const GraphNode& node) const;
  bool reads_reals(const GraphNode& node) const;
  OnnxValue real_operand(const GraphNode& node, std::size_t i);
  OnnxValue combined_reals(const std::string& op, OnnxValue a, OnnxValue b, const std::string& name);
  void real_elementwise(const GraphNode& node);
  void real_bounds(const GraphNode& node, double low, double high);
  void cast(const GraphNode& node, Attributes& attributes);
  void repeat(const GraphNode& node, Attributes& attributes);
  Held repeated(Held number, const Extents& shape, const std::string& name);

  // ---- onnx_window.cpp ----
  void layer_norm(const GraphNode& node, Attributes& attributes);
  void response_norm(const GraphNode& node, Attributes& attributes);
  void arg_max(const GraphNode& node, Attributes& attributes);
  /// Indices of the last maximum along the last axis of the holder, as int32.
  Held last_greatest(const OnnxValue& x, std::size_t axis, const std::string& name);
  /// The value with `axis` of the source as the last axis of its holder.
  OnnxValue with_last(const OnnxValue& value, std::size_t axis);
  void rows_softmax(const GraphNode& node, OnnxValue x, std::int64_t axis, bool one_axis,
                    const Wanted& wanted);

  // ---- onnx_shape_ops.cpp ----
  bool between_pairs(const GraphNode& node) const;
  void quantize(const GraphNode& node, Attributes& attributes);
  void dequantize(const GraphNode& node, Attributes& attributes);
  void dynamic_quantize(const GraphNode& node, Attributes& attributes);
  void transpose(const GraphNode& node, Attributes& attributes);
  void reshape(const GraphNode& node, Attributes& attributes);
  void concat(const GraphNode& node, Attributes& attributes);
  void quantised_concat(const GraphNode& node, Attributes& attributes);
  void pad(const GraphNode& node, Attributes& attributes);
  void resize(const GraphNode& node, Attributes& attributes);
  void slice(const GraphNode& node, Attributes& attributes);
  OnnxValue gathered(const OnnxValue& value, std::size_t axis, const Extents& indices,
                     const std::string& name);
  void split(const GraphNode& node, Attributes& attributes);
  void gather(const GraphNode& node, Attributes& attributes);
  void blocks(const GraphNode& node, Attributes& attributes);
  void same(const GraphNode& node, Attributes& attributes);
  void join(const GraphNode& node, std::vector<OnnxValue> parts, std::int64_t axis, const Wanted& wanted);

  // ---- onnx_host.cpp ----
  /// Makes float32 of the sums of a product of quantised operands that nothing quantises.
  void sums_to_reals(const GraphNode& node, float x_scale, const Kernels& kernels);
  /// Whether a Relu, a Clip or nothing stands between the result and the QuantizeLinear that alone reads it.
  bool quantised_behind(const GraphNode& node) const;
  /// Whether the host computes a node: it reads float32, or makes some that nothing quantises.
  bool stays_on_host(std::size_t index) const;
  OnnxValue host_layer(const std::string& name, const std::string& op, const std::vector<OnnxValue>& inputs,
                       const Extents& shape, const FieldsJson& fields = FieldsJson::object());
  OnnxValue host_reshaped(const OnnxValue& x, const Extents& shape, const std::string& name);
  OnnxValue host_operand(const GraphNode& node, std::size_t i);
  OnnxValue for_chip(const OnnxValue& value, const std::string& name);
  void host(const GraphNode& node, Attributes& attributes);
  void host_move(const GraphNode& node, Attributes& attributes, const std::string& op);
  void host_softmax(const GraphNode& node, Attributes& attributes);
  void host_reduction(const GraphNode& node, Attributes& attributes, const std::string& op);
  void host_convolution(const GraphNode& node, Attributes& attributes);
  void host_pool(const GraphNode& node, Attributes& attributes, const std::string& op);
  void host_product(const GraphNode& node, Attributes& attributes);
  void host_slice(const GraphNode& node, Attributes& attributes);

  // ---- onnx_values.cpp: operands and results ----
  const OnnxValue& value(const GraphNode& node, std::size_t i) const;
  bool has(const GraphNode& node, std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i].has_value();
  }
  /// The inputs; null where they are unknown.
  KnownInputs known(const GraphNode& node) const;
  /// The number or list in an input.
  std::vector<double> numbers(const GraphNode& node, std::size_t i) const;
  /// Operand `i` of a quantised operator, with scale and zero point of inputs s and z.
  OnnxValue quantised(const GraphNode& node, std::size_t i, std::size_t s, std::size_t z);
  /// Operand `i` of a real operator: integers that stand for real numbers; constants become inputs.
  OnnxValue real(const GraphNode& node, std::size_t i);
  /// The result of a quantised operator with scale input s and zero-point input z.
  static void read_pair_attributes(Attributes& attributes);
  Wanted quantised_result(const GraphNode& node, std::size_t s, std::size_t z) const;
  /// The result of a real operator: follows activations to a QuantizeLinear, or takes the calibrated range.
  /// `range`: the initial range.
  std::optional<Wanted> real_result(const GraphNode& node, std::size_t output = 0);
  Wanted need_result(const GraphNode& node, std::size_t output = 0);
  /// Sets the value of the tensor that the last result went to.
  void set(const GraphNode& node, OnnxValue made, std::size_t output = 0);
  OnnxValue made_of(const Held& held, const Extents& shape, const Extents& axes) const;
  /// The first result of a node that has been lowered.
  const OnnxValue& value_of_output(const GraphNode& node) const;
  Kernels kernels_of(const GraphNode& node, std::size_t i, std::int64_t axis, float x_scale,
                     std::size_t bias);
  void add_bias(const GraphNode& node, std::size_t bias, float x_scale, Kernels& kernels);

  // ---- onnx_layout.cpp ----
  static Extents layout_axes(Layout layout, std::size_t rank);
  /// `values` of the source in the order of its holder.
  static std::vector<double> in_held_order(const std::vector<double>& values, const SourceTensor& source);
  OnnxValue laid_out(OnnxValue value, const Extents& axes);
  OnnxValue laid_out(const OnnxValue& value, Layout layout);
  OnnxValue materialised(const OnnxValue& value);
  /// The value with leading axes of 1 up to `rank`.
  OnnxValue with_rank(const OnnxValue& value, std::size_t rank);
  OnnxValue held_constant(const Constant& constant, const Quantisation& quantisation,
                          const std::string& name);

  void add_inputs();
  void add_input(std::size_t index);
  std::optional<Quantisation> input_quantisation(std::size_t index) const;
  void lower(std::size_t index);
  void free_operands(std::size_t index);
  [[noreturn]] void decide(std::size_t index) const;
  bool folded(const GraphNode& node);
  void finish(ImportedNetwork& network);
  void name_product(const GraphNode& node);
  bool has_runtime_bytes() const;
  void add_float_reference(std::size_t index, const SourceTensor& tensor);
  OnnxValue output_constant(const OnnxValue& value, const std::string& name);
  void write_output(std::size_t index, std::size_t& copies);

  const ModelGraph& graph_;
  ImportOptions options_;
  const Calibration* calibration_;
  WorkloadBuilder builder_;
  Emitter emitter_;
  Problems problems_;
  FoldingBudget budget_;
  Layout input_layout_ = Layout::kPlain;
  std::vector<std::optional<OnnxValue>> values_;
  std::vector<std::vector<std::size_t>> readers_;  ///< nodes, by tensor
  std::set<std::string> referenced_;               ///< layers with values of the float network
  std::vector<bool> is_output_, done_;             ///< by tensor; by node
  std::vector<bool> is_quantised_;                 ///< by tensor: made by a QuantizeLinear
  std::map<std::size_t, OnnxValue> on_demand_;     ///< float32 inputs that calibration has quantised
  std::map<std::size_t, OnnxValue> on_host_;       ///< by tensor: as operators of the host read it
  std::optional<std::size_t> result_;              ///< tensor behind the activations that the last result has
};

}  // namespace tilebeat
