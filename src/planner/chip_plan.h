#pragma once

#include "tilebeat/isa/address_map.h"

#include <vector>

#include "plan_builder.h"

namespace tilebeat {

/// A copy of `rows` x `columns` runs between memories; strides in bytes.
struct CopyShape {
  std::int64_t run = 0, columns = 1, rows = 1;
  std::int64_t source_column = 0, source_row = 0, destination_column = 0, destination_row = 0;
  std::int64_t bytes() const { return run * columns * rows; }
};
/// One run of bytes.
inline CopyShape plain(std::int64_t bytes) {
  CopyShape shape;
  shape.run = bytes;
  return shape;
}
/// One such copy between DRAM and a memory of a core.
struct Transfer {
  std::uint64_t source = 0, destination = 0;
  CopyShape shape;
};
/// The copies that move it: several when a count is beyond what an instruction holds.
std::vector<Instruction> copies_of(Unit unit, std::uint64_t source, std::uint64_t destination,
                                   const CopyShape& shape);
/// Transfers that belong together, with semaphores of the core that they are for.
struct Movement {
  std::vector<Transfer> transfers;
  Semaphore waits = 0;     ///< taken before the first
  Semaphore releases = 0;  ///< given when the last has been read
  Semaphore done = 0;      ///< given when the last is complete
  std::int64_t bytes() const;
};

/// The copies of `unit` that carry them out.
std::vector<Instruction> copies_of(Unit unit, const Movement& movement);
inline void append(std::vector<Instruction>& program, const std::vector<Instruction>& more) {
  program.insert(program.end(), more.begin(), more.end());
}

/// The work of one core in one layer: what it fetches, computes and stores, in steps that overlap through
/// pairs of buffers in NRAM and WRAM. Loads are from DRAM, stores to DRAM; the way they take is another
/// matter.
struct CoreWork {
  enum class Operand { kMap, kKernels };  ///< kKernels: factors of vector layers, too
  struct Load {
    Movement movement;
    int step = 0;  ///< the first step that needs it
    Operand operand = Operand::kMap;
    std::vector<Instruction> before{}, after{};  ///< of the core itself, around the movement
  };
  std::vector<Load> loads;                      ///< in rising order of `step`
  std::vector<std::vector<Instruction>> steps;  ///< what computes
  std::vector<Movement> stores;                 ///< by step
  int ahead = 1;                                ///< steps by which loads run ahead; 0 with single buffers
};

/// What a memory core does of itself before a step of its cores.
struct MemoryStep {
  std::vector<Instruction> instructions;
  int step = 0;
};

/// What goes through the SRAM between DRAM and the cores (SPEC HI-4); everything else goes by IODMA.
struct SramWays {
  bool maps = false, kernels = false, stores = false;
  bool any() const { return maps || kernels || stores; }
};

/// An interval of a dimension.
struct Interval {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
};
/// Part `index` of `parts` of [0, extent), sizes multiples of `granule` but the last, as even as that allows;
/// may be empty.
Interval part_of(int extent, int parts, int index, int granule);

/// The command processor of a core.
int processor_of(const ChipConfig& chip, int core);

constexpr std::int64_t kBufferAlignment = 256;

/// One axis of a map that is read through a window: the outputs of a part, the inputs inside the map that
/// they need, and where tap 0 of the first output lies counted from the first of these inputs.
struct Window {
  int out = 0, outs = 0, in = 0, ins = 0, offset = 0;
};
Window window_of(Interval outs, int extent, int kernel, int stride, int dilation, int pad);

/// What the processors of a chip do in one layer.
struct ChipWork {
  std::vector<CoreWork> cores;                  ///< by core; `ahead` is the same for all that work
  std::vector<std::vector<MemoryStep>> memory;  ///< by cluster: of its memory core, in rising order of steps
  std::int64_t sram_bytes = 0;                  ///< of every SRAM, from its first byte, that these use
  SramWays ways;
};
ChipWork plan_chip_conv(PlanBuilder& builder, const Layer& layer, LayerPlan& made);
/// The same for cores with a W-fold engine.
ChipWork plan_chip_wfold(PlanBuilder& builder, const Layer& layer, LayerPlan& made);
ChipWork plan_chip_vector(PlanBuilder& builder, const Layer& layer, LayerPlan& made);

/// Cores that one fetch into the SRAM feeds at most: the next one waits for a semaphore of each.
constexpr int kMostReaders = 4;
/// The part of a layer in one processor's program.
struct ProcessorWork {
  std::vector<Instruction> instructions;
  bool stores = false;  ///< the last store of a result gives kLayerStored
};
/// The work of a cluster as its processors do it: its cores, then its memory core. Adds what cores load to
/// the planned traffic of `made`. Throws UserError when the SRAM is too small for `work.ways`.
std::vector<ProcessorWork> lower_cluster(const HardwareConfig& hardware, int cluster, const ChipWork& work,
                                         LayerPlan& made);

/// A part of movements that goes through one buffer of the SRAM at a time.
using Parcel = std::vector<Transfer>;
/// Cuts a movement into parcels of at most `bytes`: whole rows, else runs, else pieces of a run.
std::vector<Parcel> parcels_of(const Movement& movement, std::int64_t bytes);
/// The legs of a parcel by way of the SRAM's bytes from `sram` on, where it lies without gaps.
std::vector<Transfer> into_sram(const Parcel& parcel, std::uint64_t sram);
std::vector<Transfer> out_of_sram(const Parcel& parcel, std::uint64_t sram);

/// Whether memory cores have programs: where data may come through the SRAM (SPEC HI-4).
bool memory_cores_work(const ChipConfig& chip);

}  // namespace tilebeat
