#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tilebeat {

/// `count` runs of `run` neighbouring bytes (or words, of memories that are counted in words), `stride`
/// apart.
struct BytePattern {
  std::uint64_t begin = 0, run = 0, stride = 0, count = 1;

  /// Whether a run begins before the previous one ends.
  bool overlaps_itself() const { return count > 1 && stride < run; }
  std::uint64_t end() const { return count == 0 ? begin : begin + (count - 1) * stride + run; }
  /// Whether any of [from, to) belongs to the pattern.
  bool meets(std::uint64_t from, std::uint64_t to) const;
  bool meets(const BytePattern& other) const;
};

/// A set of bytes (or words) of a memory, as ranges that do not touch one another.
class ByteSet {
 public:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };

  /// Adds [begin, end).
  void add(std::uint64_t begin, std::uint64_t end);
  void add(const BytePattern& pattern);
  void add(const ByteSet& other);
  bool empty() const { return ranges_.empty(); }
  /// Its ranges: ends by beginnings.
  const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }
  /// The first neighbouring bytes that both sets have; nothing where they have none in common.
  std::optional<Range> common_with(const ByteSet& other) const;
  /// The first neighbouring bytes of this set that `other` lacks; nothing where it has them all.
  std::optional<Range> missing_in(const ByteSet& other) const;

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;
  /// The range that holds `at`, or the first one behind it.
  Ranges::const_iterator from(std::uint64_t at) const;

  Ranges ranges_;  // ends by beginnings
};

}  // namespace tilebeat
