// The programs of a cluster's processors in a layer. What goes through the SRAM takes two legs: the memory
// core's GDMA and a core's MVDMA, with two buffers for every stream of parcels.
//
// Everything is appended in one order over all processors: for every step the loads ahead of it, then the
// stores behind it, then what computes. An instruction waits only for what was appended before it, so nothing
// stands still for ever. A decoder stands while a signal of its own waits: signals come as late as that order
// allows.
#include "tilebeat/base/error.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "chip_plan.h"

namespace tilebeat {
namespace {

constexpr int kBuffers = 2;                // of a stream
constexpr std::int64_t kLeastBuffer = 64;  // bytes: one that is smaller costs more than it carries
constexpr std::array kOperands{CoreWork::Operand::kMap, CoreWork::Operand::kKernels};

// Semaphores of a core.
constexpr Semaphore kArrived = peer(0);                 // a parcel is in the SRAM
constexpr Semaphore kDrained = peer(1);                 // a buffer of results in the SRAM is free
constexpr Semaphore kPut = peer(2);                     // its own: a parcel of results is in the SRAM
constexpr Semaphore taken(CoreWork::Operand operand) {  // its own: a parcel has been read
  return peer(3 + static_cast<int>(operand));
}
// Semaphores of the memory core; those of kernel broadcasts are peer(0) and peer(1).
constexpr Semaphore kFetched = peer(2);  // its own: a parcel is in the SRAM
constexpr Semaphore kWritten = peer(3);  // its own: a parcel of results has been read
constexpr Semaphore taken_by(CoreWork::Operand operand, int core) {
  return peer(4 + 3 * core + static_cast<int>(operand));
}
constexpr Semaphore put_by(int core) {
  return peer(6 + 3 * core);
}

// Parcels that pass through the same buffers of the SRAM in turn.
struct Stream {
  std::vector<int> cores;  // that read them, or the one that stores
  std::uint64_t sram = 0;
  int parcels = 0, used = 0;  // in all; so far
};

class ClusterPrograms {
 public:
  ClusterPrograms(const HardwareConfig& hardware, int cluster, const ChipWork& work, LayerPlan& made)
      : chip_(*hardware.chip),
        queue_depth_(static_cast<std::size_t>(hardware.dma.command_queue)),
        work_(work),
        made_(made),
        memory_steps_(work.memory[static_cast<std::size_t>(cluster)]),
        first_core_(cluster * chip_.cores_per_cluster),
        sides_(static_cast<std::size_t>(chip_.cores_per_cluster)),
        result_(sides_.size() + 1) {
    group_streams();
    place_streams(sram_address(cluster));
    count_parcels();
  }

  std::vector<ProcessorWork> run() {
    std::size_t steps = 0;
    for (int i = 0; i < cores(); ++i) steps = std::max(steps, work_of(i).steps.size());
    for (std::size_t step = 0; step <= steps; ++step) {
      for (int i = 0; i < cores(); ++i) flush(i);
      load(static_cast<int>(step));
      tell(drained_, 0);
      for (int i = 0; i < cores(); ++i) {
        const CoreWork& work = work_of(i);
        if (step > 0 && step <= work.steps.size()) store(i, work.stores[step - 1]);
        if (step < work.steps.size()) append(program(i), work.steps[step]);
      }
    }
    for (int i = 0; i < cores(); ++i) flush(i);
    for (ProcessorWork& work : result_) mark_last_store(work);
    return std::move(result_);
  }

 private:
  using Load = CoreWork::Load;
  // A signal that a decoder gives once it has one of its own semaphores.
  struct Pending {
    const Stream* stream;
    int parcel;
    Semaphore waits;
    Signal signal;
  };
  struct Side {
    std::array<Stream*, kOperands.size()> in{};  // by operand; nothing: by IODMA
    Stream* out = nullptr;
    std::size_t load = 0;  // the next
    std::deque<Pending> pending;
  };

  int cores() const { return chip_.cores_per_cluster; }
  const CoreWork& work_of(int i) const { return work_.cores[static_cast<std::size_t>(first_core_ + i)]; }
  Side& side(int i) { return sides_[static_cast<std::size_t>(i)]; }
  std::vector<Instruction>& program(int i) { return result_[static_cast<std::size_t>(i)].instructions; }
  std::vector<Instruction>& memory() { return result_.back().instructions; }
  bool through_sram(CoreWork::Operand operand) const {
    return operand == CoreWork::Operand::kMap ? work_.ways.maps : work_.ways.kernels;
  }
  Stream*& in(int i, CoreWork::Operand operand) { return side(i).in[static_cast<std::size_t>(operand)]; }

  // ---- streams ----

  // Whether two cores load the same of an operand, at the same places of their programs.
  bool same_loads(int a, int b, CoreWork::Operand operand) const {
    const std::vector<Load>&x = work_of(a).loads, &y = work_of(b).loads;
    std::size_t most = std::max(x.size(), y.size());
    for (std::size_t i = 0; i < most; ++i) {
      const bool in_x = i < x.size() && x[i].operand == operand,
                 in_y = i < y.size() && y[i].operand == operand;
      if (in_x != in_y) return false;
      if (in_x && (x[i].step != y[i].step || !same_source(x[i].movement, y[i].movement))) return false;
    }
    return true;
  }
  static bool same_source(const Movement& a, const Movement& b) {
    const auto same = [](const Transfer& x, const Transfer& y) {
      const CopyShape &s = x.shape, &t = y.shape;
      return x.source == y.source && s.run == t.run && s.columns == t.columns && s.rows == t.rows &&
             s.source_column == t.source_column && s.source_row == t.source_row;
    };
    return std::equal(a.transfers.begin(), a.transfers.end(), b.transfers.begin(), b.transfers.end(), same);
  }

  // Cores that load the same share a stream: one fetch feeds them all.
  void group_streams() {
    for (const CoreWork::Operand operand : kOperands) {
      for (int i = 0; through_sram(operand) && i < cores(); ++i) {
        if (work_of(i).steps.empty()) continue;
        for (int other = 0; other < i && in(i, operand) == nullptr; ++other) {
          Stream* const stream = in(other, operand);
          if (stream == nullptr || static_cast<int>(stream->cores.size()) >= kMostReaders ||
              !same_loads(other, i, operand))
            continue;
          stream->cores.push_back(i);
          in(i, operand) = stream;
        }
        if (in(i, operand) == nullptr) in(i, operand) = add_stream(i);
      }
    }
    for (int i = 0; work_.ways.stores && i < cores(); ++i) {
      if (!work_of(i).steps.empty()) side(i).out = add_stream(i);
    }
  }
  Stream* add_stream(int core) {
    streams_.push_back({{core}, 0, 0, 0});
    return &streams_.back();
  }

  // Divides the rest of the SRAM.
  void place_streams(std::uint64_t sram) {
    if (streams_.empty()) return;
    const std::int64_t left = chip_.sram_bytes() - work_.sram_bytes;
    const auto buffers = kBuffers * static_cast<std::int64_t>(streams_.size());
    buffer_bytes_ = left / buffers / kLeastBuffer * kLeastBuffer;
    if (buffer_bytes_ == 0) {
      throw UserError(
          fmt::format("layer '{}' cannot fit: {} buffers of at least {} bytes, through which maps, kernels "
                      "and results go, do not fit the {} bytes that kernels leave of the SRAM; "
                      "chip.sram.size_bytes is {} (chip.dram_path \"direct\" does without)",
                      made_.name, buffers, kLeastBuffer, left, chip_.sram_bytes()));
    }
    sram += static_cast<std::uint64_t>(work_.sram_bytes);
    for (Stream& stream : streams_) {
      stream.sram = sram;
      sram += static_cast<std::uint64_t>(kBuffers * buffer_bytes_);
    }
  }

  void count_parcels() {
    for (int i = 0; i < cores(); ++i) {
      for (const Load& load : work_of(i).loads) {
        Stream* const stream = in(i, load.operand);
        if (stream != nullptr && stream->cores.front() == i)
          stream->parcels += static_cast<int>(parcels_of(load.movement, buffer_bytes_).size());
      }
      if (side(i).out == nullptr) continue;
      for (const Movement& store : work_of(i).stores)
        side(i).out->parcels += static_cast<int>(parcels_of(store, buffer_bytes_).size());
    }
  }

  std::uint64_t buffer_of(const Stream& stream, int parcel) const {
    return stream.sram + static_cast<std::uint64_t>(parcel % kBuffers * buffer_bytes_);
  }
  static bool reused(const Stream& stream, int parcel) { return parcel + kBuffers < stream.parcels; }

  // ---- loads ----

  // The loads that run ahead of a step: the first of every core, then the second, and so on.
  void load(int step) {
    for (bool more = true; more;) {
      more = false;
      for (int i = 0; i < cores(); ++i) {
        const CoreWork& work = work_of(i);
        Side& s = side(i);
        if (s.load == work.loads.size() || work.loads[s.load].step > step + work.ahead) continue;
        more = true;
        load(i, s.load++);
      }
    }
    tell(arrived_, 0);
    for (; next_memory_step_ < memory_steps_.size() && memory_steps_[next_memory_step_].step <= step + 1;
         ++next_memory_step_)
      append(memory(), memory_steps_[next_memory_step_].instructions);
  }

  void load(int i, std::size_t number) {
    const Load& load = work_of(i).loads[number];
    Stream* const stream = in(i, load.operand);
    if (stream != nullptr && stream->cores.front() != i) return;  // came with that core's
    (load.operand == CoreWork::Operand::kMap ? made_.input_bytes : made_.kernel_bytes) +=
        load.movement.bytes();
    if (stream == nullptr) {
      append(program(i), load.before);
      append(program(i), copies_of(Unit::kIodma, load.movement));
      append(program(i), load.after);
      return;
    }
    std::vector<std::vector<Parcel>> parcels;
    for (const int core : stream->cores)
      parcels.push_back(parcels_of(work_of(core).loads[number].movement, buffer_bytes_));
    for (std::size_t n = 0; n < parcels.front().size(); ++n) {
      const int parcel = stream->used++;
      fetch(*stream, parcel, parcels.front()[n], load.operand);
      for (std::size_t c = 0; c < stream->cores.size(); ++c) {
        const int core = stream->cores[c];
        const Movement& movement = work_of(core).loads[number].movement;
        Movement leg{out_of_sram(parcels[c][n], buffer_of(*stream, parcel)), kArrived, 0, 0};
        if (reused(*stream, parcel)) leg.releases = taken(load.operand);
        if (n + 1 == parcels[c].size()) leg.done = movement.done;
        flush(core, *stream, parcel);
        std::vector<Instruction> copies = copies_of(Unit::kMvdma, leg);
        if (n == 0) {
          copies.front().waits[1] = movement.waits;
          append(program(core), work_of(core).loads[number].before);
        }
        append(program(core), copies);
        if (n + 1 == parcels[c].size()) append(program(core), work_of(core).loads[number].after);
        if (reused(*stream, parcel)) {
          side(core).pending.push_back(
              {stream, parcel, taken(load.operand), Signal{memory_bit(), taken_by(load.operand, core)}});
        }
      }
    }
  }

  void fetch(const Stream& stream, int parcel, const Parcel& parts, CoreWork::Operand operand) {
    std::vector<Instruction> copies =
        copies_of(Unit::kGdma, Movement{into_sram(parts, buffer_of(stream, parcel)), 0, 0, kFetched});
    std::uint64_t mask = 0;
    for (std::size_t c = 0; c < stream.cores.size(); ++c) {
      if (parcel >= kBuffers) copies.front().waits[c] = taken_by(operand, stream.cores[c]);
      mask |= std::uint64_t{1} << stream.cores[c];
    }
    // The decoder gets to the signal behind these only when all of them have a place in the queue.
    if (copies.size() > queue_depth_) tell(arrived_, 0);
    append(memory(), copies);
    arrived_.push_back({&stream, parcel, kFetched, Signal{mask, kArrived}});
    tell(arrived_, 1);
  }

  // ---- stores ----

  void store(int i, const Movement& movement) {
    Stream* const stream = side(i).out;
    if (stream == nullptr) {
      append(program(i), copies_of(Unit::kIodma, movement));
      result_[static_cast<std::size_t>(i)].stores = true;
      return;
    }
    const std::vector<Parcel> parcels = parcels_of(movement, buffer_bytes_);
    for (std::size_t n = 0; n < parcels.size(); ++n) {
      const int parcel = stream->used++;
      const std::uint64_t sram = buffer_of(*stream, parcel);
      Movement leg{into_sram(parcels[n], sram), 0, 0, kPut};
      if (n == 0) leg.waits = movement.waits;
      if (n + 1 == parcels.size()) leg.releases = movement.releases;
      flush(i, *stream, parcel);
      std::vector<Instruction> copies = copies_of(Unit::kMvdma, leg);
      if (parcel >= kBuffers) copies.front().waits[1] = kDrained;
      append(program(i), copies);
      side(i).pending.push_back({stream, parcel, kPut, Signal{memory_bit(), put_by(i)}});

      while (!drained_.empty() && has(drained_, *stream, parcel - kBuffers)) tell_first(drained_);
      Movement out{out_of_sram(parcels[n], sram), put_by(i), 0, 0};
      if (reused(*stream, parcel)) {
        out.releases = kWritten;
        drained_.push_back({stream, parcel, kWritten, Signal{std::uint64_t{1} << i, kDrained}});
      }
      append(memory(), copies_of(Unit::kGdma, out));
      result_.back().stores = true;
    }
  }

  static void mark_last_store(ProcessorWork& work) {
    if (!work.stores) return;
    const auto stores = [](const Instruction& instruction) {
      const auto* copy = instruction.operation.get_if<Copy>();
      return copy != nullptr && copy->destination < kDramEnd;
    };
    std::find_if(work.instructions.rbegin(), work.instructions.rend(), stores)->done_signals[3] =
        kLayerStored;
  }

  // ---- signals ----

  std::uint64_t memory_bit() const { return std::uint64_t{1} << cores(); }

  static bool has(const std::deque<Pending>& pending, const Stream& stream, int parcel) {
    return std::any_of(pending.begin(), pending.end(),
                       [&](const Pending& p) { return p.stream == &stream && p.parcel <= parcel; });
  }
  static void give(std::deque<Pending>& pending, std::vector<Instruction>& program) {
    program.push_back({{pending.front().waits}, {}, {}, pending.front().signal});
    pending.pop_front();
  }
  // All of a core's, or those that the parcel's buffer depends on.
  void flush(int i) {
    while (!side(i).pending.empty()) give(side(i).pending, program(i));
  }
  void flush(int i, const Stream& stream, int parcel) {
    while (has(side(i).pending, stream, parcel - kBuffers)) give(side(i).pending, program(i));
  }
  // What the memory core tells, all but the last `but`.
  void tell(std::deque<Pending>& pending, std::size_t but) {
    while (pending.size() > but) tell_first(pending);
  }
  void tell_first(std::deque<Pending>& pending) { give(pending, memory()); }

  const ChipConfig& chip_;
  std::size_t queue_depth_;  // of every unit's queue
  const ChipWork& work_;
  LayerPlan& made_;
  const std::vector<MemoryStep>& memory_steps_;
  int first_core_;
  std::deque<Stream> streams_;
  std::vector<Side> sides_;
  std::int64_t buffer_bytes_ = 0;
  std::deque<Pending> arrived_, drained_;
  std::size_t next_memory_step_ = 0;
  std::vector<ProcessorWork> result_;
};

}  // namespace

std::vector<ProcessorWork> lower_cluster(const HardwareConfig& hardware, int cluster, const ChipWork& work,
                                         LayerPlan& made) {
  return ClusterPrograms(hardware, cluster, work, made).run();
}

}  // namespace tilebeat
