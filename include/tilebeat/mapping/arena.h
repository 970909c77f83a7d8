#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tilebeat {

/// When a place in a memory is in use, in steps of whatever the caller counts (layers, steps of a layer),
/// both ends included.
struct Lifetime {
  int first = 0, last = 0;
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

/// Assigns places in one memory (SPEC MA-2). Places whose lifetimes overlap share no byte; all others may.
class Arena {
 public:
  /// A memory of `bytes` bytes whose first has the address `base`. Places begin at multiples of `alignment`,
  /// counted from there.
  Arena(std::uint64_t base, std::int64_t bytes, std::int64_t alignment)
      : base_(base), bytes_(bytes), alignment_(alignment) {}

  /// The address of `bytes` bytes during `lifetime`: the lowest free place. Throws UserError when there is
  /// none.
  std::uint64_t allocate(std::int64_t bytes, Lifetime lifetime = {});
  /// The end of the highest place given so far, counted from the base.
  std::int64_t used() const { return used_; }
  std::int64_t size() const { return bytes_; }

 private:
  struct Place {
    std::int64_t begin, end;
    Lifetime lifetime;
  };
  std::uint64_t base_;
  std::int64_t bytes_, alignment_;
  std::int64_t used_ = 0;
  // Where the lowest place was that was found, by the bytes that it was for: more bytes find none below, as
  // places are never given back. Both rise.
  using Floors = std::map<std::int64_t, std::int64_t>;
  static std::int64_t floor_of(const Floors& floors, std::int64_t bytes);
  static void raise(Floors& floors, std::int64_t bytes, std::int64_t begin);
  std::vector<Place> places_;                     // by rising begin
  std::int64_t longest_ = 0;                      // of them
  std::map<std::pair<int, int>, Floors> floors_;  // by lifetime
};

}  // namespace tilebeat
