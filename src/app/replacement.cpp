#include "replacement.h"

#include "tilebeat/base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilebeat {

void refuse_to_write(const std::string& path, int error) {
  throw UserError(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
}

std::string make_file_beside(const std::string& path, const std::string& shown, int& descriptor) {
  std::string name = (std::filesystem::path(path).parent_path() / ".tilebeat-XXXXXX").string();
  descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) refuse_to_write(shown, errno);
  return name;
}

Replacement::~Replacement() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->saved.empty()) {
      unlink(step->path.c_str());
    } else {
      rename(step->saved.c_str(), step->path.c_str());
      unlink(step->saved.c_str());  // still there when both are names of one file: then rename does nothing
    }
  }
}

// Keeps what is at `path` under a second name.
void Replacement::save(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse_to_write(path, errno);
    steps_.push_back({path, ""});
    return;
  }
  if (S_ISDIR(status.st_mode)) refuse_to_write(path, EISDIR);
  int descriptor = -1;
  const std::string saved = make_file_beside(path, path, descriptor);
  close(descriptor);
  unlink(saved.c_str());
  // A second name leaves no moment without the file; not every file system has them.
  if (link(path.c_str(), saved.c_str()) != 0 && rename(path.c_str(), saved.c_str()) != 0) {
    refuse_to_write(path, errno);
  }
  steps_.push_back({path, saved});
}

void Replacement::put(const std::string& from, const std::string& to) {
  save(to);
  if (rename(from.c_str(), to.c_str()) != 0) refuse_to_write(to, errno);
}

void Replacement::remove(const std::string& path) {
  save(path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) refuse_to_write(path, errno);
}

void Replacement::keep() {
  for (const Step& step : steps_) {
    if (!step.saved.empty()) unlink(step.saved.c_str());
  }
  steps_.clear();
}

}  // namespace tilebeat
