#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "engines/offset_table/config.h"
#include "engines/offset_table/line_cache.h"
#include "engines/offset_table/schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilebeat::offset_table {

/// The timing of the memories behind the unit's ports.
struct PortTimes {
  int line_cycles = 1;   ///< cycles of NRAM accesses for a line
  int nram_latency = 1;  ///< cycles
  int wram_latency = 1;
};
/// The timing of these memories. An access of a line takes a word of every bank at most.
PortTimes port_times(const OffsetConfig& config, const MemoryConfig& nram, const MemoryConfig& wram);

/// The baseline's address generator (SPEC OT-6): one divider, not pipelined, and one multiplier, pipelined.
/// A thread takes two divisions (by Ho*Wo and by Wo) and the products of its base; an offset two divisions
/// (by Kh*Kw and by Kw) and its products, which begin when the divisions have ended. At most `address_queue`
/// offsets are under way or wait for their beats: the divider begins another one when the tags are done with
/// the beat of the oldest one.
class AddressGenerator {
 public:
  explicit AddressGenerator(const OffsetConfig& config)
      : divider_(config.divider_cycles),
        multiplier_(config.multiplier_cycles),
        taken_(to_size(config.address_queue), -1) {}
  static constexpr int kDivisions = 2;
  static constexpr int kThreadProducts = 5;  ///< oh*sv, ow*su, by H, by W, by C or V
  static constexpr int kOffsetProducts = 4;  ///< v*dv, u*du, by W, by C, H*W or V

  /// The first cycle in which an address is known, when it is begun at `from` or later.
  Cycle make(int products, Cycle from) {
    const Cycle begin = std::max(from, divider_free_);
    divider_free_ = begin + kDivisions * divider_;
    const Cycle multiplied = std::max(divider_free_, multiplier_free_);
    multiplier_free_ = multiplied + products;
    return multiplier_free_ - 1 + multiplier_;
  }
  /// The same for the offset of the next beat, which needs a place in the queue.
  Cycle make_offset(Cycle from) { return make(kOffsetProducts, std::max(from, taken_[oldest_taken_] + 1)); }
  /// The tags are done in cycle `at` with the beat whose offset was made last; its place is free in the next.
  void take_offset(Cycle at) {
    taken_[oldest_taken_] = at;
    if (++oldest_taken_ == taken_.size()) oldest_taken_ = 0;
  }
  /// Cycles that the generator needs for an address when many follow one another.
  Cycle interval(int products) const { return std::max<Cycle>(kDivisions * divider_, products); }

 private:
  Cycle divider_, multiplier_;
  Cycle divider_free_ = 0, multiplier_free_ = 0;
  std::vector<Cycle> taken_;      // by the tags, of the last `address_queue` offsets
  std::size_t oldest_taken_ = 0;  // index of the oldest
};

/// The way of beats through the unit, cycle by cycle: activation of threads, addresses, tags, lines, kernels,
/// lanes, sums, results. Each stage is a resource that is free from some cycle on, and queues between them
/// have places. Pure: the unit moves data by the cycles that it answers, the planner estimates with it.
///
/// Activation reads the base of a thread a cycle into one of two sets of registers. A beat is looked up when
/// its group is active, its offset is there and the queue of `beat_queue` beats has a place, which it leaves
/// when the lanes begin with it. Kernels of a beat are requested when its tags are looked up. The lanes have
/// two sets of sums: a slice begins when the one before the last has left its sums, `drain_bytes` a cycle,
/// row by row; `post_latency_cycles` later a row is written, at most `write_queue` rows wait for that.
class Pipeline {
 public:
  Pipeline(const OffsetConfig& config, const PortTimes& times);

  /// The times at which the things that a beat waits for are ready, in cycles.
  struct BeatTimes {
    Cycle sums = 0;       ///< a set of sums is free
    Cycle tables = 0;     ///< base and offset are in the table cache
    Cycle addresses = 0;  ///< all addresses are known
    LineCache::Looked looked;
    Cycle kernels_requested = 0, kernels = 0;
    Cycle begin = 0, end = 0;  ///< cycles of the lanes; `end` is the cycle after the last one
  };
  /// Begins a group of `threads` threads, whose bases are in the table cache from cycle `tables` on.
  void begin_group(int threads, Cycle tables);
  /// Begins the next slice of kernels; `fresh`: it starts new sums.
  void begin_slice(bool fresh);
  /// Adds the next beat. Its offset is in the table cache from cycle `tables` on, and its kernels take
  /// `kernel_accesses` accesses of WRAM.
  BeatTimes beat(const std::vector<Operand>& operands, Cycle tables, int kernel_accesses,
                 std::vector<LineCache::Reference>& references);
  /// The same for a beat whose footprint is known (LineCache::measure).
  BeatTimes beat(LineCache::Footprint& footprint, Cycle tables, int kernel_accesses) {
    BeatTimes t;
    const Cycle earliest = addresses_of(t, tables);
    t.looked = cache.look(footprint, earliest, lanes_free_);
    end_beat(t, kernel_accesses);
    return t;
  }
  /// Adds the next `count` beats of the same slice and offset, if LineCache::look_again applies to them.
  /// Calls `each` for each beat with the first cycles in which its addresses and its lines are known, and the
  /// cycle in which it begins.
  template <class Each>
  void beats_again(std::size_t count, int kernel_accesses, Each&& each);
  /// The port for kernels is used up to cycle `until`.
  void hold_kernels(Cycle until) { kernels_free_ = until; }
  /// What the port reads takes `cycles` cycles more from now on.
  void decode_kernels(int cycles) { decode_ = cycles; }
  /// Reads biases and scales behind the kernels; returns the first cycle in which they are known.
  Cycle read_records(int accesses);
  /// Drains the slice's sums, `rows` rows of `columns`, not before cycle `records`; each row takes `accesses`
  /// accesses of NRAM. `sent` receives the cycle in which each row begins to be written. Returns the cycle
  /// after the last access.
  struct RowTimes {
    Cycle begin = 0, sent = 0;
  };
  Cycle end_slice(int columns, Cycle records, const std::vector<int>& accesses, std::vector<RowTimes>& rows);

  /// The first cycle in which the next beat may be looked up.
  Cycle next_look() const { return cache.next_look(); }
  /// The first cycle in which all operands have been read.
  Cycle read_by() const;
  /// The first cycle after all requests for kernels and records have been made.
  Cycle kernels_requested_by() const { return kernels_free_; }
  /// The cycle after the last beat of the lanes.
  Cycle lanes_free() const { return lanes_free_; }
  Cycle last_looked() const { return last_looked_; }
  /// Cycles of the adder tree behind a lane.
  int tree_cycles() const { return tree_cycles_; }

  LineCache cache;
  std::int64_t activated = 0;  ///< threads
  std::int64_t looked_up = 0;  ///< beats
  /// Cycles that the generator would have needed for the addresses, less those for the tables.
  Cycle cycles_saved() const;

 private:
  // Computes the times of the next beat's addresses; returns the first cycle in which its tags may be looked
  // up.
  Cycle addresses_of(BeatTimes& t, Cycle tables) {
    ++looked_up;
    t.tables = std::max(tables, bases_from_);
    addresses_from_ = std::max(active_from_, tables);
    t.addresses = addresses_ = next_addresses();
    return std::max(t.addresses, begun_[oldest_begun_] + 1);
  }
  Cycle next_addresses() {
    if (config_.addresses == Addresses::kTables) return addresses_from_;
    return std::max(addresses_from_, generator_.make_offset(addresses_from_));
  }
  // Computes the times of a beat from its tags on.
  void end_beat(BeatTimes& t, int kernel_accesses) {
    last_looked_ = t.looked.done;
    if (config_.addresses == Addresses::kComputed) generator_.take_offset(last_looked_);
    nth(registers_free_, (groups_ + 1) % 2) = last_looked_ + 1;
    t.kernels_requested = std::max(t.looked.at, kernels_free_);
    kernels_free_ = t.kernels_requested + kernel_accesses;
    t.kernels = kernels_free_ + times_.wram_latency + decode_;
    t.sums = nth(sums_free_, slices_ % 2);
    t.begin = std::max({lanes_free_, t.sums, t.looked.ready, t.kernels});
    lanes_free_ = t.end = t.begin + t.looked.cycles;
    begun_[oldest_begun_] = t.begin;
    if (++oldest_begun_ == begun_.size()) oldest_begun_ = 0;
  }

  OffsetConfig config_;
  PortTimes times_;
  AddressGenerator generator_;
  int tree_cycles_ = 1;
  // Activation: by register set, the cycle after the last beat that used it.
  std::array<Cycle, 2> registers_free_{};
  std::int64_t groups_ = 0;
  Cycle activation_free_ = 0, active_from_ = 0, bases_from_ = 0;
  Cycle last_looked_ = -1;
  std::vector<Cycle> begun_;                  // by the lanes, of the last `beat_queue` beats
  std::size_t oldest_begun_ = 0;              // index of the oldest
  Cycle addresses_from_ = 0, addresses_ = 0;  // cycles of the last beat's addresses
  Cycle kernels_free_ = 0;
  int decode_ = 0;
  Cycle lanes_free_ = 0;
  std::int64_t slices_ = -1;
  std::array<Cycle, 2> sums_free_{};
  Cycle drain_free_ = 0, write_free_ = 0;
  std::deque<Cycle> sent_;  // send cycles of the last `write_queue` rows
};

template <class Each>
void Pipeline::beats_again(std::size_t count, int kernel_accesses, Each&& each) {
  if (count == 0) return;
  const bool computed = config_.addresses == Addresses::kComputed;
  const int cycles = cache.look_again(to_signed(count));
  const int hit_latency = config_.cache.hit_latency_cycles;
  Cycle look = cache.next_look(), kernels = kernels_free_, lanes = lanes_free_;
  for (std::size_t i = 0; i < count; ++i) {
    if (computed) addresses_ = next_addresses();
    Cycle& begun = begun_[oldest_begun_];
    if (++oldest_begun_ == begun_.size()) oldest_begun_ = 0;
    look = std::max({look, addresses_, begun + 1});
    if (computed) generator_.take_offset(look);
    kernels = std::max(look, kernels) + kernel_accesses;
    const Cycle ready = look + hit_latency;
    begun = std::max({lanes, ready, kernels + times_.wram_latency + decode_});
    lanes = begun + cycles;
    ++look;
    each(addresses_, ready, begun);
  }
  looked_up += to_signed(count);
  cache.looked_until(look);
  last_looked_ = look - 1;
  nth(registers_free_, (groups_ + 1) % 2) = look;
  kernels_free_ = kernels, lanes_free_ = lanes;
}

/// The operand of a thread in a beat, from a map at address `map`.
Operand operand_of(const Tables& tables, std::int64_t thread, int group, const Beat& beat, std::uint64_t map);

/// The estimated cost of a run: a sample of groups of threads passes through the pipeline, and the others are
/// assumed to be like them.
struct RunCost {
  double cycles = 0;  ///< cycles of the lanes
  double drain = 0;   ///< cycles from the last beat to the last result
};
RunCost cost_of(const OffsetConfig& config, const PortTimes& times, const TableShape& shape,
                const OffsetSetup& setup, const OffsetRun& run, int result_bytes);

}  // namespace tilebeat::offset_table
