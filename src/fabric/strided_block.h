#pragma once

#include <cstdint>

namespace tilebeat {

/// Bytes in memory: `outer_count` x `inner_count` runs of `run_bytes`.
struct StridedBlock {
  std::uint64_t address = 0;
  std::int64_t run_bytes = 0;
  std::int64_t inner_count = 1, inner_stride = 0;
  std::int64_t outer_count = 1, outer_stride = 0;

  std::int64_t total_bytes() const { return run_bytes * inner_count * outer_count; }
  /// The byte after the last one; the block must not be empty.
  std::uint64_t end() const {
    return address +
           to_unsigned((outer_count - 1) * outer_stride + (inner_count - 1) * inner_stride + run_bytes);
  }
  /// The same bytes in the same order, with adjacent runs joined.
  StridedBlock merged() const {
    StridedBlock block = *this;
    if (block.inner_count == 1 || block.inner_stride == block.run_bytes) {
      block.run_bytes *= block.inner_count;
      block.inner_count = 1;
    }
    if (block.inner_count == 1 && (block.outer_count == 1 || block.outer_stride == block.run_bytes)) {
      block.run_bytes *= block.outer_count;
      block.outer_count = 1;
    }
    return block;
  }
};

/// Cuts a strided block into bursts: each lies within one run and within one `burst_bytes`-aligned window, so
/// that none crosses a 4096-byte boundary (burst_bytes divides 4096).
class BurstCutter {
 public:
  BurstCutter(const StridedBlock& block, int burst_bytes)
      : block_(block.merged()), burst_bytes_(burst_bytes), done_(block_.total_bytes() == 0) {}

  bool done() const { return done_; }
  std::uint64_t address() const {
    return block_.address +
           to_unsigned(outer_ * block_.outer_stride + inner_ * block_.inner_stride + offset_);
  }
  /// Bytes of the burst that `address` starts.
  int bytes() const {
    const std::int64_t window = burst_bytes_ - to_signed(address() % to_unsigned(burst_bytes_));
    const std::int64_t left = block_.run_bytes - offset_;
    return to_int(window < left ? window : left);
  }
  void advance() {
    offset_ += bytes();
    if (offset_ < block_.run_bytes) return;
    offset_ = 0;
    if (++inner_ < block_.inner_count) return;
    inner_ = 0;
    done_ = ++outer_ == block_.outer_count;
  }

 private:
  StridedBlock block_;
  std::int64_t burst_bytes_;
  std::int64_t outer_ = 0, inner_ = 0, offset_ = 0;
  bool done_;
};

}  // namespace tilebeat
