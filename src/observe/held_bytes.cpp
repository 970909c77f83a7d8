#include "observe/held_bytes.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr std::uint64_t kMostLines = 4096, kSmallestLine = 64;

// The even bits of `x`, packed into the lower half.
std::uint64_t even_bits(std::uint64_t x) {
  x &= 0x5555555555555555U;
  x = (x | x >> 1) & 0x3333333333333333U;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fU;
  x = (x | x >> 4) & 0x00ff00ff00ff00ffU;
  x = (x | x >> 8) & 0x0000ffff0000ffffU;
  return (x | x >> 16) & 0x00000000ffffffffU;
}

}  // namespace

HeldBytes::HeldBytes(std::uint64_t size) : size_(size), line_bytes_(kSmallestLine) {
  while (line_bytes_ * kMostLines < size_) line_bytes_ *= 2;
  lines_.resize(to_size((size_ + line_bytes_ - 1) / line_bytes_));
}

// A bit mask of the slices that contain the cycles [from, to].
std::uint64_t HeldBytes::bits(Cycle from, Cycle to) const {
  const auto first = to_int(from >> shift_), last = to_int(to >> shift_);
  return (~std::uint64_t{0} << first) & (~std::uint64_t{0} >> (kSlices - 1 - last));
}

void HeldBytes::access(Access kind, std::uint64_t begin, std::uint64_t end, Cycle cycle) {
  if (begin >= end) return;
  accessed_ = true;
  while (cycle >> shift_ >= kSlices) join();
  const std::uint64_t last = std::min<std::uint64_t>((end - 1) / line_bytes_, lines_.size() - 1);
  for (std::uint64_t i = begin / line_bytes_; i <= last; ++i) {
    Line& line = nth(lines_, i);
    if (line.slices == 0) {
      line.before = line.latest = cycle;
    } else if (cycle > line.latest) {
      line.before = line.latest;
      line.latest = cycle;
    }
    line.slices |= bits(kind == Access::kRead ? std::min(line.before, cycle) : cycle, cycle);
  }
}

void HeldBytes::join() {
  ++shift_;
  for (Line& line : lines_) line.slices = even_bits(line.slices | line.slices >> 1);
}

Cycle HeldBytes::slice_cycles(Cycle end) const {
  Cycle cycles = Cycle{1} << shift_;
  while (end > cycles * kSlices) cycles *= 2;
  return cycles;
}

std::vector<std::int64_t> HeldBytes::by_slice(Cycle slice_cycles, Cycle begin, Cycle end) const {
  std::vector<std::int64_t> held;
  for (Cycle at = begin / slice_cycles * slice_cycles; at < end; at += slice_cycles) {
    std::uint64_t bytes = 0;
    if (at >> shift_ < kSlices) {
      const std::uint64_t slice = bits(at, std::min(at + slice_cycles - 1, (Cycle{kSlices} << shift_) - 1));
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        if ((lines_[i].slices & slice) != 0) bytes += std::min(line_bytes_, size_ - i * line_bytes_);
      }
    }
    held.push_back(to_signed(bytes));
  }
  return held;
}

}  // namespace tilebeat
