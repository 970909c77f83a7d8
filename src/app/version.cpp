#include "version.h"

namespace tilebeat {

std::string version_text() {
  return TILEBEAT_VERSION " (" TILEBEAT_REVISION ")";
}

}  // namespace tilebeat
