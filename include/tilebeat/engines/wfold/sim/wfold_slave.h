#pragma once

#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/sim/wfold_messages.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/fabric/transport.h"
#include "tilebeat/sim/context.h"

#include <cstdint>
#include <vector>

#include <systemc>

namespace tilebeat {

/// A slave of the W-fold engine (document 003 figure 5, 520; SPEC WF-4, WF-8): first buffer of L1 map lines,
/// second buffer of L2 kernel lines, Ncu compute units, third buffer of two tiles of int32 results, and the
/// post-processing lane at its way out.
///
/// All slaves work in lockstep: the master tells them cycle by cycle which line enters, what their port
/// reads and which beat is done; each has its own region of the second storage. A beat multiplies Ncu
/// selected map lines with one kernel line, 2 * Ncu * M bytes, and accumulates Ncu * Ws outputs of one
/// kernel. Reading a slot that nothing has been written to is a SimulationError. In tile granularity the
/// master hands over whole tiles, and kernels come through the region's direct memory access.
class WfoldSlave : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<WfoldSlave> control;    ///< from the master: SlaveClock
  tlm_utils::simple_target_socket<WfoldSlave> chunks;     ///< from the master: SlaveChunk
  tlm_utils::simple_target_socket<WfoldSlave> results;    ///< from the writer: ResultRead
  tlm_utils::simple_initiator_socket<WfoldSlave> region;  ///< the second port of its part of WRAM

  WfoldSlave(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config);
  ~WfoldSlave() override;
  WfoldSlave(const WfoldSlave&) = delete;
  WfoldSlave& operator=(const WfoldSlave&) = delete;

  std::int64_t results_read = 0;  ///< results that left for the writer

 private:
  void take_clock(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void take_chunk(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void read_results(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void enter_line(const SlaveClock::Line& line, const WfoldJob& job);
  void read_port(const SlaveClock::PortRead& read, const WfoldJob& job);
  void select(const SlaveClock::Beat& beat, const WfoldJob& job);
  void run_beat(const SlaveClock::Beat& beat, const WfoldJob& job);
  void replicate(const std::uint8_t* bytes, int count, const WfoldJob& job, std::int16_t* line) const;
  void load_kernels(const SlaveChunk& chunk);
  void count_reads(std::int64_t accesses, int bytes);
  std::int32_t* accumulators(int half, int kernel) {
    return third_.data() + (static_cast<std::ptrdiff_t>(half) * kernels_ + kernel) * accumulator_count_;
  }
  void declare_signals();
  void trace_beat(const SlaveClock::Beat& beat, const WfoldSchedule& schedule);

  SimContext context_;
  WfoldConfig config_;
  int kernels_;                       // of a tile, at most
  int accumulator_count_;             // int32 of one kernel: a pair sum each
  std::vector<std::int16_t> first_;   // [slot][M], widened
  std::vector<std::int16_t> second_;  // [slot][M], replicated
  std::vector<bool> first_filled_, second_filled_;
  std::vector<std::uint8_t> port_line_;     // of the line that the port delivers
  std::vector<std::int16_t> latched_;       // [Ncu][M]
  std::vector<std::int32_t> third_;         // [half][kernel][Ncu][M / 2]
  std::vector<PostParameter> records_;      // [set][kernel]
  std::vector<std::int16_t> kernel_lines_;  // tile granularity: every line of the kernel tile, in beat order
  AccessCount accesses_;
  tlm::tlm_generic_payload report_;  // of accesses_
  WordAccess read_;
  std::vector<std::uint8_t> record_bytes_;
  tlm::tlm_generic_payload payload_;
  SignalId kernel_row_signal_ = -1, kernel_column_signal_ = -1, block_signal_ = -1, channel_signal_ = -1,
           slot_signal_ = -1;
  std::vector<SignalId> unit_signals_;
  std::vector<SignalId> kernel_operands_, map_operands_;
  Strobe valid_;  // the compute units work on a beat
};

/// Widens `count` bytes of a map and takes the zero point off.
void widen_line(const std::uint8_t* bytes, int count, const ConvSetup& setup, std::int16_t* out);

}  // namespace tilebeat
