#pragma once

#include "tilebeat/mapping/layer_mapping.h"

#include <functional>
#include <optional>
#include <string>

#include "mapping_question.h"

namespace tilebeat {

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

}  // namespace tilebeat
