#include "import/calibrate.h"
#include "import/graph.h"
#include "import/imported.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"
#include "import/tflite_float.h"
#include "import/tflite_lowering.h"
#include "import/topology.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

/// Imports anew whenever a branch is decided: what it reads and makes may change all patterns.
template <class Import>
ImportedNetwork with_branches(ModelGraph& graph, const Import& import) {
  constexpr int kMostBranches = 256;
  for (int branch = 0; branch < kMostBranches; ++branch) {
    try {
      return import();
    } catch (const DecidedBranch& decided) {
      take_branch(graph, decided);
    } catch (const Unsupported& reason) {
      throw UserError(one_line(fmt::format("{}: {}", graph.path, reason.what())));
    }
  }
  throw UserError(one_line(fmt::format("{}: has more than {} branches", graph.path, kMostBranches)));
}

/// Quantises what is float32 in a network with the operators of ONNX.
ImportedNetwork quantised_network(ModelGraph& graph, const ImportOptions& options) {
  if (!has_float_parts(graph))
    throw UserError(one_line(
        fmt::format("{}: --calibrate: none of its inputs is float32, there is nothing to quantise; import it "
                    "without, or with --float-on-host where parts of it are float32",
                    graph.path)));
  shape_inputs(graph, options);
  return with_branches(graph, [&] {
    fold_constants(graph);
    quantise_before_moves(graph);
    fold_patterns(graph);
    fold_space_to_batch(graph);
    rewrite_operators(graph);
    fold_batch_norms(graph);
    const Calibration calibration = calibrate(graph, options);
    return OnnxLowering(graph, options, &calibration).run();
  });
}

ImportedNetwork import_onnx(const std::string& path, const ImportOptions& options) {
  ModelGraph graph = read_onnx(path);
  const auto quantised = [](const GraphNode& node) {
    return node.op.find("QuantizeLinear") != std::string::npos ||
           node.op.find("QLinear") != std::string::npos;
  };
  if (options.float_on_host && std::none_of(graph.nodes.begin(), graph.nodes.end(), quantised))
    throw UserError(one_line(
        fmt::format("{}: --float-on-host: nothing in it is quantised, a chip would compute none of it; "
                    "--calibrate X.npy quantises it with samples of its input",
                    path)));
  if (!options.calibration.empty()) return quantised_network(graph, options);
  return with_branches(graph, [&] {
    fold_constants(graph);
    quantise_before_moves(graph);
    fold_space_to_batch(graph);
    fold_biases(graph);
    return OnnxLowering(graph, options, nullptr).run();
  });
}

/// Whether the tensors between operators are float32, but for those that QUANTIZE and DEQUANTIZE make.
bool is_float(const ModelGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& node) {
    const auto real = [&](const std::optional<std::size_t>& tensor) {
      return tensor && graph.tensors[*tensor].type == ElementType::kFloat32;
    };
    return node.op != "DEQUANTIZE" && std::any_of(node.outputs.begin(), node.outputs.end(), real);
  });
}

/// Refuses int8 constants beside float32 tensors: the runtime quantises the others as it runs.
void refuse_hybrid(const ModelGraph& graph) {
  Problems problems;
  for (const GraphNode& node : graph.nodes) {
    const auto is = [&](const std::optional<std::size_t>& tensor, bool constant) {
      if (!tensor || graph.tensors[*tensor].data.has_value() != constant) return false;
      const GraphTensor& found = graph.tensors[*tensor];
      return constant ? is_byte(found.type) && found.quantisation.known()
                      : found.type == ElementType::kFloat32;
    };
    const auto any = [&](bool constant) {
      return std::any_of(node.inputs.begin(), node.inputs.end(),
                         [&](const auto& t) { return is(t, constant); });
    };
    if (node.op == "DEQUANTIZE" || node.op == "QUANTIZE" || !any(true) || !any(false)) continue;
    GraphNode named = node;
    named.name = node_text(node, graph);
    problems.add(
        named,
        "int8 weights beside float32 tensors, which a runtime quantises as it runs; convert the network "
        "with int8 activations, or as float32 for --calibrate");
  }
  if (!problems.empty()) problems.refuse(graph.path);
}

ImportedNetwork import_tflite(const std::string& path, const ImportOptions& options) {
  if (options.float_on_host)
    throw UserError(one_line(fmt::format(
        "{}: --float-on-host: is for ONNX files; --calibrate X.npy quantises what is float32", path)));
  ModelGraph graph = read_tflite(path);
  refuse_hybrid(graph);
  fold_dilated_convolutions(graph);
  const bool real = is_float(graph);
  if (options.calibration.empty()) {
    if (real)
      throw UserError(one_line(fmt::format(
          "{}: is a float network; --calibrate X.npy quantises it with samples of its input", path)));
    return TfliteLowering(graph, options).run();
  }
  if (!real)
    throw UserError(one_line(fmt::format("{}: --calibrate: is quantised already; import it without", path)));
  ModelGraph float_graph = float_form(graph);
  return quantised_network(float_graph, options);
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
  network = format == ModelFormat::kTflite ? import_tflite(path, options) : import_onnx(path, options);
  network.files["tensors.json"] = tensors_json(network.tensors);
  return network;
}

ImportedNetwork import_model(const std::string& path, const ImportOptions& options) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".csv") {
    constexpr std::int64_t kMostBytes = 16 << 20;
    ImportedNetwork network = import_topology(read_file(path, kMostBytes), path, options);
    network.files["tensors.json"] = tensors_json({});
    return network;
  }
  if (ending != ".onnx" && ending != ".tflite")
    throw UserError(one_line(fmt::format("{}: is no .onnx, .tflite or .csv", path)));
  return import_model(path, ending == ".tflite" ? ModelFormat::kTflite : ModelFormat::kOnnx, options);
}

}  // namespace tilebeat
