#include "base/types.h"
#include "schema/place.h"
#include "tilebeat/error.h"
#include "workload/steps.h"
#include "workload/tensor_source.h"
#include "workload/workload_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

Place place_of(const WorkloadSpec& spec, std::size_t layer, const Place& root) {
  const std::optional<OfStep>& of_step = spec.layers[layer].of_step;
  return of_step ? of_step->place : root.key("layers").item(layer);
}

/// The layers of a workload and their readers.
class LayerGraph {
 public:
  LayerGraph(const WorkloadSpec& spec, const std::string& file) : spec_(spec), root_(file) {
    collect_names();
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      if (begins_step(i)) errors_.raise();  // later steps have the same errors
      connect(i);
    }
    errors_.raise();
  }

  /// A layer with the part of its scene that it belongs to: a part is a program, and the host computes the
  /// layers on it that a part reads before that begins.
  struct Ordered {
    std::size_t layer = 0, part = 0;
  };

  /// The layers in the order of execution: scenes in the order of their first mention; inside a scene its
  /// parts, as few as possible; in a part those of the host first; then a layer after those it reads,
  /// otherwise the order of the file. Throws UserError for duplicate names, for inputs that do not exist or
  /// belong to a later scene, and for cycles, which it names.
  std::vector<Ordered> order() const {
    std::vector<Ordered> order;
    std::vector<std::size_t> missing(spec_.layers.size()), part(spec_.layers.size(), 0);
    using Key = std::tuple<std::size_t, std::size_t, bool, std::size_t>;
    std::set<Key> ready;  // by scene, part, whether the chip computes it, and place in the file
    const auto add = [&](std::size_t i) {
      for (const std::size_t read : reads_[i]) {
        if (scene_[read] != scene_[i]) continue;
        const bool begins_part = is_host(*spec_.layers[i].op) && !is_host(*spec_.layers[read].op);
        part[i] = std::max(part[i], part[read] + (begins_part ? 1 : 0));
      }
      ready.insert({scene_[i], part[i], !is_host(*spec_.layers[i].op), i});
    };
    for (std::size_t i = 0; i < missing.size(); ++i) {
      missing[i] = reads_[i].size();
      if (missing[i] == 0) add(i);
    }
    while (!ready.empty()) {
      const std::size_t next = std::get<3>(*ready.begin());
      ready.erase(ready.begin());
      order.push_back({next, part[next]});
      for (const std::size_t reader : readers_[next]) {
        if (--missing[reader] == 0) add(reader);
      }
    }
    if (order.size() < missing.size()) refuse_cycle(missing);
    return order;
  }

 private:
  void collect_names() {
    std::map<std::string, std::size_t> scenes;
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      add_name(spec_.inputs[i].name, kNoLayer, root_.key("inputs").item(i));
    }
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      add_name(layer.name, i, place_of(spec_, i, root_));
      scene_.push_back(scenes.try_emplace(layer.scene, scenes.size()).first->second);
    }
    reads_.resize(spec_.layers.size());
    readers_.resize(spec_.layers.size());
  }

  void add_name(const std::string& name, std::size_t layer, const Place& place) {
    if (!layer_of_.emplace(name, layer).second)
      errors_.attempt(
          [&] { place.key("name").refuse(shown(name), "a name that no other input or layer has"); });
  }

  void connect(std::size_t layer) {
    const Place place = place_of(spec_, layer, root_).key("inputs");
    for (std::size_t i = 0; i < spec_.layers[layer].inputs.size(); ++i)
      errors_.attempt([&] {
        checked_in_step(spec_.layers[layer].of_step,
                        [&] { connect(layer, spec_.layers[layer].inputs[i], place.item(i)); });
      });
  }

  bool begins_step(std::size_t layer) const {
    const auto step = [this](std::size_t i) {
      return spec_.layers[i].of_step ? spec_.layers[i].of_step->step : 0;
    };
    return layer > 0 && step(layer) != step(layer - 1);
  }

  void connect(std::size_t layer, const std::string& name, const Place& place) {
    const auto found = layer_of_.find(name);
    if (found == layer_of_.end()) {
      std::vector<std::string> known;
      for (const auto& entry : layer_of_) known.push_back(entry.first);
      place.refuse(shown(name), fmt::format("a workload input or a layer, the nearest name is \"{}\"",
                                            nearest_name(name, known)));
    }
    if (found->second == kNoLayer) return;
    if (scene_[found->second] > scene_[layer]) {
      place.refuse(shown(name), fmt::format("a workload input or a layer of scene \"{}\" or an earlier one",
                                            spec_.layers[layer].scene));
    }
    reads_[layer].push_back(found->second);
    readers_[found->second].push_back(layer);
  }

  /// Every remaining layer reads another remaining layer: following them ends in a cycle.
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
    place_of(spec_, layer, root_)
        .key("inputs")
        .fail(fmt::format("layers read each other in a cycle: {}", fmt::join(names, " reads ")));
  }

  static constexpr std::size_t kNoLayer = SIZE_MAX;

  const WorkloadSpec& spec_;
  Place root_;
  std::map<std::string, std::size_t> layer_of_;  // kNoLayer for workload inputs
  std::vector<std::size_t> scene_;               // by layer: its scene, counted in order of first mention
  std::vector<std::vector<std::size_t>> reads_;
  std::vector<std::vector<std::size_t>> readers_;
  ErrorList errors_;
};

/// Throws UserError unless `axes` is a permutation of the axes of `shape`.
void check_axes(const std::vector<int>& axes, const std::vector<std::int64_t>& shape, const Place& place) {
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size() || i < shape.size(); ++i) {
    if (i >= sorted.size() || i >= shape.size() || sorted[i] != to_int(i))
      place.refuse(fmt::format("[{}]", fmt::join(axes, ", ")),
                   fmt::format("each of the {} axes of its shape once", shape.size()));
  }
}

/// The elements of `file`, whose axis i is axis axes[i] of the result, in the order of `shape`.
Tensor permuted(const Tensor& file, const std::vector<int>& axes, const std::vector<std::int64_t>& shape) {
  Tensor made{shape, file.dtype, std::vector<std::uint8_t>(file.bytes.size())};
  std::vector<std::int64_t> strides(shape.size(), 1), steps(shape.size());
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  for (std::size_t i = 0; i < axes.size(); ++i) steps[i] = nth(strides, axes[i]);
  const auto size = to_size(dtype_size(file.dtype));
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t to = 0;
  for (std::size_t from = 0; from < file.bytes.size(); from += size) {
    std::copy_n(&file.bytes[from], size, &made.bytes[to_size(to) * size]);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      to += steps[axis];
      if (++at[axis] < file.shape[axis]) break;
      to -= steps[axis] * file.shape[axis];
      at[axis] = 0;
    }
  }
  return made;
}

/// The elements of an input, from a file (with axes `file_axes`) or random.
Tensor load_input(const InputSpec& input, const Place& place) {
  const TensorInfo& info = input.info;
  const auto load = [&](const std::vector<std::int64_t>& shape) {
    return load_tensor(input.source, {shape, info.dtype, info.dtype, std::nullopt, true}, place);
  };
  if (input.file_axes.empty()) return load(info.shape);
  check_axes(input.file_axes, info.shape, place.key("file_axes"));
  if (input.source.random) return load(info.shape);
  std::vector<std::int64_t> shape;
  for (const int axis : input.file_axes) shape.push_back(nth(info.shape, axis));
  const Tensor file = load_npy(input.source.file.value(), place.key("file"));
  // A file in the order of the tensor is accepted as well, if its shape is unambiguous.
  if (!same_but_ones(file.shape, shape) && same_but_ones(file.shape, info.shape)) return load(info.shape);
  return permuted(load(shape), input.file_axes, info.shape);
}

void check_input(const InputSpec& input, const Place& place) {
  const bool real = input.info.dtype == DType::kFloat32;
  if (real && !input.source.file) place.key("random").refuse("random elements of float32", "a file");
  if (real && input.info.zero_point != 0)
    place.key("zero_point").refuse_value(input.info.zero_point, "0, the zero point of float32");
  if (!real) check_zero_point(input.info.zero_point, input.info.dtype, place.key("zero_point"));
}

void load_inputs(const WorkloadSpec& spec, const Place& root, Workload& workload, ErrorList& errors) {
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const InputSpec& input = spec.inputs[i];
    const Place place = root.key("inputs").item(i);
    errors.attempt([&] {
      check_input(input, place);
      workload.input_data[input.name] = load_input(input, place);
      workload.inputs[input.name] = input.info;
    });
  }
}

/// Replaces the sources of the workload's inputs by the files of `given`.
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

/// A model file is not JSON; the message names the command that imports it.
void refuse_model(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".onnx" && ending != ".tflite") return;
  const std::string folder = std::filesystem::path(path).stem().string();
  throw UserError(one_line(fmt::format(
      "{0}: is a model, not a workload; make one of it with `tilebeat import {0} --out {1}` and run "
      "{1}/workload.json",
      path, folder)));
}

void check_inputs(const LayerSource& source, const Operator& op) {
  const Reads reads = op.reads;
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    const TensorInfo& input = source.inputs[i];
    const std::string name = shown(source.names[i]);
    const auto refuse = [&](const std::string& what, const std::string& allowed) {
      source.input_place(i).refuse(fmt::format("{} {}", name, what), allowed);
    };
    if (reads == Reads::kTable && i > 0) {
      if (input.dtype != DType::kInt32)
        refuse(fmt::format("of {}", dtype_name(input.dtype)), "indices of int32, as argmax makes them");
      continue;
    }
    if (input.shape.size() != 4 && reads == Reads::kMaps)
      refuse(fmt::format("with shape {}", shape_text(input.shape)), "a map [N, H, W, C]");
    if (input.dtype == DType::kInt32 && reads != Reads::kAccumulators)
      refuse("with int32 accumulators",
             op.reads_int16 ? "an int8, uint8 or int16 tensor; give the layer that makes it a requant"
                            : "an int8 or uint8 tensor; give the layer that makes it a requant");
    if (input.dtype == DType::kInt64)
      refuse("with int64 accumulators", "a quantised tensor; give the layer that makes it a requant");
    if (input.dtype == DType::kInt16 && !op.reads_int16)
      refuse("of int16", fmt::format("an int8 or uint8 tensor, {} has no other", op.name));
    if (input.dtype == DType::kFloat32 && reads != Reads::kReals && reads != Reads::kBytesOrReals)
      refuse("of float32", "an int8 or uint8 tensor; quantize it first");
    if (input.dtype != DType::kFloat32 && reads == Reads::kReals)
      refuse(fmt::format("of {}", dtype_name(input.dtype)), "a float32 tensor");
  }
}

/// The layer described by `spec` at `place`, with its inputs.
Layer load_layer(const LayerSpec& spec, std::vector<TensorInfo> inputs, const Place& place,
                 Arithmetic of_workload, KnownWeights& known_weights) {
  Layer layer;
  layer.name = spec.name, layer.op = spec.op->name, layer.scene = spec.scene, layer.inputs = spec.inputs;
  const LayerSource source{spec.name,       layer.op,    spec.inputs,   std::move(inputs),   place,
                           spec.arithmetic, of_workload, known_weights, spec.op->reads_int16};
  check_inputs(source, *spec.op);
  spec.form->load(source, layer);
  spec.form->set_arithmetic({source, layer.output.dtype}, layer.operation);
  return layer;
}

/// The labels of the parts of scenes: "main", "main.2", with further numbers where a scene or a part of
/// another scene has that label already. Parts are named in the order of execution.
class PartLabels {
 public:
  explicit PartLabels(const WorkloadSpec& spec) {
    for (const LayerSpec& layer : spec.layers) used_.insert(layer.scene);
  }
  const std::string& of(const std::string& scene, std::size_t part) {
    const auto [found, is_new] = labels_.try_emplace({scene, part}, scene);
    std::string& label = found->second;
    if (!is_new || part == 0) return label;
    do label = fmt::format("{}.{}", label, part + 1);
    while (!used_.insert(label).second);
    return label;
  }

 private:
  std::map<std::pair<std::string, std::size_t>, std::string> labels_;
  std::set<std::string> used_;
};

/// A layer that reads what has been refused cannot be checked and is left out.
void load_layers(const WorkloadSpec& spec, const std::vector<LayerGraph::Ordered>& order, const Place& root,
                 Workload& workload, ErrorList& errors) {
  std::map<std::string, TensorInfo> tensors = workload.inputs;
  KnownWeights known_weights;
  PartLabels labels(spec);
  int step = 0;
  for (const LayerGraph::Ordered& next : order) {
    const std::size_t i = next.layer;
    const LayerSpec& layer = spec.layers[i];
    if (layer.of_step && layer.of_step->step > step) errors.raise();  // later steps have the same errors
    step = layer.of_step ? layer.of_step->step : 0;
    const std::string& label = labels.of(layer.scene, next.part);
    std::vector<TensorInfo> inputs;
    for (const std::string& input : layer.inputs) {
      if (const auto found = tensors.find(input); found != tensors.end()) inputs.push_back(found->second);
    }
    if (inputs.size() != layer.inputs.size()) continue;
    errors.attempt([&] {
      checked_in_step(layer.of_step, [&] {
        workload.layers.push_back(
            load_layer(layer, std::move(inputs), place_of(spec, i, root), spec.arithmetic, known_weights));
      });
      workload.layers.back().scene = label;
      tensors[layer.name] = workload.layers.back().output;
    });
  }
}

/// The layers of a workload, which exists unchanged meanwhile.
class NamedLayers {
 public:
  explicit NamedLayers(const Workload& workload) {
    for (const Layer& layer : workload.layers) layers_.emplace(layer.name, &layer);
  }
  const Layer& need(const std::string& name, const Place& place) const {
    if (const auto found = layers_.find(name); found != layers_.end()) return *found->second;
    std::vector<std::string> known;
    for (const auto& entry : layers_) known.push_back(entry.first);
    place.refuse(shown(name),
                 fmt::format("the name of a layer, the nearest is \"{}\"", nearest_name(name, known)));
  }

 private:
  std::map<std::string, const Layer*> layers_;
};

void name_outputs(const WorkloadSpec& spec, const Place& root, Workload& workload) {
  const NamedLayers layers(workload);
  if (spec.outputs) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec.outputs->size(); ++i) {
      const std::string& name = (*spec.outputs)[i];
      const Place place = root.key("outputs").item(i);
      layers.need(name, place);
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
  const NamedLayers layers(workload);
  if (spec.expected_total)
    workload.expected_cycles.total =
        CycleTarget{spec.expected_total->cycles, spec.expected_total->tolerance_percent};
  for (const auto& [name, expected] : spec.expected) {
    const Place place = root.key("expected").key(name);
    const Layer& layer = layers.need(name, place);
    const TensorInfo& output = layer.output;
    if (expected.cycles && on_host(layer))
      place.key("cycles").fail("the host computes the layer, in no cycles of the chip");
    if (expected.cycles)
      workload.expected_cycles.layers[name] = CycleTarget{*expected.cycles, expected.tolerance_percent};
    if (!expected.file) continue;
    const std::string& file = *expected.file;
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
  const NamedLayers layers(workload);
  for (std::size_t i = 0; i < spec.float_references.size(); ++i) {
    const FloatReferenceSpec& reference = spec.float_references[i];
    const Place place = root.key("float_references").item(i);
    const TensorInfo& output = layers.need(reference.layer, place.key("layer")).output;
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

/// The workload of a file that has been read.
Workload load(WorkloadSpec spec, const std::string& path, const InputFiles& given) {
  replace_inputs(given, path, spec);
  const Place root(path);
  Workload workload;
  workload.name = spec.name;
  const std::vector<LayerGraph::Ordered> order = LayerGraph(spec, path).order();
  ErrorList errors;
  load_inputs(spec, root, workload, errors);
  load_layers(spec, order, root, workload, errors);
  errors.raise();
  if (std::all_of(workload.layers.begin(), workload.layers.end(), on_host))
    root.key("layers").fail("are all computed by the host, at least one layer of a chip is expected");
  name_outputs(spec, root, workload);
  load_expected(spec, root, workload);
  // Float references belong to the inputs that the file names.
  if (given.empty()) load_float_references(spec, root, workload);
  return workload;
}

/// Removes layers that no other ones read, and what is expected of them and of the whole.
void leave_out(const std::set<std::string>& names, Workload& workload) {
  const auto is_left_out = [&names](const std::string& name) { return names.count(name) > 0; };
  const auto erase = [&](auto& list, const auto& name_of) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const auto& entry) { return is_left_out(name_of(entry)); }),
               list.end());
  };
  erase(workload.layers, [](const Layer& layer) { return layer.name; });
  erase(workload.outputs, [](const std::string& name) { return name; });
  if (workload.outputs.empty()) workload.outputs.push_back(workload.layers.back().name);
  workload.expected_cycles.total.reset();
  for (const std::string& name : names) {
    workload.expected.erase(name), workload.expected_cycles.layers.erase(name);
    workload.float_references.erase(name);
  }
}

}  // namespace

Workload load_workload(const std::string& path, const InputFiles& given) {
  refuse_model(path);
  return load(read_workload_file(path), path, given);
}

FirstSteps load_first_steps(const std::string& path, const InputFiles& given, int most) {
  refuse_model(path);
  WorkloadSpec spec = read_workload_file(path);
  FirstSteps first;
  first.all = spec.steps ? spec.steps->count : 0;
  if (first.all <= most)
    throw UserError(one_line(fmt::format(
        "--extrapolate {} is not allowed: {} has {} steps, fewer are expected", most, path, first.all)));
  std::set<std::string> left_out;
  for (const LayerSpec& layer : spec.layers) {
    if (layer.of_step && layer.of_step->step > most) left_out.insert(layer.name);
  }
  first.workload = load(std::move(spec), path, given);
  leave_out(left_out, first.workload);
  first.left_out = std::move(left_out);
  return first;
}

}  // namespace tilebeat
