#include "engines/list.h"

#include "units/matrix_unit.h"

#include <stdexcept>

namespace tilebeat {

#define TILEBEAT_DECLARE(NAME)                                     \
  namespace NAME {                                                 \
  EngineDescription description();                                 \
  std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext&); \
  }
TILEBEAT_ENGINES(TILEBEAT_DECLARE)
#undef TILEBEAT_DECLARE

std::unique_ptr<MatrixUnit> make_matrix_unit(const MatrixUnitContext& context) {
  const std::string& dataflow = context.hardware.dataflow;
#define TILEBEAT_MAKE(NAME) \
  if (dataflow == NAME::description().dataflow) return NAME::make_unit(context);
  TILEBEAT_ENGINES(TILEBEAT_MAKE)
#undef TILEBEAT_MAKE
  throw std::logic_error("no matrix unit of the dataflow " + dataflow);
}

}  // namespace tilebeat
