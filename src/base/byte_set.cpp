#include "base/byte_set.h"

#include <algorithm>
#include <iterator>

namespace tilebeat {

bool BytePattern::meets(std::uint64_t from, std::uint64_t to) const {
  if (count == 0 || run == 0 || from >= to || from >= end() || to <= begin) return false;
  if (count == 1 || stride <= run) return true;
  // The first run that ends after `from`.
  const std::uint64_t first = from < begin + run ? 0 : (from - begin - run) / stride + 1;
  return first < count && begin + first * stride < to;
}

bool BytePattern::meets(const BytePattern& other) const {
  const BytePattern& fewer = count <= other.count ? *this : other;
  const BytePattern& more = count <= other.count ? other : *this;
  for (std::uint64_t i = 0; i < fewer.count; ++i) {
    const std::uint64_t from = fewer.begin + i * fewer.stride;
    if (more.meets(from, from + fewer.run)) return true;
  }
  return false;
}

void ByteSet::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= end) return;
    if (before->second >= begin) {
      begin = before->first;
      next = ranges_.erase(before);
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

void ByteSet::add(const BytePattern& pattern) {
  if (pattern.count > 1 && pattern.stride <= pattern.run) return add(pattern.begin, pattern.end());
  for (std::uint64_t i = 0; i < pattern.count; ++i) {
    const std::uint64_t begin = pattern.begin + i * pattern.stride;
    add(begin, begin + pattern.run);
  }
}

void ByteSet::add(const ByteSet& other) {
  for (const auto& [begin, end] : other.ranges_) add(begin, end);
}

ByteSet::Ranges::const_iterator ByteSet::from(std::uint64_t at) const {
  const auto behind = ranges_.upper_bound(at);
  if (behind == ranges_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second > at ? before : behind;
}

// Each set in turn skips to where the other one goes on.
std::optional<ByteSet::Range> ByteSet::common_with(const ByteSet& other) const {
  if (empty() || other.empty()) return std::nullopt;
  auto mine = from(other.ranges_.begin()->first);
  while (mine != ranges_.end()) {
    const auto its = other.from(mine->first);
    if (its == other.ranges_.end()) return std::nullopt;
    if (its->first < mine->second)
      return Range{std::max(mine->first, its->first), std::min(mine->second, its->second)};
    mine = from(its->first);
  }
  return std::nullopt;
}

std::optional<ByteSet::Range> ByteSet::missing_in(const ByteSet& other) const {
  for (const auto& [begin, end] : ranges_) {
    const auto its = other.from(begin);
    if (its == other.ranges_.end()) return Range{begin, end};
    if (its->first > begin) return Range{begin, std::min(end, its->first)};
    // Ranges do not touch: behind this one there is a gap.
    if (its->second < end) {
      const auto next = std::next(its);
      return Range{its->second, next == other.ranges_.end() ? end : std::min(end, next->first)};
    }
  }
  return std::nullopt;
}

}  // namespace tilebeat
