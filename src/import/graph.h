#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilebeat {

using Extents = std::vector<std::int64_t>;

/// Element types of the tensors of a model file. kOther: one that no importer looks into.
enum class ElementType : std::uint8_t {
  kFloat32,
  kFloat16,
  kFloat64,
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kBool,
  kOther
};
inline bool is_byte(ElementType type);
/// Whether elements are those of quantised maps: bytes or int16.
inline bool is_quantised(ElementType type) {
  return is_byte(type) || type == ElementType::kInt16;
}
inline bool is_byte(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kUint8;
}

/// Bytes of one element; 0 of kOther.
std::size_t element_bytes(ElementType type);
/// The name in messages, such as "int8".
std::string_view element_name(ElementType type);
/// "[1, 3, 8, 8]".
std::string extents_text(const Extents& extents);
/// The product of the extents. Throws UserError when one is negative or there are more than 2^31 elements.
std::int64_t element_count(const Extents& extents);

/// The form of weights of four bits: in groups of so many along K, with zero points or without; a group of 0
/// has all weights of an output channel.
struct FourBitForm {
  int group = 0;
  bool zero_points = false;
};

/// The form for weights in blocks of `block`: its groups are the largest that blocks consist of; none where
/// they are of no size that groups have.
std::optional<FourBitForm> four_bit_form(std::int64_t block, bool zero_points);

/// A tensor whose elements the file holds: C order, little-endian.
struct Constant {
  ElementType type = ElementType::kFloat32;
  Extents shape;
  std::vector<std::uint8_t> bytes;
  bool four_bits = false;  ///< int8 or uint8, of a file that stores them as int4 or uint4
  /// float32 that the file stores with four bits in blocks: the form that is nearest to it
  std::optional<FourBitForm> blocks = std::nullopt;

  std::int64_t elements() const { return element_count(shape); }
  /// All elements, widened. int64 beyond 2^53 loses its low bits.
  std::vector<double> values() const;
  /// All elements of an integer type; floats are rounded towards zero and limited to int64.
  std::vector<std::int64_t> integers() const;
};

/// The `count` int4, or uint4, that a file stores two a byte, the low half first, as int8, or uint8; their
/// order is C order. There are as many halves.
std::vector<std::uint8_t> unpacked_halves(const std::uint8_t* bytes, std::int64_t count, bool is_signed);
/// `values` as a tensor: rounded to the nearest float, limited to the range of an integer type.
Constant make_constant(ElementType type, Extents shape, const std::vector<double>& values);

/// The real numbers of a tensor's integers: (q - zero_point) * scale, with one scale per tensor or per index
/// of `axis`.
struct Quantisation {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  std::int64_t axis = 0;

  bool known() const { return !scales.empty(); }
};

/// A tensor of the model file.
struct GraphTensor {
  std::string name;
  ElementType type = ElementType::kOther;
  std::optional<Extents> shape;
  Extents open_shape;  ///< where the shape is unknown: -1 for axes without a number; empty: no rank
  Quantisation quantisation;
  std::optional<Constant> data;
  std::string other_type = {};  ///< the name of a type that no importer looks into
};
/// The name of its type in messages.
std::string type_text(const GraphTensor& tensor);
/// The name of ONNX's number for a type, such as "uint16".
std::string onnx_type_name(std::int32_t type);

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    std::vector<float>, std::vector<std::string>, Constant>;

struct GraphNode;

/// A branch of an If: nodes over tensors of the model's list, some of them the model's own.
struct GraphBody {
  std::string name;  ///< "then_branch" or "else_branch"
  std::vector<GraphNode> nodes;
  std::vector<std::size_t> outputs;  ///< tensors
};

/// An operator of the model file.
struct GraphNode {
  std::string name;
  std::string op;  ///< as in the file, other domains than ONNX's with a prefix: "com.microsoft.QGemm"
  std::vector<std::optional<std::size_t>> inputs;  ///< tensors; an optional one may be left out
  std::vector<std::optional<std::size_t>> outputs;
  std::map<std::string, AttributeValue> attributes;
  /// The branches of an If, whose inputs behind the condition are the tensors that the branches read.
  std::vector<GraphBody> bodies = {};
};

/// The format of a model file, which determines the meaning of its operators.
enum class ModelFormat : std::uint8_t { kOnnx, kTflite };

/// The unchanged contents of a model file. Nodes are in an order in which every tensor is made before it is
/// read.
struct ModelGraph {
  ModelFormat format = ModelFormat::kOnnx;
  std::string path;
  std::int64_t opset = 0;  ///< of ONNX
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  std::vector<std::size_t> inputs, outputs;  ///< tensors
};

/// The nodes whose results nothing reads; those of `without` read nothing and are not among them.
std::set<std::size_t> unread_nodes(const ModelGraph& graph, const std::set<std::size_t>& without = {});

/// Reads an ONNX file with its external data. Throws UserError naming the file when it is damaged, or
/// ImportError when it has parts that no importer looks into.
ModelGraph read_onnx(const std::string& path);

/// Reads a TensorFlow Lite file. Throws UserError naming the file when it is damaged, or ImportError.
ModelGraph read_tflite(const std::string& path);

/// Throws UserError unless every tensor is made once, before it is read, and all inputs and outputs of the
/// model are tensors that a node makes or the model is given: a file with a cycle fails here.
void check_order(const ModelGraph& graph);

/// Turns nodes that depend on constants and on shapes of inputs alone into initializers, so that readers find
/// them at any place, takes the branch of an If whose condition is known, and frees what nothing reads any
/// more. Throws ImportError where that takes more than the limits of `FoldingBudget`.
void fold_constants(ModelGraph& graph);

/// The condition of an If that turned out to be known while the network was lowered or run.
struct DecidedBranch {
  std::size_t node = 0;  ///< of the graph
  bool condition = false;
};
/// Replaces an If by the nodes of its branch. Throws UserError where they read what nothing makes.
void take_branch(ModelGraph& graph, const DecidedBranch& decided);

/// Makes one node of patterns that frameworks write for an operator of a float network: MatMul, Conv or Gemm
/// with the addition of a bias behind it (a third operand, of MatMul too), a product with a scalar factor
/// (the attribute "alpha" of MatMul), LayerNormalization, and RMSNormalization.
void fold_patterns(ModelGraph& graph);
/// The biases among them alone, in a quantised network: the product gets the attribute "added_bias", since a
/// runtime adds in float32.
void fold_biases(ModelGraph& graph);

/// Puts QuantizeLinear in front of moves behind an operator, which gives the same elements, so that it stands
/// right behind the operator.
void quantise_before_moves(ModelGraph& graph);

/// Makes one dilated convolution of a convolution of phases: moves that divide a map into planes of every
/// b-th pixel, however they are spelled, a dense convolution, and moves that put its result together.
void fold_space_to_batch(ModelGraph& graph);

/// Replaces operators of a float network by those that layers can be made of, before calibration: sums and
/// means of more than two tensors, powers, absolute values, PRelu, bounds of one number, further reductions,
/// and transposed convolutions with groups or dilation (as plain ones with zeros in their kernels).
void rewrite_operators(ModelGraph& graph);

}  // namespace tilebeat
