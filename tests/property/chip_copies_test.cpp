// Programs of random copies between all memories of a chip: exact bytes, bytes conserved level by level, and
// results that do not depend on the order of processes (SPEC HI-2, HI-3, HI-4, CY-1, CY-4).
#include <numeric>

#include "chip_model.h"
#include "chip_run.h"

namespace tilebeat::testing {
namespace {

/// A copy, the processor that commands it and the cluster of that processor.
struct PlacedCopy {
  int processor = 0, cluster = 0;
  Copy copy;
};

/// A copy by any engine of any processor of the chip.
PlacedCopy place_copy(const ChipConfig& chip) {
  const int cores = chip.cores_per_cluster;
  PlacedCopy placed;
  placed.cluster = number(0, chip.clusters - 1);
  const int index = number(0, cores);
  const bool memory = index == cores;
  placed.processor = placed.cluster * (cores + 1) + index;
  const int core = placed.cluster * cores + index;
  const bool wram = one_in(2);
  const std::uint64_t sram = sram_address(placed.cluster);
  const std::uint64_t local = wram ? wram_address(core) : nram_address(core);
  const std::int64_t local_bytes = wram ? chip.core.wram.size_bytes : chip.core.nram.size_bytes;
  const auto between = [&](Unit unit, std::uint64_t from, std::int64_t from_bytes, std::uint64_t to,
                           std::int64_t to_bytes) {
    placed.copy = random_copy(from_bytes, to_bytes);
    placed.copy.unit = unit;
    placed.copy.source += from;
    placed.copy.destination += to;
  };
  const bool there = one_in(2);  // towards the inner side
  if (!memory) {
    const bool dram = one_in(2);
    const std::uint64_t outer = dram ? 0 : sram;
    const std::int64_t outer_bytes = dram ? kModelDramBytes : chip.sram_bytes();
    const Unit unit = dram ? Unit::kIodma : Unit::kMvdma;
    if (there) between(unit, outer, outer_bytes, local, local_bytes);
    if (!there) between(unit, local, local_bytes, outer, outer_bytes);
    return placed;
  }
  const int what = number(0, chip.clusters > 1 ? 2 : 1);
  if (what == 0 && there) between(Unit::kGdma, 0, kModelDramBytes, sram, chip.sram_bytes());
  if (what == 0 && !there) between(Unit::kGdma, sram, chip.sram_bytes(), 0, kModelDramBytes);
  if (what == 1) {
    const auto listeners = static_cast<std::uint64_t>(number(1, (1 << cores) - 1));
    between(Unit::kMvdma, sram, chip.sram_bytes(), multicast_address(listeners, wram, 0),
            wram ? chip.core.wram.size_bytes : chip.core.nram.size_bytes);
  }
  if (what == 2) {
    const int other = (placed.cluster + number(1, chip.clusters - 1)) % chip.clusters;
    between(Unit::kCdma, sram, chip.sram_bytes(), sram_address(other), chip.sram_bytes());
  }
  return placed;
}

HardwareConfig random_chip() {
  HardwareConfig hardware = small_chip(number(1, 3), number(1, 3));
  ChipConfig& chip = *hardware.chip;
  chip.memory_controllers = 1 << number(0, 2);
  hardware.dram = dram_preset(static_cast<DramPreset>(number(0, 3)));
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

/// One copy after the other, a barrier of all processors behind each; then every memory is copied to DRAM,
/// where `dump` says. Runs of copies without barriers are in the tests of the engines.
std::vector<HandProgram> programs_of(const ChipConfig& chip, const std::vector<PlacedCopy>& copies) {
  std::vector<HandProgram> programs;
  for (int p = 0; p < chip.processors(); ++p) {
    HandProgram program{p, {}};
    int id = 0;
    for (const PlacedCopy& placed : copies) {
      Instruction barrier;
      barrier.operation =
          Barrier{static_cast<std::uint16_t>(++id), static_cast<std::uint16_t>(chip.processors())};
      if (placed.processor == p) {
        Instruction copy;
        copy.operation = placed.copy;
        copy.done_signals[0] = barrier.waits[0] = kLayerStored;
        program.lines.push_back(disassemble(copy));
      }
      program.lines.push_back(disassemble(barrier));
    }
    program.lines.emplace_back("halt");
    programs.push_back(std::move(program));
  }
  return programs;
}

/// Copies that bring every on-chip memory to DRAM, from `address` on.
std::vector<PlacedCopy> dump_copies(const ChipConfig& chip, std::uint64_t address) {
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

/// Runs the copies, compares every byte of every memory and every byte count with the model's; returns the
/// statistics as text, behind a line for each difference.
std::string run_and_compare(const HardwareConfig& hardware, const std::vector<PlacedCopy>& copies,
                            const std::vector<std::uint8_t>& dram, const SimulationOptions& options) {
  const ChipConfig& chip = *hardware.chip;
  std::vector<PlacedCopy> all = copies;
  const std::vector<PlacedCopy> dump = dump_copies(chip, kDump);
  all.insert(all.end(), dump.begin(), dump.end());
  ChipRun run(hardware, plan_of(programs_of(chip, all)), options);
  run.write(0, dram);
  run.run();
  ChipModel model(chip);
  model.at(0).bytes = dram;
  for (const PlacedCopy& placed : copies) model.apply(placed.copy, placed.cluster);
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

TEST(ChipCopies, HI_2_HI_3_HI_4_random_blocks_between_all_memories) {
  check_cases(40, [] {
    const HardwareConfig hardware = random_chip();
    std::vector<PlacedCopy> copies;
    for (int i = number(1, 12); i > 0; --i) copies.push_back(place_copy(*hardware.chip));
    std::vector<std::uint8_t> dram(kModelDramBytes);
    for (std::uint8_t& byte : dram) byte = static_cast<std::uint8_t>(number(0, 255));
    const auto run = [&](const SimulationOptions& options) {
      return in_child([&] { return run_and_compare(hardware, copies, dram, options); });
    };
    const std::string plain = run({});
    RC_ASSERT(plain.find("difference") == std::string::npos || (RC_LOG() << plain.substr(0, 2000), false));
    SimulationOptions shaken;
    shaken.jitter_seed = static_cast<std::uint32_t>(number(1, 1 << 20));
    shaken.build_order_seed = static_cast<std::uint32_t>(number(1, 1 << 20));
    RC_ASSERT(run(shaken) == plain);
  });
}

}  // namespace
}  // namespace tilebeat::testing
