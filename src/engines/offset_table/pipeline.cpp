#include "tilebeat/engines/offset_table/pipeline.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat::offset_table {
namespace {

constexpr int kSumBytes = 4;

}  // namespace

Pipeline::Pipeline(const OffsetConfig& config, const PortTimes& times)
    : cache(config.cache, times.line_cycles, times.nram_latency),
      config_(config),
      times_(times),
      generator_(config),
      begun_(static_cast<std::size_t>(config.beat_queue), -1) {
  while ((1 << (tree_cycles_ - 1)) < config.vector) ++tree_cycles_;
}

void Pipeline::begin_group(int threads, Cycle tables) {
  activated += threads;
  Cycle& registers = registers_free_[static_cast<std::size_t>(groups_++ % 2)];
  bases_from_ = tables;
  if (config_.addresses == Addresses::kTables) {
    active_from_ = activation_free_ = std::max({tables, activation_free_, registers}) + threads;
  } else {
    // The generator is shared with the offsets: it begins with a group when the last one has its addresses.
    Cycle there = std::max(tables, last_looked_ + 1);
    for (int i = 0; i < threads; ++i)
      there = std::max(
          there, generator_.make(AddressGenerator::kThreadProducts, std::max(tables, last_looked_ + 1)));
    active_from_ = there;
  }
}

void Pipeline::begin_slice(bool fresh) {
  if (fresh) ++slices_;
}

Pipeline::BeatTimes Pipeline::beat(const std::vector<Operand>& operands, Cycle tables, int kernel_accesses,
                                   std::vector<LineCache::Reference>& references) {
  BeatTimes t;
  const Cycle earliest = addresses_of(t, tables);
  t.looked = cache.look(operands, earliest, lanes_free_, references);
  end_beat(t, kernel_accesses);
  return t;
}

Cycle Pipeline::read_records(int accesses) {
  kernels_free_ = std::max(kernels_free_, last_looked_) + accesses;
  return kernels_free_ + times_.wram_latency;
}

Cycle Pipeline::end_slice(int columns, Cycle records, const std::vector<int>& accesses,
                          std::vector<RowTimes>& rows) {
  rows.clear();
  Cycle from = std::max({lanes_free_ + tree_cycles_, records, drain_free_});
  const int row_cycles = ceil_div(columns * kSumBytes, config_.drain_bytes);
  for (const int count : accesses) {
    if (static_cast<int>(sent_.size()) == config_.write_queue) {
      from = std::max(from, sent_.front() + 1);
      sent_.pop_front();
    }
    RowTimes row;
    row.begin = from;
    from += row_cycles;
    row.sent = std::max(from + config_.post_latency_cycles, write_free_);
    write_free_ = row.sent + count;
    sent_.push_back(row.sent);
    rows.push_back(row);
  }
  drain_free_ = sums_free_[static_cast<std::size_t>(slices_ % 2)] = from;
  return write_free_;
}

Cycle Pipeline::read_by() const {
  return std::max({cache.requested_by(), kernels_free_, last_looked_ + 1});
}

Cycle Pipeline::cycles_saved() const {
  if (config_.addresses == Addresses::kComputed) return 0;
  return activated * (generator_.interval(AddressGenerator::kThreadProducts) - 1) +
         looked_up * (generator_.interval(AddressGenerator::kOffsetProducts) - 1);
}

}  // namespace tilebeat::offset_table
