#include "import/calibrate.h"
#include "import/graph.h"
#include "import/imported.h"
#include "import/onnx_lowering.h"
#include "import/tflite_lowering.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

ImportedNetwork import_onnx(const std::string& path, const ImportOptions& options) {
  ModelGraph graph = read_onnx(path);
  fold_constant_nodes(graph);
  if (options.calibration.empty()) return OnnxLowering(graph, options, nullptr).run();
  if (!is_float_network(graph))
    throw UserError(one_line(fmt::format("{}: --calibrate: is no float network", path)));
  shape_inputs(graph, options);
  rewrite_operators(graph);
  fold_batch_norms(graph);
  const Calibration calibration = calibrate(graph, options);
  return OnnxLowering(graph, options, &calibration).run();
}

}  // namespace

std::string tensors_json(const std::vector<SourceTensor>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SourceTensor& tensor : tensors) {
    nlohmann::ordered_json entry{{"index", tensor.index}, {"name", tensor.name}, {"holder", nullptr}};
    if (tensor.holder) entry["holder"] = *tensor.holder;
    if (tensor.holder && !tensor.axes.empty()) entry["shape"] = tensor.viewed, entry["axes"] = tensor.axes;
    if (tensor.scale)
      entry["scale"] = static_cast<double>(*tensor.scale), entry["zero_point"] = tensor.zero_point;
    if (tensor.sqnr_db) entry["sqnr_db"] = *tensor.sqnr_db, entry["cosine"] = tensor.cosine.value_or(0);
    list.push_back(std::move(entry));
  }
  return list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ImportedNetwork import_model(const std::string& path, ModelFormat format, const ImportOptions& options) {
  ImportedNetwork network;
  if (format == ModelFormat::kTflite) {
    const ModelGraph graph = read_tflite(path);
    network = TfliteLowering(graph, options).run();
  } else {
    network = import_onnx(path, options);
  }
  network.files["tensors.json"] = tensors_json(network.tensors);
  return network;
}

ImportedNetwork import_model(const std::string& path, const ImportOptions& options) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".onnx" && ending != ".tflite")
    throw UserError(one_line(fmt::format("{}: is neither .onnx nor .tflite", path)));
  return import_model(path, ending == ".tflite" ? ModelFormat::kTflite : ModelFormat::kOnnx, options);
}

}  // namespace tilebeat
