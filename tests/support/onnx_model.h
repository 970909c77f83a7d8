#pragma once

// ONNX models that tests write: nodes in a line of code, tensors of a few elements.

#include "../data/temporary_folder.h"
#include "import/imported.h"

#include <fstream>
#include <string>
#include <vector>

#include <onnx.pb.h>

namespace tilebeat::testing {

/// A model under construction.
class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t opset = 13) {
    for (const char* domain : {"", "com.microsoft"}) {
      auto* set = model_.add_opset_import();
      set->set_domain(domain);
      set->set_version(*domain == '\0' ? opset : 1);
    }
    model_.mutable_graph()->set_name("test");
  }
  onnx::Model& model() { return model_; }
  OnnxModel& input(const std::string& name, int type, const Extents& shape) {
    declare(*model_.mutable_graph()->add_input(), name, type, shape);
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    model_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  OnnxModel& floats(const std::string& name, const Extents& shape, const std::vector<float>& values) {
    onnx::Tensor& tensor = initializer(name, 1, shape);
    for (const float value : values) tensor.add_float_data(value);
    return *this;
  }
  /// int8 is type 3, uint8 2, int32 6.
  OnnxModel& integers(const std::string& name, int type, const Extents& shape,
                      const std::vector<int>& values) {
    onnx::Tensor& tensor = initializer(name, type, shape);
    for (const int value : values) tensor.add_int32_data(value);
    return *this;
  }
  OnnxModel& longs(const std::string& name, const Extents& shape, const std::vector<std::int64_t>& values) {
    onnx::Tensor& tensor = initializer(name, 7, shape);
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }
  onnx::Node& node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::string& domain = "") {
    onnx::Node& made = *model_.mutable_graph()->add_node();
    made.set_op_type(op);
    made.set_domain(domain);
    made.set_name(outputs.front() + "_node");
    for (const std::string& name : inputs) made.add_input(name);
    for (const std::string& name : outputs) made.add_output(name);
    return made;
  }
  static void attribute(onnx::Node& node, const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::Attribute& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(values.size() == 1 ? 2 : 7);
    if (values.size() == 1) made.set_i(values[0]);
    for (std::size_t i = 0; values.size() > 1 && i < values.size(); ++i) made.add_ints(values[i]);
  }
  /// The bytes of the model's file.
  std::string model_bytes() const { return model_.SerializeAsString(); }
  /// Writes the model into a folder; returns its path.
  std::string write(const TemporaryFolder& folder, const std::string& name = "model.onnx") const {
    std::ofstream stream(folder.path(name), std::ios::binary);
    stream << model_.SerializeAsString();
    return folder.path(name);
  }

 private:
  onnx::Tensor& initializer(const std::string& name, int type, const Extents& shape) {
    onnx::Tensor& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }
  static void declare(onnx::ValueInfo& info, const std::string& name, int type, const Extents& shape) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::int64_t extent : shape) tensor->mutable_shape()->add_dim()->set_dim_value(extent);
  }

  onnx::Model model_;
};

}  // namespace tilebeat::testing
