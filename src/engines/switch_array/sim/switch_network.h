#pragma once

#include "engines/switch_array/config.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/sim/array_messages.h"
#include "fabric/direct_access.h"
#include "fabric/transport.h"
#include "observe/statistics.h"
#include "sim/context.h"
#include "units/commanded_unit.h"
#include "units/matrix_unit.h"

#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <systemc>

namespace tilebeat::switch_array {

/// Counters of the switch network.
struct SwitchStats {
  std::int64_t beats = 0;
  std::int64_t chunks = 0;
  std::int64_t operation_cycles = 0;
  std::int64_t useful_macs = 0;  ///< kernel-channel pairs of existing outputs, padding taps included
  std::int64_t bank_read_words = 0;
  MacLosses losses{};
};

/// The switch circuit (document 000 [0090, 0099-0104], 240; SPEC SW-2, SW-5, SW-8) with the chunk control of
/// the array: a full R x R crossbar that picks for every lane, every beat, a word of any bank.
///
/// Pipeline: bank read, switch, MAC, which `adder_stages` spread over several stages; one enable for all. A
/// chunk's first MAC is 1 + adder_stages cycles after its first read; operation cycles follow back to back;
/// the next chunk's first read follows the last MAC. Throughput: one beat a cycle; a beat that reads a bank k
/// times takes k read cycles (`bank_conflict`). Back-pressure: when the array cannot copy its accumulators to
/// the shadow registers, all stages stand still
/// (`output_drain`). The ledger tells what the MAC stage does.
class SwitchNetwork : public CommandedUnit {
 public:
  sc_core::sc_vector<tlm_utils::simple_initiator_socket_tagged<SwitchNetwork>> bank_read;  ///< one a bank, R
  MessageInitiator<ArrayOperands> to_array;

  SwitchNetwork(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                Granularity granularity);
  SC_HAS_PROCESS(SwitchNetwork);

  CycleLedger ledger;
  SwitchStats stats;

 private:
  enum class State { kIdle, kSetupWait, kRunning, kStalled, kFinishing };
  struct Lane {
    Selection selection;
    int bank = 0;
    std::uint64_t address = 0;
  };
  // A pipeline register: a beat and the word of every lane.
  struct Stage {
    bool valid = false;
    Activity bubble = Activity::kPipelineFill;  // why there is no beat
    Beat beat;
    std::vector<Lane> lanes;
    std::vector<std::uint8_t> words;
  };

  void take(const Instruction& instruction, Cycle next) override;
  bool wakes_on_command() const override { return state_ == State::kIdle; }
  void step();
  void begin_next(Cycle now);
  void begin_run();
  void check_places() const;
  void check_quotients() const;
  void check_sums();
  void hold_buffers(Cycle now);
  void next_block();
  void begin_chunk(Cycle now);
  void finish_chunk(Cycle now);
  void tell_array(Activity waits_for);
  void declare_signals();

  // Clock granularity: one call each a cycle.
  bool mac_stage(Cycle now);
  void advance_pipeline(Cycle now);
  void load_read_stage();
  void read_lanes(Cycle now);
  void trace_switch(Cycle now);

  // Tile granularity: one call a chunk.
  void run_tile(Cycle now);
  void use_banks(Cycle now, Cycle clocks);
  void read_tile();
  const DirectCells& bank_memory(std::size_t bank);
  std::uint64_t copy_begin() const;
  void withdraw_memory(int bank, sc_dt::uint64 begin, sc_dt::uint64 end);

  SwitchArrayConfig config_;
  ArrayShape shape_;
  Granularity granularity_;

  // Instructions from the command processor; while running, the front one is in progress.
  std::deque<Instruction> queue_;
  Activity told_ = Activity::kHost;  // the stall cause that the array was told last
  State state_ = State::kIdle;

  ConvSetup setup_;
  ConvRun run_;
  std::optional<std::pair<int, int>> open_sums_;  // rows, columns of the run whose sums wait for the next one
  std::optional<Arrangement> arrangement_;
  std::optional<SwitchSchedule> schedule_;

  Beat next_beat_;
  bool more_beats_ = false;
  Cycle chunk_begin_ = 0;
  Cycle drained_ = 0;  // the cycle after the last lane of all operation cycles so far drained
  // Counts the multipliers' losses in `operation_cycles` operation cycles with `active_lanes` lanes in total
  // that have a pixel.
  void count_losses(std::int64_t operation_cycles, std::int64_t active_lanes);

  std::int64_t macs_before_ = 0;  // useful MACs before the chunk
  WorkCounter work_;
  Stage read_, switch_;
  std::vector<Stage> adders_;        // stages of the adder trees; the last one is the MAC stage
  std::vector<int> pending_;         // lanes in the read stage that still have to read
  std::vector<Cycle> bank_read_at_;  // the crossbar's arbiter: one read a bank and cycle
  DirectReader words_;               // reader of the input buffer, in clock granularity
  SignalId beat_signal_ = -1, row_block_signal_ = -1, column_block_signal_ = -1;
  std::vector<SignalGroup> lane_signals_;  // by lane: word, row, column of its pixel
  std::vector<Strobe> valid_;              // likewise
  std::vector<std::uint8_t> shown_;        // values of a lane's signals

  // Direct memory interface of tile granularity, by copy and bank; and the last tile, valid until its memory
  // is withdrawn.
  std::array<std::vector<std::optional<DirectCells>>, 2> bank_memory_;
  TileOperands tile_;
  std::optional<ConvRun> tile_of_;
  DType tile_type_ = DType::kInt8;
  int tile_zero_point_ = 0;
  std::pair<std::uint16_t, std::uint16_t> tile_strides_{1, 1};
  ChunkGeometry census_geometry_;  // the geometry of `census_`
  BankCensus census_;
};

}  // namespace tilebeat::switch_array
