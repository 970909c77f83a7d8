#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// What a byte costs in a bank of an on-chip memory.
struct MemoryEnergy {
  std::int64_t bytes = 8192;
  double pj_per_byte = 1.25;
};

/// What operations, bytes and area cost (SPEC UI-10). The defaults are those of `source`.
struct TechnologyConfig {
  std::string name = "45nm";
  std::string source =
      "45 nm, 0.9 V. Horowitz, Computing's Energy Problem, ISSCC 2014: an int8 multiplication 0.2 pJ and 282 "
      "um2, int32 3.1 pJ and 3495 um2, an int32 addition 0.1 pJ and 137 um2, 64 bits from 8 KiB 10 pJ, from "
      "32 KiB 20 pJ, from 1 MiB 100 pJ. Han et al., Learning both Weights and Connections, NIPS 2015: 32 "
      "bits from DRAM 640 pJ. Mistry et al., IEDM 2007: an SRAM cell of 0.346 um2, here with half of the "
      "area around the cells. Assumed, not published: bus, leakage";
  double mac_pj = 0.3;  ///< an int8 multiplication and an int32 addition
  /// A result of post-processing or of the vector unit: an int32 multiplication and addition.
  double result_pj = 3.2;
  /// Banks by rising size; between two sizes, and beyond the ends, on the line through their logarithms.
  std::vector<MemoryEnergy> memories{{8192, 1.25}, {32768, 2.5}, {1048576, 12.5}};
  double dram_pj_per_byte = 160;
  double dram_pj_per_activation = 0;   ///< of a row; 0: a byte's share is in `dram_pj_per_byte`
  double bus_pj_per_byte = 1;          ///< of a transfer over one bus, both directions alike
  double leakage_mw_per_mm2 = 10;      ///< of idle area, all the time
  double mac_um2 = 419;                ///< of a multiply-accumulate unit
  double lane_um2 = 3632;              ///< of a lane of a vector unit
  double memory_um2_per_byte = 5.536;  ///< of an on-chip memory: eight cells, and as much around them
};

}  // namespace tilebeat
