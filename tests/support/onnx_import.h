#pragma once

#include "import/imported.h"
#include "onnx_model.h"
#include "reference/reference.h"
#include "workload/workload.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// Element types of ONNX.
constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6;

/// Adds an attribute to a node.
inline onnx::Node& add_float(onnx::Node& node, const char* name, float value) {
  onnx::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(1);
  attribute.set_f(value);
  return node;
}
inline void add_text(onnx::Node& node, const char* name, const char* value) {
  onnx::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(3);
  attribute.set_s(value);
}

/// Tests of imported ONNX models, which lie in a folder of their own.
class OnnxImport : public ::testing::Test {
 protected:
  ImportedNetwork imported(const OnnxModel& model, const ImportOptions& options = {}) const {
    return import_model(model.write(folder_), options);
  }
  static nlohmann::json workload_of(const ImportedNetwork& network) {
    return nlohmann::json::parse(network.files.at("workload.json"));
  }
  /// The workload, loaded as a run does it.
  Workload loaded(const ImportedNetwork& network) const {
    for (const auto& [name, bytes] : network.files) folder_.write(name, bytes);
    return load_workload(folder_.path("workload.json"));
  }
  /// The lines of the refusal.
  std::vector<std::string> reasons(const OnnxModel& model, const ImportOptions& options = {}) const {
    try {
      imported(model, options);
    } catch (const ImportError& error) {
      return error.lines();
    }
    return {};
  }
  /// Cosine of the output against the float network.
  double cosine(const OnnxModel& model, const std::string& output, const ImportOptions& options) const {
    const ImportedNetwork network = imported(model, options);
    const Workload workload = loaded(network);
    const auto made = run_reference(workload);
    for (const SourceTensor& tensor : network.tensors) {
      if (tensor.name == output)
        return quality_of(made.at(tensor.holder.value()), workload.float_references.at(*tensor.holder))
            .cosine;
    }
    return 0;
  }
  /// `count` samples of a smooth function.
  static ImportOptions samples(Extents shape, std::int64_t count) {
    shape[0] *= count;
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<double>(i * i % 977) * 0.37) + 0.2;
    ImportOptions options;
    options.calibration[""] = make_constant(ElementType::kFloat32, shape, values);
    return options;
  }
  static std::vector<float> wave(std::size_t count, double step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * step));
    return values;
  }

  TemporaryFolder folder_;
};

}  // namespace tilebeat::testing
