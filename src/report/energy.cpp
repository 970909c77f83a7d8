#include "base/numerics.h"
#include "config/hardware_config.h"
#include "report/run_result.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilebeat {
namespace {

constexpr double kUm2PerMm2 = 1e6;

// Bytes of the buffers of the engines, of a core's memories, and of a cluster's.
struct MemorySizes {
  std::int64_t buffers = 0, nram = 0, wram = 0, sram = 0;
};

MemorySizes sizes_of(const HardwareConfig& hardware) {
  MemorySizes sizes;
  sizes.buffers = hardware.matrix_engine().buffer_bytes();
  if (!hardware.chip) return sizes;
  sizes.nram = hardware.chip->core.nram.size_bytes, sizes.wram = hardware.chip->core.wram.size_bytes;
  sizes.sram = hardware.chip->sram_bytes();
  return sizes;
}

// The energy of a byte depends on the size of its bank.
double bank_pj_per_byte(const HardwareConfig& hardware, const MemoryConfig& memory, std::int64_t bytes) {
  return memory_pj_per_byte(hardware, std::max<std::int64_t>(1, bytes / memory.banks));
}
double engine_pj_per_byte(const HardwareConfig& hardware) {
  const std::int64_t bank = hardware.matrix_engine().fault_space(hardware).bytes;
  return memory_pj_per_byte(hardware, std::max<std::int64_t>(1, bank));
}

double number(std::int64_t count) {
  return static_cast<double>(count);
}

// The counted work of a run or a layer.
struct Counts {
  std::int64_t macs = 0, results = 0, decoded = 0, activations = 0;
  Cycle cycles = 0;
  const MemoryBytes& bytes;
};

class Model {
 public:
  Model(const HardwareConfig& hardware, const Area& area)
      : t_(hardware.technology),
        buffers_(engine_pj_per_byte(hardware)),
        // mW are pJ per nanosecond.
        leakage_(area.total() * t_.leakage_mw_per_mm2 * number(hardware.clock_ps()) / 1000) {
    if (!hardware.chip) return;
    const ChipConfig& chip = *hardware.chip;
    nram_ = bank_pj_per_byte(hardware, chip.core.nram, chip.core.nram.size_bytes);
    wram_ = bank_pj_per_byte(hardware, chip.core.wram, chip.core.wram.size_bytes);
    sram_ = bank_pj_per_byte(hardware, chip.sram, chip.sram_bytes());
  }

  EnergyParts parts_of(const Counts& c) const {
    const MemoryBytes& b = c.bytes;
    EnergyParts parts;
    parts.macs = t_.mac_pj * number(c.macs);
    parts.results = t_.result_pj * number(c.results);
    parts.decoding = t_.decode_pj * number(c.decoded);
    parts.buffers =
        buffers_ * number(b.input_buffer_read + b.input_buffer_write + b.parameter_buffer_read +
                          b.parameter_buffer_write + b.output_buffer_read + b.output_buffer_write);
    parts.nram = nram_ * number(b.nram_read + b.nram_write);
    parts.wram = wram_ * number(b.wram_read + b.wram_write);
    parts.sram = sram_ * number(b.sram_read + b.sram_write);
    parts.bus = t_.bus_pj_per_byte * number(b.bus_read + b.bus_write);
    parts.dram = t_.dram_pj_per_byte * number(b.dram_read + b.dram_write) +
                 t_.dram_pj_per_activation * number(c.activations);
    parts.leakage = leakage_ * number(c.cycles);
    return parts;
  }

  // Energies by the modules' counters, in the order in which modules first appear.
  std::vector<ModuleEnergy> modules_of(const RunResult& run) const {
    std::vector<ModuleEnergy> modules;
    std::map<std::string, std::size_t> known;
    const auto add = [&](const std::string& name, double pj) {
      if (pj == 0) return;
      const auto [found, added] = known.try_emplace(name, modules.size());
      if (added) modules.push_back({name, 0});
      modules[found->second].pj += pj;
    };
    for (const CoreResult& core : run.core_results) add(core.name + ".macs", t_.mac_pj * number(core.macs));
    for (const Counter& c : run.counters) {
      const double pj = pj_of(c);
      add(c.module, pj * number(c.value));
    }
    return modules;
  }

 private:
  static bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  }
  // Energy in pJ of one unit of a counter.
  double pj_of(const Counter& c) const {
    const bool dram = c.module.compare(0, 4, "dram") == 0;
    if (dram && (c.name == "row_misses" || c.name == "row_conflicts")) return t_.dram_pj_per_activation;
    if (c.name == kOwnNramRead.counter || c.name == kOwnNramWrite.counter) return nram_;
    if (c.name == kOwnWramRead.counter) return wram_;
    if (c.name == kDecodedCounter) return t_.decode_pj;
    if (c.unit != "bytes" || (c.name != "read" && c.name != "written")) return 0;
    if (dram) return t_.dram_pj_per_byte;
    if (ends_with(c.module, ".nram")) return nram_;
    if (ends_with(c.module, ".wram")) return wram_;
    if (ends_with(c.module, ".sram")) return sram_;
    const bool bus = c.module.compare(0, 4, "noc.") == 0 || c.module.compare(0, 5, "link.") == 0 ||
                     c.module.compare(0, 4, "bus.") == 0 || c.module.find(".bus.") != std::string::npos;
    return bus ? t_.bus_pj_per_byte : 0;
  }

  const TechnologyConfig& t_;
  double buffers_, leakage_, nram_ = 0, wram_ = 0, sram_ = 0;
};

}  // namespace

double EnergyParts::total() const {
  double sum = 0;
  for (const EnergyPart& part : kEnergyParts) sum += this->*part.value;
  return sum;
}

double memory_pj_per_byte(const HardwareConfig& hardware, std::int64_t bytes) {
  const std::vector<MemoryEnergy>& table = hardware.technology.memories;
  if (table.size() == 1) return table.front().pj_per_byte;
  // Finds the section of the table that contains `bytes`, or the nearest one.
  std::size_t upper = 1;
  while (upper + 1 < table.size() && bytes > table[upper].bytes) ++upper;
  const MemoryEnergy &a = table[upper - 1], &b = table[upper];
  if (a.pj_per_byte <= 0 || b.pj_per_byte <= 0) return b.pj_per_byte;
  const double slope = std::log(b.pj_per_byte / a.pj_per_byte) / std::log(number(b.bytes) / number(a.bytes));
  return a.pj_per_byte * std::pow(number(bytes) / number(a.bytes), slope);
}

namespace {

// Bits of the data buses, both directions, of the ports of all interconnects. Of many like clusters and cores
// those that had nothing to do are not built: each has the ports of one that is.
std::int64_t bus_bits(const HardwareConfig& hardware, const RunResult& run) {
  std::map<std::string, std::int64_t> ports;  // by interconnect
  for (const Counter& counter : run.counters) {
    if (counter.name == "read_bursts") ++ports[counter.module.substr(0, counter.module.rfind('.'))];
  }
  std::int64_t whole = 0, of_cluster = 0, of_core = 0;  // bytes a cycle
  for (const auto& [name, count] : ports) {
    if (name.compare(0, 7, "cluster") != 0) {
      const bool link = name == "link";
      whole += count * (link ? hardware.chip->cluster_link : hardware.interconnect).bytes_per_clock;
    } else if (name.find(".core") != std::string::npos) {
      of_core = std::max(of_core, count * hardware.chip->core.bus.bytes_per_clock);
    } else {
      of_cluster = std::max(of_cluster, count * hardware.chip->cluster_bus.bytes_per_clock);
    }
  }
  constexpr int kDirections = 2, kBits = 8;
  const std::int64_t clusters = hardware.chip ? hardware.chip->clusters : 0;
  const std::int64_t cores = hardware.chip ? hardware.chip->cores() : 0;
  return kDirections * kBits * (whole + clusters * of_cluster + cores * of_core);
}

}  // namespace

Area area_of(const HardwareConfig& hardware, const RunResult& run) {
  const TechnologyConfig& t = hardware.technology;
  const MemorySizes sizes = sizes_of(hardware);
  const double cores = hardware.chip ? hardware.chip->cores() : 1;
  Area area;
  area.macs = cores * number(hardware.macs_per_clock()) * t.mac_um2 / kUm2PerMm2;
  area.results = cores * number(hardware.matrix_engine().results_per_clock()) * t.result_um2 / kUm2PerMm2;
  const double byte = t.memory_um2_per_byte / kUm2PerMm2;
  area.buffers = cores * number(sizes.buffers) * byte;
  area.nram = cores * number(sizes.nram) * byte;
  area.wram = cores * number(sizes.wram) * byte;
  area.buses = number(bus_bits(hardware, run)) * t.bus_um2_per_bit / kUm2PerMm2;
  constexpr double kScaleBytes = 1.5;  // a scale and a zero point
  const auto decoding = [&](std::int64_t scales, std::int64_t lanes) {
    return number(scales) * kScaleBytes * byte + number(lanes) * t.decode_um2 / kUm2PerMm2;
  };
  const DecoderSize ports = hardware.matrix_engine().kernel_decoders(hardware);
  if (!hardware.chip) {
    area.dma = decoding(ports.decoders * kMostWeightScales, ports.lanes);
    return area;
  }
  area.lanes = cores * hardware.chip->core.vector.lanes * t.lane_um2 / kUm2PerMm2;
  const ChipConfig& chip = *hardware.chip;
  area.sram = chip.clusters * number(sizes.sram) * byte;
  // IODMA and MVDMA, and one more for stores between bursts; GDMA, CDMA and broadcast, or the merged engine.
  const int of_core = chip.core.stores == StoreOrder::kBetweenBursts ? 3 : 2,
            of_cluster = chip.merged_dma ? 1 : 3;
  const std::int64_t landing = std::int64_t{chip.cores()} * of_core * chip.core.copy.buffer_bytes +
                               std::int64_t{chip.clusters} * of_cluster * chip.copy.buffer_bytes;
  // A decoder has a lane for each weight that it can make in a clock, at most a burst, and memory for the
  // scales of a frame.
  const std::int64_t decoders = chip.decode_bytes_per_clock > 0 ? 2 * chip.cores() + chip.clusters : 0;
  const auto lanes_of = [&](const DmaConfig& copy) {
    return std::min<std::int64_t>(2 * chip.decode_bytes_per_clock, copy.burst_bytes);
  };
  const std::int64_t lanes =
      decoders == 0 ? 0 : 2 * chip.cores() * lanes_of(chip.core.copy) + chip.clusters * lanes_of(chip.copy);
  area.dma = (number(landing) + number(decoders * kMostWeightScales) * kScaleBytes) * byte +
             number(lanes) * t.decode_um2 / kUm2PerMm2;
  if (chip.decompress == Decompress::kRead)
    area.dma += cores * decoding(ports.decoders * chip.core.weight_scales, ports.lanes);
  return area;
}

void add_energy(const HardwareConfig& hardware, RunResult& run) {
  const Area area = area_of(hardware, run);
  const Model model(hardware, area);
  for (LayerResult& layer : run.layers)
    layer.energy = model.parts_of(
        {layer.macs, layer.results, layer.decoded, layer.activations, layer.cycles, layer.bytes});
  EnergyResult& energy = run.energy;
  energy.technology = hardware.technology.name;
  energy.parts = model.parts_of({run.macs, run.results, run.decoded, run.activations, run.cycles, run.bytes});
  energy.modules = model.modules_of(run);
  energy.area = area;
  energy.seconds = number(run.cycles) * number(hardware.clock_ps()) * 1e-12;
}

}  // namespace tilebeat
