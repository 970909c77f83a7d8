#pragma once

#include "base/map_layout.h"
#include "config/dram_config.h"
#include "config/engine_config.h"
#include "config/fusion_config.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// The energy per byte of a bank of an on-chip memory.
struct MemoryEnergy {
  std::int64_t bytes = 8192;
  double pj_per_byte = 1.25;
};

/// The energy of operations and bytes, and the area (SPEC UI-10). The defaults are from `source`.
struct TechnologyConfig {
  std::string name = "45nm";
  std::string source =
      "45 nm, 0.9 V. Horowitz, Computing's Energy Problem, ISSCC 2014: an int8 multiplication 0.2 pJ and 282 "
      "um2, int32 3.1 pJ and 3495 um2, an int32 addition 0.1 pJ and 137 um2, 64 bits from 8 KiB 10 pJ, from "
      "32 KiB 20 pJ, from 1 MiB 100 pJ. Han et al., Learning both Weights and Connections, NIPS 2015: 32 "
      "bits from DRAM 640 pJ, taken for DDR4; other DRAM as docs/energy.md says. Mistry et al., IEDM 2007: "
      "an SRAM cell of 0.346 um2, here with half of the area around the cells. Assumed, not published: bus, "
      "leakage";
  double mac_pj = 0.3;  ///< an int8 multiplication and an int32 addition
  /// A result of post-processing or of the vector unit: an int32 multiplication and addition.
  double result_pj = 3.2;
  /// A weight of four bits that becomes int8: half of an int8 multiplication, and an int8 addition.
  double decode_pj = 0.13;
  /// By rising size; between two sizes, and beyond the ends, energies lie on the line through their
  /// logarithms.
  std::vector<MemoryEnergy> memories{{8192, 1.25}, {32768, 2.5}, {1048576, 12.5}};
  double dram_pj_per_byte = typical_pj_per_byte(DramPreset::kDdr4_2400);
  double dram_pj_per_activation = 0;  ///< energy of a row activation; 0: included in `dram_pj_per_byte`
  double bus_pj_per_byte = 1;         ///< energy of a transfer over one bus, in either direction
  double leakage_mw_per_mm2 = 10;     ///< leakage of area, in every cycle
  double mac_um2 = 419;               ///< area of a multiply-accumulate unit
  /// Area of a result unit of post-processing, which rescales a sum in each of the four arithmetics.
  double result_um2 = 21100;
  double lane_um2 = 3632;              ///< area of a lane of a vector unit
  double decode_um2 = 177;             ///< area of a decoder's lane, which makes a weight a cycle
  double bus_um2_per_bit = 6.4;        ///< area of a bit of a port's data bus: a flip-flop and a multiplexer
  double memory_um2_per_byte = 5.536;  ///< area of an on-chip memory: eight cells, and as much around them
};

/// The order of the outer loops; `kAuto` tries both and takes, of all tilings with estimates at most 2 %
/// above the fastest, the one that moves the fewest bytes on the DRAM bus.
enum class LoopOrder : std::uint8_t { kAuto, kTileOuter, kKernelOuter };
constexpr std::array<std::string_view, 3> kLoopOrderNames{"auto", "tile_outer", "kernel_outer"};

/// One DMA channel (there are three: maps in, parameters in, results out; SPEC SW, document 000 [0086]).
struct DmaConfig {
  int burst_bytes = 1024;    ///< longest burst; a burst never crosses a multiple of 4096
  int max_outstanding = 8;   ///< bursts under way at a time, a channel
  int buffer_bytes = 16384;  ///< landing buffer of a channel
  int command_queue = 8;     ///< commands that wait in front of a unit
};

/// The interconnect (SPEC HI-6).
struct InterconnectConfig {
  int bytes_per_clock = 16;  ///< width of every port
  int request_cycles = 2;    ///< cycles from the grant of a request to its arrival at the target
  int response_cycles = 2;   ///< cycles from the target's answer to the first beat at the initiator
  int max_outstanding = 16;  ///< bursts under way at a time, an initiator port
};

/// The way the host starts the processors of a chip (SPEC HI-5).
enum class HostStart : std::uint8_t {
  kEach,  ///< three register writes per processor
  kTable  ///< three register writes of the chip's start unit, which reads a table of programs and starts all
};
constexpr std::array<std::string_view, 2> kHostStartNames{"each", "table"};

/// The host CPU (document 000 figure 6) and the instruction fetch.
struct HostConfig {
  HostStart start = HostStart::kEach;
  int register_write_cycles = 10;  ///< cycles between two register writes of the host
  int instruction_buffer_bytes = 4096;
};

/// An on-chip memory of word-interleaved banks with one port each (SPEC HI-2, HI-3).
struct MemoryConfig {
  std::int64_t size_bytes = 0;
  int banks = 16;
  int bank_bytes = 16;     ///< width of a bank: bytes that it delivers or takes a cycle
  int latency_cycles = 1;  ///< cycles from a request's arrival to its first word
  int request_queue = 16;  ///< requests held at a time
};

/// The vector unit of a core (SPEC HI-2).
struct VectorConfig {
  int lanes = 64;          ///< elements of one operation a cycle
  int latency_cycles = 4;  ///< cycles from the last operand of a result to the result
  /// Elements that the row buffer holds: the longest channel vector of a softmax or pooling.
  int row_elements = 16384;
  int parameter_bytes = 131072;  ///< tables and factors of one operation
};

/// When the results of a core go to DRAM: behind the loads that IODMA has before them, in one queue, or
/// between their bursts, by an IODMA for stores with a queue, a landing buffer and ports of its own.
enum class StoreOrder : std::uint8_t { kBehindLoads, kBetweenBursts };
constexpr std::array<std::string_view, 2> kStoreOrderNames{"behind_loads", "between_bursts"};

/// A core: its memories, the bus that joins its units to them, its DMA engines (SPEC HI-2).
struct CoreConfig {
  MemoryConfig nram{524288, 16, 16, 1};
  MemoryConfig wram{1048576, 16, 16, 1};
  InterconnectConfig bus{64, 1, 1, 16};
  DmaConfig copy;  ///< IODMA and MVDMA
  StoreOrder stores = StoreOrder::kBehindLoads;
  /// Scales and zero points that the decoder at a port of the matrix engine holds (`chip.decompress`: read).
  int weight_scales = 4096;
  VectorConfig vector;
};

/// The way of tiles and kernels from DRAM to a core (SPEC HI-4).
enum class DramPath : std::uint8_t { kAuto, kDirect, kSram };
constexpr std::array<std::string_view, 3> kDramPathNames{"auto", "direct", "sram"};

/// Where weights of four bits become int8 (SPEC DT-1): in the DMA engines on their way into a core's memory,
/// or at the ports by which an engine reads them there.
enum class Decompress : std::uint8_t { kLoad, kRead };
constexpr std::array<std::string_view, 2> kDecompressNames{"load", "read"};

/// Clusters of cores around an interconnect (SPEC HI-1, HI-3, HI-5).
struct ChipConfig {
  int clusters = 1;
  int cores_per_cluster = 4;
  int memory_controllers = 2;  ///< each with `dram.channels` channels; addresses alternate every 4096 bytes
  CoreConfig core;
  MemoryConfig sram{0, 16, 16, 1};                ///< size 0: cores_per_cluster x NRAM
  InterconnectConfig cluster_bus{64, 1, 1, 16};   ///< the broadcast bus and the other ports of the SRAM
  InterconnectConfig cluster_link{32, 4, 4, 16};  ///< CDMA between clusters
  DmaConfig copy;                                 ///< GDMA, CDMA and broadcast
  /// One DMA engine in the memory core in place of GDMA, CDMA and the broadcast engine.
  bool merged_dma = false;
  int scalar_lanes = 0;  ///< lanes of the memory core's scalar unit; 0: it has none
  int sync_cycles = 4;   ///< cycles of a signal between processors and of a barrier's release
  DramPath dram_path = DramPath::kAuto;
  /// Bytes of a weight stream a cycle that a decoder takes: of IODMAs, MVDMAs and the broadcast engines; 0:
  /// there are none, and weights have eight bits.
  int decode_bytes_per_clock = 32;
  Decompress decompress = Decompress::kLoad;

  int cores() const { return clusters * cores_per_cluster; }
  /// Command processors: the cores' and the memory cores'.
  int processors() const { return clusters * (cores_per_cluster + 1); }
  /// Without a size of its own the SRAM has room for the NRAMs of its cluster, in whole rows of its banks.
  std::int64_t sram_bytes() const {
    if (sram.size_bytes > 0) return sram.size_bytes;
    const std::int64_t row = std::int64_t{sram.banks} * sram.bank_bytes;
    return (cores_per_cluster * core.nram.size_bytes + row - 1) / row * row;
  }
};

/// The name of processor `processor` in programs and listings: "core 0.1", "memory 0", or "soc".
std::string processor_name(const std::optional<ChipConfig>& chip, int processor);

/// The settings of the planner (SPEC SW-3, UI-2).
struct PlannerConfig {
  /// Run dilated kernels as larger dense kernels with zeros: the baseline of SW-3.
  bool zero_inserted = false;
  LoopOrder loop_order = LoopOrder::kAuto;
  int max_tile_rows = 0;  ///< most output rows per tile, in multiples of G and at least G; 0: as many as fit
  /// most output columns per tile, in multiples of L and at least L; 0: as many as fit
  int max_tile_columns = 0;
  bool weight_prefetch = true;  ///< weight prefetch: kernels of a layer may be loaded during an earlier one
  /// mappings per layer that are simulated, those with the best estimates; absent: some of a short layer
  /// alone
  std::optional<int> search;
  /// A concat whose first operand is a whole tensor writes its other operands behind it (SPEC AT-2).
  bool append_in_place = true;
  MapLayout map_layout = MapLayout::kNhwc;  ///< layout of maps in DRAM (SPEC OT-2)
  int map_block_channels = 16;              ///< channels of a block of NCHWc
};

/// A whole hardware file (SPEC UI-2).
struct HardwareConfig {
  std::string name = "switch16";
  double clock_mhz = 1000.0;
  std::string dataflow = engine_descriptions().front().dataflow;  ///< the engine that runs the matrix work
  bool fused = false;
  FusionConfig fusion;
  EngineConfigs engines;
  DmaConfig dma;
  InterconnectConfig interconnect;
  DramConfig dram;
  HostConfig host;
  /// Absent: the system on chip of document 000, without NRAM, WRAM and SRAM.
  std::optional<ChipConfig> chip;
  PlannerConfig planner;
  TechnologyConfig technology;

  /// The configuration of one engine, whether or not `dataflow` names it: `engine<WfoldConfig>().slaves`.
  template <class T>
  T& engine() {
    return engines.get<T>();
  }
  template <class T>
  const T& engine() const {
    return engines.get<T>();
  }
  /// The engine that `dataflow` names.
  const EngineConfig& matrix_engine() const;
  /// Peak multiply-accumulates of one matrix unit a cycle.
  std::int64_t macs_per_clock() const { return matrix_engine().peak_macs_per_clock(); }
  /// Width of the bus that the ports of a matrix unit are on: a core's, or the interconnect.
  int matrix_bus_bytes() const {
    return chip ? chip->core.bus.bytes_per_clock : interconnect.bytes_per_clock;
  }
  /// Whether weights of four bits, and those that come twice, are decoded on their way to the matrix engine.
  bool decodes() const;
  /// Scales of packed kernels that the decoder at a port of the matrix engine has room for; 0: there is none.
  int port_scales() const {
    return chip && chip->decompress == Decompress::kRead ? chip->core.weight_scales : 0;
  }
  /// The length of an NPU clock, rounded to a whole picosecond.
  Picoseconds clock_ps() const;
};

/// Reads and checks a hardware file (SPEC UI-2). Fields that it does not name have their defaults; those of
/// `dram` come from its preset. Throws UserError, one line with file, JSON path, value and allowed range.
HardwareConfig load_hardware(const std::string& path);

/// `load_hardware` of `json`; `file` is named in errors.
HardwareConfig parse_hardware(const nlohmann::json& json, const std::string& file);

/// The rules between fields, such as rows being a multiple of groups. Throws UserError like `load_hardware`.
void check_hardware(const HardwareConfig& config, const std::string& file);

/// The effective configuration: every field with the value it has, as a file that `load_hardware` takes.
nlohmann::ordered_json hardware_to_json(const HardwareConfig& config);

/// The JSON Schema (draft-07) of hardware files; `schema_markdown` makes a table of it.
nlohmann::ordered_json hardware_schema();

}  // namespace tilebeat
