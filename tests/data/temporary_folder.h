#pragma once

#include "tilebeat/error.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace tilebeat {

/// A folder of this test's own; it goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilebeat-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and gives its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

/// The message of the UserError that `load()` throws; empty if it throws none.
template <class Load>
std::string refusal(Load load) {
  try {
    load();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tilebeat
