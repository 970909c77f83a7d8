#include "base/heap.h"

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tilebeat {

void put_heap_in_huge_pages() {
  constexpr int kReserved = 1 << 30, kGrowth = 16 << 20;
  constexpr std::size_t kBeyondTop = 64 << 20;  // more than is free before the heap grows
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Large blocks come from the heap, too, and what is freed stays there for the next.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, kReserved);
  void* const first = std::malloc(kBeyondTop);
  mallopt(M_TOP_PAD, kGrowth);
  auto* const begin =
      static_cast<char*>(first) + (page - reinterpret_cast<std::uintptr_t>(first) % page) % page;
  const auto* const end = static_cast<const char*>(sbrk(0));
  // With another allocator than the C library's, the block lies outside the heap.
  if (first != nullptr && std::less<>()(begin, end)) madvise(begin, to_size(end - begin), MADV_HUGEPAGE);
  std::free(first);
}

}  // namespace tilebeat
