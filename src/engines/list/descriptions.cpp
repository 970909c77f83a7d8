// Put together from the list of engines, so that nothing else names them.
#include "tilebeat/config/engine_config.h"
#include "tilebeat/engines/list.h"

#include <vector>

namespace tilebeat {

#define TILEBEAT_DECLARE(NAME)     \
  namespace NAME {                 \
  EngineDescription description(); \
  }
TILEBEAT_ENGINES(TILEBEAT_DECLARE)
#undef TILEBEAT_DECLARE

const std::vector<EngineDescription>& engine_descriptions() {
#define TILEBEAT_ENTRY(NAME) NAME::description(),
  static const std::vector<EngineDescription> engines{TILEBEAT_ENGINES(TILEBEAT_ENTRY)};
#undef TILEBEAT_ENTRY
  return engines;
}

}  // namespace tilebeat
