#include "fabric/message.h"

#include "tilebeat/error.h"

namespace tilebeat {

void refuse_phases() {
  throw SimulationError("messages travel by blocking transport only");
}

}  // namespace tilebeat
