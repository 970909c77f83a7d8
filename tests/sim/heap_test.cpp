// The heap of the program (SPEC CY-5).
#include "base/heap.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// VmFlags of the mapping that an address lies in; "hg": huge pages are asked for.
std::string flags_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= wanted && wanted < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return {};
}

TEST(Heap, CY_5_large_blocks_lie_in_memory_that_asks_for_huge_pages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "the system has no huge pages for the heap";
  put_heap_in_huge_pages();
  // Larger than what the C library takes from the system by itself, and again when it was given back.
  for (int i = 0; i < 2; ++i) {
    const std::size_t bytes = std::size_t{100} << 20;
    const std::unique_ptr<void, void (*)(void*)> block(std::malloc(bytes), &std::free);
    ASSERT_NE(block, nullptr);
    const std::string flags = flags_of(static_cast<const char*>(block.get()) + bytes / 2);
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  }
}

}  // namespace
}  // namespace tilebeat::testing
