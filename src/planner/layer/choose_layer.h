#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/layer/shards.h"
#include "workload/workload.h"

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tilebeat {

/// A mapping with more cores, or with memory cores, must take less than this fraction of the time without
/// them and save this many cycles, because estimates of short layers are not more exact than that.
constexpr double kClearlyFaster = 0.99;
constexpr double kClearlyFewer = 40;

/// The question for the mapping of a layer, with reduction groups of a given size. All that it refers to
/// outlives it.
struct MappingQuestion {
  const ShardedLayer& layer;
  const HardwareConfig& hardware;
  TensorLayout output;
  bool first_of_program = false;            ///< its processors are started for it
  bool kernels_loaded = false;              ///< its first kernels are loaded while an earlier layer runs
  const MappingRequest* request = nullptr;  ///< the user's request; null: all is free
  double most_cycles = std::numeric_limits<double>::infinity();  ///< above which no mapping matters
  bool one_core = false;    ///< for one core of several, whose DRAM requests are followed
  double least_cycles = 0;  ///< that every mapping takes
  /// Whether a mapping of so many cycles is as good as any: no other one is clearly faster.
  bool is_good_enough(double cycles) const { return cycles * kClearlyFaster <= least_cycles; }
};

/// The fastest mapping by estimate (SPEC MA-3, MA-4), and the reason. Candidates are ranked by a rough
/// formula; the best of every kind, and all of the best kinds, are estimated. Of those that are about as
/// good, the one with the fewest cores is taken. With `trial`, the `planner.search` best are simulated and
/// the fastest is taken; infinite cycles: none is below the question's limit. Throws UserError when the layer
/// cannot fit.
struct ChosenMapping {
  LayerMapping mapping;
  std::string reason;
  double cycles = 0;       ///< as estimated, or as simulated
  bool simulated = false;  ///< `trial` has run it
};
/// Simulates the layer with a mapping; returns its cycles, nothing when it failed.
using LayerTrial = std::function<std::optional<Cycle>(const LayerMapping&)>;
ChosenMapping choose_mapping(const MappingQuestion& question, const LayerTrial& trial);

/// The fields of a mapping that its estimate depends on.
using FieldsOfMapping = std::tuple<std::array<int, 13>, bool, StepOrder, DataPath, DataPath, DataPath>;
FieldsOfMapping fields_of(const LayerMapping& mapping);

/// Changes of single fields must take less than this fraction of the time and save this many cycles:
/// estimates do not tell smaller differences. In layers of so few cycles among others
/// nothing is changed: latencies decide there, and what is loaded ahead for later layers.
constexpr double kWorthChanging = 0.995, kWorthChangingCycles = 40, kShortLayer = 2000;
/// The cycles that a mapping must save for the processors that it occupies.
using EffortCost = std::function<double(const LayerMapping&)>;
/// A mapping whose fields (loads of kernels, tiles, buffers, order, paths) are changed as long as its
/// estimate falls; fields that the request names stay as they are. One that occupies more of the chip by
/// `effort` must save that many cycles, and be clearly faster.
ChosenMapping refined(const MappingQuestion& question, const ChosenMapping& chosen, const EffortCost& effort);

/// A layer of a workload to be mapped on a chip. All that it refers to outlives it.
struct LayerQuestion {
  const Workload& workload;
  const Layer& layer;
  const HardwareConfig& hardware;
  const HardwareConfig& engine_hardware;  ///< with what a mapping file chooses for the engine
  std::shared_ptr<MatrixLayer> whole;     ///< the layer, on the engine
  OperandPlaces places;
  TensorLayout output;
  bool first_of_program = false;
  bool kernels_loaded = false;   ///< its first kernels are loaded while an earlier layer runs
  const std::set<int>& workers;  ///< processors that work in the program anyway
  const MappingRequest* request = nullptr;
  LayerTrial trial;
  /// Single fields of the best mapping are changed as long as that pays off, where one core computes:
  /// estimates of several cores, which share DRAM, are not exact enough to tell the small differences.
  bool refines = true;
  bool one_core = false;  ///< as in MappingQuestion
};

/// Estimated cycles of a mapped layer by itself, as far as they are known, by the number of its kernel loads
/// that earlier layers make.
using CyclesByLoads = std::map<int, double>;

/// The chosen mapping of a layer: its shards, with their kernel block size, the mapping, and the reason for
/// it.
struct ChosenLayer {
  ShardedLayer layer;
  LayerMapping mapping;
  std::string reason;
  std::shared_ptr<CyclesByLoads> cycles =
      std::make_shared<CyclesByLoads>();  ///< of all that are mapped alike
};
/// The choice with the lowest estimate (SPEC MA-3, MA-4) over all kernel block sizes that the engine offers
/// and, where outputs are too few for the cores, over reduction groups of several cores. Throws UserError
/// when the layer or the request cannot be fulfilled.
ChosenLayer choose_layer(const LayerQuestion& question);

/// All numbers of a convolution with weights over a map that its mapping and its cycles depend on: layers
/// with the same numbers are mapped alike.
std::vector<int> sizes_of(const Workload& workload, const Layer& layer, const Problem& problem);

/// Chooses mappings for the layers of a workload. Layers of the same sizes with the same processors at work,
/// products of two results among them, get the mapping of the first of them.
class LayersChosenBefore {
 public:
  ChosenLayer choose(LayerQuestion question);

 private:
  struct Before {
    MappingRequest request;
    std::string reason, layer;  // why, and for which layer
    std::shared_ptr<CyclesByLoads> cycles;
  };
  std::map<std::vector<int>, Before> chosen_;  // by sizes
};

/// Texts for `plan`: the split of a layer over cores, and the partial-sum exchange of reduction groups.
std::string in_words(const LayerMapping& mapping, const ChipConfig& chip);
std::string in_words(const ShardedLayer& layer);

/// A mapping that fits, and its cycles by a rough formula.
struct MappingCandidate {
  LayerMapping mapping;
  double rough = 0;
  bool other_loads = false;  ///< like other candidates but for the sizes of loads, which the formula ignores
};

/// Every split of rows, columns and kernel blocks over the cores, with several tile sizes and paths each; the
/// fastest by the formula first, without duplicates. Throws UserError when the layer cannot fit.
std::vector<MappingCandidate> mapping_candidates(const MappingQuestion& question);

/// Whether memory cores may have programs: data may come through the SRAM (SPEC HI-4).
bool may_use_memory_cores(const ChipConfig& chip);

}  // namespace tilebeat
