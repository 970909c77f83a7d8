#pragma once

#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"
#include "tilebeat/system/snapshot.h"
#include "tilebeat/units/command_processor.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The matrix unit of a core with everything between it and the core's memories (SPEC HI-2): the switch array
/// with its DMA channels, or the W-fold engine with the engine that folds maps in place. Not a module itself:
/// its parts are modules of the core.
class MatrixUnit {
 public:
  virtual ~MatrixUnit() = default;

  // What a core of the dataflow has for it, in the order of its sockets.
  static std::vector<std::string> bus_ports(const std::string& dataflow);
  static std::vector<Unit> units(const std::string& dataflow);
  static int completions(const std::string& dataflow);

  /// What builds the parts; each of them once, in any order, inside the core's constructor.
  virtual std::vector<std::function<void()>> build() = 0;
  /// Binds to the first ports of the bus, the first units and the first completions of the control.
  virtual void bind(Interconnect& bus, CommandProcessor& control, Scratchpad& wram) = 0;
  virtual std::vector<std::pair<std::string, CycleLedger*>> ledgers() = 0;
  virtual void collect(Snapshot& snapshot, const std::string& prefix) = 0;
  /// The cell that `fault` names: of an input bank of the switch array, or of a bank of the NRAM that the
  /// W-fold engine reads.
  virtual void inject_fault(const Fault& fault, Scratchpad& nram) = 0;
};

/// What a matrix unit is built from; outlives the call of `build`.
struct MatrixUnitContext {
  const SimContext& context;
  const HardwareConfig& hardware;
  const SimulationOptions& options;
  BuildOrder& order;
  std::uint64_t nram = 0;  ///< address of the core's NRAM
};
std::unique_ptr<MatrixUnit> make_matrix_unit(const MatrixUnitContext& context);

}  // namespace tilebeat
