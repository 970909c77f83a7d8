// Runs the Verilator model of the switch array in lock step with a recorded run of the product: the streams
// and the instructions come from the recording, everything that the array does with them is compared, clock
// by clock.
//
//   switch_array_bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`), program.image, dram.image and settings (lines "name
// value"). With `speed` nothing is compared: the processor time of the model alone is printed. Exit status 1:
// there is a difference.
#include "Vswitch_array.h"
#include "model.h"
#include "ports.h"
#include "recording.h"
#include "streams.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

// An instruction comes that the array has no place for.
class Refused : public std::runtime_error {
 public:
  explicit Refused(std::uint64_t clock)
      : std::runtime_error("clock " + std::to_string(clock) + ": an instruction comes while two are held") {}
};

// The model, and what its ports carry.
class LockStep {
 public:
  LockStep(Recording& recording, bool compares)
      : recording_(recording), compares_(compares), model_(std::make_unique<Vswitch_array>(&context_)) {
    for (const auto& [name, port] : recording.simulator) rtl_[name].fields = port.fields;
    set_options();
    model_->reset = 1;
    for (int i = 0; i < 3; i++) {
      model_->eval();
      edge();
    }
    model_->reset = 0;
  }

  // Throws Refused.
  void run() {
    for (std::uint64_t clock = recording_.begin; clock <= recording_.end; clock++) step(clock);
  }
  // Prints the first difference of each port. Returns whether there is none.
  bool equal();

 private:
  // Reads whose words are there in the next clock.
  struct Pending {
    std::uint64_t clock;
    std::uint64_t valid;
    std::vector<std::uint32_t> address;
  };

  void edge() {
    model_->clk = 1;
    model_->eval();
    model_->clk = 0;
  }
  static const Beat* offer(Stream& stream, std::uint64_t clock) {
    return !stream.beats().empty() && stream.beats().front().from <= clock ? &stream.beats().front()
                                                                           : nullptr;
  }
  void set_options() {
    model_->option_table1 = recording_.setting("table1");
    model_->option_copied = recording_.setting("copied");
    model_->option_queue_words = recording_.setting("queue_words");
    model_->option_drain_clocks = recording_.setting("drain_clocks");
    model_->option_post_latency = recording_.setting("post_latency");
    model_->option_bank_words = recording_.setting("bank_words");
    model_->option_burst_bytes = recording_.setting("burst_bytes");
    model_->option_buffer_bytes = recording_.setting("buffer_bytes");
    model_->option_outstanding = recording_.setting("outstanding");
  }
  void step(std::uint64_t clock);
  // What the array is given; returns whether an instruction is.
  bool drive_instruction(std::uint64_t clock);
  void drive_load(std::uint64_t clock);
  void drive_parameter(std::uint64_t clock);
  bool drive_store(std::uint64_t clock);
  // What it does in this clock.
  void record(std::uint64_t clock);
  void record_store(std::uint64_t clock);
  void record_reads(std::uint64_t clock);
  void record_writes(std::uint64_t clock);
  void record_products(std::uint64_t clock);
  void record_results(std::uint64_t clock);

  Recording& recording_;
  bool compares_;
  VerilatedContext context_;
  std::unique_ptr<Vswitch_array> model_;
  Ports rtl_;
  Pending banks_{0, 0, std::vector<std::uint32_t>(kRows)};
  Pending kernels_{0, 0, std::vector<std::uint32_t>(1)};
};

void LockStep::step(std::uint64_t clock) {
  const bool dispatched = drive_instruction(clock);
  drive_load(clock);
  drive_parameter(clock);
  const bool storing = drive_store(clock);
  model_->eval();
  if (compares_) record(clock);
  const bool takes_map = model_->load_valid && model_->load_ready,
             takes_kernel = model_->parameter_valid && model_->parameter_ready;
  if (dispatched && !model_->instruction_ready) throw Refused(clock);
  edge();
  if (dispatched) {
    recording_.instructions.pop_front();
    disturb(model_->instruction, 64);
  }
  if (storing) {
    recording_.stores.pop_front();
    disturb(model_->store_instruction, 64);
  }
  if (takes_map) recording_.load->beats().pop_front();
  if (takes_kernel) recording_.parameter->beats().pop_front();
}

void LockStep::record(std::uint64_t clock) {
  record_store(clock);
  record_reads(clock);
  record_writes(clock);
  record_products(clock);
  record_results(clock);
  if (model_->load_valid && model_->load_ready) rtl_["dma_load.streaming"].begin(clock);
  if (model_->parameter_valid && model_->parameter_ready) rtl_["dma_parameter.streaming"].begin(clock);
}

bool LockStep::drive_instruction(std::uint64_t clock) {
  const bool dispatched = !recording_.instructions.empty() &&
                          recording_.instructions.front()->begin == static_cast<std::int64_t>(clock) + 1;
  model_->instruction_valid = dispatched;
  if (dispatched)
    set_bytes(model_->instruction, recording_.instructions.front()->bytes, 64);
  else if (clock % 4 == 0)
    disturb(model_->instruction, 64);
  return dispatched;
}

void LockStep::drive_load(std::uint64_t clock) {
  const Beat* map = offer(*recording_.load, clock);
  model_->load_valid = map != nullptr;
  if (map != nullptr) {
    model_->load_first = map->first;
    model_->load_bytes = map->bytes.size();
    set_bytes(model_->load_data, map->bytes.data(), map->bytes.size());
    set_bytes(model_->load_operands, map->instruction->bytes + 16, 48);
  } else if (clock % 4 == 0) {
    disturb(model_->load_data, kBus);
    disturb(model_->load_operands, 48);
  }
}

void LockStep::drive_parameter(std::uint64_t clock) {
  const Beat* kernel = offer(*recording_.parameter, clock);
  model_->parameter_valid = kernel != nullptr;
  if (kernel != nullptr) {
    model_->parameter_first = kernel->first;
    model_->parameter_records = kernel->records;
    model_->parameter_first_records = kernel->first_records;
    model_->parameter_bytes = kernel->bytes.size();
    set_bytes(model_->parameter_data, kernel->bytes.data(), kernel->bytes.size());
    set_bytes(model_->parameter_operands, kernel->instruction->bytes + 16, 48);
  } else if (clock % 4 == 1) {
    disturb(model_->parameter_data, kBus);
    disturb(model_->parameter_operands, 48);
  }
}

bool LockStep::drive_store(std::uint64_t clock) {
  const bool storing =
      !recording_.stores.empty() && recording_.stores.front()->begin == static_cast<std::int64_t>(clock) + 1;
  model_->store_valid = storing;
  if (storing)
    set_bytes(model_->store_instruction, recording_.stores.front()->bytes, 64);
  else if (clock % 4 == 0)
    disturb(model_->store_instruction, 64);
  model_->store_granted = std::binary_search(recording_.grants.begin(), recording_.grants.end(), clock);
  model_->store_answered = std::upper_bound(recording_.answers.begin(), recording_.answers.end(), clock) -
                           std::lower_bound(recording_.answers.begin(), recording_.answers.end(), clock);
  return storing;
}

void LockStep::record_store(std::uint64_t clock) {
  if (model_->store_reads) rtl_["dma_store.reading"].begin(clock);
  if (model_->store_request) {
    Port& port = rtl_["bus.store.request"];
    port.begin(clock);
    port.add(model_->store_request_address, 6);
    port.add(model_->store_request_bytes, 4);
  }
  if (model_->store_beat_valid) {
    Port& port = rtl_["bus.store.write"];
    port.begin(clock);
    add_bytes(port, model_->store_beat, 0, kBus);
  }
}

void LockStep::record_reads(std::uint64_t clock) {
  // The words of the reads of the clock before are there now.
  if (banks_.valid != 0) {
    Port& port = rtl_["engine.banks.read"];
    for (int b = 0; b < kRows; b++) {
      if ((banks_.valid >> b & 1) == 0) continue;
      port.begin(banks_.clock);
      port.add(b, 1);
      port.add(banks_.address[b], 4);
      add_bytes(port, model_->bank_read_data, b * kPort * 8, kPort);
    }
  }
  banks_.clock = clock;
  banks_.valid = bits(model_->bank_read_valid, 0, kRows);
  for (int b = 0; b < kRows; b++) banks_.address[b] = bits(model_->bank_read_address, b * 32, 32);
  if (kernels_.valid != 0) {
    Port& port = rtl_["engine.parameters.read"];
    for (int c = 0; c < kColumns; c++) {
      port.begin(kernels_.clock);
      port.add(c, 1);
      port.add(kernels_.address[0], 4);
      add_bytes(port, model_->kernel_read_data, c * kPort * 8, kPort);
    }
  }
  kernels_.clock = clock;
  kernels_.valid = model_->kernel_read_valid;
  kernels_.address[0] = model_->kernel_read_address;
}

void LockStep::record_writes(std::uint64_t clock) {
  for (int b = 0; b < kRows; b++) {
    if (bits(model_->bank_write_valid, b, 1) == 0) continue;
    Port& port = rtl_["engine.banks.write"];
    port.begin(clock);
    port.add(b, 1);
    port.add(bits(model_->bank_write_address, b * 32, 32), 4);
    add_bytes(port, model_->bank_write_data, b * kPort * 8, kPort);
  }
  for (int c = 0; c < kColumns; c++) {
    if (bits(model_->kernel_write_valid, c, 1) == 0) continue;
    Port& port = rtl_["engine.parameters.write"];
    port.begin(clock);
    port.add(c, 1);
    port.add(bits(model_->kernel_write_address, c * 32, 32), 4);
    add_bytes(port, model_->kernel_write_data, c * kPort * 8, kPort);
  }
  if (model_->record_write) {
    Port& port = rtl_["engine.records.write"];
    port.begin(clock);
    port.add(model_->record_address, 4);
    add_bytes(port, model_->record_data, 0, 16);
  }
}

void LockStep::record_products(std::uint64_t clock) {
  if (model_->switch_valid) {
    Port& beat = rtl_["engine.switch.beat"];
    beat.begin(clock);
    beat.add(model_->switch_beat, 4);
    beat.add(model_->switch_row / kGroups, 2);
    beat.add(model_->switch_column / kLanes, 2);
    Port& port = rtl_["engine.switch"];
    for (int r = 0; r < kRows; r++) {
      if (bits(model_->switch_pixel, r, 1) == 0) continue;
      port.begin(clock);
      port.add(r, 1);
      port.add(bits(model_->switch_h, r * 16, 16), 2);
      port.add(bits(model_->switch_w, r * 16, 16), 2);
      add_bytes(port, model_->switch_word, r * kPort * 8, kPort);
    }
  }
  if (model_->pe_valid) {
    Port& port = rtl_["engine.pe"];
    for (int r = 0; r < kRows; r++) {
      for (int c = 0; c < kColumns; c++) {
        port.begin(clock);
        port.add(r, 1);
        port.add(c, 1);
        port.add(bits(model_->pe_sum, (r * kColumns + c) * 32, 32), 4);
        port.add(bits(model_->pe_accumulator, (r * kColumns + c) * 32, 32), 4);
      }
    }
  }
}

void LockStep::record_results(std::uint64_t clock) {
  for (int g = 0; g < kGroups; g++) {
    if (bits(model_->out_valid, g, 1) == 0) continue;
    Port& port = rtl_["engine.out"];
    port.begin(clock);
    port.add(g, 1);
    port.add(bits(model_->out_address, g * 32, 32), 4);
    for (int i = 0; i < kColumns * 4; i++)
      port.add(i < model_->out_bytes ? bits(model_->out_data, (g * kColumns * 4 + i) * 8, 8) : 0, 1);
  }
  if (model_->state != 0) {
    rtl_["engine.state"].begin(clock);
    rtl_["engine.state"].add(model_->state, 1);
  }
  for (int i = 0; i < (model_->run_done & 1) + (model_->run_done >> 1) + model_->setup_done; i++)
    rtl_["engine.completed"].begin(clock);
}

bool LockStep::equal() {
  return report_differences(recording_.simulator, rtl_, recording_.end - recording_.begin + 1,
                            [](const std::string& name) {
                              if (name.compare(0, 3, "bus") == 0)
                                return name == "bus.store.request" || name == "bus.store.write";
                              return true;
                            });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const bool speed = argc == 3 && std::strcmp(argv[2], "speed") == 0;
  if (argc != 2 && !speed) {
    std::fprintf(stderr, "usage: switch_array_bench CASE [speed]\n");
    return 2;
  }
  try {
    bench::Recording recording(argv[1]);
    bench::LockStep bench(recording, !speed);
    const std::clock_t begin = std::clock();
    bench.run();
    if (speed) {
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      std::printf("model: %llu clocks in %.4f s\n",
                  static_cast<unsigned long long>(recording.end - recording.begin + 1), seconds);
      return 0;
    }
    return bench.equal() ? 0 : 1;
  } catch (const bench::Refused& refused) {
    std::printf("%s\n", refused.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
