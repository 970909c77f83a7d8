#pragma once

// What the fuzz targets share: a parser gets bytes, and may refuse them with a UserError.

#include "tilebeat/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tilebeat::fuzz {

/// The bytes of a case as a file that has no place in the file system, for parsers that read files.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

/// Ends the process, which the fuzzer takes for a finding, unless `holds`.
inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Runs `parse`, which may throw a UserError with a message and nothing else.
template <class Parse>
int tried(Parse parse) {
  try {
    parse();
  } catch (const UserError& error) {
    require(error.what()[0] != '\0');
  }
  return 0;
}

}  // namespace tilebeat::fuzz
