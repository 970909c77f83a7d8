#include "app/provenance.h"

#include <filesystem>
#include <system_error>

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

std::string own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : path.string();
}

}  // namespace tilebeat
