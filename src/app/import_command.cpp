#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/progress.h"
#include "import/imported.h"
#include "reference/reference.h"
#include "report/text_table.h"
#include "tilebeat/error.h"
#include "workload/npy.h"
#include "workload/workload.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

/// A refusal of "workload.json: /layers/3/axes: ..." as one of the node that the layer is made of.
std::string in_words_of_the_source(const std::string& reason, const ImportedNetwork& network) {
  const std::string place = "/layers/";
  const std::size_t at = reason.find(place);
  if (at == std::string::npos) return reason;
  std::size_t end = at + place.size();
  const auto layer = static_cast<std::size_t>(std::strtoul(reason.c_str() + end, nullptr, 10));
  while (end < reason.size() && std::isdigit(static_cast<unsigned char>(reason[end])) != 0) ++end;
  if (layer >= network.layer_sources.size()) return reason;
  const std::string rest = reason.substr(std::min(end + (reason[end] == ':' ? 2 : 1), reason.size()));
  return fmt::format("{}: no layer can compute it: {}", network.layer_sources[layer], rest);
}

/// The workload as `run` is going to load it: what it would refuse is refused before anything is written.
Workload loaded(const ImportCommand& command, const ImportedNetwork& network) {
  const Interruption interruption;
  const ScratchFolder folder("import");
  for (const auto& [name, bytes] : network.files) folder.write(name, bytes);
  try {
    return load_workload(folder.file("workload.json"));
  } catch (const UserError& error) {
    std::string reason = error.what();
    const std::string place = folder.file("");
    for (auto at = reason.find(place); at != std::string::npos; at = reason.find(place))
      reason.erase(at, place.size());
    std::istringstream lines(reason);
    std::string text;
    for (std::string line; std::getline(lines, line);)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", command.model,
                          in_words_of_the_source(line, network));
    throw UserError(text);
  }
}

/// Input and file of "[NAME=]X.npy"; without a name "".
std::pair<std::string, std::string> sample_file(const std::string& option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string::npos || fs::exists(option)) return {"", option};
  return {option.substr(0, equals), option.substr(equals + 1)};
}

Constant samples_in(const std::string& path) {
  Tensor tensor = read_npy(path);
  if (tensor.dtype != DType::kFloat32) throw UserError(path + ": samples of float32 are expected");
  return {ElementType::kFloat32, tensor.shape, std::move(tensor.bytes)};
}

/// The quality of the quantised layers against the float network's values for the first sample (SPEC RN-3),
/// in the order of the layers.
std::vector<std::pair<std::string, Quality>> qualities(const Workload& workload) {
  std::vector<std::pair<std::string, Quality>> found;
  if (workload.float_references.empty()) return found;
  const std::map<std::string, Tensor> reference = run_reference(workload);
  for (const Layer& layer : workload.layers) {
    const auto real = workload.float_references.find(layer.name);
    if (real != workload.float_references.end())
      found.emplace_back(layer.name, quality_of(reference.at(layer.name), real->second));
  }
  return found;
}

/// Adds qualities to tensors.json, for the first tensor of each layer.
void add_qualities(const std::vector<std::pair<std::string, Quality>>& layers, ImportedNetwork& network) {
  std::map<std::string, Quality> left(layers.begin(), layers.end());
  for (SourceTensor& tensor : network.tensors) {
    const auto found = left.find(tensor.holder.value_or(""));
    if (found == left.end()) continue;
    tensor.sqnr_db = found->second.sqnr_db, tensor.cosine = found->second.cosine;
    left.erase(found);
  }
  network.files["tensors.json"] = tensors_json(network.tensors);
}

void print_qualities(const std::vector<std::pair<std::string, Quality>>& layers) {
  if (layers.empty()) return;
  std::vector<std::vector<std::string>> rows{{"layer", "SQNR", "cosine"}};
  for (const auto& [layer, quality] : layers)
    rows.push_back({layer, fmt::format("{:.1f} dB", quality.sqnr_db), fmt::format("{:.5f}", quality.cosine)});
  fmt::print("\nAgainst the float network, first sample:\n{}\n", format_rows(rows));
}

void write_files(const ImportCommand& command, const ImportedNetwork& network) {
  OutputFiles files;
  files.make_folder(command.out);
  files.lock_folder(command.out);
  for (const auto& [name, bytes] : network.files) files.write(command.out + "/" + name, bytes);
  files.commit();
}

ImportOptions options_of(const ImportCommand& command) {
  ImportOptions options;
  options.keep_all = command.keep_all;
  options.percentile = command.percentile;
  options.float_on_host = command.float_on_host;
  if (!command.weights.empty() && command.weights != "int8") {  // "int4" or "int4:GROUP"
    const std::size_t colon = command.weights.find(':');
    options.four_bits =
        FourBitForm{colon == std::string::npos ? 0 : std::stoi(command.weights.substr(colon + 1)), false};
  }
  for (const std::string& option : command.calibrate) {
    const auto [name, file] = sample_file(option);
    if (!options.calibration.emplace(name, samples_in(file)).second)
      throw UserError(fmt::format("--calibrate {}: the input is said twice", option));
  }
  const auto* const name = std::find(kArithmeticNames.begin(), kArithmeticNames.end(), command.arithmetic);
  if (name != kArithmeticNames.end())
    options.arithmetic = static_cast<Arithmetic>(name - kArithmeticNames.begin());
  return options;
}

}  // namespace

int import_file(const ImportCommand& command) {
  try {
    ImportedNetwork network = import_model(command.model, options_of(command));
    const Workload workload = loaded(command, network);
    const auto layers = qualities(workload);
    add_qualities(layers, network);
    write_files(command, network);
    fmt::print("{}: {} operators as {} layers\n", command.model, network.nodes, workload.layers.size());
    if (!network.exact_layers.empty())
      fmt::print("Computed exactly, where the runtime's rounding is not specified: {}\n",
                 fmt::join(network.exact_layers, ", "));
    print_qualities(layers);
    fmt::print("Wrote {0}/workload.json, {0}/tensors.json and {1} tensors\n", command.out,
               network.files.size() - 2);
    return 0;
  } catch (const ImportError& error) {
    print_message(error.what());
    for (const std::string& line : error.lines()) print_message("  " + line);
    return 2;
  }
}

}  // namespace tilebeat
