#pragma once

#include "base/math.h"
#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "isa/instruction.h"
#include "planner/language/task_graph.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Where an NHWC tensor, or a tile of one, lies in a memory: the byte address of its first element, and the
/// bytes from one image, row, pixel and channel to the next. The channels of a pixel are neighbours, but in
/// the A of a product that is stored transposed.
struct TensorLayout {
  std::uint64_t address = 0;
  std::int64_t image_stride = 0, row_stride = 0, pixel_stride = 0;
  std::int64_t channel_stride = 1;
  /// A map in DRAM that really lies in another order: transfers are moved (moved_transfers.h).
  StoredMapPointer stored = {};

  /// The address of channel 0 of a pixel.
  std::uint64_t at(std::int64_t image, std::int64_t row, std::int64_t column) const {
    return address + to_unsigned(image * image_stride + row * row_stride + column * pixel_stride);
  }
  /// The same tensor with `bytes` of every pixel in front left out.
  TensorLayout from_channel_byte(std::int64_t bytes) const {
    TensorLayout part = *this;
    part.address += to_unsigned(bytes);
    return part;
  }
  /// A tensor that fills its place without gaps.
  static TensorLayout dense(std::uint64_t address, std::int64_t height, std::int64_t width,
                            std::int64_t pixel_bytes) {
    return {address, height * width * pixel_bytes, width * pixel_bytes, pixel_bytes, 1};
  }
};

/// A copy of `rows` x `columns` runs of bytes between memories; strides in bytes. With `transposed` each row
/// is a block that arrives transposed (Copy::transposed_columns): byte j of its run i at i + (j mod
/// transposed) * destination_column + (j div transposed) * transposed_row.
struct CopyShape {
  std::int64_t run = 0, columns = 1, rows = 1;
  std::int64_t source_column = 0, source_row = 0, destination_column = 0, destination_row = 0;
  std::int64_t transposed = 0, transposed_row = 0;
  std::int64_t bytes() const { return run * columns * rows; }
};
/// One run of bytes.
inline CopyShape one_run(std::int64_t bytes) {
  CopyShape shape;
  shape.run = bytes;
  return shape;
}

/// One such copy from one address to another.
struct Transfer {
  std::uint64_t source = 0, destination = 0;
  CopyShape shape;
};
std::int64_t bytes_of(const std::vector<Transfer>& transfers);
/// Which of its two addresses.
enum class TransferEnd : std::uint8_t { kSource, kDestination };

/// The instructions of the DMA engine `unit` that carry out a transfer: several where a count is beyond what
/// one holds.
std::vector<Copy> copies_of(Unit unit, const Transfer& transfer);
/// Calls `function` with each of them.
template <class Function>
void each_copy(Unit unit, const Transfer& transfer, const Function& function);
/// Runs that a copy has at most of each axis: its counts have 16 bits.
constexpr std::int64_t kMostCopyRuns = 65535;
/// The copy of a part of a transfer: the runs from (`row`, `column`) on that one copy can have.
Copy copy_from(Unit unit, const Transfer& transfer, std::int64_t row, std::int64_t column);

template <class Function>
void each_copy(Unit unit, const Transfer& transfer, const Function& function) {
  for (std::int64_t row = 0; row < transfer.shape.rows; row += kMostCopyRuns) {
    for (std::int64_t column = 0; column < transfer.shape.columns; column += kMostCopyRuns)
      function(copy_from(unit, transfer, row, column));
  }
}

/// Transfers cut into parts that pass through a buffer of `bytes` bytes one after the other: whole rows, else
/// runs, else pieces of a run. The transfers of a part lie in the buffer without gaps.
std::vector<std::vector<Transfer>> parts_of(const std::vector<Transfer>& transfers, std::int64_t bytes);
/// A part's way into the buffer at `address`, and its way out of it.
std::vector<Transfer> into_buffer(const std::vector<Transfer>& part, std::uint64_t address);
std::vector<Transfer> out_of_buffer(const std::vector<Transfer>& part, std::uint64_t address);

// ---- what transfers are expected to cost ----

/// `count` runs of `run` bytes that do not touch. Where they begin differs by multiples of `step`; 0: there
/// is one.
struct Runs {
  std::int64_t run = 0, count = 1, step = 0;
};
/// Runs of a block of rows and columns, those that touch taken together.
Runs merged_runs(std::int64_t run, std::int64_t columns, std::int64_t column_stride, std::int64_t rows,
                 std::int64_t row_stride);

/// A port through which bursts go to a memory.
struct PortPath {
  int width = 16;          ///< bytes a cycle
  int burst_bytes = 1024;  ///< of the longest burst
  int outstanding = 8;     ///< bursts under way
  double round_trip = 60;  ///< cycles from a request to its answer, idle, without what depends on its bytes
  std::int64_t atom = 1;   ///< bytes that the memory always moves whole
  double memory = 64;      ///< bytes a cycle at which the memory collects a burst before it answers
  /// Bytes of its bus that a run loses, on average: it begins in another row, and a run that is written also
  /// turns the bus round.
  std::int64_t lost_by_run = 0;
};
/// Ways of DMA channels and engines: from and to DRAM, to a core's memories, to the memory of a cluster. The
/// row of a write is opened while its data arrive.
enum class Direction : std::uint8_t { kRead, kWrite };
PortPath dram_path(const HardwareConfig& hardware, const DmaConfig& dma, Direction direction);
PortPath core_path(const ChipConfig& chip, const DmaConfig& dma);
PortPath cluster_path(const ChipConfig& chip);
/// From a CDMA to the memory of another cluster.
PortPath link_path(const ChipConfig& chip);
/// Cycles from the request of the longest burst of such runs to its answer, without the bus's beats.
double round_trip(const Runs& runs, const PortPath& path);
/// The bus's beats of that burst.
double burst_beats(const Runs& runs, const PortPath& path);
/// Cycles that runs take through a port.
double port_cycles(const Runs& runs, const PortPath& path);
/// Bytes that runs, of which one begins at `address`, take of the memory's bus: whole atoms, as many as a run
/// touches on average.
double bus_bytes(const Runs& runs, const PortPath& path, std::uint64_t address);

/// From here on lie kernels, for estimates, whose place in DRAM is not decided yet: one block behind the
/// other.
constexpr std::uint64_t kUnplaced = kDramEnd - (std::uint64_t{1} << 38);

/// What copies between memories cost, by what their addresses name.
class CopyCosts {
 public:
  explicit CopyCosts(const HardwareConfig& hardware);
  TaskCost of(const Copy& copy) const;

 private:
  // Ways of one DMA engine.
  struct Ways {
    Ways(const HardwareConfig& hardware, const DmaConfig& dma);
    PortPath dram_read, dram_write, nram, wram;
  };
  const PortPath& path_of(const Ways& ways, std::uint64_t address, Direction direction) const;

  Ways core_, memory_core_;
  PortPath cluster_, link_;
};

/// Bytes a cycle of the NPU that all DRAM channels of one controller transfer at most.
double dram_bytes_per_clock(const HardwareConfig& hardware);
/// Bytes from an address to the next one in the same bank of the same channel and another row.
std::int64_t dram_bank_round(const HardwareConfig& hardware);

}  // namespace tilebeat
