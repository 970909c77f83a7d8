// Put together from the list of engines, so that nothing else names them.
#include "tilebeat/config/engine_config.h"
#include "tilebeat/engines/list.h"
#include "tilebeat/mapping/matrix_backend.h"

#include <memory>
#include <stdexcept>

namespace tilebeat {

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
