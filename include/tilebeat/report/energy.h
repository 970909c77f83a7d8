#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

struct HardwareConfig;
struct RunResult;

/// Energies by what they went into, in pJ (SPEC UI-10).
struct EnergyParts {
  double macs = 0;     ///< useful multiply-accumulates
  double results = 0;  ///< requantisation, and the operations of vector units
  double buffers = 0;  ///< of the engines
  double nram = 0, wram = 0, sram = 0;
  double bus = 0;  ///< interconnects on chip
  double dram = 0;
  double leakage = 0;

  double total() const;
};

/// The parts by their names in reports.
struct EnergyPart {
  std::string_view name, meaning;
  double EnergyParts::*value;
};
constexpr std::array<EnergyPart, 9> kEnergyParts{{
    {"macs", "useful multiply-accumulates", &EnergyParts::macs},
    {"results", "requantisation, and the operations of vector units", &EnergyParts::results},
    {"buffers", "buffers of the engines", &EnergyParts::buffers},
    {"nram", "memories for maps and results", &EnergyParts::nram},
    {"wram", "memories for kernels", &EnergyParts::wram},
    {"sram", "memories of the clusters", &EnergyParts::sram},
    {"bus", "bytes over interconnects", &EnergyParts::bus},
    {"dram", "bytes over DRAM buses, rows that are opened", &EnergyParts::dram},
    {"leakage", "idle area, all the time", &EnergyParts::leakage},
}};

/// Area of what is on the chip, in mm2: without interconnects, control and the controllers of DRAM.
struct Area {
  double macs = 0, lanes = 0, memories = 0;
  double total() const { return macs + lanes + memories; }
};

/// Of one module: a memory, a port of a bus, a DRAM channel, the multiply-accumulate units of a core.
struct ModuleEnergy {
  std::string name;
  double pj = 0;
};

/// Of a run.
struct EnergyResult {
  std::string technology;
  EnergyParts parts;
  std::vector<ModuleEnergy> modules;  ///< those that take some; the rest of `parts` belongs to no single one
  Area area;
  double seconds = 0;
  /// Energy-delay product in J s.
  double edp() const { return parts.total() * 1e-12 * seconds; }
  /// Mean power in W.
  double watts() const { return seconds > 0 ? parts.total() * 1e-12 / seconds : 0; }
};

/// Energy of a byte in a bank of `bytes` bytes, in pJ, by the table of the technology.
double memory_pj_per_byte(const HardwareConfig& hardware, std::int64_t bytes);
Area area_of(const HardwareConfig& hardware);
/// Fills the energies of `run` and of its layers from what these have counted (SPEC UI-10: counts times the
/// technology's table).
void add_energy(const HardwareConfig& hardware, RunResult& run);

}  // namespace tilebeat
