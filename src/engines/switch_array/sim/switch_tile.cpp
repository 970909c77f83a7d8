// The switch network's chunks in tile granularity.
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "engines/switch_array/sim/switch_network.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilebeat::switch_array {

void SwitchNetwork::run_tile(Cycle now) {
  ChunkGeometry geometry = schedule_->geometry();
  geometry.planes = 1;  // every channel block makes the same selections
  if (!(geometry == census_geometry_) || census_.cycle_clocks.empty()) {
    census_ = take_census(*schedule_, *arrangement_);
    census_geometry_ = geometry;
  }
  const Cycle read_clocks =
      std::int64_t{run_.planes} *
      std::accumulate(census_.cycle_clocks.begin(), census_.cycle_clocks.end(), std::int64_t{0});
  use_banks(now, read_clocks);
  read_tile();

  const ArrayChunk chunk{run_, queue_.front(), *schedule_};
  ArrayOperands operands{
      ArrayOperands::WholeChunk{chunk, tile_, census_.cycle_clocks, now + fill_cycles(config_)}};
  to_array.send(operands);
  drained_ = operands.drained;

  const std::int64_t beats = schedule_->beats();
  stats.beats += beats;
  stats.operation_cycles += schedule_->operation_cycles();
  stats.useful_macs += std::int64_t{run_.macs_per_pixel} * run_.rows * run_.columns;
  count_losses(schedule_->operation_cycles(), std::int64_t{run_.rows} * run_.columns);
  stats.bank_read_words += census_.read_words * run_.planes;
  ledger.spend(Activity::kPipelineFill, fill_cycles(config_), CycleOrder::kMixed);
  ledger.spend(Activity::kBusy, beats, CycleOrder::kMixed);
  ledger.spend(Activity::kBankConflict, census_.conflict_clocks * run_.planes, CycleOrder::kMixed);
  ledger.spend(Activity::kOutputDrain, operands.stalled, CycleOrder::kMixed);
  state_ = State::kFinishing;
  wake_at(now + fill_cycles(config_) + read_clocks + operands.stalled);
}

// The bank memory that the chunk reads; requested again after a withdrawal.
const DirectCells& SwitchNetwork::bank_memory(std::size_t bank) {
  std::optional<DirectCells>& memory = bank_memory_[run_.copy][bank];
  if (!memory) {
    memory = ask_for_cells(bank_read[bank], tlm::TLM_READ_COMMAND, copy_begin());
    if (!memory) throw SimulationError("an input bank refuses direct memory access");
  }
  return *memory;
}

// The first byte of the copy of the banks that the chunk reads.
std::uint64_t SwitchNetwork::copy_begin() const {
  return std::uint64_t{run_.copy} * to_unsigned(config_.bank_depth_words * config_.port_channels);
}

void SwitchNetwork::withdraw_memory(int bank, sc_dt::uint64 begin, sc_dt::uint64) {
  const bool second = begin >= static_cast<sc_dt::uint64>(config_.bank_depth_words * config_.port_channels);
  nth(bank_memory_[second ? 1 : 0], bank).reset();
  if (tile_of_ && tile_of_->copy == (second ? 1 : 0)) tile_of_.reset();
}

// The chunk's reads of the banks, in `clocks` cycles from `now` on.
void SwitchNetwork::use_banks(Cycle now, Cycle clocks) {
  const Picoseconds first = context_.clock.at(now), last = context_.clock.at(now + clocks - 1);
  for (std::size_t bank = 0; bank < census_.bank_reads.size(); ++bank) {
    const std::int64_t reads = census_.bank_reads[bank] * run_.planes;
    if (reads == 0) continue;
    use_of(bank_read[bank]).accesses(first, last, copy_begin(), copy_begin(), reads, config_.port_channels);
  }
}

// Reads the chunk's operands in the banks' arranged layout through the direct memory interface. Successive
// chunks that read the same tile for other kernels reuse it, unless a bank was written in between.
void SwitchNetwork::read_tile() {
  const int p = config_.port_channels;
  for (const auto& memory : bank_memory_[run_.copy]) {
    if (memory) memory->commit();  // may withdraw it
  }
  const bool same = tile_of_ && tile_of_->copy == run_.copy && tile_of_->height == run_.height &&
                    tile_of_->width == run_.width && tile_of_->first_plane == run_.first_plane &&
                    tile_of_->planes == run_.planes && tile_type_ == setup_.input_type &&
                    tile_zero_point_ == setup_.input_zero_point &&
                    tile_strides_ == std::pair(setup_.stride_h, setup_.stride_w);
  if (same) return;
  tile_of_ = run_;
  tile_type_ = setup_.input_type;
  tile_zero_point_ = setup_.input_zero_point;
  tile_strides_ = {setup_.stride_h, setup_.stride_w};

  const int padded = padded_channels(p);
  tile_.height = run_.height, tile_.width = run_.width, tile_.depth = run_.planes * padded;
  tile_.pixels.resize(to_size(tile_.height) * to_size(tile_.width * tile_.depth));
  const auto copy = to_signed(copy_begin());
  const std::ptrdiff_t plane_bytes = std::ptrdiff_t{arrangement_->words_per_plane()} * p;
  std::vector<std::uint8_t> pixel(to_size(run_.planes * p));
  std::int16_t* out = tile_.pixels.data();
  for (int h = 0; h < tile_.height; ++h) {
    for (int w = 0; w < tile_.width; ++w, out += tile_.depth) {
      const BankSlot slot = arrangement_->place(h, w);
      const std::uint8_t* word = bank_memory(to_size(slot.bank.value())).cells + copy +
                                 run_.first_plane * plane_bytes + slot.address * p;
      for (int plane = 0; plane < run_.planes; ++plane)
        std::memcpy(pixel.data() + plane * p, word + plane * plane_bytes, to_size(p));
      widen_words(pixel.data(), run_.planes, p, setup_.input_type, setup_.input_zero_point, out);
    }
  }
}

}  // namespace tilebeat::switch_array
