#include "app/provenance.h"

namespace tilebeat {

std::string version_number() {
  return TILEBEAT_VERSION;
}
std::string source_revision() {
  return TILEBEAT_REVISION;
}
std::string version_text() {
  return TILEBEAT_VERSION " (" TILEBEAT_REVISION ")";
}

}  // namespace tilebeat
