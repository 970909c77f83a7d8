// Programs of random copies between all memories of a chip: exact bytes, bytes conserved level by level, and
// results that do not depend on the order of processes (SPEC HI-2, HI-3, HI-4, CY-1, CY-4).
#include "chip_copies.h"

#include "budget.h"

namespace tilebeat::testing {
namespace {

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
    placed.copy = one_in(4) ? random_turned_copy(from_bytes, to_bytes) : random_copy(from_bytes, to_bytes);
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

/// Random DRAM contents.
std::vector<std::uint8_t> random_dram() {
  std::vector<std::uint8_t> dram(kModelDramBytes);
  for (std::uint8_t& byte : dram) byte = static_cast<std::uint8_t>(number(0, 255));
  return dram;
}

/// Runs the phases twice, the second time with random delta delays and another order of construction.
void check_copies(const HardwareConfig& hardware, const std::vector<CopyPhase>& phases) {
  const std::vector<std::uint8_t> dram = random_dram();
  const auto run = [&](const SimulationOptions& options) {
    return in_child([&] { return run_and_compare(hardware, phases, dram, options); });
  };
  const std::string plain = run({});
  const bool exact = plain.find("difference") == std::string::npos;
  if (!exact) RC_LOG() << plain.substr(0, 2000);
  RC_ASSERT(exact);
  SimulationOptions shaken;
  shaken.jitter_seed = static_cast<std::uint32_t>(number(1, 1 << 20));
  shaken.build_order_seed = static_cast<std::uint32_t>(number(1, 1 << 20));
  RC_ASSERT(run(shaken) == plain);
}

constexpr std::int64_t kSlot = 1024, kLoaded = 8192;  // bytes of a destination, of what is loaded before

/// What every SRAM and NRAM holds before the traffic: kLoaded bytes of DRAM, in the NRAM behind as many
/// others.
CopyPhase loads(const ChipConfig& chip) {
  CopyPhase phase;
  const auto load = [&](int cluster, int index, Unit unit, std::uint64_t to) {
    PlacedCopy placed;
    placed.cluster = cluster;
    placed.processor = cluster * (chip.cores_per_cluster + 1) + index;
    placed.copy.unit = unit;
    placed.copy.source = static_cast<std::uint64_t>(number(0, 20000));
    placed.copy.destination = to;
    placed.copy.run_bytes = kLoaded;
    phase.push_back(placed);
  };
  for (int k = 0; k < chip.clusters; ++k) {
    load(k, chip.cores_per_cluster, Unit::kGdma, sram_address(k));
    for (int i = 0; i < chip.cores_per_cluster; ++i)
      load(k, i, Unit::kIodma, nram_address(k * chip.cores_per_cluster + i) + kLoaded);
  }
  return phase;
}

/// Copies of all engines at once, each into a slot of its own.
CopyPhase traffic(const ChipConfig& chip) {
  CopyPhase phase;
  const int cores = chip.cores_per_cluster;
  PlacedCopy placed;
  const auto add = [&](Unit unit, std::uint64_t from, std::int64_t from_bytes, std::uint64_t to, int slot) {
    if (one_in(4)) return;
    placed.copy = random_copy(from_bytes, kSlot);
    placed.copy.unit = unit;
    placed.copy.source += from;
    placed.copy.destination += to + static_cast<std::uint64_t>(slot * kSlot);
    phase.push_back(placed);
  };
  for (placed.cluster = 0; placed.cluster < chip.clusters; ++placed.cluster) {
    const std::uint64_t sram = sram_address(placed.cluster);
    for (int i = 0; i < cores; ++i) {
      const int core = placed.cluster * cores + i;
      placed.processor = placed.cluster * (cores + 1) + i;
      for (int slot = 0; slot < 4; ++slot) {
        add(Unit::kIodma, 0, kModelDramBytes / 2, nram_address(core), slot);
        add(Unit::kMvdma, sram, kLoaded, wram_address(core), slot);
        if (slot < 2) add(Unit::kMvdma, nram_address(core) + kLoaded, kLoaded, sram + kLoaded, 2 * i + slot);
        if (slot < 3)
          add(Unit::kIodma, nram_address(core) + kLoaded, kLoaded, kModelDramBytes / 2, 3 * core + slot);
      }
    }
    placed.processor = placed.cluster * (cores + 1) + cores;
    for (int slot = 0; slot < 4; ++slot) {
      add(Unit::kMvdma, sram, kLoaded, multicast_address((std::uint64_t{1} << cores) - 1, false, 4 * kSlot),
          slot);
      add(Unit::kGdma, 0, kModelDramBytes / 2, sram + 2 * kLoaded, slot);
      const int other = (placed.cluster + 1) % chip.clusters;
      if (other != placed.cluster)
        add(Unit::kCdma, sram, kLoaded, sram_address(other) + 2 * kLoaded + 4 * kSlot, slot);
    }
  }
  return phase;
}

TEST(ChipCopies, HI_2_HI_3_HI_4_random_blocks_between_all_memories) {
  check_cases(budget(40, 8), [] {
    const HardwareConfig hardware = chip_of_copies();
    std::vector<CopyPhase> phases;
    for (int i = number(1, 12); i > 0; --i) phases.push_back({place_copy(*hardware.chip)});
    check_copies(hardware, phases);
  });
}

TEST(ChipCopies, HI_3_HI_4_CY_4_all_engines_at_once) {
  check_cases(budget(25, 5), [] {
    const HardwareConfig hardware = chip_of_copies();
    check_copies(hardware, {loads(*hardware.chip), traffic(*hardware.chip)});
  });
}

}  // namespace
}  // namespace tilebeat::testing
