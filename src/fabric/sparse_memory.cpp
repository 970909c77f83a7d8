#include "fabric/sparse_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMapBytes = std::size_t{256} << 20, kPageBytes = 4096;

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
  const std::size_t whole = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (whole > left) {
    left = std::max(whole, kMapBytes);
    next = map(left);
  }
  std::uint8_t* const begin = next;
  next += whole, left -= whole;
  return begin;
}

SparseMemory::Page* SparseMemory::find(std::uint64_t number) const {
  if (last_ != nullptr && last_number_ == number) return last_;
  const auto found = pages_.find(number);
  if (found == pages_.end()) return nullptr;
  last_number_ = number;
  last_ = found->second.get();
  return last_;
}

void SparseMemory::read(std::uint64_t address, std::uint8_t* out, std::size_t count) const {
  while (count > 0) {
    const std::size_t offset = address % kPageBytes;
    const std::size_t part = std::min(count, kPageBytes - offset);
    const Page* page = find(address / kPageBytes);
    if (page == nullptr) {
      std::memset(out, 0, part);
    } else {
      std::memcpy(out, page->data() + offset, part);
    }
    address += part;
    out += part;
    count -= part;
  }
}

void SparseMemory::write(std::uint64_t address, const std::uint8_t* in, std::size_t count) {
  while (count > 0) {
    const std::uint64_t number = address / kPageBytes;
    const std::size_t offset = address % kPageBytes;
    const std::size_t part = std::min(count, kPageBytes - offset);
    Page* page = find(number);
    if (page == nullptr) {
      // Bytes that were never written read as zero.
      std::unique_ptr<Page> made(part == kPageBytes ? new Page : new Page());
      page = pages_.emplace(number, std::move(made)).first->second.get();
    }
    std::memcpy(page->data() + offset, in, part);
    address += part;
    in += part;
    count -= part;
  }
}

}  // namespace tilebeat
