#include "reference/reference.h"

#include "host/host.h"
#include "reference/operators.h"
#include "tilebeat/error.h"

#include <algorithm>

namespace tilebeat {
Tensor reference_of(const Conv2d& conv, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  if (conv.form == ConvForm::kTransposed) return reference_conv_transpose(x, conv, output);
  if (conv.pixels == PixelAxes::kMap) return reference_conv2d(x.tensor, x.info, conv);
  if (conv.pixels == PixelAxes::kMatrices) return reference_matmul(inputs, conv, output);
  // Rows of A are stored as the pixels of one channel after the other.
  Tensor rows = x.tensor;
  TensorInfo info = x.info;
  const std::int64_t length = info.shape.back();
  rows.shape = info.shape = {1, 1, info.elements() / length, length};
  return {output.shape, output.dtype, reference_conv2d(rows, info, conv).bytes};
}

Tensor reference_of(const Reshape& /*operation*/, const Operands& inputs, const TensorInfo& output) {
  return {output.shape, output.dtype, inputs.front().tensor.bytes};
}

// A host is no part of the simulated chip: the same functions compute its layers in a run, which are not
// checked thereby.
Tensor reference_of(const HostOperation& operation, const Operands& inputs, const TensorInfo& output) {
  return compute_on_host(operation, inputs, output);
}

Tensor reference_layer(const Layer& layer, const std::vector<Operand>& inputs) {
  return std::visit([&](const auto& operation) { return reference_of(operation, inputs, layer.output); },
                    layer.operation);
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
  return Mismatch{layer, index, expected.wide_at(element), actual.wide_at(element)};
}

}  // namespace tilebeat
