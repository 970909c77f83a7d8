#include "tilebeat/config/engine_config.h"

#include <stdexcept>

namespace tilebeat {

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
