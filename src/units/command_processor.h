#pragma once

#include "config/hardware_config.h"
#include "fabric/burst_port.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"
#include "units/commanded_unit.h"
#include "units/sync_network.h"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>

namespace tilebeat {

/// Registers of what the host starts (a command processor or the start unit), 8 bytes each, at these offsets
/// from the base address.
enum class CommandRegister : std::uint64_t {
  kProgramAddress = 0x00,  ///< DRAM byte address of the program, or of the start unit's table
  kProgramBytes = 0x08,    ///< its length
  kStart = 0x10,           ///< any write starts
};
constexpr std::uint64_t kCommandRegisterBytes = 0x18;

/// Registers behind a target socket: they accept writes of 8 bytes, one per request, and answer at once.
class CommandRegisters {
 public:
  explicit CommandRegisters(std::uint64_t base) : base_(base) {}

  /// Handles a request at the socket; sets `started` when it has written kStart. Anything but a write of a
  /// whole register is answered with an address error.
  tlm::tlm_sync_enum write(tlm::tlm_generic_payload& payload, tlm::tlm_phase phase, bool& started);

  std::uint64_t address = 0, bytes = 0;

 private:
  std::uint64_t base_;
};

/// Counters of the command processor.
struct CommandStats {
  std::int64_t instructions = 0;  ///< instructions decoded
  std::int64_t fetched_bytes = 0;
};

/// Fetches a program from memory, decodes it, and hands its instructions to the units (SPEC SW-6, HI-2): the
/// control part of document 000's DMA control and host interface.
///
/// Throughput: one instruction decoded a cycle, one dispatched a unit and cycle. An instruction is dispatched
/// when each of its semaphores can be taken and its unit holds fewer than two. Queues are `command_queue`
/// deep; a full one holds the decoder. `layer.end` and `halt` wait until all queues and units are empty;
/// `barrier` holds the decoder until the synchronisation network releases it. A `signal` waits for its tokens
/// in a queue of its own, as deep as the units', and goes out to the network, one a cycle and in order. What
/// a unit's next instruction waits for is told to the unit, which books its idle cycles on that cause.
/// Messages of cycle t are dealt with in phase kGrant of cycle t; units act in cycle t + 1.
/// All semaphores are zero after reset and after each halt; what other processors signal before the next
/// program starts counts for it, because the host starts one processor after the other.
class CommandProcessor : public sc_core::sc_module {
  sc_core::sc_event fetch_wake_;  // declared first: the port notifies it

 public:
  tlm_utils::simple_target_socket_tagged<CommandProcessor> registers;  ///< target behind the interconnect
  BurstPort fetch;
  /// sockets of the units that exist
  sc_core::sc_vector<MessageInitiator<UnitCommand>> units;
  sc_core::sc_vector<MessageTarget<UnitMessage>> completions;
  MessageInitiator<ProgramEnd> interrupt;
  /// Bound where there are several processors.
  MessageInitiator<SyncRequest, 1, sc_core::SC_ZERO_OR_MORE_BOUND> sync_out;
  MessageTarget<SyncDelivery, 1, sc_core::SC_ZERO_OR_MORE_BOUND> sync_in;
  /// Bound where a StartUnit starts processors; takes ProgramStart.
  MessageTarget<ProgramStart, 1, sc_core::SC_ZERO_OR_MORE_BOUND> start_in;

  /// `present`: the units that it commands, in the order of their sockets, each followed by units whose
  /// instructions it also executes; `completion_ports` modules report completions; `base` is the address of
  /// the first register.
  CommandProcessor(sc_core::sc_module_name name, const SimContext& context, const HostConfig& host,
                   const DmaConfig& dma, const std::vector<std::vector<Unit>>& present, int completion_ports,
                   std::uint64_t base);
  SC_HAS_PROCESS(CommandProcessor);

  /// Whether the program has sent a matrix instruction since the last `layer.end` or `halt`.
  bool layer_begun() const { return layer_begun_; }

  CycleLedger ledger;  ///< busy: an instruction was decoded
  CommandStats stats;
  /// A line per unit: its instructions, and what the head of its queue waits for. For deadlock reports.
  std::string describe_state() const;
  /// The instructions that units are executing, with their addresses; empty: none. For errors of units.
  std::string describe_under_way() const;
  bool running() const { return running_; }

 private:
  struct Queued {
    Instruction instruction;
    std::uint64_t address = 0;
  };
  // An instruction that was sent and is not done.
  struct UnderWay {
    std::uint64_t address = 0;
    Semaphores release_signals{}, done_signals{};
  };
  struct UnitState {
    int socket = -1;  // in `units`; -1: there is no such unit
    std::deque<Queued> queue;
    Instruction dispatched;  // scratch that outlives the message
    int held = 0;            // sent and not released
    std::deque<UnderWay> under_way;
    int released = 0;  // how many of the first of these are released
    Activity told = Activity::kHost;
    SignalId queue_signal = -1, held_signal = -1;
  };

  void retire(UnitState& unit, bool with_release, Cycle now);
  tlm::tlm_sync_enum write_register(int, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  void receive_start(ProgramStart& start, sc_core::sc_time& delay);
  void receive_sync(SyncDelivery& delivery, sc_core::sc_time& delay);
  void receive_completion(UnitMessage& message, sc_core::sc_time& delay);
  void fetch_step();
  void control_step();
  void start_next_cycle();
  void start();
  void decode_one(Cycle now);
  bool execute_sync(const Queued& queued, Cycle now);
  bool execute_barrier(const Barrier& barrier);
  void give_signal(Cycle now);
  void execute_signal(const Signal& signal);
  bool take_tokens(const Semaphores& waits);
  void dispatch(Cycle now);
  void tell_blockers();
  Activity blocker_of(const UnitState& unit) const;
  Activity cause_of(Semaphore missing) const;
  bool all_idle() const;
  void wake_control(Cycle cycle);
  void declare_signals();
  void trace_queues(Cycle now);
  // The number of the instruction at an address, among all that the processor has fetched.
  std::uint64_t number_of(std::uint64_t address) const {
    return programs_fetched_ + (address - program_.address) / kInstructionBytes;
  }
  void log(std::uint64_t address, ProgramStage stage, Cycle at) {
    if (log_ != nullptr) log_->begin(processor_, number_of(address), stage, at);
  }
  void log_fetch(std::uint64_t address, int bytes, Cycle now);
  void log_decode(const Queued& queued, Cycle now);
  void log_end(Cycle now);

  SimContext context_;
  HostConfig host_;
  DmaConfig dma_;
  MethodGate fetch_gate_, control_gate_;
  sc_core::sc_event control_wake_;

  CommandRegisters program_;  // address: a multiple of the instruction size
  Cycle start_at_ = -1;       // a write to kStart takes effect here
  bool running_ = false;
  bool layer_begun_ = false;
  std::uint64_t fetch_address_ = 0;   // next byte to request
  std::uint64_t decode_address_ = 0;  // address of the next instruction to decode
  std::deque<std::uint8_t> buffer_;   // fetched, not decoded
  std::int64_t buffer_reserved_ = 0;  // bytes under way
  Cycle last_decode_ = -1;
  Activity decode_blocker_ = Activity::kHost;

  std::array<std::uint32_t, kSemaphores> semaphores_{};
  std::array<UnitState, kQueuedUnits> state_;
  std::array<Unit, kQueuedUnits> queue_of_{};  // by the unit of an instruction
  std::deque<Queued> signals_;                 // signals that wait for their tokens
  Cycle last_signal_ = -1;
  std::vector<UnitMessage> inbox_;
  std::vector<Semaphore> received_signals_;  // from other processors, of this cycle
  enum class BarrierState : std::uint8_t { kNone, kArrived, kReleased };
  BarrierState barrier_ = BarrierState::kNone;
  // whether the synchronising instruction that holds the decoder has taken its tokens
  bool tokens_taken_ = false;
  Activity sync_blocker_ = Activity::kLayerEnd;
  SignalId address_signal_ = -1;
  ProgramLog* log_ = nullptr;
  int processor_ = 0;                      // in the log
  std::uint64_t programs_fetched_ = 0;     // instructions of the programs before this one
  std::optional<std::uint64_t> decoding_;  // address of the instruction that the log has seen last
};

}  // namespace tilebeat
