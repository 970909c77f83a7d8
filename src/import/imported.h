#pragma once

#include "base/numerics.h"
#include "import/four_bits.h"
#include "import/graph.h"
#include "tilebeat/error.h"
#include "workload/tensor.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A model that cannot be imported: `what()` has the number of nodes that prevent it, `lines` the nodes for
/// every reason (SPEC RN-1).
class ImportError : public UserError {
 public:
  ImportError(const std::string& summary, std::vector<std::string> lines)
      : UserError(summary), lines_(std::move(lines)) {}
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// The fate of a source tensor in the workload.
struct SourceTensor {
  std::size_t index = 0;
  std::string name;
  std::optional<std::string> holder;  ///< the layer or input with its elements; none: it was folded
  Extents axes;                       ///< axis i of the holder is this axis of the source; empty: same order
  Extents viewed;                     ///< with `axes`: the shape of the source before its axes are reordered
  std::optional<float> scale;         ///< for tensors with a single scale
  std::int64_t zero_point = 0;
  /// For float networks, once known: signal to quantisation noise and cosine against the float values.
  std::optional<double> sqnr_db = std::nullopt, cosine = std::nullopt;
};

/// The result of an import.
struct ImportedNetwork {
  std::map<std::string, std::string> files;  ///< by name: workload.json, tensors.json, .npy files
  std::vector<SourceTensor> tensors;
  std::size_t nodes = 0, layers = 0;
  /// Layers whose bytes may differ from the runtime's, because NU-6 does not name their operators.
  std::vector<std::string> exact_layers;
  std::vector<std::string> layer_sources;  ///< the node of the model file, by layer of the workload
};

/// The text of tensors.json.
std::string tensors_json(const std::vector<SourceTensor>& tensors);

/// The user's options of an import.
struct ImportOptions {
  std::optional<Arithmetic> arithmetic;  ///< none: fixed for TFLite, float32_ort for ONNX
  bool keep_all = false;                 ///< every activation is an output
  /// Samples by input, stacked along the first axis; "" names the only input. Float networks are quantised
  /// with them.
  std::map<std::string, Constant> calibration;
  bool float_on_host = false;            ///< float32 parts of a quantised network are computed by the host
  double percentile = 100;               ///< percentage of magnitudes that a scale covers; 100: all
  std::optional<FourBitForm> four_bits;  ///< of the weights of float networks
};

/// The network of a model file, or of a topology (topology.h), as a workload. Throws UserError for a damaged
/// file, ImportError with the whole list for one that has unsupported parts (SPEC RN-1 to RN-3).
ImportedNetwork import_model(const std::string& path, const ImportOptions& options);
/// The same for a file whose name does not tell its format.
ImportedNetwork import_model(const std::string& path, ModelFormat format, const ImportOptions& options);

}  // namespace tilebeat
