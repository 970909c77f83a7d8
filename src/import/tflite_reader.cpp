#include "base/types.h"
#include "import/graph.h"
#include "import/problems.h"
#include "import/tflite_lowering.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <tflite_generated.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostTables = 4'000'000;
constexpr std::size_t kDepth = 32;

ElementType type_of(tflite::TensorType type) {
  switch (type) {
    case tflite::TensorType::FLOAT32:
      return ElementType::kFloat32;
    case tflite::TensorType::FLOAT16:
      return ElementType::kFloat16;
    case tflite::TensorType::FLOAT64:
      return ElementType::kFloat64;
    case tflite::TensorType::INT8:
      return ElementType::kInt8;
    case tflite::TensorType::UINT8:
      return ElementType::kUint8;
    case tflite::TensorType::INT16:
      return ElementType::kInt16;
    case tflite::TensorType::INT32:
      return ElementType::kInt32;
    case tflite::TensorType::INT64:
      return ElementType::kInt64;
    case tflite::TensorType::BOOL:
      return ElementType::kBool;
    default:
      return ElementType::kOther;
  }
}

/// A verified file on its way into a ModelGraph.
class TfliteReader {
 public:
  explicit TfliteReader(const std::string& path) : path_(path), bytes_(read_model_bytes(path)) {
    // The identifier is in bytes 4 to 7, and the verifier reads it unchecked.
    flatbuffers::Verifier verifier(bytes_.data(), bytes_.size(), kDepth, kMostTables);
    if (bytes_.size() < 8 || !tflite::VerifyModelBuffer(verifier))
      fail("is no TensorFlow Lite file, or damaged: its tables do not verify");
    model_ = tflite::GetModel(bytes_.data());
    if (model_->version() != 3)
      fail(fmt::format("has version {}, only version 3 is read", model_->version()));
    if (!model_->subgraphs() || model_->subgraphs()->size() != 1)
      fail(fmt::format("has {} subgraphs, only models of one are read",
                       model_->subgraphs() ? model_->subgraphs()->size() : 0));
    subgraph_ = model_->subgraphs()->Get(0);
    if (!subgraph_ || !subgraph_->tensors() || !subgraph_->operators() || !subgraph_->inputs() ||
        !subgraph_->outputs())
      fail("has a subgraph without tensors, operators, inputs or outputs");
  }

  ModelGraph read() {
    graph_.format = ModelFormat::kTflite;
    graph_.path = path_;
    for (std::size_t i = 0; i < subgraph_->tensors()->size(); ++i) add_tensor(i);
    for (const std::int32_t i : *subgraph_->inputs()) graph_.inputs.push_back(tensor_index(i, "input"));
    for (const std::int32_t i : *subgraph_->outputs()) graph_.outputs.push_back(tensor_index(i, "output"));
    for (std::size_t i = 0; i < subgraph_->operators()->size(); ++i) add_operator(i);
    if (!problems_.empty()) problems_.refuse(path_);
    check_order(graph_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw UserError(one_line(fmt::format("{}: {}", path_, problem)));
  }

  std::size_t tensor_index(std::int32_t index, std::string_view what) const {
    if (index < 0 || to_size(index) >= graph_.tensors.size())
      fail(fmt::format("an {} is tensor {}, there are {}", what, index, graph_.tensors.size()));
    return to_size(index);
  }

  void add_tensor(std::size_t index) {
    const tflite::Tensor* source = subgraph_->tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
    GraphTensor made;
    made.name = source->name() && source->name()->size() > 0 ? source->name()->str()
                                                             : fmt::format("tensor {}", index);
    made.type = type_of(source->type());
    made.other_type = lower_case(tflite::EnumNameTensorType(source->type()));
    made.shape = Extents{};
    if (source->shape()) made.shape->assign(source->shape()->begin(), source->shape()->end());
    for (std::int64_t& extent : *made.shape) {
      if (extent < 0 || extent > kMaxDimension)
        fail(fmt::format("tensor {} has shape {}, extents of 0 to {} are read", index,
                         extents_text(*made.shape), kMaxDimension));
    }
    element_count(*made.shape);
    if (source->is_variable())
      problems_.add(made.name, "a variable tensor, which keeps its values from run to run");
    add_quantisation(*source, made);
    if (source->sparsity()) {
      problems_.add(made.name, "sparse weights; convert the network with dense ones");
    } else {
      add_data(*source, index, made);
    }
    graph_.tensors.push_back(std::move(made));
  }

  void add_quantisation(const tflite::Tensor& source, GraphTensor& made) {
    const tflite::QuantizationParameters* q = source.quantization();
    if (!q) return;
    if (q->details_type() != 0) problems_.add(made.name, "a quantisation that is not affine");
    Quantisation& quantisation = made.quantisation;
    if (q->scale()) quantisation.scales.assign(q->scale()->begin(), q->scale()->end());
    // The verifier does not ensure that 8-byte numbers are aligned to 8.
    if (q->zero_point()) quantisation.zero_points.resize(q->zero_point()->size());
    if (!quantisation.zero_points.empty())
      std::memcpy(quantisation.zero_points.data(), q->zero_point()->Data(),
                  quantisation.zero_points.size() * sizeof(std::int64_t));
    quantisation.axis = q->quantized_dimension();
    if (quantisation.scales.size() > 1 && quantisation.zero_points.size() == 1)
      quantisation.zero_points.resize(quantisation.scales.size(), quantisation.zero_points.front());
    if (quantisation.scales.size() != quantisation.zero_points.size())
      fail(fmt::format("tensor {} has {} scales and {} zero points", made.name, quantisation.scales.size(),
                       quantisation.zero_points.size()));
    check_quantisation(made);
  }

  void check_quantisation(const GraphTensor& tensor) const {
    const Quantisation& q = tensor.quantisation;
    const bool bad_scale = std::any_of(q.scales.begin(), q.scales.end(),
                                       [](float s) { return !(s > 0) || s > 1e9F || s < 1e-30F; });
    if (bad_scale) fail(fmt::format("tensor {} has a scale that is no positive number", tensor.name));
    if (q.scales.size() > 1 && (q.axis < 0 || q.axis >= to_signed(tensor.shape->size()) ||
                                nth((*tensor.shape), q.axis) != ssize(q.scales)))
      fail(fmt::format("tensor {} of shape {} has {} scales along axis {}", tensor.name,
                       extents_text(*tensor.shape), q.scales.size(), q.axis));
  }

  void add_data(const tflite::Tensor& source, std::size_t index, GraphTensor& made) {
    const auto* buffers = model_->buffers();
    if (source.buffer() == 0) return;
    if (!buffers || source.buffer() >= buffers->size())
      fail(fmt::format("tensor {} lies in buffer {}, there are {}", index, source.buffer(),
                       buffers ? buffers->size() : 0));
    const tflite::Buffer* buffer = buffers->Get(source.buffer());
    const std::uint8_t* begin = buffer->data() ? buffer->data()->data() : nullptr;
    std::uint64_t size = buffer->data() ? buffer->data()->size() : 0;
    if (buffer->offset() > 1) {  // data behind the tables
      if (buffer->offset() > bytes_.size() || buffer->size() > bytes_.size() - buffer->offset())
        fail(fmt::format("buffer {} lies beyond the end of the file", source.buffer()));
      begin = bytes_.data() + buffer->offset(), size = buffer->size();
    }
    if (size == 0) return;
    const std::int64_t elements = element_count(*made.shape);
    const bool four_bits = source.type() == tflite::TensorType::INT4;
    if (made.type == ElementType::kOther && !four_bits) return;
    const std::uint64_t wanted =
        four_bits ? (to_unsigned(elements) + 1) / 2 : to_unsigned(elements) * element_bytes(made.type);
    if (size != wanted)
      fail(fmt::format("tensor {} of {} {} needs {} bytes, its buffer has {}", index,
                       extents_text(*made.shape), type_text(made), wanted, size));
    if (four_bits) made.type = ElementType::kInt8;
    made.data = Constant{made.type, *made.shape, {begin, begin + size}, four_bits};
    if (four_bits) made.data->bytes = unpacked_halves(begin, elements, true);
  }

  void add_operator(std::size_t index) {
    const tflite::Operator* source = subgraph_->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
    const auto* codes = model_->operator_codes();
    if (!codes || source->opcode_index() >= codes->size())
      fail(fmt::format("operator {} has code {}, there are {}", index, source->opcode_index(),
                       codes ? codes->size() : 0));
    const tflite::OperatorCode* code = codes->Get(source->opcode_index());
    const auto builtin = static_cast<tflite::Builtin>(std::max<std::int32_t>(
        code->deprecated_builtin_code(), static_cast<std::int32_t>(code->builtin_code())));
    GraphNode node;
    node.op = tflite::EnumNameBuiltin(builtin);
    if (builtin == tflite::Builtin::CUSTOM)
      node.op = fmt::format("CUSTOM {}", code->custom_code() ? code->custom_code()->str() : "");
    if (node.op.empty()) node.op = fmt::format("operator {}", static_cast<std::int32_t>(builtin));
    add_ends(*source, node);
    node.name = fmt::format("{}", index);
    node.attributes = tflite_options(*source);
    graph_.nodes.push_back(std::move(node));
  }

  void add_ends(const tflite::Operator& source, GraphNode& node) const {
    if (source.inputs()) {
      for (const std::int32_t i : *source.inputs())
        node.inputs.push_back(i == -1 ? std::nullopt : std::optional(tensor_index(i, "input")));
    }
    if (source.outputs()) {
      for (const std::int32_t i : *source.outputs()) node.outputs.emplace_back(tensor_index(i, "output"));
    }
  }

  std::string path_;
  std::vector<std::uint8_t> bytes_;
  const tflite::Model* model_ = nullptr;
  const tflite::SubGraph* subgraph_ = nullptr;
  ModelGraph graph_;
  Problems problems_;
};

}  // namespace

ModelGraph read_tflite(const std::string& path) {
  return TfliteReader(path).read();
}

}  // namespace tilebeat
