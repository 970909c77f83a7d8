// Runs the Verilator model of the offset-table engine in lock step with a recorded run of the product:
// instructions and what the bus does come from the recording, the memories hold what the recorded copies
// brought there; everything that the engine does with them is compared, clock by clock.
//
//   bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`), program.image and settings (lines "name value").
// With `speed` nothing is compared: the processor time of the model alone is printed. Exit status 1: there is
// a difference.
#include "Voffset_unit.h"
#include "core_bench.h"
#include "memories.h"
#include "offset_vectors.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

// A port at the banks of a memory: what it answers `latency` clocks behind an access, and its record.
class BankPort {
 public:
  // `recorded` are the accesses of the run: bytes that a copy is about to write are taken from there.
  BankPort(Memories& memories, const Port& recorded, const Settings& settings, const std::string& name,
           std::uint64_t base)
      : memories_(memories),
        recorded_(recorded),
        base_(base),
        latency_(settings.number((name + "_latency").c_str())),
        shift_(settings.number((name + "_bank_shift").c_str())),
        banks_(settings.number((name + "_banks").c_str())) {}

  std::uint64_t latency() const { return latency_; }
  std::uint64_t shift() const { return shift_; }
  std::uint64_t banks() const { return banks_; }

  // Drives the data of this clock.
  template <typename T>
  void drive(T& port, std::uint64_t clock) {
    if (due_.empty() || due_.front().first != clock) return disturb(port, kPort);
    set_bytes(port, due_.front().second.data(), kPort);
    due_.pop_front();
  }
  void ask(std::uint64_t clock, std::uint64_t address, int bytes) {
    while (next_ < recorded_.records() && recorded_.clock(next_) < clock) next_++;
    std::vector<std::uint8_t> data(kPort, static_cast<std::uint8_t>(clock * 37));
    for (const auto& [bank, part] : parts(address, bytes))
      for (std::size_t i = 0; i < part.bytes.size(); i++) {
        const std::uint64_t at = part.bytes[i];
        data[at - address] = memories_.moving(at) ? recorded(clock, bank, i) : memories_.at(at);
      }
    asked_ = data;
    due_.emplace_back(clock + latency_, std::move(data));
  }
  // A record for each bank of a write, in the order of their numbers.
  void record_write(Port& port, std::uint64_t clock, std::uint64_t address, int bytes) const {
    write(port, clock, address, bytes, [this](std::uint64_t at) { return memories_.at(at); });
  }
  // Likewise of the access that was asked for in this clock.
  void record_read(Port& port, std::uint64_t clock, std::uint64_t address, int bytes) const {
    write(port, clock, address, bytes, [this, address](std::uint64_t at) { return asked_[at - address]; });
  }

 private:
  struct Part {
    std::uint64_t word = 0;
    std::vector<std::uint64_t> bytes;  // their addresses
  };
  std::map<std::uint64_t, Part> parts(std::uint64_t address, int bytes) const {
    std::map<std::uint64_t, Part> parts;
    for (int b = 0; b < bytes; b++) {
      const std::uint64_t word = (address + b - base_) >> shift_;
      parts[word % banks_].word = word / banks_;
      parts[word % banks_].bytes.push_back(address + b);
    }
    return parts;
  }
  std::uint8_t recorded(std::uint64_t clock, std::uint64_t bank, std::size_t byte) const {
    for (std::size_t i = next_; i < recorded_.records() && recorded_.clock(i) == clock; i++)
      if (recorded_.number(i, 0) == bank) return recorded_.value(i, 2)[byte];
    return 0;
  }
  template <typename Byte>
  void write(Port& port, std::uint64_t clock, std::uint64_t address, int bytes, Byte byte) const {
    for (const auto& [bank, part] : parts(address, bytes)) {
      port.begin(clock);
      port.add(bank, 1);
      port.add(part.word, 4);
      for (std::size_t i = 0; i < static_cast<std::size_t>(kPort); i++)
        port.data.push_back(i < part.bytes.size() ? byte(part.bytes[i]) : 0);
    }
  }

  Memories& memories_;
  const Port& recorded_;
  std::size_t next_ = 0;
  std::vector<std::uint8_t> asked_;
  std::uint64_t base_, latency_, shift_, banks_;
  std::deque<std::pair<std::uint64_t, std::vector<std::uint8_t>>> due_;
};

class LockStep : public CoreBench<Voffset_unit> {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

 private:
  LockStep(const std::string& folder, const Settings& settings)
      : LockStep(folder, settings, read_offset_vectors(folder, settings)) {}
  LockStep(const std::string& folder, const Settings& settings, OffsetVectors vectors);
  bool compared(const std::string& name) const override { return name != "tables.data"; }
  void set_options(const Settings& settings);
  void step(std::uint64_t clock) override;
  void record(std::uint64_t clock) override;
  void record_lanes(std::uint64_t clock);

  BusPort tables_;
  std::size_t table_beat_ = 0;
  Memories memories_;
  BankPort lines_, kernels_;
};

LockStep::LockStep(const std::string& folder, const Settings& settings, OffsetVectors vectors)
    : CoreBench(folder, settings, std::move(vectors.ports), {0x01, 0x07, 0x08, 0x09}, {0x09}),
      tables_(std::move(vectors.tables)),
      memories_(folder + "/vectors"),
      lines_(memories_, simulator_.at("lines"), settings, "lines", kNram),
      kernels_(memories_, simulator_.at("kernels"), settings, "kernels", kWram) {
  set_options(settings);
  reset();
}

void LockStep::set_options(const Settings& settings) {
  model_->option_fifo = settings.number("fifo");
  model_->option_computed = settings.number("computed");
  model_->option_divider = settings.number("divider");
  model_->option_multiplier = settings.number("multiplier");
  model_->option_address_queue = settings.number("address_queue");
  model_->option_table_bytes = settings.number("table_bytes");
  model_->option_burst_bytes = settings.number("burst_bytes");
  model_->option_outstanding = settings.number("outstanding");
  model_->option_queue = settings.number("beat_queue");
  model_->option_hit_latency = settings.number("hit_latency");
  model_->option_misses = settings.number("misses");
  model_->option_writes = settings.number("write_queue");
  model_->option_post_latency = settings.number("post_latency");
  model_->option_lines_latency = lines_.latency();
  model_->option_lines_bank_shift = lines_.shift();
  model_->option_lines_banks = lines_.banks();
  model_->option_kernels_latency = kernels_.latency();
  model_->option_kernels_bank_shift = kernels_.shift();
  model_->option_kernels_banks = kernels_.banks();
}

void LockStep::step(std::uint64_t clock) {
  const Port& data = simulator_.at("tables.data");
  memories_.advance(clock);
  model_->tables_grant = tables_.granted.count(clock) != 0;
  model_->tables_beat = table_beat_ < data.records() && data.clock(table_beat_) == clock;
  if (model_->tables_beat) {
    model_->tables_beat_request = tables_.beats.at(table_beat_);
    set_bytes(model_->tables_data, data.value(table_beat_++, 0), kBus);
  } else {
    disturb(model_->tables_data, kBus);
  }
  const bool lines_at_once = lines_.latency() == 0, kernels_at_once = kernels_.latency() == 0;
  if (!lines_at_once) lines_.drive(model_->lines_data, clock);
  if (!kernels_at_once) kernels_.drive(model_->kernels_data, clock);
  model_->eval();
  if (model_->lines_request) lines_.ask(clock, model_->lines_address, model_->lines_bytes);
  if (model_->kernels_request) kernels_.ask(clock, model_->kernels_address, model_->kernels_bytes);
  if (lines_at_once) lines_.drive(model_->lines_data, clock);
  if (kernels_at_once) kernels_.drive(model_->kernels_data, clock);
  model_->eval();
}

void LockStep::record(std::uint64_t clock) {
  if (model_->tables_request) {
    Port& port = begin("tables.request", clock);
    port.add(model_->tables_address, 6);
    port.add(model_->tables_bytes, 4);
  }
  if (model_->lines_request)
    lines_.record_read(rtl_["lines"], clock, model_->lines_address, model_->lines_bytes);
  if (model_->kernels_request)
    kernels_.record_read(rtl_["kernels"], clock, model_->kernels_address, model_->kernels_bytes);
  if (model_->write) {
    for (int b = 0; b < model_->write_bytes; b++)
      memories_.set(model_->write_address + b, static_cast<std::uint8_t>(bits(model_->write_data, b * 8, 8)));
    lines_.record_write(rtl_["results"], clock, model_->write_address, model_->write_bytes);
  }
  record_lanes(clock);
  record_state("lanes", clock, model_->lanes_state);
  for (int i = 0; i < model_->run_done; i++) begin("completed", clock);
}

void LockStep::record_lanes(std::uint64_t clock) {
  if (model_->beat) {
    Port& port = begin("beat", clock);
    port.add(model_->beat_group, 4);
    for (const std::uint32_t value :
         {model_->beat_slice, model_->beat_kh, model_->beat_kw, model_->beat_channel, model_->beat_hits,
          model_->beat_misses, model_->beat_cycles})
      port.add(value, 2);
  }
  if (!model_->multiplies) return;
  Port& port = begin("lanes", clock);
  const auto add = [&port](const auto& values, const auto& known, int count) {
    for (int i = 0; i < count; i++) {
      const bool is = bits(known, i, 1) != 0;
      port.add(is ? bits(values, i * 9, 9) : 0, 2);
      port.add(is, 1);
    }
  };
  add(model_->operands, model_->operands_known, kRows * kVector);
  add(model_->kernels, model_->kernels_known, kColumns * kVector);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::bench_main<bench::LockStep>(argc, argv);
}
