// Instantiates the list of engines, so that no other file names them.
#include "engines/list.h"

#include "config/engine_config.h"
#include "isa/instruction.h"
#include "isa/operations.h"
#include "planner/language/matrix_backend.h"

#include <memory>
#include <stdexcept>
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

#define TILEBEAT_DECLARE(NAME)                    \
  namespace NAME {                                \
  std::vector<const OperationType*> operations(); \
  }
TILEBEAT_ENGINES(TILEBEAT_DECLARE)
#undef TILEBEAT_DECLARE

const InstructionSet& instruction_set() {
  static const InstructionSet set([] {
    std::vector<const OperationType*> types = core_operations();
#define TILEBEAT_APPEND(NAME) \
  for (const OperationType* type : NAME::operations()) types.push_back(type);
    TILEBEAT_ENGINES(TILEBEAT_APPEND)
#undef TILEBEAT_APPEND
    return types;
  }());
  return set;
}

#define TILEBEAT_DECLARE(NAME)                                                                   \
  namespace NAME {                                                                               \
  EngineDescription description();                                                               \
  std::unique_ptr<MatrixLayer> make_layer(const Workload&, const Layer&, const HardwareConfig&); \
  }
TILEBEAT_ENGINES(TILEBEAT_DECLARE)
#undef TILEBEAT_DECLARE

std::unique_ptr<MatrixLayer> make_matrix_layer(const Workload& workload, const Layer& layer,
                                               const HardwareConfig& hardware) {
#define TILEBEAT_MAKE(NAME) \
  if (hardware.dataflow == NAME::description().dataflow) return NAME::make_layer(workload, layer, hardware);
  TILEBEAT_ENGINES(TILEBEAT_MAKE)
#undef TILEBEAT_MAKE
  throw std::logic_error("no engine of the dataflow " + hardware.dataflow);
}

}  // namespace tilebeat
