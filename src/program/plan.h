#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "isa/instruction.h"
#include "workload/tensor.h"
#include "workload/workload.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The planner's decisions for a layer or fusion group, and its estimates.
struct LayerPlan {
  std::string name, op, scene;
  /// for a fusion group: its layers in the workload; the group's name is the last one's
  std::vector<std::string> layers;
  /// name and text (decision and reason) of each choice
  std::vector<std::pair<std::string, std::string>> choices;
  std::vector<std::pair<std::string, std::string>> facts;  ///< the engine's facts: name and text
  std::int64_t macs = 0;                                   ///< useful multiply-accumulates
  std::int64_t beats = 0;                                  ///< beats of all its runs on matrix engines
  std::int64_t input_bytes = 0;   ///< planned DRAM reads of maps, halo and reloads included
  std::int64_t kernel_bytes = 0;  ///< planned DRAM reads of packed kernels, biases, scales and factors
  /// Bytes in `kernel_bytes` that are prefetched for later layers; bytes not in `kernel_bytes` that an
  /// earlier layer prefetches for this one.
  std::int64_t bytes_ahead = 0, bytes_before = 0;
  std::int64_t output_bytes = 0;  ///< planned DRAM writes
  /// planned DRAM reads of its instructions, and of tables that matrix units read themselves
  std::int64_t instruction_bytes = 0, table_bytes = 0;
  BoundCycles bound;
  Cycle estimated_cycles = 0;  ///< the planner's estimate (SPEC MA-3); 0: unknown
  bool overlaps = false;       ///< it begins before the previous layer is complete
  int ends = 1;                ///< times that programs execute its `layer.end`; it is complete at the last
  std::optional<HostBytes> on_host = std::nullopt;  ///< the host computes it: programs have nothing of it
};

/// A program under its label (SPEC SW-6).
struct ProgramImage {
  std::string label;
  int processor = 0;  ///< the processor that runs it; in a chip, see Chip
  std::uint64_t address = 0;
  std::vector<Instruction> instructions;
  std::vector<int> lines = {};  ///< of a program by hand: their lines in the program file, from 1
};

/// The programs of a label in a table, for chips with a start unit.
struct StartTable {
  std::string label;
  std::uint64_t address = 0, bytes = 0;
};

/// Bytes that the host puts into DRAM before the run.
struct MemorySegment {
  std::string what;
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

/// The place of a tensor in DRAM.
struct Placement {
  std::uint64_t address = 0;
  TensorInfo info;
  StoredMapPointer stored = {};  ///< absent: C order of its shape
  /// Bytes that it takes.
  std::int64_t size_bytes() const { return stored ? stored->size_bytes() : info.size_bytes(); }
};

/// A layer as a node of the workload's graph.
struct GraphLayer {
  std::string name, op;
  std::vector<std::string> inputs;  ///< layers and inputs of the workload that it reads, in its order
};

/// A layer that the host computes. It reads and writes DRAM without time passing.
struct HostLayer {
  std::uint32_t number = 0;  ///< in `Plan::layers`
  std::size_t programs = 0;  ///< labels whose programs run before it
  HostOperation operation;
  std::vector<std::string> inputs;  ///< tensors
};

/// A workload lowered to programs and a memory image.
struct Plan {
  std::string name;                  ///< the workload's, or the program file's
  std::string file;                  ///< the program file of programs by hand; else empty
  std::vector<std::string> outputs;  ///< tensors that a run writes
  bool hand_written = false;         ///< user-written programs, whose purpose is unknown
  std::vector<GraphLayer> graph;     ///< of the workload, each layer behind those that it reads
  std::vector<LayerPlan> layers;     ///< by the number that `layer.end` carries
  std::vector<ProgramImage> programs;
  std::vector<StartTable> start_tables;  ///< in the order of their labels' first programs, or none
  std::vector<HostLayer> host_layers;    ///< in the order in which they are computed
  std::vector<MemorySegment> image;
  std::map<std::string, Placement> tensors;
  std::uint64_t dram_bytes = 0;  ///< highest address in use
};

/// The planner's decisions and estimates as text, a paragraph per layer.
std::string layers_text(const Plan& plan);
/// The programs of a plan as text, a line each, and the DRAM in use.
std::string programs_text(const Plan& plan, const HardwareConfig& hardware);

/// Where the hardware has a start unit (`host.start` = "table"), places a table of the programs of every
/// label behind everything else in DRAM: an entry per program with its address (8 bytes), its length in bytes
/// (4) and its processor (4), little-endian. `programs` have their addresses already. `dram_bytes` grows
/// accordingly.
void place_start_tables(Plan& plan, const HardwareConfig& hardware);

}  // namespace tilebeat
