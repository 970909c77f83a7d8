#include "layer_order.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
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

}  // namespace tilebeat
