#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace tilebeat {

/// `bytes` bytes of zeros from the beginning of a page on, which take no memory until they are written and
/// live until the process ends. They are parts of large maps, because a chip has more banks than an operating
/// system allows a process to have maps. Throws std::bad_alloc.
std::uint8_t* zero_pages(std::size_t bytes);

/// Byte storage for large address spaces (SPEC CY-5): only pages that were written exist, everything else
/// reads as zero.
class SparseMemory {
 public:
  static constexpr std::size_t kPageBytes = 16384;

  /// Copies `count` bytes from `address` on to `out`.
  void read(std::uint64_t address, std::uint8_t* out, std::size_t count) const;
  /// Copies `count` bytes from `in` to `address` on.
  void write(std::uint64_t address, const std::uint8_t* in, std::size_t count);
  /// Everything reads as zero again.
  void clear() { pages_.clear(), last_ = nullptr; }
  /// Pages that exist.
  std::size_t pages() const { return pages_.size(); }

 private:
  using Page = std::array<std::uint8_t, kPageBytes>;

  /// The page with that number, or null.
  Page* find(std::uint64_t number) const;

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  // The page used last: bursts walk through memory in order.
  mutable std::uint64_t last_number_ = 0;
  mutable Page* last_ = nullptr;
};

}  // namespace tilebeat
