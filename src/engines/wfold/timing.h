#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "engines/wfold/schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat::wfold {

/// A clock that only counts: one of the three of WfoldTiming when stall causes are not needed.
class PlainClock {
 public:
  Cycle settled_at() const { return at_; }
  void settle(Cycle at) { at_ = std::max(at_, at); }
  void spend(Activity /*activity*/, Cycle cycles) { at_ += cycles; }

 private:
  Cycle at_ = 0;
};

/// Accesses of the regions' ports in neighbouring cycles: records of a kernel tile from the first one on, one
/// a cycle, or a kernel line.
struct PortAccess {
  Cycle at = 0;  ///< the first of them
  Cycle cycles = 0;
  bool records = false;
  const WfoldWalk& line;  ///< the kernel line, or the first one of the records' kernel tile
};

/// The cycles in which lines enter the first buffers, kernel lines are complete and beats are done (SPEC
/// WF-8): the recurrence of the planner's dry run (with plain clocks) and of the unit in tile granularity
/// (with ledgers).
///
/// Each master's bus carries its lines: a line enters when it is ready, one a cycle, into a place that was
/// freed in an earlier cycle; lines that do not exist only take their places, any number in a cycle before
/// the next line. A region's port reads the next kernel line into a slot whose line was used in an earlier
/// cycle; at the beginning of a kernel tile it reads the records first, one a cycle. A beat is done when its
/// kernel line is complete and, at the beginning of a step, its lines have entered from every master, and at
/// the beginning of a tile a half of the third buffers was drained, all in earlier cycles.
template <class Clock>
class WfoldTiming {
 public:
  /// A region's port delivers `port_bytes` a cycle.
  WfoldTiming(int masters, int port_bytes)
      : broadcast(to_size(masters)), port_bytes_(port_bytes), lines_(to_size(masters)) {}

  /// Begins a run in cycle `now`. The schedule outlives it.
  void begin(const WfoldSchedule& schedule, Cycle now) {
    schedule_ = &schedule;
    places_ = schedule.places();
    for (Lines& lines : lines_) {
      lines.entered = 0;
      lines.entered_at.assign(to_size(places_), now - 1);
    }
    freed_ = 0;
    freed_at_.assign(2 * to_size(places_), now - 1);
    slots_.assign(to_size(schedule.shape().kernel_lines()), {now - 1, now - 1, false});
    weights_.begin(schedule);
    records_next_ = schedule.geometry().post_parameters;
    beats.settle(now), ports.settle(now);
    for (Clock& bus : broadcast) bus.settle(now);
  }

  /// What the ports read takes `cycles` cycles more in the runs that begin from now on.
  void decode(int cycles) { decode_ = cycles; }

  int masters() const { return count_of(lines_); }
  /// Lines of the run that a master has sent or that do not exist.
  std::int64_t entered(int master) const { return nth(lines_, master).entered; }
  /// Whether a place for a master's next line is known to become free.
  bool has_place(int master) const { return entered(master) - freed_ < places_; }
  /// A master's next line is ready in cycle `ready`; returns the cycle in which it enters. `has_place` holds.
  Cycle enter(int master, Cycle ready) {
    wait(nth(broadcast, master), Activity::kLineLoad, ready);
    const Cycle at = take_place(master);
    nth(broadcast, master).spend(Activity::kBusy, 1);
    return at;
  }
  /// A master's next line does not exist; its place is marked. `has_place` holds.
  void pass(int master) { take_place(master); }

  /// Lets the ports read on as far as it is known when they can. `drained_at` answers for a tile in which
  /// cycle the half of the third buffers that it uses was drained, if that is known; records wait for it.
  /// `on_access` hears of every access.
  template <class DrainedAt, class OnAccess>
  void read_kernels(const DrainedAt& drained_at, const OnAccess& on_access) {
    while (weights_.more) {
      if (records_next_) {
        const std::optional<Cycle> drained = drained_at(weights_.beat.tile);
        if (!drained) return;
        wait(ports, Activity::kOutputDrain, *drained + 1);
        access(weights_.tile.kernels_per_slave, on_access);
        records_next_ = false;
      }
      Slot& slot = slot_of(weights_.beat, weights_.tile);
      if (slot.occupied) return;
      wait(ports, Activity::kWeightRelease, slot.used_at + 1);
      access(schedule_->port_cycles(weights_.beat, weights_.tile, port_bytes_), on_access);
      slot.complete_at = ports.settled_at() - 1 + decode_, slot.occupied = true;
      weights_.advance_kernel_line(*schedule_);
      records_next_ = weights_.more && schedule_->geometry().post_parameters && weights_.begins_kernel_tile();
    }
  }
  /// Whether the ports have read all kernel lines of the run.
  bool kernels_read() const { return !weights_.more; }

  /// Lets the next beat wait until results have left the third buffers in cycle `drained_at`, and the first
  /// `needed` lines of every master have entered.
  void begin_step(Cycle drained_at, std::int64_t needed) {
    wait(beats, Activity::kOutputDrain, drained_at + 1);
    for (const Lines& lines : lines_)
      wait(beats, Activity::kInputLoad, nth(lines.entered_at, (needed - 1) % places_) + 1);
  }
  /// Makes a beat with the kernel line of `beat`, which the ports have read. Returns its cycle.
  Cycle beat(const WfoldBeat& beat, const WfoldTile& tile) {
    const Cycle at = beat_after(slot_of(beat, tile).complete_at);
    latch(beat, tile, at);
    return at;
  }
  /// Makes a beat with kernel lines that are complete in cycle `complete` and were latched by this beat or an
  /// earlier one. Returns its cycle.
  Cycle beat_after(Cycle complete) {
    wait(beats, Activity::kWeightLoad, complete + 1);
    const Cycle at = beats.settled_at();
    beats.spend(Activity::kBusy, 1);
    return at;
  }
  /// The cycle in which the kernel line of `beat`, which the ports have read, was complete.
  Cycle complete_at(const WfoldBeat& beat, const WfoldTile& tile) { return slot_of(beat, tile).complete_at; }
  /// The kernel line of `beat` was used or latched in cycle `at`; its slot is free after it.
  void latch(const WfoldBeat& beat, const WfoldTile& tile, Cycle at) {
    Slot& slot = slot_of(beat, tile);
    slot.used_at = at, slot.occupied = false;
  }
  /// The places of the lines of the run in front of `end` are free after cycle `at`.
  void free_lines(std::int64_t end, Cycle at) {
    for (; freed_ < end; ++freed_) freed_at(freed_) = at;
  }

  Clock beats, ports;            ///< busy: a beat; an access of a region's port
  std::vector<Clock> broadcast;  ///< by master; busy: a line enters

 private:
  struct Lines {
    std::int64_t entered = 0;       // of the run
    std::vector<Cycle> entered_at;  // by place of the first buffer
  };
  struct Slot {
    Cycle complete_at, used_at;
    bool occupied;  // read, or being read, and not used yet
  };
  // Books the cycles up to `until` on `cause`.
  static void wait(Clock& clock, Activity cause, Cycle until) {
    if (until > clock.settled_at()) clock.spend(cause, until - clock.settled_at());
  }
  template <class OnAccess>
  void access(Cycle cycles, const OnAccess& on_access) {
    on_access(PortAccess{ports.settled_at(), cycles, records_next_, weights_});
    ports.spend(Activity::kBusy, cycles);
  }
  Slot& slot_of(const WfoldBeat& beat, const WfoldTile& tile) {
    return nth(slots_, schedule_->kernel_slot(beat, tile));
  }
  // Gives a master's next line its place; returns the cycle.
  Cycle take_place(int master) {
    Lines& lines = nth(lines_, master);
    Clock& bus = nth(broadcast, master);
    if (lines.entered >= places_) wait(bus, Activity::kInputRelease, freed_at(lines.entered - places_) + 1);
    const Cycle at = bus.settled_at();
    nth(lines.entered_at, lines.entered % places_) = at;
    ++lines.entered;
    return at;
  }
  // Lines that a dilated kernel skips are freed before they enter: at most a first buffer full of them.
  Cycle& freed_at(std::int64_t line) { return nth(freed_at_, line % ssize(freed_at_)); }

  int port_bytes_, decode_ = 0;
  const WfoldSchedule* schedule_ = nullptr;
  int places_ = 0;
  std::vector<Lines> lines_;     // by master
  std::int64_t freed_ = 0;       // lines of the run, of each master
  std::vector<Cycle> freed_at_;  // by line, of twice as many lines
  std::vector<Slot> slots_;      // of the buffer for kernel lines
  WfoldWalk weights_;            // the kernel line that the ports read next
  bool records_next_ = false;    // the records of its kernel tile come first
};

}  // namespace tilebeat::wfold
