#pragma once

// Programs that are written by hand, on a whole chip.

#include "config/hardware_config.h"
#include "engines/switch_array/config.h"
#include "isa/address_map.h"
#include "isa/instruction.h"
#include "program/plan.h"
#include "system/system.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

using switch_array::SwitchArrayConfig;

/// A small chip: every memory a few KiB, engines of 4 x 4 PEs.
inline HardwareConfig small_chip(int clusters, int cores) {
  HardwareConfig hardware;
  SwitchArrayConfig& array = hardware.engine<SwitchArrayConfig>();
  array.rows = array.columns = 4;
  array.bank_depth_words = 64;
  array.parameter_depth_words = 64;
  array.output_buffer_bytes = 1024;
  hardware.dram = dram_preset(DramPreset::kDdr4_2400);
  hardware.chip.emplace();
  ChipConfig& chip = *hardware.chip;
  chip.clusters = clusters;
  chip.cores_per_cluster = cores;
  chip.core.nram = {16384, 8, 16, 1};
  chip.core.wram = {8192, 4, 16, 2};
  chip.sram = {32768, 8, 16, 3};
  check_hardware(hardware, "small chip");
  return hardware;
}

/// The program of one processor: a line an instruction.
struct HandProgram {
  int processor = 0;
  std::vector<std::string> lines;
};

constexpr std::uint64_t kProgramBase = std::uint64_t{1} << 24;
constexpr std::uint64_t kProgramRoom = std::uint64_t{1} << 16;

/// Programs under one label, in DRAM from kProgramBase on.
inline Plan plan_of(const std::vector<HandProgram>& programs) {
  Plan plan;
  plan.layers.emplace_back();  // that programs may end
  plan.layers.back().ends = 0;
  for (const HandProgram& program : programs) {
    ProgramImage image;
    image.label = "main";
    image.processor = program.processor;
    image.address = kProgramBase + static_cast<std::uint64_t>(program.processor) * kProgramRoom;
    MemorySegment segment{"program", image.address, {}};
    for (const std::string& line : program.lines) {
      image.instructions.push_back(assemble(line));
      if (image.instructions.back().operation.is<LayerEnd>()) ++plan.layers.back().ends;
      const InstructionBytes bytes = encode(image.instructions.back());
      segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
    }
    plan.image.push_back(std::move(segment));
    plan.programs.push_back(std::move(image));
  }
  return plan;
}

/// A chip with its programs, run once in this process.
class ChipRun {
 public:
  std::string error;  ///< of the simulation; empty: the programs ended
  Snapshot snapshot;

  ChipRun(const HardwareConfig& hardware, Plan plan, SimulationOptions options = {})
      : jitter_(options.jitter_seed), clock_(hardware.clock_ps()) {
    strict_systemc();
    plan.hand_written = true;  // programs may reach any memory
    system_ = make_system(hardware, plan, options, options.jitter_seed != 0 ? &jitter_ : nullptr);
    for (const MemorySegment& segment : plan.image) system_->write_memory(segment.address, segment.bytes);
  }
  void write(std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
    system_->write_memory(address, bytes);
  }
  std::vector<std::uint8_t> read(std::uint64_t address, std::int64_t bytes) {
    return system_->read_memory(address, bytes);
  }
  /// Until the programs end, or `limit` cycles.
  void run(Cycle limit = 1'000'000) {
    try {
      sc_core::sc_start(sc_core::SC_ZERO_TIME);
      while (!system_->finished() && sc_core::sc_pending_activity() && system_->now() < limit)
        sc_core::sc_start(to_sc_time(10'000 * clock_.period_ps()), sc_core::SC_EXIT_ON_STARVATION);
      if (!system_->finished()) error = "deadlock\n" + system_->describe_state();
    } catch (const SimulationError& failure) {
      error = failure.what();
    } catch (const sc_core::sc_report& report) {
      error = report.get_msg();
    }
    snapshot = system_->snapshot_now();
  }
  System& system() { return *system_; }

  std::int64_t counter(const std::string& module, const std::string& name) const {
    for (const Counter& counter : snapshot.counters) {
      if (counter.module == module && counter.name == name) return counter.value;
    }
    throw std::runtime_error("no counter " + module + " " + name);
  }
  const ModuleCycles& module(const std::string& name) const {
    for (const ModuleCycles& module : snapshot.modules) {
      if (module.name == name) return module;
    }
    throw std::runtime_error("no module " + name);
  }
  /// Modules whose busy and waiting cycles are not all cycles (SPEC CY-1).
  std::string unbalanced() const {
    std::string names;
    for (const ModuleCycles& module : snapshot.modules) {
      if (sum_of(module.activity) != module.cycles) names += module.name + " ";
    }
    return names;
  }
  /// Everything that was counted, as text.
  std::string statistics() const {
    nlohmann::json all{{"at", snapshot.at}, {"error", error}};
    for (const ModuleCycles& module : snapshot.modules) all["modules"][module.name] = module.activity;
    for (const Counter& counter : snapshot.counters)
      all["counters"][counter.module + "." + counter.name] = counter.value;
    return all.dump(1);
  }

 private:
  DeltaJitter jitter_;
  ClockDomain clock_;
  std::unique_ptr<System> system_;
};

}  // namespace tilebeat::testing
