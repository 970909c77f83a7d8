#include "tilebeat/engines/switch_array/sim/parameter_loader.h"

#include "tilebeat/base/error.h"
#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/engines/switch_array/sim/stream_sink.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

ParameterLoader::ParameterLoader(sc_core::sc_module_name name, const SimContext& context,
                                 const SwitchArrayConfig& config, int bytes_per_clock)
    : sc_module(name),
      stream("stream"),
      bank_write("bank_write", static_cast<std::size_t>(config.columns)),
      post_write("post_write"),
      context_(context),
      config_(config),
      bytes_per_clock_(bytes_per_clock),
      queues_(config.columns + 1, config.arrangement_queue_words),
      write_word_(tlm::TLM_WRITE_COMMAND, config.port_channels),
      write_record_(tlm::TLM_WRITE_COMMAND, kPostParameterBytes) {
  stream.register_b_transport(this, &ParameterLoader::b_transport);
  for (auto& assembling : assembling_)
    assembling.resize(static_cast<std::size_t>(std::max(config.port_channels, kPostParameterBytes)));
}

void ParameterLoader::begin(const LoadKernels& load) {
  load_ = load;
  words_left_ = std::int64_t{load.words} * config_.columns;
  column_ = record_ = 0;
  address_ =
      static_cast<std::uint64_t>(load.parameter_word) * static_cast<std::uint64_t>(config_.port_channels);
  assembled_ = 0;
  if (std::int64_t{load.parameter_word} + load.words > config_.parameter_depth_words) {
    throw SimulationError(
        fmt::format("load.kernels: words {} to {} lie beyond the {} of the parameter buffer",
                    load.parameter_word, load.parameter_word + load.words, config_.parameter_depth_words));
  }
  if (load.slot >= config_.parameter_slots || load.post_records > config_.columns) {
    throw SimulationError(fmt::format("load.kernels: {} records for slot {} of {}", load.post_records,
                                      load.slot, config_.parameter_slots));
  }
}

void ParameterLoader::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  take_stream(
      message_of<StreamMessage>(payload, stream), queues_, ledger, context_.clock.cycle_of(now_ps()),
      bytes_per_clock_, [this](const Instruction& load) { begin(load.operation.get<LoadKernels>()); },
      [this](const std::uint8_t* bytes, int count, Cycle ready) { take_beat(bytes, count, ready); });
}

void ParameterLoader::take_beat(const std::uint8_t* bytes, int count, Cycle ready) {
  queues_.begin_beat(ready);
  writes_.clear();
  const int p = config_.port_channels;
  for (const std::uint8_t* end = bytes + count; bytes != end;) {
    // A word or record that lies within the beat is written from there; one that straddles beats is assembled
    // first.
    const auto whole = words_left_ > 0 ? static_cast<std::size_t>(p) : std::size_t{kPostParameterBytes};
    const std::size_t taken = std::min(whole - assembled_, static_cast<std::size_t>(end - bytes));
    Write write;
    write.from = bytes;
    if (taken < whole) {
      std::vector<std::uint8_t>& assembling = assembling_[assembly_];
      std::copy_n(bytes, taken, assembling.begin() + static_cast<std::ptrdiff_t>(assembled_));
      write.from = assembling.data();
    }
    assembled_ += taken;
    bytes += taken;
    if (assembled_ < whole) break;
    assembled_ = 0;
    if (taken < whole)
      assembly_ ^= 1;  // the beat may end with a part of another word before this one is written
    locate(write);
    writes_.push_back(write);
    queues_.add_words(write.bank, 1);
  }
  queues_.end_beat();
  const Picoseconds now = now_ps();
  sc_core::sc_time delay;
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    const Write& w = writes_[i];
    if (i == 0 || queues_.write_at(i) != queues_.write_at(i - 1))
      delay = to_sc_time(context_.clock.at(queues_.write_at(i)) - now);
    if (w.bank < config_.columns) {
      write_word_(bank_write[static_cast<std::size_t>(w.bank)], w.address, w.from, delay);
    } else {
      write_record_(post_write, w.address, w.from, delay);
    }
  }
}

// Where the next word or record goes.
void ParameterLoader::locate(Write& write) {
  if (words_left_ > 0) {
    --words_left_;
    write.bank = column_;
    write.address = address_;
    if (++column_ == config_.columns) {
      column_ = 0;
      address_ += static_cast<std::uint64_t>(config_.port_channels);
    }
  } else {
    write.bank = config_.columns;
    write.address =
        static_cast<std::uint64_t>((load_.slot * config_.columns + record_++) * kPostParameterBytes);
  }
}

}  // namespace tilebeat
