#pragma once

// The cycles of broadcast lines, kernel lines and beats of a W-fold engine, twice: by the product's pipeline,
// and by a simulation of SPEC WF-8's text cycle by cycle.

#include "engines/wfold/sim/wfold_pipeline.h"
#include "systemc_test.h"
#include "wfold_cases.h"

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

namespace tilebeat::testing {

/// What surrounds the masters and slaves: when lines are ready and third buffers are drained.
struct Surroundings {
  int port_bytes = 64;
  std::function<Cycle(std::int64_t)> ready = [](std::int64_t) { return Cycle{0}; };  ///< by line of the run
  std::function<bool(std::int64_t)> absent = [](std::int64_t) { return false; };     ///< by line of the run
  std::function<Cycle(std::int64_t)> drain = [](std::int64_t) {
    return Cycle{0};
  };  ///< by tile: cycles after its last beat until its half is drained
  /// One memory has the kernels and the map: a line of the map is read in a cycle in which the regions' ports
  /// read nothing, the masters in turn, and is ready `latency` cycles later, and not before `ready`.
  bool shared = false;
  Cycle latency = 4;

  /// The same lines are not those of all masters.
  std::int64_t number(int master, std::int64_t line) const { return line + 31 * master; }
};

struct Outcome {
  Cycle last_beat = -1;
  std::vector<std::vector<Cycle>> entered;  ///< by master, line of the run
  std::vector<Cycle> tile_ends;
  ActivityCycles beats{}, ports{};
  std::vector<ActivityCycles> broadcast;  ///< by master; all of them: cycles 0 to `last_beat`

  Cycle beats_of(Activity a) const { return cycles_of(beats, a); }
};

/// The map's part of a memory that the regions' ports share, one line a cycle.
class SharedMap {
 public:
  SharedMap(const Surroundings& around, int masters, std::int64_t lines)
      : around_(around), lines_(lines), ready_(static_cast<std::size_t>(masters)) {}

  /// The cycle in which a master's line is ready, if it has been read.
  std::optional<Cycle> ready(int master, std::int64_t line) const {
    const auto& of_master = ready_[static_cast<std::size_t>(master)];
    if (line >= static_cast<std::int64_t>(of_master.size())) return std::nullopt;
    return of_master[static_cast<std::size_t>(line)];
  }
  /// A cycle in which the ports leave the memory to the map.
  void read(Cycle now) {
    for (std::size_t tried = 0; tried < ready_.size(); ++tried, turn_ = (turn_ + 1) % ready_.size()) {
      auto& of_master = ready_[turn_];
      const auto number = [&] {
        return around_.number(static_cast<int>(turn_), static_cast<std::int64_t>(of_master.size()));
      };
      while (static_cast<std::int64_t>(of_master.size()) < lines_ && around_.absent(number()))
        of_master.push_back(0);
      if (static_cast<std::int64_t>(of_master.size()) == lines_) continue;
      of_master.push_back(std::max(now + around_.latency, around_.ready(number())));
      turn_ = (turn_ + 1) % ready_.size();
      return;
    }
  }

 private:
  const Surroundings& around_;
  std::int64_t lines_;
  std::vector<std::vector<Cycle>> ready_;  // by master, line
  std::size_t turn_ = 0;
};

/// The pipeline driven as WfoldMaster drives it. Of a shared memory it hears of a line when that has been
/// read.
class DrivenPipeline {
 public:
  DrivenPipeline(const WfoldCase& c, const Surroundings& around)
      : around_(around),
        schedule_(c.schedule()),
        pipeline_(c.masters, around.port_bytes),
        map_(around, c.masters, schedule_.all_lines()) {
    outcome_.entered.resize(static_cast<std::size_t>(c.masters));
  }
  Outcome run() {
    pipeline_.begin(schedule_, 0);
    for (Cycle now = 0; pipeline_.next().more; ++now) {
      const bool moved = go_on();
      if (!around_.shared && !moved) throw std::runtime_error("the pipeline does not go on");
      if (now > 2'000'000) throw std::runtime_error("the pipeline does not end");
      // What the ports do in this cycle has to be known in it.
      if (around_.shared && accesses_.count(now) == 0) map_.read(now);
    }
    const auto take = [&](CycleLedger& ledger) {
      ledger.settle(outcome_.last_beat + 1);
      return ledger.cycles();
    };
    outcome_.beats = take(pipeline_.beats);
    outcome_.ports = take(pipeline_.ports);
    for (CycleLedger& bus : pipeline_.broadcast) outcome_.broadcast.push_back(take(bus));
    return outcome_;
  }

 private:
  bool go_on() {
    bool moved = false, any = true;
    while (any) {
      any = false;
      for (int master = 0; master < pipeline_.masters(); ++master) any |= enter_lines(master);
      read_kernels();
      while (do_step()) {
        any = true;
        read_kernels();
      }
      moved |= any;
    }
    return moved;
  }
  std::optional<Cycle> ready(int master, std::int64_t line) const {
    if (around_.shared) return map_.ready(master, line);
    return around_.ready(around_.number(master, line));
  }
  bool enter_lines(int master) {
    auto& entered = outcome_.entered[static_cast<std::size_t>(master)];
    bool moved = false;
    for (; static_cast<std::int64_t>(entered.size()) < schedule_.all_lines(); moved = true) {
      const auto line = static_cast<std::int64_t>(entered.size());
      const bool absent = around_.absent(around_.number(master, line));
      const std::optional<Cycle> at = absent ? Cycle{0} : ready(master, line);
      if (!pipeline_.has_place(master) || !at) return moved;
      if (absent) {
        pipeline_.pass(master);
        entered.push_back(pipeline_.broadcast[static_cast<std::size_t>(master)].settled_at());
      } else {
        entered.push_back(pipeline_.enter(master, *at));
      }
    }
    pipeline_.no_more_lines(master);
    return moved;
  }
  void read_kernels() {
    pipeline_.read_kernels([this](std::int64_t tile) { return drained_at(tile); },
                           [this](const wfold::PortAccess& access) {
                             for (Cycle i = 0; i < access.cycles; ++i) ++accesses_[access.at + i];
                           });
    if (pipeline_.kernels_read()) pipeline_.no_more_kernels();
  }
  std::optional<Cycle> drained_at(std::int64_t tile) const {
    if (tile < 2) return -1;
    const auto before = static_cast<std::size_t>(tile - 2);
    if (before >= outcome_.tile_ends.size()) return std::nullopt;
    return outcome_.tile_ends[before] + around_.drain(tile - 2);
  }
  bool do_step() {
    if (!pipeline_.lines_there()) return false;
    const wfold::WfoldWalk walk = pipeline_.next();
    Cycle drained = -1;
    if (walk.begins_tile()) drained = drained_at(walk.beat.tile).value();
    outcome_.last_beat = pipeline_.do_step(drained);
    if (!pipeline_.next().more || pipeline_.next().beat.tile != walk.beat.tile)
      outcome_.tile_ends.push_back(outcome_.last_beat);
    return true;
  }

  const Surroundings& around_;
  WfoldSchedule schedule_;
  wfold::WfoldPipeline pipeline_;
  SharedMap map_;
  std::map<Cycle, int> accesses_;  // of the regions' ports, by cycle
  Outcome outcome_;
};

inline Outcome run_pipeline(const WfoldCase& c, const Surroundings& around) {
  return DrivenPipeline(c, around).run();
}

// ---- SPEC WF-4, WF-8 and WF-9 cycle by cycle ----

/// A kernel line as the ports read them.
struct SpecKernelLine {
  std::int64_t tile = 0;
  bool begins_kernel_tile = false;
  int slot = 0;
  int bytes = 0;
  int records = 0;  ///< of its kernel tile
};
/// A beat as the specification orders them.
struct SpecBeat {
  std::int64_t tile = 0;
  bool begins_tile = false, ends_tile = false;
  std::size_t first_kernel = 0, end_kernel = 0;  ///< kernel lines that it takes out of their slots
  bool waits_for_lines = false;
  std::int64_t lines_needed = 0, lines_freed = 0;  ///< of the run, of each master
};
struct SpecRun {
  std::vector<SpecBeat> beats;
  std::vector<SpecKernelLine> kernels;
  std::int64_t lines = 0;  ///< of each master
};

/// Bytes that the port reads for a line of folded column `column` and channel block `block`: the block's
/// bytes of a folded line; of the kernel's own bytes those of its taps' channels that lie in the block. A
/// line without bytes takes a cycle, too.
inline int line_bytes(const WfoldCase& c, int column, int block) {
  const int begin = block * c.pci, end = std::min(begin + c.pci, c.span());
  if (!c.own_bytes) return end - begin;
  const SpecConv& v = c.conv;
  int bytes = 0;
  for (int tap = 0; tap < v.kernel[1]; ++tap) {
    if (tap * v.dilation[1] / v.stride[1] != column) continue;
    const int first = tap * v.dilation[1] % v.stride[1] * v.channels;
    bytes += std::max(0, std::min(end, first + c.used) - std::max(begin, first));
  }
  return std::max(1, bytes);
}

/// Adds the kernel lines and beats of a refill, whose lines are the run's from `run.lines` on.
inline void add_refill(const WfoldCase& c, const std::vector<int>& part, int block, SpecBeat beat,
                       int columns, SpecKernelLine kernel, int kernels, std::int64_t step, SpecRun& run) {
  const int fold = c.roles().fold(c.pci), units = c.roles().units;
  const std::size_t first = run.beats.size();
  std::vector<std::int64_t> begins;  // by beat: the first line that it takes
  for (const int column : part) {
    const std::size_t line = run.kernels.size();
    for (int k = 0; k < kernels; ++k) {
      kernel.slot = static_cast<int>(step % (c.kernel_slots() / kernels)) * kernels + k;
      kernel.bytes = line_bytes(c, column, block);
      run.kernels.push_back(kernel);
      kernel.begins_kernel_tile = false;
    }
    ++step;
    const int offset = column - part.front();
    const auto beats = c.kernels_first ? ceiling(columns, fold) : kernels;
    for (std::int64_t i = 0; i < beats; ++i) {
      const auto window = c.kernels_first ? i : 0;
      beat.first_kernel = c.kernels_first ? line : line + static_cast<std::size_t>(i);
      beat.end_kernel =
          c.kernels_first ? line + (i == 0 ? static_cast<std::size_t>(kernels) : 0) : beat.first_kernel + 1;
      beat.waits_for_lines = c.kernels_first || i == 0;
      const std::int64_t end = offset + (c.kernels_first ? window + 1 : units) * fold;
      beat.lines_needed = ceiling(end, fold);
      begins.push_back((offset + window * fold) / fold);
      run.beats.push_back(beat);
      beat.begins_tile = false;
    }
  }
  // A line is free when no later beat takes it; the units have latched it for the later beats of a step when
  // they have lines of their own. The last beat that waits needs all lines.
  const std::int64_t lines = refill_lines(c.roles(), c.pci, part);
  std::int64_t later = lines;
  for (std::size_t i = run.beats.size(); i-- > first;) {
    SpecBeat& b = run.beats[i];
    if (i + 1 == run.beats.size() && c.kernels_first) b.lines_needed = lines;
    b.lines_freed = later;
    if (b.waits_for_lines) later = std::min(later, begins[i - first]);
  }
  for (std::size_t i = first; i < run.beats.size(); ++i) {
    run.beats[i].lines_needed = run.lines + run.beats[i].lines_needed * c.groups_of_master();
    run.beats[i].lines_freed = run.lines + run.beats[i].lines_freed * c.groups_of_master();
  }
  run.lines += lines * c.groups_of_master();
}

inline SpecRun spec_run(const WfoldCase& c) {
  const SpecWfold w = c.roles();
  const SpecConv& v = c.conv;
  const auto parts = kernel_parts(v, w, c.pci);
  const auto blocks = static_cast<int>(ceiling(c.span(), c.pci));
  SpecRun run;
  SpecBeat beat;
  for (int first_kernel = 0; first_kernel < v.out_channels; first_kernel += w.tile_channels()) {
    const int kernels =
        static_cast<int>(ceiling(std::min(w.tile_channels(), v.out_channels - first_kernel), w.slaves));
    const auto tiles = v.out_height * ceiling(v.out_width, w.tile_columns(c.pci));
    std::int64_t step = 0;
    for (std::int64_t in_plane = 0; in_plane < tiles; ++in_plane, ++beat.tile) {
      const auto column = in_plane % ceiling(v.out_width, w.tile_columns(c.pci)) * w.tile_columns(c.pci);
      const int columns = std::min(w.tile_columns(c.pci), v.out_width - static_cast<int>(column));
      bool begins = true;
      for (const auto& part : parts) {
        for (int outer = 0; outer < (c.block_outer ? blocks : v.kernel[0]); ++outer) {
          for (int inner = 0; inner < (c.block_outer ? v.kernel[0] : blocks); ++inner) {
            beat.begins_tile = begins;
            add_refill(c, part, c.block_outer ? outer : inner, beat, columns,
                       {beat.tile, begins && in_plane == 0, 0, 0, kernels}, kernels, step, run);
            step += static_cast<std::int64_t>(part.size());
            begins = false;
          }
        }
      }
      run.beats.back().ends_tile = true;
    }
  }
  return run;
}

/// Every cycle is decided on what the buffers hold at its beginning.
class SpecMachine {
 public:
  SpecMachine(const WfoldCase& c, const Surroundings& around)
      : case_(c), around_(around), run_(spec_run(c)), map_(around, c.masters, run_.lines) {
    outcome_.entered.resize(static_cast<std::size_t>(c.masters));
    outcome_.broadcast.resize(outcome_.entered.size());
    records_left_ = c.records ? run_.kernels.front().records : 0;
  }
  Outcome run() {
    for (Cycle now = 0; beat_ < run_.beats.size(); ++now) {
      if (now > 2'000'000) throw std::runtime_error("the simulation does not end");
      const Activity activity = beat_activity(now);
      book(outcome_.beats, activity);
      const bool read = read_port(now);
      for (std::size_t master = 0; master < outcome_.entered.size(); ++master) enter_line(now, master);
      if (around_.shared && !read) map_.read(now);
      if (activity == Activity::kBusy) do_beat(now);
    }
    return outcome_;
  }

 private:
  static void book(ActivityCycles& cycles, Activity a) { ++cycles[static_cast<std::size_t>(a)]; }
  bool is_drained(std::int64_t tile, Cycle now) const {
    return tile < 2 || (drained_.count(tile - 2) != 0 && drained_.at(tile - 2) < now);
  }
  Activity beat_activity(Cycle now) const {
    const SpecBeat& b = run_.beats[beat_];
    if (b.begins_tile && !is_drained(b.tile, now)) return Activity::kOutputDrain;
    for (const auto& entered : outcome_.entered) {
      if (b.waits_for_lines && static_cast<std::int64_t>(entered.size()) < b.lines_needed)
        return Activity::kInputLoad;
    }
    for (std::size_t line = b.first_kernel; line < b.end_kernel; ++line) {
      if (line >= fetched_) return Activity::kWeightLoad;
    }
    return Activity::kBusy;
  }
  /// The port of a region: at the beginning of the cycle the slots of this cycle's beat are still taken.
  /// Returns whether it reads.
  bool read_port(Cycle now) {
    if (fetched_ == run_.kernels.size()) {
      book(outcome_.ports, Activity::kNoWork);
      return false;
    }
    const SpecKernelLine& line = run_.kernels[fetched_];
    if (records_left_ > 0) {
      const bool can = is_drained(line.tile, now);
      book(outcome_.ports, can ? Activity::kBusy : Activity::kOutputDrain);
      records_left_ -= can ? 1 : 0;
      return can;
    }
    if (port_left_ == 0 && slots_.count(line.slot) != 0) {
      book(outcome_.ports, Activity::kWeightRelease);
      return false;
    }
    book(outcome_.ports, Activity::kBusy);
    if (port_left_ == 0) port_left_ = line.bytes;
    port_left_ = std::max(0, port_left_ - around_.port_bytes);
    slots_[line.slot] = fetched_;
    if (port_left_ > 0) return true;
    ++fetched_;
    if (fetched_ < run_.kernels.size() && run_.kernels[fetched_].begins_kernel_tile && case_.records)
      records_left_ = run_.kernels[fetched_].records;
    return true;
  }
  /// A line, behind any number of lines that do not exist.
  void enter_line(Cycle now, std::size_t master) {
    auto& entered = outcome_.entered[master];
    auto& cycles = outcome_.broadcast[master];
    const int places = case_.roles().first * case_.groups_of_master();
    auto line = static_cast<std::int64_t>(entered.size());
    const auto number = [&] { return around_.number(static_cast<int>(master), line); };
    for (; line < run_.lines && around_.absent(number()) && line - freed_ < places; ++line)
      entered.push_back(now);
    if (line == run_.lines) return book(cycles, Activity::kNoWork);
    std::optional<Cycle> ready = around_.ready(number());
    if (around_.shared) ready = map_.ready(static_cast<int>(master), line);
    if (!around_.absent(number()) && (!ready || *ready > now)) return book(cycles, Activity::kLineLoad);
    if (line - freed_ >= places) return book(cycles, Activity::kInputRelease);
    book(cycles, Activity::kBusy);
    entered.push_back(now);
  }
  void do_beat(Cycle now) {
    const SpecBeat& b = run_.beats[beat_];
    for (std::size_t line = b.first_kernel; line < b.end_kernel; ++line)
      slots_.erase(run_.kernels[line].slot);
    if (b.waits_for_lines) freed_ = b.lines_freed;
    if (b.ends_tile) {
      drained_[b.tile] = now + around_.drain(b.tile);
      outcome_.tile_ends.push_back(now);
    }
    outcome_.last_beat = now;
    ++beat_;
  }

  const WfoldCase& case_;
  const Surroundings& around_;
  SpecRun run_;
  SharedMap map_;
  Outcome outcome_;
  std::size_t beat_ = 0, fetched_ = 0;  // beats done; kernel lines complete
  std::int64_t freed_ = 0;
  int records_left_ = 0;
  int port_left_ = 0;                      // bytes of the kernel line that is under way
  std::map<int, std::size_t> slots_;       // the lines in those that are taken
  std::map<std::int64_t, Cycle> drained_;  // by tile
};

inline Outcome simulate(const WfoldCase& c, const Surroundings& around) {
  return SpecMachine(c, around).run();
}

}  // namespace tilebeat::testing
