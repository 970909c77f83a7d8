#include "config/engine_config.h"

#include <algorithm>
#include <stdexcept>

namespace tilebeat {

const EngineDescription& engine_description(const std::string& dataflow) {
  const auto& known = engine_descriptions();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const EngineDescription& e) { return e.dataflow == dataflow; });
  if (found == known.end()) throw std::logic_error("no engine of the dataflow " + dataflow);
  return *found;
}

EngineConfigs::EngineConfigs() {
  for (const EngineDescription& engine : engine_descriptions()) engines_.push_back(engine.make());
}

EngineConfigs::EngineConfigs(const EngineConfigs& other) {
  for (const auto& engine : other.engines_) engines_.push_back(engine->clone());
}

EngineConfigs& EngineConfigs::operator=(const EngineConfigs& other) {
  return *this = EngineConfigs(other);
}

void EngineConfigs::missing() {
  throw std::logic_error("the list of engines lacks the one whose configuration is asked for");
}

}  // namespace tilebeat
