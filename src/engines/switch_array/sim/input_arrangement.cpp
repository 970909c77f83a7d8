#include "engines/switch_array/sim/input_arrangement.h"

#include "base/types.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/dma_channels.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::switch_array {

BytePattern words_of(const LoadInput& load, const SwitchArrayConfig& array) {
  const int stride = array.arrangement == ArrangementKind::kStrideAware ? load.stride_h : 1;
  const int planes = ceil_div<int>(load.channels, array.port_channels);
  return {to_unsigned(load.copy) * to_unsigned(array.bank_depth_words),
          to_unsigned(planes * words_per_plane(array_shape(array), load.height, load.width, stride))};
}

InputArrangement::InputArrangement(sc_core::sc_module_name name, const SimContext& context,
                                   const SwitchArrayConfig& config, int bytes_per_clock)
    : sc_module(name),
      stream("stream"),
      bank_write("bank_write", to_size(config.rows)),
      context_(context),
      config_(config),
      shape_(array_shape(config)),
      bytes_per_clock_(bytes_per_clock),
      input_(context.holds(kInputBanks)),
      queues_(config.rows, config.arrangement_queue_words),
      assembling_(to_size(bytes_per_clock) + 1, std::vector<std::uint8_t>(to_size(config.port_channels))),
      write_word_(tlm::TLM_WRITE_COMMAND, config.port_channels),
      direct_(to_size(config.rows), config.port_channels,
              to_unsigned(config.bank_depth_words) * to_unsigned(config.port_channels)) {
  stream.register_b_transport(this, &InputArrangement::b_transport);
  for (auto& bank : bank_write) bank.register_invalidate_direct_mem_ptr(this, &InputArrangement::withdraw);
}

void InputArrangement::begin(const LoadInput& load) {
  tile_ = load;
  const bool aware = config_.arrangement == ArrangementKind::kStrideAware;
  arrangement_.emplace(shape_, load.height, load.width, aware ? load.stride_h : 1, aware ? load.stride_w : 1);
  const std::int64_t planes = (load.channels + config_.port_channels - 1) / config_.port_channels;
  if (planes * arrangement_->words_per_plane() > config_.bank_depth_words) {
    throw SimulationError(fmt::format(
        "load.input: a tile of {}x{}x{} needs {} words a bank, the banks have {}", load.height, load.width,
        load.channels, planes * arrangement_->words_per_plane(), config_.bank_depth_words));
  }
  if (load.slice % config_.port_channels != 0) {
    throw SimulationError(fmt::format("load.input: slice {} is no multiple of the {} channels of a word",
                                      load.slice, config_.port_channels));
  }
  plane_bytes_ = to_unsigned(arrangement_->words_per_plane() * config_.port_channels);
  row_ = column_ = filled_ = 0;
  begin_slice(0);
}

void InputArrangement::begin_slice(int channel) {
  slice_begin_ = channel_ = channel;
  slice_end_ = tile_.slice == 0 ? tile_.channels : std::min<int>(channel + tile_.slice, tile_.channels);
}

void InputArrangement::b_transport(StreamMessage& message, sc_core::sc_time&) {
  if (std::holds_alternative<StreamMessage::Data>(message.content)) note_access();
  direct_.commit();
  take_stream(
      message, queues_, ledger, context_.clock.cycle_of(now_ps()), bytes_per_clock_,
      [this](const Instruction& load) { begin(load.operation.get<LoadInput>()); },
      [this](const std::uint8_t* bytes, int count, int beat, Cycle ready) {
        take_beat(bytes, std::min(count, beat), ready);
        return 1;
      });
}

// Notes the whole tile at once: its words are written bit by bit.
void InputArrangement::note_access() {
  if (input_ == nullptr) return;
  const BytePattern words = words_of(tile_, config_);
  input_->access("load.input", Holds::Access::kWrite, words.begin, words.end(),
                 context_.clock.cycle_of(now_ps()));
}

void InputArrangement::take_beat(const std::uint8_t* bytes, int count, Cycle ready) {
  queues_.begin_beat(ready);
  words_.clear();
  const int p = config_.port_channels;
  for (const std::uint8_t* end = bytes + count; bytes != end;) {
    if (channel_ == slice_begin_) {
      const BankSlot slot = arrangement_->place(row_, column_);
      bank_ = slot.bank.value();
      address_ = to_unsigned(tile_.copy * config_.bank_depth_words + slot.address) * to_unsigned(p) +
                 to_unsigned(slice_begin_ / p) * plane_bytes_;
    }
    // Whole words of a pixel are written straight from the beat. A word that straddles beats, or ends a pixel
    // early, is assembled and padded first: it gets as many bytes as there are, up to P.
    Words words;
    int taken = std::min(slice_end_ - channel_, to_int(end - bytes));
    if (filled_ == 0 && taken >= p) {
      words.count = taken / p;
      words.from = bytes;
      taken = words.count * p;
      bytes += taken;
      channel_ += taken;
    } else {
      taken = std::min(p - filled_, taken);
      std::vector<std::uint8_t>& assembled = assembling_[assembly_];
      std::copy_n(bytes, taken, assembled.begin() + filled_);
      std::fill(assembled.begin() + filled_ + taken, assembled.end(), tile_.fill);
      words.from = assembled.data();
      bytes += taken;
      channel_ += taken;
      filled_ += taken;
      if (filled_ < p && channel_ < slice_end_) break;
      filled_ = 0;
      assembly_ = (assembly_ + 1) % assembling_.size();
    }
    words.bank = bank_;
    words.address = address_;
    address_ += to_unsigned(words.count) * plane_bytes_;
    words_.push_back(words);
    queues_.add_words(words.bank, words.count);
    if (channel_ == slice_end_) {
      channel_ = slice_begin_;
      if (++column_ == tile_.width) column_ = 0, ++row_;
      if (row_ == tile_.height) row_ = 0, begin_slice(slice_end_);
    }
  }
  queues_.end_beat();
  write_words();
}

// Hands the words over, each with the cycle in which its bank writes it.
void InputArrangement::write_words() {
  const auto copy = to_unsigned(tile_.copy * config_.bank_depth_words) * to_unsigned(config_.port_channels);
  if (direct_.open(bank_write, copy)) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Words& words = words_[i];
      direct_.write(to_size(words.bank), words.address, plane_bytes_, words.count, words.from,
                    context_.clock.at(queues_.write_at(i)), context_.clock.period_ps());
    }
    return;
  }
  const Picoseconds now = now_ps();
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const Words& words = words_[i];
    for (int n = 0; n < words.count; ++n) {
      write_word_(nth(bank_write, words.bank), words.address + to_unsigned(n) * plane_bytes_,
                  words.from + to_signed(n) * config_.port_channels,
                  to_sc_time(context_.clock.at(queues_.write_at(i) + n) - now));
    }
  }
}

}  // namespace tilebeat::switch_array
