#include "base/types.h"
#include "import/attributes.h"
#include "import/graph.h"
#include "import/problems.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <onnx.pb.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kOldestOpset = 6, kNewestOpset = 25;

// Values of onnx::Attribute::type.
enum AttributeKind {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8
};

constexpr std::size_t kDeepestBody = 16;  // branches within branches

/// Converts a parsed protobuf message into a ModelGraph.
class OnnxReader {
 public:
  explicit OnnxReader(const std::string& path) : path_(path) {
    const std::vector<std::uint8_t> bytes = read_model_bytes(path);
    if (bytes.size() > INT32_MAX || !model_.ParseFromArray(bytes.data(), count_of(bytes)))
      fail("is no ONNX file, or damaged: its messages cannot be read");
    if (!model_.has_graph() || model_.opset_import_size() == 0)
      fail("is no ONNX model: it has no graph or no opset");
  }

  ModelGraph read() {
    graph_.format = ModelFormat::kOnnx;
    graph_.path = path_;
    read_opset();
    const onnx::Graph& source = model_.graph();
    for (const onnx::Function& function : model_.functions())
      problems_.add(function.name(), "a function of the model's own");
    for (const onnx::SparseTensor& tensor : source.sparse_initializer())
      problems_.add(tensor.values().name(), "a sparse initializer");
    for (const onnx::Tensor& tensor : source.initializer()) add_initializer(tensor);
    for (const onnx::ValueInfo& info : source.input()) add_input(info);
    for (int i = 0; i < source.node_size(); ++i) graph_.nodes.push_back(read_node(source.node(i), i));
    for (const auto* infos : {&source.value_info(), &source.output()}) {
      for (const onnx::ValueInfo& info : *infos) declare(info);
    }
    for (const onnx::ValueInfo& info : source.output()) graph_.outputs.push_back(tensor_named(info.name()));
    if (graph_.outputs.empty()) fail("has no outputs");
    if (!problems_.empty()) problems_.refuse(path_);
    check_order(graph_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UserError(one_line(fmt::format("{}: {}", path_, problem)));
  }

  void read_opset() {
    for (const onnx::OperatorSet& set : model_.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") graph_.opset = set.version();
    }
    if (graph_.opset != 0 && (graph_.opset < kOldestOpset || graph_.opset > kNewestOpset))
      fail(fmt::format("has opset {}, {} to {} are read", graph_.opset, kOldestOpset, kNewestOpset));
  }

  /// The tensor that a node reads: the innermost one of that name.
  std::size_t tensor_named(const std::string& name) {
    for (std::size_t scope = scopes_.size(); scope-- > 0;) {
      const auto found = scopes_[scope].names.find(name);
      if (found == scopes_[scope].names.end()) continue;
      for (std::size_t inner = scope + 1; inner < scopes_.size(); ++inner)
        scopes_[inner].captured.insert(found->second);
      return found->second;
    }
    return own_tensor(name);
  }
  /// The tensor of that name of the innermost graph.
  std::size_t own_tensor(const std::string& name) {
    const auto [found, added] = scopes_.back().names.emplace(name, graph_.tensors.size());
    if (added) {
      graph_.tensors.emplace_back();
      graph_.tensors.back().name = name;
    }
    return found->second;
  }

  void add_initializer(const onnx::Tensor& source) {
    GraphTensor& tensor = graph_.tensors[own_tensor(source.name())];
    if (tensor.data) fail(fmt::format("has two initializers {}", source.name()));
    Constant data = onnx_constant(source, path_);
    tensor.type = data.type;
    tensor.shape = data.shape;
    if (data.type == ElementType::kOther)
      problems_.add(source.name(), fmt::format("an initializer of {}", onnx_type_name(source.data_type())));
    tensor.data = std::move(data);
  }

  void add_input(const onnx::ValueInfo& info) {
    const std::size_t index = tensor_named(info.name());
    if (graph_.tensors[index].data) return;  // one with a default, which it keeps
    declare(info);
    graph_.inputs.push_back(index);
  }

  /// Sets the type and shape that the file declares for a tensor; a batch without a number is 1.
  void declare(const onnx::ValueInfo& info) {
    GraphTensor& tensor = graph_.tensors[tensor_named(info.name())];
    if (!info.type().has_tensor_type() || tensor.data) return;
    const auto& type = info.type().tensor_type();
    tensor.type = onnx_type(type.elem_type());
    tensor.other_type = onnx_type_name(type.elem_type());
    if (!type.has_shape()) return;
    Extents shape;
    bool open = false;
    for (const auto& dim : type.shape().dim()) {
      const bool known = dim.value_case() == onnx::Shape::Dimension::kDimValue;
      open = open || (!known && !shape.empty());
      shape.push_back(known ? dim.dim_value() : shape.empty() ? 1 : -1);
      if (known && (shape.back() < 0 || shape.back() > kMaxDimension))
        fail(fmt::format("tensor {} has an extent of {}", info.name(), shape.back()));
    }
    if (open) {
      tensor.open_shape = std::move(shape);
      return;
    }
    element_count(shape);
    tensor.shape = std::move(shape);
  }

  GraphNode read_node(const onnx::Node& source, int index) {
    GraphNode node;
    const bool standard = source.domain().empty() || source.domain() == "ai.onnx";
    node.op = standard ? source.op_type() : source.domain() + "." + source.op_type();
    node.name = !source.name().empty() ? source.name() : fmt::format("{} {}", source.op_type(), index);
    for (const std::string& name : source.input())
      node.inputs.push_back(name.empty() ? std::nullopt : std::optional(tensor_named(name)));
    for (const std::string& name : source.output())
      node.outputs.push_back(name.empty() ? std::nullopt : std::optional(own_tensor(name)));
    for (const onnx::Attribute& attribute : source.attribute()) add_attribute(attribute, node);
    return node;
  }

  /// A branch of an If. What it reads of the graph around it becomes an input of the node.
  void add_body(const onnx::Attribute& a, GraphNode& node) {
    if (scopes_.size() > kDeepestBody)
      fail(fmt::format("has more than {} graphs within graphs", kDeepestBody));
    GraphBody body;
    body.name = a.name();
    scopes_.emplace_back();
    for (const onnx::Tensor& tensor : a.g().initializer()) add_initializer(tensor);
    for (int i = 0; i < a.g().node_size(); ++i) body.nodes.push_back(read_node(a.g().node(i), i));
    for (const onnx::ValueInfo& info : a.g().output()) body.outputs.push_back(tensor_named(info.name()));
    const std::set<std::size_t> captured = std::move(scopes_.back().captured);
    scopes_.pop_back();
    node.inputs.insert(node.inputs.end(), captured.begin(), captured.end());
    node.bodies.push_back(std::move(body));
  }

  static int kind_of(const onnx::Attribute& a) {
    if (a.type() != 0) return a.type();  // files of the first versions have none
    if (a.has_f()) return kFloat;
    if (a.has_i()) return kInt;
    if (a.has_s()) return kString;
    if (a.has_t()) return kTensor;
    if (a.has_g()) return kGraph;
    return a.floats_size() > 0 ? kFloats : a.ints_size() > 0 ? kInts : kStrings;
  }

  void add_attribute(const onnx::Attribute& a, GraphNode& node) {
    const auto put = [&](AttributeValue value) {
      if (!node.attributes.emplace(a.name(), std::move(value)).second)
        fail(fmt::format("node {} has two attributes {}", node.name, a.name()));
    };
    if (!a.ref_attr_name().empty())
      problems_.add(node, fmt::format("its attribute {} is a reference", a.name()));
    switch (kind_of(a)) {
      case kFloat:
        return put(a.f());
      case kInt:
        return put(std::int64_t{a.i()});
      case kString:
        return put(a.s());
      case kTensor:
        return put(onnx_constant(a.t(), path_));
      case kFloats:
        return put(std::vector<float>(a.floats().begin(), a.floats().end()));
      case kInts:
        return put(std::vector<std::int64_t>(a.ints().begin(), a.ints().end()));
      case kStrings:
        return put(std::vector<std::string>(a.strings().begin(), a.strings().end()));
      case kGraph:
        if (node.op == "If") return add_body(a, node);
        return problems_.add(
            node, fmt::format("its attribute {} is a graph: how often it runs depends on data; export the "
                              "network with its loops unrolled",
                              a.name()));
      default:
        problems_.add(node, fmt::format("its attribute {} is of a kind that is not read", a.name()));
    }
  }

  std::string path_;
  onnx::Model model_;
  ModelGraph graph_;
  Problems problems_;
  /// The tensors of a graph by name, and those of the graphs around it that it reads.
  struct Scope {
    std::unordered_map<std::string, std::size_t> names;
    std::set<std::size_t> captured;
  };
  std::vector<Scope> scopes_{1};  ///< the model's graph first, then those that are being read within it
};

}  // namespace

ModelGraph read_onnx(const std::string& path) {
  return OnnxReader(path).read();
}

}  // namespace tilebeat
