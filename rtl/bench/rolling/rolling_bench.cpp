// Runs the Verilator model of the rolling-register unit in lock step with a recorded run of the product:
// instructions and what the memories answer come from the recording, everything that the unit does with them
// is compared, clock by clock.
//
//   bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`), program.image and settings (lines "name value").
// With `speed` nothing is compared: the processor time of the model alone is printed. Exit status 1: there is
// a difference.
#include "Vrolling_unit.h"
#include "core_bench.h"
#include "registers.h"
#include "rolling_vectors.h"

#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

// What a memory answers: the bytes of the accesses in their order, each `latency` clocks behind it.
class Memory {
 public:
  Memory(const Port& data, std::uint64_t latency) : data_(data), latency_(latency) {}

  // Drives the data of this clock.
  template <typename T>
  void drive(T& port, std::uint64_t clock) {
    if (!due_.empty() && due_.front().first == clock) {
      set_bytes(port, data_.value(due_.front().second, 0), kPort);
      due_.pop_front();
    } else {
      disturb(port, kPort);
    }
  }
  // The unit has asked in this clock.
  void ask(std::uint64_t clock) {
    if (next_ < data_.records()) due_.emplace_back(clock + latency_, next_++);
  }
  bool at_once() const { return latency_ == 0; }

 private:
  const Port& data_;
  std::uint64_t latency_;
  std::size_t next_ = 0;
  std::deque<std::pair<std::uint64_t, std::size_t>> due_;
};

class LockStep : public CoreBench<Vrolling_unit> {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

 private:
  LockStep(const std::string& folder, const Settings& settings);
  bool compared(const std::string& name) const override { return name != "a.data" && name != "b.data"; }
  void set_options(const Settings& settings);
  void step(std::uint64_t clock) override;
  void record(std::uint64_t clock) override;
  void record_ports(std::uint64_t clock);
  void record_array(std::uint64_t clock);
  void record_sums(std::uint64_t clock);
  void record_registers(std::uint64_t clock);
  void record_halves(std::uint64_t clock);
  void record_states(std::uint64_t clock);

  Memory a_memory_, b_memory_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> added_[kMultipliers];
  Registers a_, b_, a_tags_, b_tags_, spare_, half_;
};

LockStep::LockStep(const std::string& folder, const Settings& settings)
    : CoreBench(folder, settings, read_rolling_vectors(folder + "/vectors", settings.text("scope")),
                {0x01, 0x05, 0x06}, {0x06}),
      a_memory_(simulator_.at("a.data"), settings.number("a_latency")),
      b_memory_(simulator_.at("b.data"), settings.number("b_latency")) {
  a_.port = &rtl_["pe.a"], b_.port = &rtl_["pe.b"];
  a_tags_.port = &rtl_["tags.a"], b_tags_.port = &rtl_["tags.b"];
  spare_.port = &rtl_["spare"], half_.port = &rtl_["half"];
  a_.before.assign(kGroups * kRows * kColumns, {true, 0});
  b_.before = a_.before;
  spare_.before.assign(kGroups * kLanes, {true, 0});
  half_.before.assign(2 * kLines * kLines, {true, 0});
  set_options(settings);
  reset();
}

void LockStep::set_options(const Settings& settings) {
  model_->option_queue = settings.number("line_queue");
  model_->option_writes = settings.number("write_queue");
  model_->option_slots = settings.number("record_slots");
  model_->option_post_latency = settings.number("post_latency");
  model_->option_shared_spare = settings.number("shared_spare");
  model_->option_assigned = settings.number("assigned");
  model_->option_a_latency = settings.number("a_latency");
  model_->option_b_latency = settings.number("b_latency");
  model_->option_a_bank_shift = settings.number("a_bank_shift");
  model_->option_b_bank_shift = settings.number("b_bank_shift");
  model_->option_a_banks = settings.number("a_banks");
  model_->option_b_banks = settings.number("b_banks");
}

void LockStep::step(std::uint64_t clock) {
  a_memory_.drive(model_->a_data, clock);
  b_memory_.drive(model_->b_data, clock);
  model_->eval();
  const bool asks_a = model_->a_request,
             asks_b = model_->b_request && !(model_->b_transposing && model_->b_write);
  if (asks_a) a_memory_.ask(clock);
  if (asks_b) b_memory_.ask(clock);
  if (asks_a && a_memory_.at_once()) a_memory_.drive(model_->a_data, clock);
  if (asks_b && b_memory_.at_once()) b_memory_.drive(model_->b_data, clock);
  model_->eval();
}

void LockStep::record(std::uint64_t clock) {
  record_ports(clock);
  record_array(clock);
  record_sums(clock);
  record_registers(clock);
  record_halves(clock);
  record_states(clock);
}

void LockStep::record_ports(std::uint64_t clock) {
  const auto access = [&](const char* name, std::uint64_t address, bool write) -> Port& {
    Port& port = rtl_[name];
    port.begin(clock);
    port.add(address, 6);
    port.add(write, 1);
    return port;
  };
  if (model_->a_request) access("a.port", model_->a_address, false);
  if (model_->b_request) access("b.port", model_->b_address, model_->b_transposing && model_->b_write);
  if (model_->b_request && model_->b_transposing && model_->b_write) {
    rtl_["b.write"].begin(clock);
    add_bytes(rtl_["b.write"], model_->b_write_data, 0, kPort);
  }
  if (model_->b_transposing) rtl_["b.transposing"].begin(clock);
  if (model_->write)
    add_bytes(access("results.port", model_->write_address, true), model_->write_data, 0, kPort);
  for (int i = 0; i < model_->run_done; i++) rtl_["completed"].begin(clock);
}

void LockStep::record_array(std::uint64_t clock) {
  const auto load = [&](const char* name, bool across, int group, int line) {
    Port& port = rtl_[name];
    port.begin(clock);
    port.add(across, 1);
    port.add(group, 1);
    port.add(line, 2);
  };
  if (model_->load_a) load("load_a", model_->load_a_across, model_->load_a_group, model_->load_a_line);
  if (model_->load_b) load("load_b", model_->load_b_across, model_->load_b_group, model_->load_b_line);
  if (model_->beat) {
    Port& port = rtl_["beat"];
    port.begin(clock);
    port.add(model_->beat_computation, 2);
    port.add(model_->beat_group, 1);
    port.add(model_->beat_phase, 1);
    port.add(0, 1);
  }
  if (model_->drain) {
    Port& port = rtl_["drain"];
    port.begin(clock);
    port.add(model_->drain_half, 1);
    add_bytes(port, model_->drain_sums, 0, kSums * 4);
  }
  if (model_->realign) rtl_["realign"].begin(clock);
}

void LockStep::record_sums(std::uint64_t clock) {
  const int lines = model_->left ? kColumns : kRows;
  for (int m = 0; m < kMultipliers; m++)
    for (int l = 0; l < lines; l++) {
      if (model_->sums_valid == 0 || bits(model_->sums_known, m * kLanes + l, 1) == 0) continue;
      Port& port = rtl_["sums"];
      port.begin(clock);
      port.add(m, 1);
      port.add(l, 1);
      port.add(bits(model_->sums, (m * kLanes + l) * 32, 32), 4);
    }
  // Sums of a multiplier that are added stand side by side. One without a group keeps its places.
  for (int m = 0; m < kMultipliers; m++) {
    if (bits(model_->sums_valid, m, 1) == 0) continue;
    added_[m].clear();
    for (int i = m * kLanes; i < (m + 1) * kLanes; i++)
      if (bits(model_->add, i, 1) != 0)
        added_[m].emplace_back(bits(model_->add_line, i * 16, 16), bits(model_->add_index, i * 16, 16));
  }
  if (bits(model_->add, 0, kMultipliers * kLanes) == 0) return;
  for (int m = 0; m < kMultipliers; m++)
    for (std::size_t i = 0; i < added_[m].size(); i++) {
      Port& port = rtl_["add"];
      port.begin(clock);
      port.add(m * kLanes + i, 1);
      port.add(model_->add_half, 1);
      port.add(added_[m][i].first, 2);
      port.add(added_[m][i].second, 2);
    }
}

void LockStep::record_registers(std::uint64_t clock) {
  for (int g = 0; g < kGroups; g++) {
    for (int r = 0; r < kRows; r++)
      for (int c = 0; c < kColumns; c++) {
        const int element = (g * kRows + r) * kColumns + c;
        a_.look(clock, element, true, bits(model_->a_values, element * 9, 9));
        b_.look(clock, element, true, bits(model_->b_values, element * 9, 9));
      }
    for (int l = 0; l < kLanes; l++) {
      const int line = g * kLanes + l;
      a_tags_.look(clock, line, bits(model_->a_valid, line, 1), bits(model_->a_tags, line * 16, 16));
      b_tags_.look(clock, line, bits(model_->b_valid, line, 1), bits(model_->b_tags, line * 16, 16));
      spare_.look(clock, line, true, bits(model_->spare, line * 9, 9));
    }
  }
}

void LockStep::record_halves(std::uint64_t clock) {
  for (int element = 0; element < 2 * kLines * kLines; element++)
    half_.look(clock, element, true, bits(model_->halves, element * 32, 32));
}

void LockStep::record_states(std::uint64_t clock) {
  const int states[] = {model_->array_state,     model_->a_request_state, model_->a_load_state,
                        model_->b_request_state, model_->b_load_state,    model_->results_state,
                        model_->write_state};
  for (std::size_t i = 0; i < std::size(states); i++) record_state(kUnits[i], clock, states[i]);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::bench_main<bench::LockStep>(argc, argv);
}
