#include "reference/reference.h"

#include "reference/operators.h"
#include "tilebeat/error.h"

#include <algorithm>

namespace tilebeat {
namespace {

/// Sends a layer to the reference of its operator.
class Dispatch {
 public:
  Dispatch(const std::vector<Operand>& inputs, const TensorInfo& output) : inputs_(inputs), output_(output) {}

  Tensor operator()(const Conv2d& conv) const {
    if (conv.form == ConvForm::kTransposed) return reference_conv_transpose(x(), conv, output_);
    if (conv.pixels == PixelAxes::kMap) return reference_conv2d(x().tensor, x().info, conv);
    if (conv.pixels == PixelAxes::kMatrices) return reference_matmul(inputs_, conv, output_);
    // Rows of A are pixels of one channel after the other.
    Tensor rows = x().tensor;
    TensorInfo info = x().info;
    const std::int64_t length = info.shape.back();
    rows.shape = info.shape = {1, 1, info.elements() / length, length};
    return {output_.shape, output_.dtype, reference_conv2d(rows, info, conv).bytes};
  }
  Tensor operator()(const Pooling& pool) const { return reference_pool(x(), pool, output_); }
  Tensor operator()(const Elementwise& operation) const {
    return reference_elementwise(x(), inputs_.at(1), operation, output_);
  }
  Tensor operator()(const ByteFunction& function) const { return reference_function(x(), function, output_); }
  Tensor operator()(const ChannelScale& operation) const { return reference_scale(x(), operation, output_); }
  Tensor operator()(const Requantize& operation) const {
    return reference_requantize(x(), operation, output_);
  }
  Tensor operator()(const Softmax& operation) const { return reference_softmax(x(), operation, output_); }
  Tensor operator()(const Reshape&) const { return {output_.shape, output_.dtype, x().tensor.bytes}; }
  Tensor operator()(const Resize& resize) const { return reference_resize(x(), resize, output_); }
  Tensor operator()(const Pad& pad) const { return reference_pad(x(), pad, output_); }
  Tensor operator()(const Reduce& reduce) const { return reference_reduce(x(), reduce, output_); }
  Tensor operator()(const Quantize& quantize) const { return reference_quantize(x(), quantize, output_); }
  Tensor operator()(const Dequantize& operation) const {
    return reference_dequantize(x(), operation, output_);
  }
  Tensor operator()(const DynamicQuantize& operation) const {
    return reference_dynamic_quantize(x(), operation, output_);
  }
  Tensor operator()(const Concat& concat) const { return reference_concat(inputs_, concat, output_); }
  Tensor operator()(const RowNorm& norm) const { return reference_norm(x(), norm, output_); }
  Tensor operator()(const Lrn& lrn) const { return reference_lrn(x(), lrn, output_); }
  Tensor operator()(const ArgMax& operation) const { return reference_argmax(x(), operation, output_); }
  Tensor operator()(const Gather& gather) const { return reference_gather(x(), gather, output_); }
  Tensor operator()(const Move& move) const { return reference_move(x(), move, output_); }

 private:
  const Operand& x() const { return inputs_.front(); }

  const std::vector<Operand>& inputs_;
  const TensorInfo& output_;
};

}  // namespace

Tensor reference_layer(const Layer& layer, const std::vector<Operand>& inputs) {
  return std::visit(Dispatch(inputs, layer.output), layer.operation);
}

std::map<std::string, Tensor> run_reference(const Workload& workload,
                                            const std::function<void(std::size_t)>& progress) {
  std::map<std::string, Tensor> outputs;
  for (const Layer& layer : workload.layers) {
    std::vector<Operand> inputs;
    for (const std::string& name : layer.inputs) {
      const auto made = outputs.find(name);
      inputs.push_back(
          {made == outputs.end() ? workload.input_data.at(name) : made->second, workload.tensor(name)});
    }
    outputs[layer.name] = reference_layer(layer, inputs);
    if (progress) progress(outputs.size());
  }
  return outputs;
}

std::optional<Mismatch> first_mismatch(const std::string& layer, const Tensor& expected,
                                       const Tensor& actual) {
  if (expected.shape != actual.shape || expected.dtype != actual.dtype ||
      expected.bytes.size() != actual.bytes.size()) {
    throw SimulationError("layer " + layer + ": the output has not the expected shape and type");
  }
  const auto different =
      std::mismatch(expected.bytes.begin(), expected.bytes.end(), actual.bytes.begin()).first;
  if (different == expected.bytes.end()) return std::nullopt;
  const std::int64_t element = (different - expected.bytes.begin()) / dtype_size(expected.dtype);
  std::vector<std::int64_t> index(expected.shape.size());
  std::int64_t rest = element;
  for (std::size_t axis = index.size(); axis-- > 0; rest /= expected.shape[axis]) {
    index[axis] = rest % expected.shape[axis];
  }
  return Mismatch{layer, index, expected.at(element), actual.at(element)};
}

}  // namespace tilebeat
