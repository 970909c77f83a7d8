// Put together from the list of engines, so that nothing else names them.
#include "tilebeat/engines/list.h"
#include "tilebeat/isa/instruction_set.h"
#include "tilebeat/isa/operations.h"

#include <vector>

namespace tilebeat {

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

}  // namespace tilebeat
