#include "engines/switch_array/sim/parameter_loader.h"

#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/dma_channels.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::switch_array {

ParameterLoader::ParameterLoader(sc_core::sc_module_name name, const SimContext& context,
                                 const SwitchArrayConfig& config, int bytes_per_clock)
    : sc_module(name),
      stream("stream"),
      bank_write("bank_write", to_size(config.columns)),
      post_write("post_write"),
      record_slots("record_slots"),
      context_(context),
      config_(config),
      bytes_per_clock_(bytes_per_clock),
      parameters_(context.holds(kParameterBuffer)),
      records_(context.holds(kPostRecords)),
      queues_(config.columns + 1, config.arrangement_queue_words),
      write_word_(tlm::TLM_WRITE_COMMAND, config.port_channels),
      write_record_(tlm::TLM_WRITE_COMMAND, kPostParameterBytes),
      direct_(to_size(config.columns), config.port_channels,
              to_unsigned(config.parameter_depth_words) * to_unsigned(config.port_channels)) {
  stream.register_b_transport(this, &ParameterLoader::b_transport);
  for (auto& bank : bank_write) bank.register_invalidate_direct_mem_ptr(this, &ParameterLoader::withdraw);
}

void ParameterLoader::begin(const LoadKernels& load) {
  load_ = load;
  words_.emplace(load, config_.columns, config_.port_channels);
  word_ = 0;
  column_ = record_ = 0;
  assembled_.clear();
  item_ = 0;
  open_ = false;
  if (std::int64_t{load.parameter_word} + load.words > config_.parameter_depth_words) {
    throw SimulationError(
        fmt::format("load.kernels: words {} to {} lie beyond the {} of the parameter buffer",
                    load.parameter_word, load.parameter_word + load.words, config_.parameter_depth_words));
  }
  const std::int64_t records = std::int64_t{load.slot} * config_.columns + load.post_records;
  if (load.slot >= config_.parameter_slots ||
      records > std::int64_t{config_.parameter_slots} * config_.columns) {
    throw SimulationError(fmt::format("load.kernels: {} records from slot {} of {} on", load.post_records,
                                      load.slot, config_.parameter_slots));
  }
}

void ParameterLoader::b_transport(StreamMessage& message, sc_core::sc_time&) {
  if (std::holds_alternative<StreamMessage::Data>(message.content)) note_access();
  direct_.commit();
  take_stream(
      message, queues_, ledger, context_.clock.cycle_of(now_ps()), bytes_per_clock_,
      [this](const Instruction& load) { begin(load.operation.get<LoadKernels>()); },
      [this](const std::uint8_t* bytes, int count, int beat, Cycle ready) {
        if (const int beats = store_beats(bytes, count, beat, ready); beats > 0) return beats;
        take_beat(bytes, std::min(count, beat), ready);
        return 1;
      });
}

// Notes the accesses of the whole instruction at once: its data arrive piece by piece.
void ParameterLoader::note_access() {
  if (parameters_ == nullptr || records_ == nullptr) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  const BytePattern words = words_of(load_), records = records_of(load_, config_);
  parameters_->access("load.kernels", Holds::Access::kWrite, words.begin, words.end(), now);
  records_->access("load.kernels", Holds::Access::kWrite, records.begin, records.end(), now);
}

void ParameterLoader::take_beat(const std::uint8_t* bytes, int count, Cycle ready) {
  queues_.begin_beat(ready);
  writes_.clear();
  assembled_.erase(assembled_.begin(), assembled_.begin() + to_signed(item_));
  item_ = 0;
  const std::uint8_t* const end = bytes + count;
  while (true) {
    bytes = take_whole_words(bytes, end);
    if (!open_ && bytes == end && load_.group_channels == 0) break;  // there are no words without bytes
    if (!open_ && !begin_item()) break;
    const int taken = std::min(brought_.size() - taken_, to_int(end - bytes));
    std::copy_n(bytes, taken, assembled_.begin() + to_signed(item_) + brought_.begin + taken_);
    taken_ += taken;
    bytes += taken;
    if (taken_ < brought_.size()) break;
    end_item();
  }
  queues_.end_beat();
  write_items();
}

// Hands leading beats of whole words (at most one per bank) over at once, where the banks grant direct access
// and the queues are empty. Returns the number of beats; 0 when the first beat is of another kind, or the
// banks grant no direct access.
int ParameterLoader::store_beats(const std::uint8_t* bytes, int count, int of_clock, Cycle ready) {
  const int p = config_.port_channels, beat = std::min(count, of_clock), of_beat = beat / p;
  if (open_ || load_.group_channels != 0 || of_beat * p != beat || of_beat > config_.columns) return 0;
  const std::int64_t expected = (load_.words - word_) * config_.columns - column_;
  const auto beats = to_int(std::min<std::int64_t>(count / beat, expected / of_beat));
  if (beats == 0 || !direct_.open(bank_write, 0) ||
      !queues_.take_rows(ready, beats, column_, of_beat, config_.columns))
    return 0;
  const Cycle first_written = queues_.next_beat() - beats + 1;
  direct_.write_across(to_size(column_), to_unsigned((load_.parameter_word + word_) * p), beats * of_beat,
                       of_beat, bytes, context_.clock.at(first_written), context_.clock.period_ps());
  word_ += (column_ + beats * of_beat) / config_.columns;
  column_ = (column_ + beats * of_beat) % config_.columns;
  return beats;
}

// Words whose bytes are all in the beat are written straight from it. Returns the rest of the beat.
const std::uint8_t* ParameterLoader::take_whole_words(const std::uint8_t* bytes, const std::uint8_t* end) {
  const int p = config_.port_channels;
  if (open_ || load_.group_channels != 0) return bytes;
  for (; word_ < load_.words && end - bytes >= p; bytes += p) add_write().bytes = bytes;
  return bytes;
}

// Appends the place of the next word or record.
ParameterLoader::Write& ParameterLoader::add_write() {
  Write& write = writes_.emplace_back();
  Cycle from = 0;
  if (word_ < load_.words) {
    write.bank = column_;
    write.address = to_unsigned((load_.parameter_word + word_) * config_.port_channels);
    if (++column_ == config_.columns) column_ = 0, ++word_;
  } else {
    write.bank = config_.columns;
    write.address = to_unsigned((load_.slot * config_.columns + record_) * kPostParameterBytes);
    if (record_ % config_.columns == 0) {
      RecordSlot slot{load_.slot + record_ / config_.columns};
      record_slots.send(slot);
      from = slot.free_from;
    }
    ++record_;
  }
  queues_.add_words(write.bank, 1, from);
  return write;
}

// Begins the next word or record; false when all are loaded.
bool ParameterLoader::begin_item() {
  const bool word = word_ < load_.words;
  if (!word && record_ == load_.post_records) return false;
  brought_ = word ? words_->brought(word_, column_) : Interval{0, kPostParameterBytes};
  taken_ = 0;
  open_ = true;
  item_ = assembled_.size();
  assembled_.resize(item_ + to_size(word ? config_.port_channels : kPostParameterBytes), load_.fill);
  return true;
}

void ParameterLoader::end_item() {
  open_ = false;
  add_write().from = item_;
  item_ = assembled_.size();
}

void ParameterLoader::write_items() {
  const Picoseconds now = now_ps();
  const Picoseconds period = context_.clock.period_ps();
  const bool direct = direct_.open(bank_write, 0);
  sc_core::sc_time delay;
  Cycle written = -1;  // the cycle that `delay` leads to
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    const Write& w = writes_[i];
    if (queues_.write_at(i) != written) {
      written = queues_.write_at(i);
      delay = to_sc_time(context_.clock.at(written) - now);
    }
    const std::uint8_t* from = w.bytes != nullptr ? w.bytes : assembled_.data() + w.from;
    if (w.bank < config_.columns && direct) {
      direct_.write(to_size(w.bank), w.address, 0, 1, from, context_.clock.at(written), period);
    } else if (w.bank < config_.columns) {
      write_word_(nth(bank_write, w.bank), w.address, from, delay);
    } else {
      write_record_(post_write, w.address, from, delay);
    }
  }
}

}  // namespace tilebeat::switch_array
