#include "tilebeat/fabric/zero_pages.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMapBytes = std::size_t{256} << 20, kPage = 4096;

std::uint8_t* map(std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::uint8_t*>(mapped);
}

}  // namespace

std::uint8_t* zero_pages(std::size_t bytes) {
  static std::uint8_t* next = nullptr;
  static std::size_t left = 0;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (whole > left) {
    left = std::max(whole, kMapBytes);
    next = map(left);
  }
  std::uint8_t* const begin = next;
  next += whole, left -= whole;
  return begin;
}

}  // namespace tilebeat
