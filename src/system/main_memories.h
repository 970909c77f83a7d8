#pragma once

#include "config/hardware_config.h"
#include "fabric/dram_controller.h"
#include "fabric/external_memory.h"
#include "sim/context.h"
#include "system/snapshot.h"
#include "system/unit_probes.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tlm>

namespace tilebeat {

/// The main memory of a system, behind as many ports of the interconnect as it has controllers: DRAMs with
/// their controllers, or the ways to a memory outside of the system.
class MainMemories {
 public:
  /// `names`: of the modules, one a controller. `outside`: the socket of the memory outside; null: there is
  /// none.
  MainMemories(std::vector<std::string> names, const DramConfig& dram, ExternalMemory::Port* outside);

  int count() const { return count_of(names_); }
  /// The steps that build the modules, a step each; called in the constructor of their parent, which keeps
  /// `context`.
  std::vector<std::function<void()>> steps(const SimContext& context);
  tlm::tlm_target_socket<>& socket(int number);
  /// Adds the counts of all to the visitor's snapshot; `at`: the clock edge of its cycle.
  void collect(SnapshotVisitor& visitor, Picoseconds at);
  void probe(UnitProbes& probes);
  /// Writes zeros into all DRAMs, when nothing runs; a memory outside keeps what it holds.
  void clear();
  /// Addresses [begin, end] of the memory outside are no longer granted for direct access.
  void withdraw(std::uint64_t begin, std::uint64_t end);

 private:
  std::vector<std::string> names_;
  DramConfig dram_;  // of one controller
  ExternalMemory::Port* outside_;
  std::vector<std::unique_ptr<DramController>> drams_;
  std::vector<std::unique_ptr<ExternalMemory>> external_;
};

}  // namespace tilebeat
