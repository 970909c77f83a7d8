#pragma once

#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/result.h"
#include "tilebeat/workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// Registers of an `Accelerator`, at these addresses behind its socket. An access is of the whole register, 4
/// or 8 bytes, little-endian.
enum class AcceleratorRegister : std::uint64_t {
  kStart = std::uint64_t{1} << 45,         ///< a write of any value starts the programs; the first one counts
  kStatus = (std::uint64_t{1} << 45) + 8,  ///< read: an `AcceleratorStatus`
};
enum class AcceleratorStatus : std::uint32_t { kIdle = 0, kRunning = 1, kDone = 2 };

/// The place of a tensor in the chip's DRAM. A plain value; copies share the layout.
class TensorPlace {
 public:
  /// The address of its first byte behind `Accelerator::socket`.
  std::uint64_t address() const;
  /// Bytes that it takes there, which may be more than its elements.
  std::int64_t size_bytes() const;
  const std::vector<std::int64_t>& shape() const;
  TensorData::Type type() const;
  /// The element that stands for the real value 0.
  std::int32_t zero_point() const;
  /// The bytes that lie in DRAM for elements that are laid out as in TensorData. Where `planner.map_layout`
  /// is "nhwc", the two are the same. Throws UserError when these are not the tensor's number of bytes.
  std::vector<std::uint8_t> to_memory(const std::vector<std::uint8_t>& elements) const;
  /// The elements, laid out as in TensorData, of the `size_bytes()` bytes in DRAM. Throws UserError when
  /// these are another number of bytes.
  std::vector<std::uint8_t> from_memory(const std::vector<std::uint8_t>& stored) const;

  /// The library's own; users have no definition of it.
  struct Inner;
  explicit TensorPlace(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}

 private:
  std::shared_ptr<const Inner> inner_;
};

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
 public:
  SC_HAS_PROCESS(Accelerator);

  tlm::tlm_target_socket<32> socket;
  /// Written true at the end; need not be bound.
  sc_core::sc_port<sc_core::sc_signal_inout_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;

  /// The chip that `hardware` describes, with `plan` to run; it keeps what it needs of both. Throws UserError
  /// when the plan is one for other hardware.
  Accelerator(sc_core::sc_module_name name, const Hardware& hardware, const NetworkPlan& plan,
              const RunOptions& options = {});
  ~Accelerator() override;

  AcceleratorStatus status() const;
  /// Size of the chip's DRAM in bytes.
  std::uint64_t memory_bytes() const;
  /// The place of a tensor of the network in DRAM: an input, or a layer's output by the layer's name. It may
  /// outlive the chip. Throws UserError when DRAM has no such tensor.
  TensorPlace placement(const std::string& tensor) const;
  /// The result of the run; cycles are counted from the start of the programs on, counters of the report from
  /// the beginning of the simulation. Throws UserError before the end of the run.
  Result result();
  /// A text with the state of every unit and what it waits for, for a simulation that makes no progress.
  std::string describe_state() const;

 private:
  struct Inner;
  void start_of_simulation() override;
  void finish();

  std::unique_ptr<Inner> inner_;
};

}  // namespace tilebeat
