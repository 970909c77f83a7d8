#pragma once

// Random task graphs of copies and vector operations on a chip.

#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "isa/instruction.h"
#include "planner/language/task_graph.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tilebeat::testing {

/// Numbers that follow from a seed, the same everywhere.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool one_in(int n) { return number(1, n) == 1; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(0, 255)); }

 private:
  std::mt19937 random_;
};

constexpr int kGraphParts = 4;    ///< of a buffer; tasks read and write some of them
constexpr int kGraphBuffers = 3;  ///< in every NRAM, SRAM, and in DRAM for every cluster
constexpr int kLeastPart = 64;    ///< bytes: a buffer is large enough for a table
constexpr int kMostPart = 320;
constexpr std::int64_t kFactorBytes = 24;  ///< of an addition, in front of NRAM and of the graph's DRAM
constexpr std::int64_t kGraphHead = 64;    ///< of which those are a part
/// Bytes of a graph's DRAM that it works on; of all of it, the dump of other memories included.
constexpr std::int64_t kGraphDram = 16384, kGraphRoom = 131072;

/// A graph, and the places of its buffers. Clusters work on buffers of their own and on those of others:
/// CDMAs between their SRAMs, and DRAM. Buffers have the same places in all cores. Parts are written by any
/// unit, read by any, added to in place; a version has any number of writers, of different parts, and
/// readers.
class RandomGraph {
 public:
  TaskGraph graph;

  RandomGraph(const ChipConfig& chip, std::uint64_t dram, Draw& draw)
      : chip_(chip), draw_(draw), dram_(dram), part_bytes_(draw.number(kLeastPart, kMostPart)) {
    make_places();
    for (int core = 0; core < chip_.cores(); ++core) load_factors(core);
    const int tasks = draw.number(4, 14) * chip.clusters + draw.number(0, 20);
    for (int i = 0; i < tasks; ++i) add_some(draw.number(0, chip.clusters - 1));
  }

  /// Bytes in use at the beginning of every NRAM, WRAM and SRAM.
  std::int64_t nram_bytes() const { return kGraphHead + kGraphBuffers * buffer_bytes(); }
  std::int64_t wram_bytes() const { return buffer_bytes(); }
  std::int64_t sram_bytes() const { return kGraphBuffers * buffer_bytes(); }

 private:
  // A buffer and how its newest version is used.
  struct Buffer {
    BufferId id = 0;
    std::uint64_t address = 0;
    int version = 0;
    bool read = false;
    unsigned written = 0;  // parts
  };
  // Parts of a buffer that a task uses.
  struct Parts {
    int first = 0, count = 1, step = 1;
    unsigned mask() const {
      unsigned parts = 0;
      for (int i = 0; i < count; ++i) parts |= 1U << (first + i * step);
      return parts;
    }
  };

  std::int64_t buffer_bytes() const { return std::int64_t{kGraphParts} * part_bytes_; }
  int processor_of(int core) const {
    const int cores = chip_.cores_per_cluster;
    return core / cores * (cores + 1) + core % cores;
  }

  // ---- buffers ----

  Buffer make_buffer(std::uint64_t address) {
    Buffer buffer;
    buffer.id = graph.add_buffer(static_cast<BufferRole>(draw_.number(0, 7)));
    buffer.address = address;
    return buffer;
  }
  std::vector<Buffer> make_buffers(std::uint64_t address, int count) {
    std::vector<Buffer> buffers;
    for (int i = 0; i < count; ++i)
      buffers.push_back(make_buffer(address + static_cast<std::uint64_t>(i * buffer_bytes())));
    return buffers;
  }
  void make_places() {
    std::uint64_t free = dram_ + kGraphHead;
    for (int k = 0; k < chip_.clusters;
         ++k, free += static_cast<std::uint64_t>(kGraphBuffers * buffer_bytes())) {
      drams_.push_back(make_buffers(free, kGraphBuffers));
      srams_.push_back(make_buffers(sram_address(k), kGraphBuffers));
    }
    for (int core = 0; core < chip_.cores(); ++core) {
      nrams_.push_back(make_buffers(nram_address(core) + kGraphHead, kGraphBuffers));
      wrams_.push_back(make_buffer(wram_address(core)));
      factors_.push_back(make_buffer(nram_address(core)));
    }
  }
  Buffer& one_of(std::vector<Buffer>& buffers) {
    return buffers[static_cast<std::size_t>(draw_.number(0, static_cast<int>(buffers.size()) - 1))];
  }
  std::vector<Buffer>& nram(int core) { return nrams_[static_cast<std::size_t>(core)]; }

  static void read(Task& task, Buffer& buffer) {
    buffer.read = true;
    task.accesses.push_back({buffer.id, buffer.version, AccessKind::kRead});
  }
  void write(Task& task, Buffer& buffer, unsigned parts, AccessKind kind) {
    const bool touched = buffer.read || buffer.written != 0;
    const bool again = kind == AccessKind::kWrite && (buffer.written & parts) != 0;
    if (buffer.read || again || (touched && draw_.one_in(4))) {
      ++buffer.version;
      buffer.read = false, buffer.written = 0;
    }
    buffer.written |= parts;
    task.accesses.push_back({buffer.id, buffer.version, kind});
  }

  // ---- tasks ----

  void add(Task task, int processor, Operation operation) {
    task.processor = processor;
    task.instruction.operation = std::move(operation);
    task.cost.cycles = draw_.number(1, 200);
    task.cost.latency = draw_.number(0, 60);
    if (draw_.one_in(2)) task.cost.dram_bytes = draw_.number(1, 2000);
    if (draw_.one_in(4)) task.operands_free = TaskEvent::kDone;
    graph.add(std::move(task));
  }
  void load_factors(int core) {
    Buffer& factors = factors_[static_cast<std::size_t>(core)];
    Copy copy;
    copy.source = dram_, copy.destination = factors.address;
    copy.run_bytes = kFactorBytes;
    Task task;
    write(task, factors, 1, AccessKind::kWrite);
    add(task, processor_of(core), copy);
  }

  Parts some_parts(int count) {
    Parts parts;
    parts.count = count;
    if (count == 2) parts.step = draw_.number(1, 2);
    parts.first = draw_.number(0, kGraphParts - 1 - (count - 1) * parts.step);
    return parts;
  }
  std::uint64_t address_of(const Buffer& buffer, const Parts& parts) const {
    return buffer.address + static_cast<std::uint64_t>(parts.first * part_bytes_);
  }
  // A copy from one buffer to others that have the same place in several cores.
  void copy(int processor, Unit unit, Buffer& source, const std::vector<Buffer*>& targets,
            std::uint64_t multicast = 0) {
    const Parts from = some_parts(draw_.number(1, kGraphParts));
    const Parts to = some_parts(from.count);
    Copy made;
    made.unit = unit;
    made.source = address_of(source, from);
    made.destination = address_of(*targets.front(), to);
    if (multicast != 0) made.destination = multicast + static_cast<std::uint64_t>(to.first * part_bytes_);
    made.run_bytes = static_cast<std::uint32_t>(part_bytes_);
    made.outer_count = static_cast<std::uint16_t>(from.count);
    made.source_outer_stride = static_cast<std::uint32_t>(from.step * part_bytes_);
    made.destination_outer_stride = static_cast<std::uint32_t>(to.step * part_bytes_);
    Task task;
    read(task, source);
    for (Buffer* target : targets) write(task, *target, to.mask(), AccessKind::kWrite);
    add(task, processor, made);
  }
  // Between two buffers, in either direction.
  void copy_between(int processor, Unit unit, Buffer& a, Buffer& b) {
    if (draw_.one_in(2)) {
      copy(processor, unit, a, {&b});
    } else {
      copy(processor, unit, b, {&a});
    }
  }
  // `number`: of the buffer in NRAM; one more: that in WRAM.
  void broadcast(int cluster, unsigned listeners, int number) {
    const int cores = chip_.cores_per_cluster;
    const bool wram = number == kGraphBuffers;
    std::vector<Buffer*> targets;
    for (int i = 0; i < cores; ++i) {
      const auto core = static_cast<std::size_t>(cluster * cores + i);
      if ((listeners >> i & 1) == 0) continue;
      targets.push_back(wram ? &wrams_[core] : &nrams_[core][static_cast<std::size_t>(number)]);
    }
    const auto offset = static_cast<std::uint64_t>(wram ? 0 : kGraphHead + number * buffer_bytes());
    copy(cluster * (cores + 1) + cores, Unit::kMvdma, one_of(srams_[static_cast<std::size_t>(cluster)]),
         targets, multicast_address(listeners, wram, offset));
  }

  void compute(int core) {
    Buffer &a = one_of(nram(core)), &b = one_of(nram(core)), &result = one_of(nram(core));
    const Parts parts = some_parts(1), from = some_parts(1), other = some_parts(1);
    VectorRun run;
    run.rows = run.columns = 1;
    run.channels = static_cast<std::uint16_t>(part_bytes_);
    const auto offset = [&](std::uint64_t address) {
      return static_cast<std::uint32_t>(address - nram_address(core));
    };
    run.destination = offset(address_of(result, parts));
    run.a = offset(address_of(a, from)), run.b = offset(address_of(b, other));
    Task task;
    if (&b != &result && draw_.one_in(3)) {
      run.kind = VectorKind::kTable;  // any buffer is one
      run.parameters = offset(b.address);
      read(task, a), read(task, b);
      write(task, result, parts.mask(), AccessKind::kWrite);
    } else {
      run.kind = VectorKind::kAdd;
      run.parameters = offset(nram_address(core));
      const bool in_place = draw_.one_in(2);
      read(task, factors_[static_cast<std::size_t>(core)]), read(task, b);
      if (in_place) {
        run.a = run.destination;
      } else {
        read(task, a);
      }
      write(task, result, parts.mask(), in_place ? AccessKind::kAccumulate : AccessKind::kWrite);
    }
    add(task, processor_of(core), run);
  }

  // From one cluster to another.
  void pass(int cluster) {
    const int cores = chip_.cores_per_cluster, memory = cluster * (cores + 1) + cores;
    const int other = (cluster + draw_.number(1, chip_.clusters - 1)) % chip_.clusters;
    const auto from = static_cast<std::size_t>(cluster), to = static_cast<std::size_t>(other);
    if (draw_.one_in(2)) return copy(memory, Unit::kCdma, one_of(srams_[from]), {&one_of(srams_[to])});
    if (draw_.one_in(2)) return copy_between(memory, Unit::kGdma, one_of(drams_[to]), one_of(srams_[from]));
    const int core = cluster * cores + draw_.number(0, cores - 1);
    copy_between(processor_of(core), Unit::kIodma, one_of(drams_[to]), one_of(nram(core)));
  }

  void add_some(int cluster) {
    if (chip_.clusters > 1 && draw_.one_in(5)) return pass(cluster);
    const int cores = chip_.cores_per_cluster, memory = cluster * (cores + 1) + cores;
    std::vector<Buffer>&dram = drams_[static_cast<std::size_t>(cluster)],
    &sram = srams_[static_cast<std::size_t>(cluster)];
    const int core = cluster * cores + draw_.number(0, cores - 1);
    const auto inner = [&](int number) -> Buffer& {
      return draw_.one_in(4) ? wrams_[static_cast<std::size_t>(number)] : one_of(nram(number));
    };
    switch (draw_.number(0, 11)) {
      case 0:
      case 1:
        return copy_between(processor_of(core), Unit::kIodma, one_of(dram), inner(core));
      case 2:
      case 3:
        return copy_between(processor_of(core), Unit::kMvdma, one_of(sram), inner(core));
      case 4:
      case 5:
        return copy_between(memory, Unit::kGdma, one_of(dram), one_of(sram));
      case 6:
        broadcast(cluster, static_cast<unsigned>(draw_.number(1, (1 << cores) - 1)),
                  draw_.number(0, kGraphBuffers));
        return;
      case 7: {
        // All cores get the same, and each passes it on twice.
        const int number = draw_.number(0, kGraphBuffers - 1);
        broadcast(cluster, (1U << cores) - 1, number);
        for (int i = cluster * cores; i < (cluster + 1) * cores; ++i) {
          Buffer& got = nram(i)[static_cast<std::size_t>(number)];
          copy(processor_of(i), Unit::kIodma, got, {&one_of(dram)});
          copy(processor_of(i), Unit::kMvdma, got, {&one_of(sram)});
        }
        return;
      }
      case 8: {
        // All cores take the same, then it is overwritten.
        Buffer& shared = one_of(sram);
        for (int i = cluster * cores; i < (cluster + 1) * cores; ++i)
          copy(processor_of(i), Unit::kMvdma, shared, {&inner(i)});
        return copy(memory, Unit::kGdma, one_of(dram), {&shared});
      }
      default:
        return compute(core);
    }
  }

  const ChipConfig& chip_;
  Draw& draw_;
  std::uint64_t dram_;
  int part_bytes_;
  std::vector<std::vector<Buffer>> drams_, srams_, nrams_;  // by cluster, cluster, core
  std::vector<Buffer> wrams_, factors_;
};

}  // namespace tilebeat::testing
