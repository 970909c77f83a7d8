#pragma once

#include "tilebeat/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace tilebeat {

/// A folder for files that nobody keeps; it goes with the object.
class ScratchFolder {
 public:
  /// `purpose` is a part of its name. Throws UserError when it cannot be made.
  explicit ScratchFolder(const std::string& purpose) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    path_ = (parent / fmt::format("tilebeat-{}-XXXXXX", purpose)).string();
    if (error || mkdtemp(path_.data()) == nullptr)
      throw UserError(fmt::format("{}: cannot be made: {}; TMPDIR names the folder for it", path_,
                                  error ? error.message() : std::strerror(errno)));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }

 private:
  std::string path_;
};

}  // namespace tilebeat
