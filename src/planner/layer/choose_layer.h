#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/layer/shards.h"
#include "workload/workload.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilebeat {

/// A layer, for reduction groups of some size, that a mapping is wanted for. What it refers to outlives it.
struct MappingQuestion {
  const ShardedLayer& layer;
  const HardwareConfig& hardware;
  TensorLayout output;
  bool first_of_program = false;            ///< its processors are started for it
  bool kernels_loaded = false;              ///< its first kernels are loaded while an earlier layer runs
  const MappingRequest* request = nullptr;  ///< what is asked for; nothing: all is free
};

/// A mapping with more cores, or with memory cores, must take less than this share of the time without them,
/// and save so many cycles: short layers are not estimated better than that.
constexpr double kClearlyFaster = 0.99;
constexpr double kClearlyFewer = 40;

/// The mapping that is expected to be fastest (SPEC MA-3, MA-4), and why. Candidates are ranked by a rough
/// formula; the best of every kind, and all of the best kinds, are estimated. Of those that are as good, the
/// one with the fewest cores is taken. With `trial`, the `planner.search` best are tried, and the fastest is
/// taken. Throws UserError when the layer cannot fit.
struct ChosenMapping {
  LayerMapping mapping;
  std::string reason;
  double cycles = 0;  ///< as estimated, or as simulated with `trial`
};
/// The cycles that the layer takes when it is simulated with a mapping; nothing: that failed.
using LayerTrial = std::function<std::optional<Cycle>(const LayerMapping&)>;
ChosenMapping choose_mapping(const MappingQuestion& question, const LayerTrial& trial);

/// A layer of a workload on a chip that is to be mapped. What it refers to outlives it.
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
};

/// How a layer is computed: by reduction groups of so many cores, in kernel blocks of that size, mapped so.
struct ChosenLayer {
  ShardedLayer layer;
  LayerMapping mapping;
  std::string reason;
};
/// The fastest way that is expected (SPEC MA-3, MA-4): with kernel blocks of every size that the engine
/// offers, and where outputs are too few for the cores, with reduction groups of several cores. Throws
/// UserError when the layer, or what is asked for, cannot be.
ChosenLayer choose_layer(const LayerQuestion& question);

/// Chooses for layers of a workload; those of the same sizes, with the same processors at work, are mapped as
/// the first of them.
class LayersChosenBefore {
 public:
  ChosenLayer choose(LayerQuestion question);

 private:
  struct Before {
    MappingRequest request;
    std::string reason, layer;  // why, and for which layer
  };
  std::map<std::vector<int>, Before> chosen_;  // by sizes
};

/// For `plan`: how a mapping spreads a layer over cores, and how reduction groups of cores add up their sums.
std::string in_words(const LayerMapping& mapping, const ChipConfig& chip);
std::string in_words(const ShardedLayer& layer);

}  // namespace tilebeat
