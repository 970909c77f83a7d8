#pragma once

#include "import/attributes.h"
#include "import/emitter.h"
#include "import/graph.h"
#include "import/imported.h"
#include "import/problems.h"

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

 private:
  using Lower = void (TfliteLowering::*)(const GraphNode&, Attributes&);
  static const std::map<std::string, Lower>& table();

  // ---- convolutions and products ----
  void convolution(const GraphNode& node, Attributes& attributes);
  void depthwise(const GraphNode& node, Attributes& attributes);
  void fully_connected(const GraphNode& node, Attributes& attributes);
  void transposed(const GraphNode& node, Attributes& attributes);
  Kernels kernels_of(const GraphNode& node, std::size_t weights, std::size_t bias, std::int64_t axis) const;

  // ---- single elements, windows and rows ----
  void elementwise(const GraphNode& node, Attributes& attributes);
  void pool(const GraphNode& node, Attributes& attributes);
  void mean(const GraphNode& node, Attributes& attributes);
  void softmax(const GraphNode& node, Attributes& attributes);
  void function(const GraphNode& node, Attributes& attributes);
  void requantize(const GraphNode& node, Attributes& attributes);
  void dequantize(const GraphNode& node, Attributes& attributes);

  // ---- movement of elements ----
  void reshape(const GraphNode& node, Attributes& attributes);
  void pad(const GraphNode& node, Attributes& attributes);
  void concatenation(const GraphNode& node, Attributes& attributes);
  void transpose(const GraphNode& node, Attributes& attributes);
  void resize(const GraphNode& node, Attributes& attributes);
  void blocks(const GraphNode& node, Attributes& attributes);
  void slice(const GraphNode& node, Attributes& attributes);
  void strided_slice(const GraphNode& node, Attributes& attributes);
  void split(const GraphNode& node, Attributes& attributes);
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
  void need_same_scale(const GraphNode& node, std::size_t i, std::size_t o = 0) const;
  std::string layer_name(const GraphNode& node, std::size_t o = 0) const;

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

/// The options of an operator as attributes, by the names of the schema. Pairs are [height, width]; padding
/// and activations are their names.
std::map<std::string, AttributeValue> tflite_options(const tflite::Operator& source);

}  // namespace tilebeat
