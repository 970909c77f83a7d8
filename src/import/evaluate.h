#pragma once

#include "import/attributes.h"
#include "import/graph.h"
#include "import/problems.h"

#include <array>
#include <string>
#include <vector>

namespace tilebeat {

/// Not in files: a softmax of rows of scores, whose row i sees the elements i + past - window + 1 to i +
/// past; with a window of 0 all to i + past. A product of two results behind it is attention.
constexpr const char* kCausalSoftmax = "tilebeat.CausalSoftmax";

/// The known inputs of a node; null for one that is left out.
using KnownInputs = std::vector<const Constant*>;
/// Input `i`. Throws Unsupported where it is left out.
const Constant& need(const KnownInputs& inputs, std::size_t i);

/// The outputs of an ONNX operator, computed in double and rounded to the output's type: used to fold
/// constants and to run float networks (SPEC RN-3). Throws Unsupported for unknown operators and attributes.
std::vector<Constant> evaluate(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset);
/// What an import may spend on constants: 2^31 operations and results of 1 GiB that are needed at one time
/// (SPEC RN-7).
class FoldingBudget {
 public:
  /// The same as the function `evaluate`. Throws `Exceeded` where the rest of the budget does not suffice.
  class Exceeded : public Unsupported {
    using Unsupported::Unsupported;
  };
  std::vector<Constant> evaluate(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset);
  /// Counts a result that is kept, and one that nothing reads any more.
  void keep(const Constant& made);
  void free(const Constant& made) { bytes_ -= made.bytes.size(); }

 private:
  double operations_ = 0;
  std::size_t bytes_ = 0;
};
/// Whether `evaluate` computes the operator.
bool evaluates(const std::string& op);

/// Finds the shapes of tensors by running a network over zeros.
class ShapeRun {
 public:
  explicit ShapeRun(const ModelGraph& graph) : graph_(graph) {}
  void run(const GraphNode& node);
  /// The shape of a tensor; none of one that nodes so far do not make, or with operators that are not
  /// evaluated.
  const std::optional<Extents>& shape(std::size_t tensor);
  void forget(std::size_t tensor);  ///< frees its elements

 private:
  const Constant* value(std::size_t tensor);
  void grow();

  const ModelGraph& graph_;
  std::vector<std::optional<Extents>> shapes_;
  std::vector<std::optional<Constant>> values_;
};

/// Number of elements of a result of this shape. Throws Unsupported for more than 2^27.
std::size_t room_for(const Extents& shape);
/// The result's shape of a Reshape, Flatten, Squeeze or Unsqueeze of a tensor of shape `from`.
Extents moved_shape(const GraphNode& node, const Extents& from, const KnownInputs& inputs,
                    Attributes& attributes);
/// The shape of a reshape to `wish`: 0 is the input's extent unless `zeros_stay`, one -1 stands for the rest.
Extents reshaped(const Extents& from, const std::vector<std::int64_t>& wish, bool zeros_stay);
/// `axis` counted from the front. Throws Unsupported for an axis beyond the rank.
std::size_t axis_of(std::int64_t axis, std::size_t rank);
/// The axes of a reduction, Squeeze or Unsqueeze: an attribute or, in later opsets, input 1; none: not given.
std::optional<std::vector<std::int64_t>> axes_of(Attributes& attributes, const KnownInputs& inputs);
/// The common extents of both shapes, aligned at their ends, with extents of 1 repeated. Throws Unsupported.
Extents broadcast_shape(const Extents& a, const Extents& b);

/// Begin, end and step along each axis of a Slice.
struct SliceRange {
  Extents starts, ends, steps;
  Extents shape;
};
SliceRange read_slice(Attributes& attributes, const KnownInputs& inputs, const Extents& shape);
/// The lengths of the parts of a Split.
std::vector<std::int64_t> read_split(Attributes& attributes, const KnownInputs& inputs, std::int64_t extent,
                                     std::size_t outputs);
/// Pads before and after each axis of a Pad, with the value of mode "constant".
struct PadSides {
  Extents before, after;
  double value = 0;
  std::string mode = "constant";  ///< or "edge", "reflect", "wrap"

  /// Source indices along `axis` of `extent` elements after padding, in modes other than "constant".
  Extents sources(std::size_t axis, std::int64_t extent) const;
};
PadSides read_pad(Attributes& attributes, const KnownInputs& inputs, std::size_t rank);

// The groups of operators, one file each.
using Evaluated = std::vector<Constant>;
Evaluated evaluate_element(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                           Attributes& attributes);
Evaluated evaluate_window(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                          Attributes& attributes);
Evaluated evaluate_movement(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                            Attributes& attributes);
Evaluated evaluate_product(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                           Attributes& attributes);
Evaluated evaluate_norm(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                        Attributes& attributes);
Evaluated evaluate_index(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                         Attributes& attributes);
bool is_index_op(const std::string& op);
Evaluated evaluate_logic(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset,
                         Attributes& attributes);
bool is_logic_op(const std::string& op);
bool is_norm_op(const std::string& op);
bool is_element_op(const std::string& op);
bool is_window_op(const std::string& op);
bool is_movement_op(const std::string& op);
bool is_product_op(const std::string& op);

/// The rule of a Resize or an Upsample of [N, C, H, W], in terms of the workload's `resize`.
struct ResizeRule {
  std::array<std::int64_t, 2> size{1, 1};
  std::string mode;         ///< "nearest" or "bilinear"
  std::string coordinates;  ///< "half_pixel", "pytorch_half_pixel", "align_corners" or "asymmetric"
  std::string nearest;      ///< "floor", "ceil", "round_prefer_floor" or "round_prefer_ceil"
};

/// Throws Unsupported for other rules, and for scales that are not quotients of the sizes, as the workload's
/// operator has exact positions.
ResizeRule read_resize(const GraphNode& node, Attributes& attributes, const KnownInputs& inputs,
                       const Extents& shape, std::int64_t opset);

}  // namespace tilebeat
