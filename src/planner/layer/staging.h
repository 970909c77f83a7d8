#pragma once

#include "config/hardware_config.h"
#include "planner/language/task_graph.h"
#include "planner/language/transfer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// Adds tasks of DMA engines to a graph, with their costs.
class CopyTasks {
 public:
  CopyTasks(TaskGraph& graph, const HardwareConfig& hardware) : graph_(graph), costs_(hardware) {}
  /// Adds a Copy or a RowGather.
  template <class Operation>
  void add(int processor, const Operation& operation, const AccessList& accesses) {
    Task task;
    task.processor = processor;
    task.instruction.operation = operation;
    task.accesses = accesses;
    task.cost = costs_.of(operation);
    graph_.add(std::move(task));
  }
  /// The copies of `unit` that carry out transfers; each of them makes all accesses.
  void add(int processor, Unit unit, const std::vector<Transfer>& transfers, const AccessList& accesses);

 private:
  TaskGraph& graph_;
  CopyCosts costs_;
};

/// The traffic through a cluster's SRAM between DRAM and the memories of its cores (SPEC HI-3, HI-4), in
/// streams with buffers of their own: the memory core's GDMA on the DRAM side, MVDMAs on the cores' side.
/// CDMAs pass on data that several clusters need.
class Staging {
 public:
  /// `layer` is named in errors.
  Staging(TaskGraph& graph, const HardwareConfig& hardware, int cluster, std::string layer);

  /// Reserves `bytes` bytes of the SRAM for the caller and returns their address. Errors name `what` when
  /// they do not fit.
  std::uint64_t reserve(std::int64_t bytes, const std::string& what);
  /// Bytes of the SRAM in use.
  std::int64_t used() const { return sram_.used(); }
  /// A larger buffer would not let more copies overlap, but would leave no room for prefetched kernels of
  /// later layers.
  static constexpr std::int64_t kLargestBuffer = 65536;
  /// Buffers of a stream of kernels: one is filled while the other one is read.
  static constexpr int kStreamBuffers = 2;
  /// Bytes of the SRAM that a stream of loads of at most `load` bytes is given where maps leave as much: with
  /// less it works, but slowly.
  static std::int64_t wanted(std::int64_t load, std::int64_t sram) {
    constexpr std::int64_t kParts = 16;  // a buffer takes at most this part of the SRAM
    return kStreamBuffers * std::min({load, kLargestBuffer, sram / kParts});
  }
  /// Bytes of each of `buffers` buffers that share the free SRAM, at most `kLargestBuffer`; 0: too few are
  /// left.
  std::int64_t room(int buffers) const;
  /// The same; throws UserError when too few are left.
  std::int64_t share(int buffers) const;
  /// A stream of `buffers` buffers of `bytes` bytes; returns its number. Throws UserError when they do not
  /// fit.
  int add_stream(std::int64_t bytes, int buffers);

  /// Bytes of a part of a load through a stream: of one that is passed on to other clusters, or of any other.
  std::int64_t part_bytes(int stream, bool passed_on) const {
    const std::int64_t bytes = nth(streams_, stream).bytes;
    return passed_on ? std::min(bytes, kLargestPassed) : bytes;
  }

  /// A core that reads a stream: with the same sources as the other readers and destinations of its own.
  struct Reader {
    int processor = 0;
    std::vector<Transfer> transfers;  ///< from DRAM to its memories
    AccessList accesses;              ///< accesses of the copies to its memories, besides the stream's
  };
  /// The memory core as the reader of a stream on behalf of several cores: it writes to multicast addresses.
  Reader multicast(std::vector<Transfer> transfers, AccessList written) const;
  /// Loads from DRAM to all readers.
  void load(int stream, const std::vector<Reader>& readers);
  /// A cluster that takes part in a load for several clusters.
  struct Link {
    Staging* staging = nullptr;
    int stream = 0;
    std::vector<Reader> readers;
  };
  /// Loads from DRAM to the readers of all links. The GDMA of one link fetches, and CDMAs pass the data from
  /// each link to the next, along at most `kMostLinks` links; further links need another fetch. `turn` counts
  /// the loads: the fetching link rotates, so that the ports to DRAM share the work. Returns the number of
  /// fetches.
  static int load(std::vector<Link> links, std::size_t turn);
  static constexpr std::size_t kMostLinks = 4;
  /// Bytes of the largest part that is passed on: it passes through a buffer of each link, and a link begins
  /// when the whole part has arrived.
  static constexpr std::int64_t kLargestPassed = 16384;
  /// Stores from the memory of `processor`'s core to DRAM.
  void store(int stream, int processor, const std::vector<Transfer>& transfers, const Access& read);
  /// Moves data from the memory of one core to that of another core of the cluster, as `transfer` says.
  void pass(int stream, const Transfer& transfer, int from, const Access& read, int to,
            const Access& written);

 private:
  struct Stream {
    std::int64_t bytes = 0;
    std::uint64_t address = 0;
    BufferRing ring;
  };
  static void load_chain(const std::vector<Link>& links);
  Stream& stream(int number) { return nth(streams_, number); }
  static std::uint64_t address_of(const Stream& stream, const BufferRing::Filling& filling);

  TaskGraph* graph_;
  CopyTasks copies_;
  std::string layer_;
  int memory_;  // the processor of the memory core
  Arena sram_;
  std::vector<Stream> streams_;
};

}  // namespace tilebeat
