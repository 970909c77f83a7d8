#include "base/inputs_read.h"

#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <sys/stat.h>

namespace tilebeat {
namespace {

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

// Threads read, too.
struct Inputs {
  std::mutex mutex;
  std::set<Identity> known;
};
Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

void note_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return;
  const std::lock_guard lock(inputs().mutex);
  inputs().known.insert(*identity);
}

bool is_input(const std::string& path) {
  const auto identity = identity_of(path);
  if (!identity) return false;
  const std::lock_guard lock(inputs().mutex);
  return inputs().known.count(*identity) > 0;
}

}  // namespace tilebeat
