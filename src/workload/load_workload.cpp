#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/load_layer.h"
#include "workload/tensor_source.h"
#include "workload/workload.h"
#include "workload/workload_file.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

/// The indices of the layers in the order of execution: scenes in the order of their first mention, inside a
/// scene a layer after those it reads, and otherwise the order of the file. Throws UserError for names that
/// appear twice, for inputs that do not exist or belong to a later scene, and for cycles, which it names.
std::vector<std::size_t> layer_order(const WorkloadSpec& spec, const std::string& file);

namespace {

/// The layers of a workload and who reads whom.
class LayerGraph {
 public:
  LayerGraph(const WorkloadSpec& spec, const std::string& file) : spec_(spec), root_(file) {
    collect_names();
    for (std::size_t i = 0; i < spec.layers.size(); ++i) connect(i);
  }

  std::vector<std::size_t> order() const {
    std::vector<std::size_t> order;
    std::vector<std::size_t> missing(spec_.layers.size());
    std::set<std::pair<std::size_t, std::size_t>> ready;  // by scene, then by place in the file
    for (std::size_t i = 0; i < missing.size(); ++i) {
      missing[i] = reads_[i].size();
      if (missing[i] == 0) ready.insert({scene_[i], i});
    }
    while (!ready.empty()) {
      const std::size_t next = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(next);
      for (const std::size_t reader : readers_[next]) {
        if (--missing[reader] == 0) ready.insert({scene_[reader], reader});
      }
    }
    if (order.size() < missing.size()) refuse_cycle(missing);
    return order;
  }

 private:
  void collect_names() {
    std::vector<std::string> scenes;
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      add_name(spec_.inputs[i].name, kNoLayer, root_.key("inputs").item(i));
    }
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      add_name(layer.name, i, root_.key("layers").item(i));
      const auto scene = std::find(scenes.begin(), scenes.end(), layer.scene);
      scene_.push_back(static_cast<std::size_t>(scene - scenes.begin()));
      if (scene == scenes.end()) scenes.push_back(layer.scene);
    }
    reads_.resize(spec_.layers.size());
    readers_.resize(spec_.layers.size());
  }

  void add_name(const std::string& name, std::size_t layer, const Place& place) {
    if (!layer_of_.emplace(name, layer).second) {
      place.key("name").refuse(shown(name), "a name that no other input or layer has");
    }
  }

  void connect(std::size_t layer) {
    const Place place = root_.key("layers").item(layer).key("inputs");
    for (std::size_t i = 0; i < spec_.layers[layer].inputs.size(); ++i) {
      const std::string& name = spec_.layers[layer].inputs[i];
      const auto found = layer_of_.find(name);
      if (found == layer_of_.end()) {
        std::vector<std::string> known;
        for (const auto& entry : layer_of_) known.push_back(entry.first);
        place.item(i).refuse(shown(name),
                             fmt::format("a workload input or a layer, the nearest name is \"{}\"",
                                         nearest_name(name, known)));
      }
      if (found->second == kNoLayer) continue;
      if (scene_[found->second] > scene_[layer]) {
        place.item(i).refuse(shown(name),
                             fmt::format("a workload input or a layer of scene \"{}\" or an earlier one",
                                         spec_.layers[layer].scene));
      }
      reads_[layer].push_back(found->second);
      readers_[found->second].push_back(layer);
    }
  }

  /// Every layer that is left reads another one that is left: following them ends in a cycle.
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& missing) const {
    const auto left = [&missing](std::size_t layer) { return missing[layer] > 0; };
    std::size_t layer = 0;
    while (!left(layer)) ++layer;
    std::vector<std::size_t> path;
    while (std::find(path.begin(), path.end(), layer) == path.end()) {
      path.push_back(layer);
      layer = *std::find_if(reads_[layer].begin(), reads_[layer].end(), left);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), layer));
    path.push_back(layer);
    std::vector<std::string> names;
    for (const std::size_t entry : path) names.push_back(shown(spec_.layers[entry].name));
    root_.key("layers").item(layer).key("inputs").fail(
        fmt::format("layers read each other in a cycle: {}", fmt::join(names, " reads ")));
  }

  static constexpr std::size_t kNoLayer = SIZE_MAX;

  const WorkloadSpec& spec_;
  Place root_;
  std::map<std::string, std::size_t> layer_of_;  // kNoLayer for workload inputs
  std::vector<std::size_t> scene_;               // of each layer, counted from the first one mentioned
  std::vector<std::vector<std::size_t>> reads_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

std::vector<std::size_t> layer_order(const WorkloadSpec& spec, const std::string& file) {
  return LayerGraph(spec, file).order();
}

namespace {

void load_inputs(const WorkloadSpec& spec, const Place& root, Workload& workload) {
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    const Place place = root.key("inputs").item(i);
    const bool real = input.info.dtype == DType::kFloat32;
    if (real && !input.source.file) place.key("random").refuse("random elements of float32", "a file");
    if (real && input.info.zero_point != 0)
      place.key("zero_point").refuse_value(input.info.zero_point, "0, the zero point of float32");
    if (!real) check_zero_point(input.info.zero_point, input.info.dtype, place.key("zero_point"));
    workload.inputs[input.name] = input.info;
    workload.input_data[input.name] = load_input(input, place);
  }
}

/// Puts the files of `given` where the workload says what its inputs hold.
void replace_inputs(const InputFiles& given, const std::string& path, WorkloadSpec& spec) {
  for (const auto& [name, file] : given) {
    const auto found = std::find_if(spec.inputs.begin(), spec.inputs.end(),
                                    [&name = name](const InputSpec& input) { return input.name == name; });
    if (found == spec.inputs.end()) {
      std::vector<std::string> known;
      for (const InputSpec& input : spec.inputs) known.push_back(input.name);
      throw UserError(one_line(fmt::format("--input {}={}: {} has no such input, the nearest is \"{}\"", name,
                                           file, path, nearest_name(name, known))));
    }
    found->source = {std::filesystem::absolute(file).string(), std::nullopt};
  }
}

/// A model file is no JSON; what a user wants of it is said by the command that reads it.
void refuse_model(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".onnx" && ending != ".tflite") return;
  const std::string folder = std::filesystem::path(path).stem().string();
  throw UserError(one_line(fmt::format(
      "{0}: is a model, not a workload; make one of it with `tilebeat import {0} --out {1}` and run "
      "{1}/workload.json",
      path, folder)));
}

void load_layers(const WorkloadSpec& spec, const std::vector<std::size_t>& order, const Place& root,
                 Workload& workload) {
  std::map<std::string, TensorInfo> tensors = workload.inputs;
  for (const std::size_t i : order) {
    const LayerSpec& layer = spec.layers[i];
    LayerSource source{layer, {}, root.key("layers").item(i), spec.arithmetic};
    for (const std::string& input : layer.inputs) source.inputs.push_back(tensors.at(input));
    workload.layers.push_back(load_layer(source));
    tensors[layer.name] = workload.layers.back().output;
  }
}

const Layer* find_layer(const Workload& workload, const std::string& name) {
  const auto found = std::find_if(workload.layers.begin(), workload.layers.end(),
                                  [&name](const Layer& layer) { return layer.name == name; });
  return found == workload.layers.end() ? nullptr : &*found;
}

const Layer& need_layer(const Workload& workload, const std::string& name, const Place& place) {
  if (const Layer* layer = find_layer(workload, name)) return *layer;
  std::vector<std::string> known;
  for (const Layer& layer : workload.layers) known.push_back(layer.name);
  place.refuse(shown(name),
               fmt::format("the name of a layer, the nearest is \"{}\"", nearest_name(name, known)));
}

void name_outputs(const WorkloadSpec& spec, const Place& root, Workload& workload) {
  if (spec.outputs) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec.outputs->size(); ++i) {
      const std::string& name = (*spec.outputs)[i];
      const Place place = root.key("outputs").item(i);
      need_layer(workload, name, place);
      if (!seen.insert(name).second) place.refuse(shown(name), "each name once");
      workload.outputs.push_back(name);
    }
    return;
  }
  std::set<std::string> read;
  for (const Layer& layer : workload.layers) read.insert(layer.inputs.begin(), layer.inputs.end());
  for (const Layer& layer : workload.layers) {
    if (read.count(layer.name) == 0) workload.outputs.push_back(layer.name);
  }
}

void load_expected(const WorkloadSpec& spec, const Place& root, Workload& workload) {
  for (const auto& [name, file] : spec.expected) {
    const Place place = root.key("expected").key(name);
    const TensorInfo& output = need_layer(workload, name, place).output;
    Tensor tensor = load_npy(file, place);
    if (!same_but_ones(tensor.shape, output.shape) || tensor.dtype != output.dtype) {
      place.refuse(fmt::format("{} with {}", shown(file), tensor_text(tensor.shape, tensor.dtype)),
                   tensor_text(output.shape, output.dtype));
    }
    tensor.shape = output.shape;
    workload.expected[name] = std::move(tensor);
  }
}

void load_float_references(const WorkloadSpec& spec, const Place& root, Workload& workload) {
  for (std::size_t i = 0; i < spec.float_references.size(); ++i) {
    const FloatReferenceSpec& reference = spec.float_references[i];
    const Place place = root.key("float_references").item(i);
    const TensorInfo& output = need_layer(workload, reference.layer, place.key("layer")).output;
    Tensor tensor = load_npy(*reference.file, place.key("file"));
    if (!same_but_ones(tensor.shape, output.shape) || tensor.dtype != DType::kFloat32)
      place.key("file").refuse(
          fmt::format("{} with {}", shown(*reference.file), tensor_text(tensor.shape, tensor.dtype)),
          tensor_text(output.shape, DType::kFloat32));
    tensor.shape = output.shape;
    const FloatReference made{std::move(tensor), reference.scale, output.zero_point};
    if (!workload.float_references.emplace(reference.layer, made).second)
      place.key("layer").refuse(shown(reference.layer), "each layer once");
  }
}

}  // namespace

Workload load_workload(const std::string& path, const InputFiles& given) {
  refuse_model(path);
  WorkloadSpec spec;
  const nlohmann::json document = read_json_file(path);
  check_file_kind(document, FileKind::kWorkload, path);
  read_document(document, path, spec);
  replace_inputs(given, path, spec);
  const Place root(path);
  Workload workload;
  workload.name = spec.name;
  const std::vector<std::size_t> order = layer_order(spec, path);
  load_inputs(spec, root, workload);
  load_layers(spec, order, root, workload);
  name_outputs(spec, root, workload);
  load_expected(spec, root, workload);
  // They belong to the inputs that the file names.
  if (given.empty()) load_float_references(spec, root, workload);
  return workload;
}

nlohmann::ordered_json workload_schema() {
  WorkloadSpec spec;
  return schema_document("Tilebeat workload file",
                         "A layer or a network with its tensors. Maps are [N, H, W, C].",
                         ObjectValue<WorkloadSpec>{spec}.schema());
}

}  // namespace tilebeat
