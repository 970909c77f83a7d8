// The offset-table engine in tile granularity: the products of a slice at once, from the bytes in memory.
#include "tilebeat/base/math.h"
#include "tilebeat/engines/offset_table/sim/offset_unit.h"
#include "tilebeat/engines/rolling/sim/block_product.h"

#include <algorithm>
#include <array>

namespace tilebeat::offset_table {
namespace {

constexpr std::size_t kWhole = 16;  // elements that a line is a multiple of

}  // namespace

// Kernels of a slice, kernel by kernel, in the order of the beats; the zero point taken off.
const std::vector<std::int16_t>& OffsetUnit::widened_kernels(const Slice& slice) {
  std::vector<std::int16_t>& wide = wide_kernels_[slice_];
  if (!wide.empty()) return wide;
  const Job& job = *job_;
  const std::vector<Beat>& beats = job.schedule.beats(slice.group);
  const auto vector = static_cast<std::size_t>(job.schedule.vector()),
             count = static_cast<std::size_t>(slice.count);
  const bool is_unsigned = job.conv.weight_type == DType::kUint8;
  std::vector<std::uint8_t> bytes(beats.size() * vector * count);
  kernels_.direct_read(job.run.weights + static_cast<std::uint64_t>(slice.weights), bytes.data(),
                       static_cast<int>(bytes.size()));
  wide.assign(count * width_, 0);
  for (std::size_t b = 0; b < beats.size(); ++b) {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(beats[b].count); ++i) {
        const std::uint8_t byte = bytes[(b * count + k) * vector + i];
        const int weight = is_unsigned ? byte : static_cast<std::int8_t>(byte);
        wide[k * width_ + b * vector + i] = static_cast<std::int16_t>(weight - job.conv.weight_zero_point);
      }
    }
  }
  return wide;
}

// Operands of the threads of the group, thread by thread, in the order of the beats.
void OffsetUnit::widen_threads(int group) {
  if (widened_ == group) return;
  widened_ = group;
  const Job& job = *job_;
  const std::vector<Beat>& beats = job.schedule.beats(group);
  const auto vector = static_cast<std::size_t>(job.schedule.vector());
  const bool is_unsigned = job.conv.input_type == DType::kUint8;
  wide_threads_.assign(threads_.size() * width_, 0);
  std::array<std::uint8_t, 256> bytes{};
  for (std::size_t b = 0; b < beats.size(); ++b) {
    gather(beats[b], group);
    for (std::size_t t = 0; t < operands_.size(); ++t) {
      const Operand& operand = operands_[t];
      if (operand.bytes == 0) continue;
      lines_.direct_read(operand.address, bytes.data(), operand.bytes);
      std::int16_t* to = wide_threads_.data() + t * width_ + b * vector;
      for (int i = 0; i < operand.bytes; ++i) {
        const std::uint8_t byte = bytes[static_cast<std::size_t>(i)];
        to[i] = static_cast<std::int16_t>((is_unsigned ? byte : static_cast<std::int8_t>(byte)) -
                                          job.conv.input_zero_point);
      }
    }
  }
}

void OffsetUnit::multiply_slice(const Slice& slice) {
  Job& job = *job_;
  const std::size_t elements =
      job.schedule.beats(slice.group).size() * static_cast<std::size_t>(job.schedule.vector());
  const std::size_t width = align_up(elements, kWhole);
  if (width != width_) widened_.reset();
  width_ = width;
  widen_threads(slice.group);
  const std::vector<std::int16_t>& kernels = widened_kernels(slice);
  if (job.run.first) std::fill(sums_.begin(), sums_.end(), 0);
  rolling::multiply_block({wide_threads_.data(), width_}, static_cast<int>(threads_.size()),
                          {kernels.data(), width_}, slice.count, static_cast<int>(width_), sums_.data(),
                          static_cast<std::size_t>(config_.columns));
  if (!job.run.last) return;
  if (!job.records.empty() && group_ == 0) read_records(job, slice);
  const auto offset = static_cast<std::uint64_t>(slice.first * dtype_size(job.conv.output_type));
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    const std::vector<std::uint8_t> row =
        post_processed(job, slice, sums_.data() + t * static_cast<std::size_t>(config_.columns));
    const std::uint64_t address = threads_[t].result + offset;
    if (faulty_)
      results_.write(address, row.data(), static_cast<int>(row.size()), 0);
    else
      results_.direct_write(address, row.data(), static_cast<int>(row.size()));
  }
}

}  // namespace tilebeat::offset_table
