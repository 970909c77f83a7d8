#pragma once

#include "config/hardware_config.h"
#include "fabric/burst_port.h"
#include "program/plan.h"
#include "report/run_result.h"
#include "system/system.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <systemc>
#include <tlm_utils/simple_target_socket.h>

namespace tilebeat {

/// Registers of an `Accelerator`, at these addresses behind its socket. An access is of the whole register, 4
/// or 8 bytes, little-endian.
enum class AcceleratorRegister : std::uint64_t {
  kStart = std::uint64_t{1} << 45,         ///< a write of any value starts the programs; the first one counts
  kStatus = (std::uint64_t{1} << 45) + 8,  ///< read: an `AcceleratorStatus`
};
enum class AcceleratorStatus : std::uint32_t { kIdle = 0, kRunning = 1, kDone = 2 };

/// A chip, with its DRAM, as a module of somebody else's SystemC top level (docs/embedding.md).
///
/// `socket` takes blocking transport. Addresses from 0 to `memory_bytes()` are the chip's DRAM: an access
/// passes the chip's interconnect, port `external`, as bursts that wait for the chip's clock and compete with
/// its own for the interconnect and DRAM, and returns when the last one is answered. Several initiators take
/// turns, an access each. Debug transport reaches DRAM without time passing. There is no direct memory
/// interface. Outside DRAM and registers the response is TLM_ADDRESS_ERROR_RESPONSE.
///
/// The weights, programs and inputs of the plan are in DRAM when the simulation starts. The programs run
/// once, after a write to `kStart`; `interrupt` rises in the cycle in which all have run. Errors of the
/// simulated hardware leave `sc_start` as SystemC's reports.
///
/// SystemC elaborates once a process, so one plan runs once a process.
class Accelerator : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  SC_HAS_PROCESS(Accelerator);

  tlm_utils::simple_target_socket<Accelerator> socket;
  /// Written true at the end; need not be bound.
  sc_core::sc_port<sc_core::sc_signal_inout_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;

  /// `plan` was made for `hardware`.
  Accelerator(sc_core::sc_module_name name, HardwareConfig hardware, Plan plan,
              Granularity granularity = Granularity::kTile);

  AcceleratorStatus status() const { return status_; }
  std::uint64_t memory_bytes() const { return to_unsigned(hardware_.dram.size_bytes); }
  /// The place of a tensor of the workload in DRAM: an input, or a layer's output by the layer's name. Throws
  /// UserError when DRAM has no such tensor.
  const Placement& placement(const std::string& tensor) const;
  /// The result of the run: cycles from the start on, modules, layers and outputs, as in a report. Counters
  /// include everything since the beginning of the simulation. Throws UserError before the end of the run.
  RunResult result();
  /// A text with the state of every unit and what it waits for, for a simulation that makes no progress.
  std::string describe_state() const { return system_->describe_state(); }

 private:
  void start_of_simulation() override;
  void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status access_register(tlm::tlm_generic_payload& payload);
  void access_memory(tlm::tlm_generic_payload& payload);
  /// Sends one more burst of an access of which `sent` bytes are in flight or done. Returns the burst's
  /// bytes.
  int send(tlm::tlm_generic_payload& payload, unsigned sent, Cycle now);
  void finish();

  HardwareConfig hardware_;
  Plan plan_;
  SimulationOptions options_;
  ClockDomain clock_;
  std::unique_ptr<System> system_;
  BurstPort port_;
  sc_core::sc_mutex turn_;
  AcceleratorStatus status_ = AcceleratorStatus::kIdle;
};

/// Converts the elements of a tensor (C order) to its bytes in DRAM, and back.
std::vector<std::uint8_t> to_memory(const Placement& placement, const std::vector<std::uint8_t>& elements);
std::vector<std::uint8_t> from_memory(const Placement& placement, const std::vector<std::uint8_t>& stored);

}  // namespace tilebeat
