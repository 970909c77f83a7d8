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
  kReset = (std::uint64_t{1} << 45) + 16,  ///< a write of any value does what `Accelerator::reset` does
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

/// A chip, with its DRAM or before somebody else's, as a module of a user's SystemC top level
/// (docs/embedding.md).
///
/// `socket` takes blocking transport. Addresses from 0 to `memory_bytes()` are the chip's DRAM: an access
/// passes the chip's interconnect, port `external`, as bursts that wait for the chip's clock and compete with
/// its own for the interconnect and DRAM, and returns when the last one is answered. Several initiators take
/// turns, an access each. Debug transport reaches DRAM without time passing. There is no direct memory
/// interface. Outside DRAM and registers the response is TLM_ADDRESS_ERROR_RESPONSE.
///
/// The weights, programs and inputs of the plan are in DRAM when the simulation starts. The programs run
/// after a write to `kStart`; `interrupt` rises in the cycle in which all have run. After a reset they can be
/// started again, or those of another plan for the same hardware. Errors of the simulated hardware leave
/// `sc_start` as SystemC's reports.
///
/// With `RunOptions::Dram::kExternal` the requests of the chip's memory controllers leave by `memory`, as
/// blocking transports of at most 4,096 bytes at DRAM's addresses from 0 on, `dram.queue_depth` of a
/// controller under way at a time. Where the target allows direct memory access they become copies that take
/// the latency it granted. What the chip writes there before the start, by debug transport, takes no time.
class Accelerator : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Accelerator);

  tlm::tlm_target_socket<32> socket;
  /// To the main memory, with `RunOptions::Dram::kExternal`; else not to be bound.
  tlm::tlm_initiator_socket<32, tlm::tlm_base_protocol_types, 1, sc_core::SC_ZERO_OR_MORE_BOUND> memory;
  /// True from the end of a run to the reset; need not be bound.
  sc_core::sc_port<sc_core::sc_signal_inout_if<bool>, 1, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;

  /// The chip that `hardware` describes, with `plan` to run; it keeps what it needs of both. Throws UserError
  /// when the plan is one for other hardware.
  Accelerator(sc_core::sc_module_name name, const Hardware& hardware, const NetworkPlan& plan,
              const RunOptions& options = {});
  ~Accelerator() override;

  /// What memories hold after `load`: what they held, or zeros. An external memory keeps what it holds.
  enum class Memories : std::uint8_t { kKept, kCleared };
  /// Resets the chip to run `plan`, and writes the plan's weights, programs and inputs into DRAM without time
  /// passing. Throws UserError while programs run, or when the plan is one for other hardware.
  void load(const NetworkPlan& plan, Memories memories = Memories::kKept);
  /// Lets the programs be started again, with what memories hold. Throws UserError while they run.
  void reset();

  AcceleratorStatus status() const;
  /// Size of the chip's DRAM in bytes.
  std::uint64_t memory_bytes() const;
  /// The place of a tensor of the network in DRAM: an input, or a layer's output by the layer's name. It may
  /// outlive the chip. Throws UserError when DRAM has no such tensor.
  TensorPlace placement(const std::string& tensor) const;
  /// The result of the last run; cycles and counters are those from the start of its programs on. Throws
  /// UserError before the end of the run.
  Result result();
  /// A statistic at the present time, counted from the beginning of the simulation, in the counter's unit:
  /// `counter("dram0.ch0", "row_hits")`, with names as in the `counters` of a report. Throws UserError where
  /// there is no such counter.
  std::int64_t counter(const std::string& module, const std::string& name);
  /// A text with the state of every unit and what it waits for, for a simulation that makes no progress.
  std::string describe_state() const;

 private:
  struct Inner;
  void start_of_simulation() override;
  void show_interrupt();

  std::unique_ptr<Inner> inner_;
};

}  // namespace tilebeat
