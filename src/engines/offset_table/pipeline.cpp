#include "engines/offset_table/pipeline.h"

#include "base/types.h"
#include "engines/offset_table/schedule.h"

#include <algorithm>
#include <limits>

namespace tilebeat::offset_table {
namespace {

constexpr int kSumBytes = 4;

}  // namespace

PortTimes port_times(const OffsetConfig& config, const MemoryConfig& nram, const MemoryConfig& wram) {
  const int access_bytes = std::min(config.port_bytes, nram.banks * nram.bank_bytes);
  return {ceil_div(config.cache.line_bytes, access_bytes), nram.latency_cycles, wram.latency_cycles};
}

Pipeline::Pipeline(const OffsetConfig& config, const PortTimes& times)
    : cache(config.cache, times.line_cycles, times.nram_latency),
      config_(config),
      times_(times),
      generator_(config),
      begun_(to_size(config.beat_queue), -1) {
  while ((1 << (tree_cycles_ - 1)) < config.vector) ++tree_cycles_;
}

void Pipeline::begin_group(int threads, Cycle tables) {
  activated += threads;
  Cycle& registers = nth(registers_free_, groups_++ % 2);
  bases_from_ = tables;
  if (config_.addresses == Addresses::kTables) {
    active_from_ = activation_free_ = std::max({tables, activation_free_, registers}) + threads;
  } else {
    // Offsets use the generator as well: it begins with a group when it has made the last addresses.
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
  return kernels_free_ + times_.wram_latency + decode_;
}

Cycle Pipeline::end_slice(int columns, Cycle records, const std::vector<int>& accesses,
                          std::vector<RowTimes>& rows) {
  rows.clear();
  Cycle from = std::max({lanes_free_ + tree_cycles_, records, drain_free_});
  const int row_cycles = ceil_div(columns * kSumBytes, config_.drain_bytes);
  for (const int count : accesses) {
    if (count_of(sent_) == config_.write_queue) {
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
  drain_free_ = nth(sums_free_, slices_ % 2) = from;
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

namespace {

// Number of sampled slices of a group: short slices are sampled until waiting for sums has set in.
constexpr std::size_t kFewestSlices = 2, kMostSlices = 10, kSampledSliceBeats = 300;
// Number of sampled groups of threads, limited by their beats.
constexpr std::int64_t kFewestGroups = 3, kMostGroups = 9, kSampledBeats = 12000;

// Sends the sampled slices of a group of threads through the pipeline. Returns the cycles that all slices
// would take.
class Sample {
 public:
  Sample(const OffsetConfig& config, const PortTimes& times, const Tables& tables,
         const OffsetSchedule& schedule, int bank_shift, int result_bytes)
      : config_(config),
        tables_(tables),
        schedule_(schedule),
        result_bytes_(result_bytes),
        pipeline_(config, times) {
    pipeline_.cache.set_bank_shift(bank_shift);
  }

  double group(std::int64_t first) {
    const std::int64_t end = std::min(first + config_.rows, tables_.shape.threads());
    const Cycle begun = pipeline_.lanes_free();
    pipeline_.begin_group(to_int(end - first), 0);
    stretches_.clear();
    const std::vector<Slice>& slices = schedule_.slices();
    const std::size_t sampled = slices_sampled();
    for (std::size_t s = 0; s + 1 < sampled; ++s) slice(slices[s], first, end);
    const Cycle before = pipeline_.lanes_free();
    slice(slices[sampled - 1], first, end);
    const auto last = static_cast<double>(pipeline_.lanes_free() - before);
    const auto others = static_cast<double>(slices.size() - sampled);
    return static_cast<double>(pipeline_.lanes_free() - begun) + others * last;
  }
  std::size_t slices_sampled() const {
    const std::vector<Slice>& slices = schedule_.slices();
    const std::size_t beats = schedule_.beats(slices.front().group).size();
    return std::min(slices.size(), std::clamp(kSampledSliceBeats / beats, kFewestSlices, kMostSlices));
  }
  double drain() const { return static_cast<double>(written_ - pipeline_.lanes_free()); }

 private:
  void slice(const Slice& slice, std::int64_t first, std::int64_t end) {
    pipeline_.begin_slice(true);
    const int accesses = ceil_div(slice.count * schedule_.vector(), config_.port_bytes);
    const std::vector<Beat>& beats = schedule_.beats(slice.group);
    if (slice.group != of_group_) stretches_.clear();
    of_group_ = slice.group;
    const auto gather = [&](const Beat& beat, std::vector<Operand>& operands) {
      for (std::int64_t t = first; t < end; ++t)
        operands.push_back(operand_of(tables_, t, slice.group, beat, kMap));
      return std::numeric_limits<std::int64_t>::max();
    };
    std::size_t number = 0;
    for (std::size_t b = 0; b < beats.size(); ++number) {
      Stretch& stretch = stretches_.at(number, b, beats, pipeline_.cache, gather);
      pipeline_.beat(stretch.footprint, 0, accesses);
      if (pipeline_.cache.holds(stretch.footprint.lines)) {
        pipeline_.beats_again(stretch.beats - 1, accesses, [](Cycle, Cycle, Cycle) {});
      } else {
        for (std::size_t i = 1; i < stretch.beats; ++i) {
          operands_.clear();
          gather(beats[b + i], operands_);
          pipeline_.beat(operands_, 0, accesses, references_);
        }
      }
      b += stretch.beats;
    }
    const int writes = ceil_div(slice.count * result_bytes_, config_.port_bytes);
    written_ = pipeline_.end_slice(slice.count, 0, std::vector<int>(to_size(end - first), writes), rows_);
  }

  // Address of the map, a multiple of the line size; lines in front of it are never accessed.
  static constexpr std::uint64_t kMap = 1 << 20;

  const OffsetConfig& config_;
  const Tables& tables_;
  const OffsetSchedule& schedule_;
  int result_bytes_;
  Pipeline pipeline_;
  Stretches stretches_;  // stretches of the group of threads, ...
  int of_group_ = 0;     // ... for this group of channels
  std::vector<Operand> operands_;
  std::vector<LineCache::Reference> references_;
  std::vector<Pipeline::RowTimes> rows_;
  Cycle written_ = 0;
};

}  // namespace

Operand operand_of(const Tables& tables, std::int64_t thread, int group, const Beat& beat,
                   std::uint64_t map) {
  if (!tables.inside(thread, beat.row, beat.column)) return {};
  const std::int64_t at = tables.base(thread, group) + nth(tables.offsets, beat.entry) + beat.beyond;
  return {map + to_unsigned(at), beat.count};
}

RunCost cost_of(const OffsetConfig& config, const PortTimes& times, const TableShape& shape,
                const OffsetSetup& setup, const OffsetRun& run, int result_bytes) {
  const Tables tables = compile_tables(shape);
  const OffsetSchedule schedule(shape, setup, run);
  const std::int64_t groups = ceil_div<std::int64_t>(shape.threads(), config.rows);
  Sample sample(config, times, tables, schedule, setup.bank_shift, result_bytes);
  // The first group fills the cache; later ones find the lines that they share with their neighbour.
  const auto beats =
      ssize(schedule.beats(schedule.slices().front().group)) * to_signed(sample.slices_sampled());
  const std::int64_t most = std::clamp(kSampledBeats / beats, kFewestGroups, kMostGroups);
  const std::int64_t from = std::max<std::int64_t>(0, (groups - most) / 2);
  const std::int64_t sampled = std::min(most, groups - from);
  double begin = 0, others = 0;
  for (std::int64_t i = 0; i < sampled; ++i) {
    const double cycles = sample.group((from + i) * config.rows);
    (i == 0 ? begin : others) += cycles;
  }
  const double each = sampled > 1 ? others / static_cast<double>(sampled - 1) : begin;
  RunCost cost;
  cost.cycles = begin + each * static_cast<double>(groups - 1);
  cost.drain = sample.drain();
  return cost;
}

}  // namespace tilebeat::offset_table
