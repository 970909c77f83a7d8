#include "report/scenes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::array<std::string_view, 4> kLimits{"compute", "beats", "dram", "port"};

std::size_t limit_index(const LayerResult& layer) {
  const Cycle largest = layer.bound_cycles();
  if (layer.bound.compute == largest) return 0;
  if (layer.bound.beats == largest) return 1;
  return layer.bound.dram == largest ? 2 : 3;
}

/// A number of the steps as a straight line over their numbers, 1, 2, ...: the one that fits best by least
/// squares.
class StepLine {
 public:
  explicit StepLine(const std::vector<double>& of_steps) {
    const double count = static_cast<double>(of_steps.size());
    centre_ = (count + 1) / 2;
    double squares = 0;
    for (std::size_t i = 0; i < of_steps.size(); ++i) {
      const double place = static_cast<double>(i) + 1 - centre_;
      mean_ += of_steps[i] / count, slope_ += place * of_steps[i], squares += place * place;
    }
    slope_ /= squares;
  }
  /// Its value at a step, at least 0: no step takes less than nothing.
  double at(int step) const { return std::max(0.0, mean_ + slope_ * (step - centre_)); }
  /// The sum over the steps from `first` to `last`.
  double sum(int first, int last) const {
    double sum = 0;
    for (int step = first; step <= last; ++step) sum += at(step);
    return sum;
  }

 private:
  double mean_ = 0, slope_ = 0, centre_ = 0;
};

/// Sums over the programs of each step, of which there are `steps`; behind layers on the host a step has
/// several, "step1" and "step1.2".
std::vector<SceneResult> steps_of(const std::vector<SceneResult>& scenes, int steps) {
  std::map<std::string, std::size_t> numbers;
  for (int step = 1; step <= steps; ++step) numbers.emplace(fmt::format("step{}", step), numbers.size());
  std::vector<SceneResult> sums(numbers.size());
  for (const SceneResult& scene : scenes) {
    const auto number = numbers.find(scene.scene.substr(0, scene.scene.find('.')));
    if (number == numbers.end()) continue;
    SceneResult& sum = sums[number->second];
    sum.cycles += scene.cycles, sum.picojoules += scene.picojoules;
    sum.dram_read += scene.dram_read, sum.dram_write += scene.dram_write;
  }
  return sums;
}

}  // namespace

Extrapolated extrapolated(const RunResult& run, int simulated, int steps) {
  const std::vector<SceneResult> of_steps = steps_of(scenes_of(run), simulated);
  const auto line = [&of_steps](auto number) {
    std::vector<double> numbers;
    for (const SceneResult& step : of_steps) numbers.push_back(static_cast<double>(step.*number));
    return StepLine(numbers);
  };
  const auto of_all = [&](auto number, double measured) {
    return measured + line(number).sum(simulated + 1, steps);
  };
  const auto whole = [&](auto number, std::int64_t measured) {
    return std::int64_t{std::llround(of_all(number, static_cast<double>(measured)))};
  };
  Extrapolated made;
  made.simulated = simulated, made.steps = steps;
  made.cycles = whole(&SceneResult::cycles, run.cycles);
  made.dram_read = whole(&SceneResult::dram_read, run.bytes.dram_read);
  made.dram_write = whole(&SceneResult::dram_write, run.bytes.dram_write);
  made.picojoules = of_all(&SceneResult::picojoules, run.energy.parts.total());
  const StepLine cycles = line(&SceneResult::cycles);
  made.last_step_cycles = std::llround(cycles.at(steps));
  for (int step = 1; step <= simulated; ++step) {
    const auto measured = static_cast<double>(of_steps[static_cast<std::size_t>(step) - 1].cycles);
    if (measured > 0)
      made.deviation = std::max(made.deviation, std::abs(cycles.at(step) - measured) / measured);
  }
  return made;
}

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
