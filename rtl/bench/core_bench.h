// What the benches of a core's engines share: the model, the instructions that it gets in the clocks in which
// the processor dispatched them, and the command line.
#pragma once

#include "model.h"
#include "ports.h"
#include "program.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

template <typename Model>
class CoreBench {
 public:
  // `simulator` are the recorded ports; the model gets the instructions of these opcodes, and one of
  // `run_opcodes` makes a record of the port "completed" when it ended.
  CoreBench(const std::string& folder, const Settings& settings, Ports simulator,
            const std::set<int>& opcodes, const std::set<int>& run_opcodes)
      : simulator_(std::move(simulator)), model_(std::make_unique<Model>(&context_)) {
    find_instructions(folder, settings.text("processor"), opcodes, run_opcodes);
    for (const auto& [name, port] : simulator_) {
      rtl_[name].fields = port.fields;
      if (port.records() == 0) continue;
      begin_ = std::min(begin_, port.clock(0));
      end_ = std::max(end_, port.clock(port.records() - 1));
    }
    if (!instructions_.empty()) begin_ = std::min<std::uint64_t>(begin_, instructions_.front()->begin);
    begin_ -= 2;
    end_ += 4;
  }
  virtual ~CoreBench() = default;

  void run(bool compares) {
    for (std::uint64_t clock = begin_; clock <= end_; clock++) {
      const bool dispatched = drive_instruction(clock);
      step(clock);
      if (compares) record(clock);
      edge();
      if (!dispatched) continue;
      instructions_.pop_front();
      disturb(model_->instruction, 64);
    }
  }
  std::uint64_t clocks() const { return end_ - begin_ + 1; }
  bool equal() {
    return report_differences(simulator_, rtl_, clocks(),
                              [this](const std::string& name) { return compared(name); });
  }

 protected:
  // Drives what else goes into the model in this clock and evaluates it.
  virtual void step(std::uint64_t clock) = 0;
  virtual void record(std::uint64_t clock) = 0;
  virtual bool compared(const std::string& name) const = 0;

  const std::vector<Instruction>& program() const { return program_; }
  void reset() {
    model_->reset = 1;
    for (int i = 0; i < 3; i++) {
      model_->eval();
      edge();
    }
    model_->reset = 0;
  }
  Port& begin(const std::string& name, std::uint64_t clock) {
    Port& port = rtl_[name];
    port.begin(clock);
    return port;
  }
  void record_state(const std::string& unit, std::uint64_t clock, int state) {
    if (state != 0) begin("state." + unit, clock).add(state, 1);
  }

  Ports simulator_, rtl_;
  VerilatedContext context_;
  std::unique_ptr<Model> model_;

 private:
  void find_instructions(const std::string& folder, const std::string& processor,
                         const std::set<int>& opcodes, const std::set<int>& run_opcodes) {
    program_ = read_program(folder, processor);
    std::vector<std::uint64_t> completed;
    for (const Instruction& instruction : program_) {
      if (instruction.begin < 0 || opcodes.count(instruction.opcode()) == 0) continue;
      instructions_.push_back(&instruction);
      if (run_opcodes.count(instruction.opcode()) != 0) completed.push_back(instruction.end);
    }
    Port& done = simulator_["completed"];
    std::sort(completed.begin(), completed.end());
    for (const std::uint64_t clock : completed) done.begin(clock);
  }
  void edge() {
    model_->clk = 1;
    model_->eval();
    model_->clk = 0;
  }
  bool drive_instruction(std::uint64_t clock) {
    const bool dispatched =
        !instructions_.empty() && instructions_.front()->begin == static_cast<std::int64_t>(clock) + 1;
    model_->instruction_valid = dispatched;
    if (dispatched)
      set_bytes(model_->instruction, instructions_.front()->bytes, 64);
    else if (clock % 4 == 0)
      disturb(model_->instruction, 64);
    return dispatched;
  }

  std::vector<Instruction> program_;
  std::deque<const Instruction*> instructions_;
  std::uint64_t begin_ = UINT64_MAX, end_ = 0;
};

// The command line of a bench. Exit status 1: there is a difference.
template <typename Bench>
int bench_main(int argc, char** argv) {
  const bool speed = argc == 3 && std::strcmp(argv[2], "speed") == 0;
  if (argc != 2 && !speed) {
    std::fprintf(stderr, "usage: bench CASE [speed]\n");
    return 2;
  }
  try {
    Bench bench(argv[1]);
    const std::clock_t begin = std::clock();
    bench.run(!speed);
    if (speed) {
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      std::printf("model: %llu clocks in %.4f s\n", static_cast<unsigned long long>(bench.clocks()), seconds);
      return 0;
    }
    return bench.equal() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace bench
