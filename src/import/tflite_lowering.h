#pragma once

#include "import/attributes.h"
#include "import/emitter.h"
#include "import/graph.h"
#include "import/imported.h"
#include "import/operator_table.h"
#include "import/problems.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tflite_generated.h>

namespace tilebeat {

/// Makes layers of the operators of a TensorFlow Lite file, whose tensors are NHWC and have their types,
/// shapes and scales.
class TfliteLowering {
 public:
  TfliteLowering(const ModelGraph& graph, const ImportOptions& options);
  ImportedNetwork run();
  /// What is promised of an operator; none: there is no layer of it.
  static std::optional<Promise> promise(const std::string& op);

 private:
  using Lower = void (TfliteLowering::*)(const GraphNode&, Attributes&);
  struct Row {
    Lower lower;
    Promise promise;
  };
  static const std::map<std::string, Row>& table();

  // ---- convolutions and products ----
  void convolution(const GraphNode& node, Attributes& attributes);
  void depthwise(const GraphNode& node, Attributes& attributes);
  void fully_connected(const GraphNode& node, Attributes& attributes);
  void transposed(const GraphNode& node, Attributes& attributes);
  Kernels kernels_of(const GraphNode& node, std::size_t weights, std::size_t bias, std::int64_t axis) const;
  /// Sets the kind of sums of an int16 map and checks the type of its bias (docs/arithmetic.md). `option`:
  /// the type of biases that the operator names.
  void set_sums(const GraphNode& node, const std::string& option, Kernels& kernels) const;

  // ---- single elements, windows and rows ----
  void elementwise(const GraphNode& node, Attributes& attributes);
  void pool(const GraphNode& node, Attributes& attributes);
  void mean(const GraphNode& node, Attributes& attributes);
  void reduce_extreme(const GraphNode& node, Attributes& attributes);
  void extreme(const GraphNode& node, Attributes& attributes);
  void slopes(const GraphNode& node, Attributes& attributes);
  void product(const GraphNode& node, Attributes& attributes);
  void softmax(const GraphNode& node, Attributes& attributes);
  void function(const GraphNode& node, Attributes& attributes);
  void requantize(const GraphNode& node, Attributes& attributes);
  void tabulated(const GraphNode& node, Attributes& attributes);
  void arg_max(const GraphNode& node, Attributes& attributes);
  void dequantize(const GraphNode& node, Attributes& attributes);

  // ---- movement of elements ----
  void reshape(const GraphNode& node, Attributes& attributes);
  void pad(const GraphNode& node, Attributes& attributes);
  void concatenation(const GraphNode& node, Attributes& attributes);
  void transpose(const GraphNode& node, Attributes& attributes);
  void resize(const GraphNode& node, Attributes& attributes);
  void blocks(const GraphNode& node, Attributes& attributes);
  void slice(const GraphNode& node, Attributes& attributes);
  void split(const GraphNode& node, Attributes& attributes);
  void split_by_lengths(const GraphNode& node, Attributes& attributes);
  void gather(const GraphNode& node, Attributes& attributes);
  void pack(const GraphNode& node, Attributes& attributes);
  void unpack(const GraphNode& node, Attributes& attributes);
  void space_to_batch(const GraphNode& node, Attributes& attributes);
  void batch_to_space(const GraphNode& node, Attributes& attributes);
  void emit_slice(const GraphNode& node, std::size_t output, const Extents& starts, const Extents& ends,
                  const Extents& steps);

  // ---- helpers of the operators ----
  const GraphTensor& input(const GraphNode& node, std::size_t i) const;
  const GraphTensor& output(const GraphNode& node, std::size_t i = 0) const;
  const Constant& constant(const GraphNode& node, std::size_t i) const;
  /// The tensor as it is held; constants become inputs. `rank`: aligned at the end to this number of axes.
  Held held(const GraphNode& node, std::size_t i, std::size_t rank = 0);
  Wanted wanted(const GraphNode& node, const std::string& activation = "NONE") const;
  void set(const GraphNode& node, const Held& held, std::size_t i = 0);
  /// Throws Unsupported unless type, scale and zero point of input and output are the same.
  /// int16 tensors may have several scales: kernels that move or compare their elements do not look at them.
  void need_same_scale(const GraphNode& node, std::size_t i, std::size_t o = 0) const;
  std::string layer_name(const GraphNode& node, std::size_t o = 0) const;

  /// Whether whole numbers alone are computed with: fixed and tflm.
  bool in_fixed_point() const;
  /// Throws Unsupported for tensors of int16 that the operator, or the arithmetic, does not have.
  void check_int16(const GraphNode& node) const;
  bool is_micro() const { return builder_.arithmetic() == Arithmetic::kTflm; }
  /// The axes of a reduction in the held tensor, which rise.
  Extents reduced_axes(const GraphNode& node) const;
  /// The tensor with `axes` next to each other, and where they are then; axes of one element are none.
  Held with_neighbours(const GraphNode& node, Held x, Extents& axes);

  void add_inputs();
  void lower(const GraphNode& node);
  void finish(ImportedNetwork& network);

  const ModelGraph& graph_;
  ImportOptions options_;
  WorkloadBuilder builder_;
  Emitter emitter_;
  Problems problems_;
  std::map<std::size_t, Held> held_;
  std::map<std::size_t, std::string> constants_;  ///< inputs that hold constants
};

/// The window of a convolution or pooling over `map` [N, H, W, C] with kernels [., Kh, Kw, .]: with SAME
/// padding the output has ceil(in / stride) pixels.
WindowFields tflite_window(Attributes& attributes, const Extents& map, const Extents& kernels, bool dilated);

/// Begin, end and step along each axis of SLICE and STRIDED_SLICE of a tensor of `shape`; `constant` gives
/// the operands. Throws Unsupported.
struct SliceBounds {
  Extents starts, ends, steps;
};
SliceBounds tflite_slice(const GraphNode& node, Attributes& attributes, const Extents& shape,
                         const std::function<const Constant&(std::size_t)>& constant);

/// "operator 3 making conv1", as messages name a node of TensorFlow Lite.
std::string node_text(const GraphNode& node, const ModelGraph& graph);

/// `axis` counted from the front. Throws Unsupported for an axis beyond the rank.
std::int64_t axis_in(std::int64_t axis, std::size_t rank);

/// The options of an operator as attributes, by the names of the schema. Pairs are [height, width]; padding
/// and activations are their names.
std::map<std::string, AttributeValue> tflite_options(const tflite::Operator& source);

}  // namespace tilebeat
