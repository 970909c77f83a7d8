// Runs the Verilator model of the W-fold engine in lock step with a recorded run of the product:
// instructions, what the bus and the regions answer come from the recording, everything that the engine does
// with them is compared, clock by clock.
//
//   bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`), program.image and settings (lines "name value").
// With `speed` nothing is compared: the processor time of the model alone is printed. Exit status 1: there is
// a difference.
#include "Vwfold_unit.h"
#include "core_bench.h"
#include "memories.h"
#include "registers.h"
#include "wfold_vectors.h"

#include <cstdint>
#include <iterator>
#include <string>

namespace bench {
namespace {

class LockStep : public CoreBench<Vwfold_unit> {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

 private:
  LockStep(const std::string& folder, const Settings& settings)
      : LockStep(folder, settings, read_wfold_vectors(folder, settings)) {}
  LockStep(const std::string& folder, const Settings& settings, WfoldVectors vectors);
  // Of several requests to write nobody knows which one is answered, where memories do not answer in order.
  bool compared(const std::string& name) const override {
    return name.find("data") == std::string::npos && (in_order_ || name != "completed");
  }
  void step(std::uint64_t clock) override;
  void record(std::uint64_t clock) override;
  void record_master(std::uint64_t clock);
  void record_slaves(std::uint64_t clock);
  void record_registers(std::uint64_t clock);
  void record_results(std::uint64_t clock);
  void record_states(std::uint64_t clock);

  BusPort lines_, results_;
  bool in_order_;
  std::uint64_t base_;
  int bank_shift_;
  std::size_t line_ = 0;
  Memories memories_;
  std::uint64_t region_bytes_;
  struct {
    bool valid = false;
    int half = 0, k = 0, units = 0, width = 0;
  } written_;
  Registers out_, sum_, third_;
};

LockStep::LockStep(const std::string& folder, const Settings& settings, WfoldVectors vectors)
    : CoreBench(folder, settings, std::move(vectors.ports), {0x01, 0x03, 0x04, 0x0a}, {0x03}),
      lines_(std::move(vectors.lines)),
      results_(std::move(vectors.results)),
      in_order_(settings.number("banks") == 1),
      base_(settings.number("map_base")),
      bank_shift_(static_cast<int>(settings.number("bank_shift"))),
      memories_(folder + "/vectors"),
      region_bytes_(settings.number("region_bytes")) {
  out_.port = &rtl_["out"], sum_.port = &rtl_["sum"], third_.port = &rtl_["third"];
  out_.before.assign(kSlaves * kUnits * kColumns, {true, 0});
  sum_.before = out_.before;
  third_.before.assign(kSlaves * 2 * kKernels * kResults, {true, 0});
  model_->option_line_queue = settings.number("line_queue");
  model_->option_half = settings.number("half");
  model_->option_write_queue = settings.number("write_queue");
  model_->option_post_latency = settings.number("post_latency");
  model_->option_stages = settings.number("stages");
  model_->option_outstanding = settings.number("outstanding");
  reset();
}

void LockStep::step(std::uint64_t clock) {
  const Port& data = simulator_.at("lines.data");
  model_->lines_grant = lines_.granted.count(clock) != 0;
  model_->results_grant = results_.granted.count(clock) != 0;
  model_->results_answered = results_.answered.count(clock) != 0;
  model_->lines_beat = line_ < data.records() && data.clock(line_) == clock;
  if (model_->lines_beat) {
    model_->lines_beat_request = lines_.beats.at(line_);
    set_bytes(model_->lines_data, data.value(line_++, 0), kBus);
  } else {
    disturb(model_->lines_data, kBus);
  }
  model_->eval();
  // A region answers in the cycle of the access.
  memories_.advance(clock);
  std::vector<std::uint8_t> bytes(kSlaves * kPort);
  for (int s = 0; s < kSlaves; s++)
    for (int b = 0; b < kPort; b++)
      bytes[s * kPort + b] =
          bits(model_->region_enable, s, 1) != 0
              ? memories_.at(kWram + s * region_bytes_ + bits(model_->region_address, s * 32, 32) + b)
              : static_cast<std::uint8_t>(clock * 37 + b);
  set_bytes(model_->region_data, bytes.data(), kSlaves * kPort);
  model_->eval();
  for (int s = 0; s < kSlaves && model_->region_write; s++)
    for (int b = 0; b < model_->region_write_bytes && bits(model_->region_enable, s, 1) != 0; b++)
      memories_.set(kWram + s * region_bytes_ + bits(model_->region_address, s * 32, 32) + b,
                    static_cast<std::uint8_t>(bits(model_->region_write_data, (s * kPort + b) * 8, 8)));
}

void LockStep::record(std::uint64_t clock) {
  record_master(clock);
  record_slaves(clock);
  record_registers(clock);
  record_results(clock);
  record_states(clock);
}

void LockStep::record_master(std::uint64_t clock) {
  if (model_->lines_request) {
    Port& port = begin("lines.request", clock);
    port.add(base_ + model_->lines_address, 6);
    port.add(model_->lines_bytes, 4);
  }
  if (model_->broadcast) {
    Port& port = begin("broadcast", clock);
    add_bytes(port, model_->line, 0, kLine);
    port.add(model_->line_group, 1);
    port.add(model_->line_slot, 1);
  }
  if (model_->window_there) {
    Port& port = begin("transit", clock);
    port.add(model_->window_begin, 4);
    port.add(model_->window_arrived, 4);
    port.add(model_->window_end, 4);
    port.add(model_->window_lines, 2);
    port.add(model_->window_row, 2);
    port.add(model_->windows, 1);
  }
  if (model_->weights) begin("weights", clock);
  for (int s = 0; s < kSlaves; s++) {
    if (bits(model_->region_enable, s, 1) == 0) continue;
    Port& port = begin("region", clock);
    port.add(s, 1);
    port.add(bits(model_->region_address, s * 32, 32) >> bank_shift_, 4);
  }
}

void LockStep::record_slaves(std::uint64_t clock) {
  if (!model_->beat) return;
  Port& beat = begin("beat", clock);
  beat.add(model_->tile, 4);
  beat.add(model_->refill, 4);
  for (int s = 0; s < kSlaves; s++) {
    Port& port = begin("slave", clock);
    port.add(s, 1);
    port.add(model_->block, 2);
    port.add(model_->k, 2);
    port.add(model_->kh, 2);
    port.add(model_->kw, 2);
    port.add(model_->kernel_slot, 1);
    for (int u = 0; u < kUnits; u++) port.add(model_->column + (kKernelsFirst ? 0 : u * model_->width), 2);
    for (int i = 0; i < (kUnits + 1) * kLine; i++)
      port.add(bits(model_->operands, (s * (kUnits + 1) * kLine + i) * 9, 9), 2);
  }
}

void LockStep::record_registers(std::uint64_t clock) {
  // What the beat before has written; its width still counts. A kernel's results in a half are one register,
  // whose places behind the last result are zero.
  for (int s = 0; s < kSlaves && written_.valid; s++)
    for (int u = 0; u < written_.units; u++) {
      const int half = s * 2 + written_.half, first = ((half * kBeats + written_.k) * kUnits + u) * kColumns;
      const int kernel = (half * kKernels + (kKernelsFirst ? u : written_.k)) * kResults;
      const int line = kKernelsFirst ? written_.k : u, lines = kKernelsFirst ? kBeats : kUnits;
      for (int c = 0; c < written_.width; c++) {
        const int unit = (s * kUnits + u) * kColumns + c;
        sum_.look(clock, unit, true, bits(model_->sums, unit * 32, 32));
        const int place = line * written_.width + c;
        third_.look(clock, kernel + place, true, bits(model_->third, (first + c) * 32, 32));
      }
      for (int e = lines * written_.width; e < kResults && (kKernelsFirst || u + 1 == kUnits); e++)
        third_.look(clock, kernel + e, true, 0);
    }
  written_ = {model_->third_write != 0, model_->third_write_half, model_->third_write_k,
              model_->third_write_units, model_->third_write_width};
  for (int s = 0; s < kSlaves && written_.valid; s++)
    for (int u = 0; u < written_.units; u++)
      for (int c = 0; c < written_.width; c++) {
        const int unit = (s * kUnits + u) * kColumns + c;
        out_.look(clock, unit, true, bits(model_->results, unit * 32, 32));
      }
}

void LockStep::record_results(std::uint64_t clock) {
  for (int s = 0; s < kSlaves; s++) {
    if (model_->third_write) {
      Port& port = begin("third.write", clock);
      port.add(s, 1);
      port.add(model_->third_write_half, 1);
      port.add(kKernelsFirst ? 0 : model_->third_write_k, 2);
    }
    if (bits(model_->third_read, s, 1) == 0) continue;
    Port& port = begin("third.read", clock);
    port.add(s, 1);
    port.add(model_->drain_half, 1);
    port.add(bits(model_->third_read_k, s * 8, 8), 2);
    port.add(model_->drain_column, 2);
  }
  if (model_->drain) {
    Port& port = begin("drain", clock);
    port.add(model_->drain_channel, 2);
    port.add(model_->drain_column, 2);
  }
  if (model_->results_request) {
    Port& port = begin("results.request", clock);
    port.add(base_ + model_->results_address, 6);
    port.add(model_->results_bytes, 4);
  }
  if (model_->write) {
    Port& port = begin("write", clock);
    port.add(base_ + model_->results_address, 6);
    port.add(model_->results_bytes, 2);
    add_bytes(port, model_->write_data, 0, kLine);
  }
  for (int i = 0; i < model_->run_done; i++) begin("completed", clock);
}

void LockStep::record_states(std::uint64_t clock) {
  const int states[] = {model_->array_state,   model_->broadcast_state, model_->read_state,
                        model_->weights_state, model_->drain_state,     model_->write_state};
  for (std::size_t i = 0; i < std::size(states); i++) record_state(kParts[i], clock, states[i]);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::bench_main<bench::LockStep>(argc, argv);
}
