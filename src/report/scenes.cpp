#include "report/scenes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tilebeat {
namespace {

constexpr std::array<std::string_view, 4> kLimits{"compute", "beats", "dram", "port"};

std::size_t limit_index(const LayerResult& layer) {
  const Cycle largest = layer.bound_cycles();
  if (layer.bound.compute == largest) return 0;
  if (layer.bound.beats == largest) return 1;
  return layer.bound.dram == largest ? 2 : 3;
}

}  // namespace

std::string limit_of(const LayerResult& layer) {
  return std::string(kLimits.at(limit_index(layer)));
}

std::vector<SceneResult> scenes_of(const RunResult& run) {
  std::vector<SceneResult> scenes;
  std::vector<std::array<Cycle, kLimits.size()>> limited;  // by scene and kind of bound
  for (const LayerResult& layer : run.layers) {
    // The layers of a scene follow one another.
    if (scenes.empty() || scenes.back().scene != layer.scene) {
      scenes.emplace_back().scene = layer.scene;
      limited.emplace_back();
    }
    SceneResult& scene = scenes.back();
    scene.cycles += layer.cycles, scene.macs += layer.macs;
    scene.dram_read += layer.bytes.dram_read, scene.dram_write += layer.bytes.dram_write;
    scene.picojoules += layer.energy.total();
    limited.back().at(limit_index(layer)) += layer.cycles;
  }
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    const auto most = std::max_element(limited[i].begin(), limited[i].end());
    scenes[i].limit = kLimits.at(static_cast<std::size_t>(most - limited[i].begin()));
    scenes[i].limited = *most;
  }
  if (scenes.size() == 1) scenes.clear();
  return scenes;
}

}  // namespace tilebeat
