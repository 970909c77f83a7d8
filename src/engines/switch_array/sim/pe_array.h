#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/array_messages.h"
#include "fabric/direct_access.h"
#include "fabric/transport.h"
#include "kernels/mac.h"
#include "sim/context.h"
#include "sim/upset.h"
#include "units/matrix_unit.h"

#include <cstdint>
#include <map>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// The PE array (document 000 [0091], 250; SPEC SW-2, SW-8): R x C processing elements, each multiplying P
/// channels of its row's lane with P channels of its column's kernel and accumulating in int32, or in 48 bits
/// where the map is int16 (SPEC DT-2). The PEs are flat state of this one module.
///
/// Throughput: one beat a cycle. While a beat is in the switch stage every column reads its word from its
/// bank of the parameter buffer; the register behind the bank feeds the multipliers in the next stage. The
/// last beat of an operation cycle copies the accumulators to shadow registers, which each row group drains
/// one lane at a time, L * drain_clocks_per_lane cycles in all. Back-pressure: a last beat that finds the
/// shadow registers still draining is done when they are free; `stalled` tells the switch how long that is.
class PeArray : public sc_core::sc_module {
 public:
  MessageTarget<ArrayOperands> operands;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<PeArray>> parameter_read;  ///< one a column, C
  MessageInitiator<DrainMessage> drain;

  /// `trace_accumulators` adds every PE's accumulator to the trace.
  PeArray(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
          bool trace_accumulators);

  /// Injects an upset into an accumulator: PE `upset.bank`, row by row, byte `upset.address`, the lowest
  /// first.
  void upset(const Fault& upset) { upsets_.add(*upset.at, upset); }

 private:
  void b_transport(ArrayOperands& message, sc_core::sc_time& delay);
  bool is_wide() const { return setup_.input_type == DType::kInt16; }
  void read_words(const ArrayOperands::Kernels& kernels);
  Cycle run_beat(const ArrayOperands::OneBeat& operands);
  Cycle run_chunk(const ArrayOperands::WholeChunk& operands);
  const std::vector<std::int16_t>& read_kernels(const ConvRun& run, const TileConvolution& geometry);
  void withdraw(sc_dt::uint64, sc_dt::uint64) { forget_kernels(); }
  void forget_kernels();
  void drain_cycle(const ArrayOperands::OneBeat& operands, Cycle at);
  void declare_signals();
  void trace_pes(Cycle at, bool begins);

  SimContext context_;
  SwitchArrayConfig config_;
  ArrayShape shape_;
  int padded_;
  ConvSetup setup_;
  Cycle shadow_free_ = 0;  ///< the first cycle whose end may copy accumulators to the shadow registers

  BeatAccumulators accumulators_;
  UpsetsToCome<Fault> upsets_;
  /// Words of the parameter buffer, of the beats that are being multiplied and added: a beat a stage.
  std::vector<std::vector<std::uint8_t>> kernel_words_;
  std::size_t next_read_ = 0, next_mac_ = 0;  // in `kernel_words_`
  std::vector<std::int16_t> wide_lanes_, wide_kernels_;
  std::vector<Sum> shadow_;

  std::vector<Sum> chunk_sums_;  // tile granularity, [pixel][accumulator_stride]
  /// Kernels that chunks have read, by first word, in the form of the fast kernel; valid for later chunks
  /// until a bank is written.
  std::map<std::uint32_t, std::vector<std::int16_t>> chunk_kernels_;
  std::vector<std::vector<std::int16_t>> spare_kernels_;  ///< storage of such that are forgotten
  std::vector<TimedWrites*> kernel_rows_;                 ///< rows that the banks belong to
  std::vector<std::int16_t> wide_chunk_kernels_;

  DirectReader words_;  // reader of the parameter buffer, in clock granularity
  Strobe valid_;        // the MAC stage works on a beat
  // What a trace shows of each PE, row by row: the sum of a beat, the accumulator with it where these are
  // traced. Empty: nothing.
  SignalGroup pes_;
  bool traces_accumulators_ = false;
  std::vector<std::int32_t> sums_before_;  // accumulators without the latest beat, while they are traced
  std::vector<std::uint8_t> shown_;        // values of `pes_` that are told
};

}  // namespace tilebeat::switch_array
