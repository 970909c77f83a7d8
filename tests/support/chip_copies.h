#pragma once

// Random chips, and programs of copies whose effect is compared with the model's, byte by byte.

#include "chip_model.h"
#include "chip_run.h"

namespace tilebeat::testing {

/// A copy, the processor that commands it and the cluster of that processor.
struct PlacedCopy {
  int processor = 0, cluster = 0;
  Copy copy;
};

/// A chip of random sizes, buses, memories and limits.
inline HardwareConfig chip_of_copies() {
  HardwareConfig hardware = small_chip(number(1, 3), number(1, 3));
  ChipConfig& chip = *hardware.chip;
  chip.memory_controllers = 1 << number(0, 2);
  hardware.dram = random_dram_config();
  hardware.clock_mhz = number(3, 20) * 100;
  hardware.interconnect.bytes_per_clock = 1 << number(2, 5);
  for (InterconnectConfig* bus : {&chip.core.bus, &chip.cluster_bus, &chip.cluster_link}) {
    *bus = {1 << number(4, 6), number(1, 4), number(1, 4), number(1, 16)};
  }
  for (MemoryConfig* memory : {&chip.core.nram, &chip.core.wram, &chip.sram}) {
    memory->banks = 1 << number(0, 4);
    memory->bank_bytes = 1 << number(0, 4);
    memory->latency_cycles = number(0, 5);
  }
  for (DmaConfig* copy : {&chip.core.copy, &chip.copy}) {
    copy->burst_bytes = 64 << number(0, 4);
    copy->buffer_bytes = 2 * copy->burst_bytes + number(0, 300);
    copy->max_outstanding = number(1, 8);
  }
  chip.sync_cycles = number(1, 8);
  check_hardware(hardware, "random chip");
  return hardware;
}

/// Copies that run at the same time; those of one processor begin in this order.
using CopyPhase = std::vector<PlacedCopy>;

/// The programs of one phase after the other: what a processor copies, then a barrier of all processors. Up
/// to four copies give tokens that the barrier waits for; behind more of them it stands behind a fence.
inline std::vector<HandProgram> programs_of(const ChipConfig& chip, const std::vector<CopyPhase>& phases) {
  std::vector<HandProgram> programs;
  for (int p = 0; p < chip.processors(); ++p) {
    HandProgram program{p, {}};
    int id = 0;
    for (const CopyPhase& phase : phases) {
      Instruction barrier;
      barrier.operation =
          Barrier{static_cast<std::uint16_t>(++id), static_cast<std::uint16_t>(chip.processors())};
      std::size_t copies = 0;
      for (const PlacedCopy& placed : phase) copies += placed.processor == p ? 1 : 0;
      const bool tokens = copies <= barrier.waits.size();
      for (const PlacedCopy& placed : phase) {
        if (placed.processor != p) continue;
        Instruction copy;
        copy.operation = placed.copy;
        if (tokens) copy.done_signals[0] = barrier.waits[--copies] = kLayerStored;
        program.lines.push_back(disassemble(copy));
      }
      if (!tokens) program.lines.emplace_back("layer.end layer=0");
      program.lines.push_back(disassemble(barrier));
    }
    program.lines.emplace_back("halt");
    programs.push_back(std::move(program));
  }
  return programs;
}

/// Copies that bring every on-chip memory to DRAM, from `address` on.
inline std::vector<PlacedCopy> dump_copies(const ChipConfig& chip, std::uint64_t address) {
  std::vector<PlacedCopy> copies;
  const auto add = [&](int cluster, int index, Unit unit, std::uint64_t from, std::int64_t bytes) {
    PlacedCopy placed;
    placed.cluster = cluster;
    placed.processor = cluster * (chip.cores_per_cluster + 1) + index;
    placed.copy.unit = unit;
    placed.copy.source = from;
    placed.copy.destination = address;
    placed.copy.run_bytes = static_cast<std::uint32_t>(bytes);
    copies.push_back(placed);
    address += static_cast<std::uint64_t>(bytes);
  };
  for (int k = 0; k < chip.clusters; ++k) {
    add(k, chip.cores_per_cluster, Unit::kGdma, sram_address(k), chip.sram_bytes());
    for (int i = 0; i < chip.cores_per_cluster; ++i) {
      const int core = k * chip.cores_per_cluster + i;
      add(k, i, Unit::kIodma, nram_address(core), chip.core.nram.size_bytes);
      add(k, i, Unit::kIodma, wram_address(core), chip.core.wram.size_bytes);
    }
  }
  return copies;
}

constexpr std::uint64_t kDump = std::uint64_t{1} << 20;

/// Runs the phases, whose copies do not touch what others of their phase write; compares every byte of every
/// memory and every byte count with the model's; returns the statistics as text, behind a line for each
/// difference.
inline std::string run_and_compare(const HardwareConfig& hardware, const std::vector<CopyPhase>& phases,
                                   const std::vector<std::uint8_t>& dram, const SimulationOptions& options) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<CopyPhase> all = phases;
  const std::vector<PlacedCopy> dump = dump_copies(chip, kDump);
  all.push_back(dump);
  ChipRun run(hardware, plan_of(programs_of(chip, all)), options);
  run.write(0, dram);
  run.run();
  ChipModel model(chip);
  model.at(0).bytes = dram;
  for (const CopyPhase& phase : phases) {
    for (const PlacedCopy& placed : phase) model.apply(placed.copy, placed.cluster);
  }
  std::string text = run.error.empty() ? "" : "difference: " + run.error + "\n";
  const auto same = [&](const std::string& what, auto found, auto expected) {
    if (found != expected) text += fmt::format("difference: {} is {}, not {}\n", what, found, expected);
  };
  same("unbalanced modules", run.unbalanced(), std::string());
  std::int64_t dumped = 0;
  const auto compare = [&](const ModelMemory& memory, std::uint64_t address) {
    const auto bytes = run.read(address, static_cast<std::int64_t>(memory.bytes.size()));
    const auto wrong = std::mismatch(bytes.begin(), bytes.end(), memory.bytes.begin());
    same(memory.name + ", equal bytes", wrong.first - bytes.begin(), bytes.end() - bytes.begin());
  };
  compare(model.at(0), 0);
  for (const PlacedCopy& placed : dump) {
    ModelMemory& memory = model.at(placed.copy.source);
    compare(memory, placed.copy.destination);
    same(memory.name + " written", run.counter(memory.name, "written"), memory.written);
    const auto size = static_cast<std::int64_t>(memory.bytes.size());
    same(memory.name + " read", run.counter(memory.name, "read"), memory.read + size);
    dumped += size;
  }
  std::int64_t fetched = 0;
  for (const Counter& counter : run.snapshot.counters)
    fetched += counter.name == "fetched" ? counter.value : 0;
  same("DRAM bytes written", run.snapshot.bytes.dram_write, model.at(0).written + dumped);
  same("DRAM bytes read", run.snapshot.bytes.dram_read, model.at(0).read + fetched);
  same("barriers", run.counter("sync", "barriers"), static_cast<std::int64_t>(all.size()));
  return text + run.statistics();
}

}  // namespace tilebeat::testing
