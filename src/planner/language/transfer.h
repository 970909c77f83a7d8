#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "isa/instruction.h"
#include "planner/language/task_graph.h"
#include "workload/tensor.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// The layout of an NHWC tensor, or a tile of one, in a memory: byte address of its first element and the
/// byte strides of images, rows, pixels and channels. The channels of a pixel are contiguous, except in the A
/// of a product that is stored transposed.
struct TensorLayout {
  std::uint64_t address = 0;
  std::int64_t image_stride = 0, row_stride = 0, pixel_stride = 0;
  std::int64_t channel_stride = 1;
  /// Set for a map in DRAM that is stored in another order than NHWC: its transfers need relayout copies
  /// (relayout.h).
  StoredMapPointer stored = {};

  /// The address of channel 0 of a pixel.
  std::uint64_t at(std::int64_t image, std::int64_t row, std::int64_t column) const {
    return address + to_unsigned(image * image_stride + row * row_stride + column * pixel_stride);
  }
  /// The same tensor without the first `bytes` bytes of every pixel.
  TensorLayout from_channel_byte(std::int64_t bytes) const {
    TensorLayout part = *this;
    part.address += to_unsigned(bytes);
    return part;
  }
  /// A tensor of shape [height, width] pixels without gaps.
  static TensorLayout dense(std::uint64_t address, std::int64_t height, std::int64_t width,
                            std::int64_t pixel_bytes) {
    return {address, height * width * pixel_bytes, width * pixel_bytes, pixel_bytes, 1};
  }
};

/// A copy of `rows` x `columns` runs of bytes between memories; strides in bytes. With `transposed` != 0 it
/// is a transposing copy of each row's block (Copy::transposed_columns): byte j of run i arrives at i + (j
/// mod transposed)
/// * destination_column + (j div transposed) * transposed_row.
struct CopyShape {
  std::int64_t run = 0, columns = 1, rows = 1;
  std::int64_t source_column = 0, source_row = 0, destination_column = 0, destination_row = 0;
  std::int64_t transposed = 0, transposed_row = 0;
  /// Bytes of the source, a weight stream (isa/weight_stream.h) whose weights fill the runs of the
  /// destination; 0: the source has the same runs.
  std::int64_t stream = 0;
  std::int64_t bytes() const { return run * columns * rows; }  ///< at the destination
  std::int64_t source_bytes() const { return stream > 0 ? stream : bytes(); }
};
/// One run of bytes.
inline CopyShape one_run(std::int64_t bytes) {
  CopyShape shape;
  shape.run = bytes;
  return shape;
}

/// A copy of that shape from one address to another.
struct Transfer {
  std::uint64_t source = 0, destination = 0;
  CopyShape shape;
};
/// The bytes that transfers read.
std::int64_t bytes_of(const std::vector<Transfer>& transfers);
/// One of the two ends of a transfer.
enum class TransferEnd : std::uint8_t { kSource, kDestination };

/// The DMA engine of a core that takes results to DRAM.
inline Unit store_unit(const CoreConfig& core) {
  return core.stores == StoreOrder::kBetweenBursts ? Unit::kIostore : Unit::kIodma;
}

/// The instructions of DMA engine `unit` that carry out a transfer: several where a count exceeds what one
/// instruction can hold.
std::vector<Copy> copies_of(Unit unit, const Transfer& transfer);
/// Calls `function` with each of these copies.
template <class Function>
void each_copy(Unit unit, const Transfer& transfer, const Function& function);
/// The most runs of a copy along each axis: its counts have 16 bits.
constexpr std::int64_t kMostCopyRuns = 65535;
/// The copy of the part of a transfer that begins at run (`row`, `column`), with as many runs as one copy can
/// have.
Copy copy_from(Unit unit, const Transfer& transfer, std::int64_t row, std::int64_t column);

template <class Function>
void each_copy(Unit unit, const Transfer& transfer, const Function& function) {
  for (std::int64_t row = 0; row < transfer.shape.rows; row += kMostCopyRuns) {
    for (std::int64_t column = 0; column < transfer.shape.columns; column += kMostCopyRuns)
      function(copy_from(unit, transfer, row, column));
  }
}

/// Cuts transfers into parts of at most `bytes` bytes, which pass through a buffer one after the other: whole
/// rows if they fit, else runs, else pieces of a run. The transfers of a part fill the buffer without gaps.
/// Streams are not cut; throws UserError for one that is longer.
std::vector<std::vector<Transfer>> parts_of(const std::vector<Transfer>& transfers, std::int64_t bytes);
/// The transfers that bring a part into the buffer at `address`, and those that take it out again.
std::vector<Transfer> into_buffer(const std::vector<Transfer>& part, std::uint64_t address);
std::vector<Transfer> out_of_buffer(const std::vector<Transfer>& part, std::uint64_t address);

// ---- expected costs of transfers ----

/// `count` separate runs of `run` bytes. Their begins differ by multiples of `step`; 0: there is a single
/// run.
struct Runs {
  std::int64_t run = 0, count = 1, step = 0;
};
/// The runs of a block of rows and columns, with adjacent runs merged.
Runs merged_runs(std::int64_t run, std::int64_t columns, std::int64_t column_stride, std::int64_t rows,
                 std::int64_t row_stride);

/// A port through which bursts go to a memory.
struct PortPath {
  int width = 16;          ///< bytes a cycle
  int burst_bytes = 1024;  ///< bytes of the longest burst
  int outstanding = 8;     ///< bursts in flight
  double round_trip = 60;  ///< cycles from a request to its answer on an idle path, without the part that
                           ///< depends on the bytes
  std::int64_t atom = 1;   ///< access granularity of the memory in bytes
  double memory = 64;      ///< bytes a cycle at which the memory collects a burst before it answers
  /// Average bytes of the memory's bus that a run costs in addition: a run opens a DRAM row, and a written
  /// run also reverses the bus direction.
  std::int64_t lost_by_run = 0;
  /// The same of a run that begins in the bank group where the one before has ended, where each request is
  /// followed; bank groups alternate from atom to atom. 0: they do not.
  std::int64_t lost_in_group = 0;
};
/// Paths of DMA channels and engines to DRAM, to a core's memories and to the memory of a cluster. A write
/// opens its DRAM row while its data arrive.
enum class Direction : std::uint8_t { kRead, kWrite };
PortPath dram_path(const HardwareConfig& hardware, const DmaConfig& dma, Direction direction);
PortPath core_path(const ChipConfig& chip, const DmaConfig& dma);
PortPath cluster_path(const ChipConfig& chip);
/// The path from a CDMA to the memory of another cluster.
PortPath link_path(const ChipConfig& chip);
/// Cycles from the request of the longest burst of such runs to its answer, without the bus beats.
double round_trip(const Runs& runs, const PortPath& path);
/// Bus beats of that burst.
double burst_beats(const Runs& runs, const PortPath& path);
/// Cycles that runs take through a port.
double port_cycles(const Runs& runs, const PortPath& path);
/// Bytes of the memory's bus that `runs` take when one of them begins at `address`: whole atoms, as many as a
/// run touches on average.
double bus_bytes(const Runs& runs, const PortPath& path, std::uint64_t address);
/// Bytes of the bus that they take in addition, because each run begins in the bank group of the one before.
double lost_in_groups(const Runs& runs, const PortPath& path);

/// Estimates assume kernels here, block after block, while their place in DRAM is not decided yet.
constexpr std::uint64_t kUnplaced = kDramEnd - (std::uint64_t{1} << 38);

/// Costs of copies between memories, found from their addresses.
class CopyCosts {
 public:
  explicit CopyCosts(const HardwareConfig& hardware);
  TaskCost of(const Copy& copy) const;
  TaskCost of(const RowGather& rows) const;

 private:
  // The paths of one DMA engine.
  struct Ways {
    Ways(const HardwareConfig& hardware, const DmaConfig& dma);
    PortPath dram_read, dram_write, nram, wram;
    int buffer_bytes;
  };
  RequestCost requests_of(const Copy& copy, const TaskCost& cost, const Runs& at_dram, const PortPath& dram,
                          const Runs& at_other, const PortPath& other) const;
  const PortPath& path_of(const Ways& ways, std::uint64_t address, Direction direction) const;

  Ways core_, memory_core_;
  PortPath cluster_, link_;
  double decode_bytes_, request_cycles_;
};

/// Bytes per NPU cycle that all DRAM channels of one controller transfer at most.
double dram_bytes_per_clock(const HardwareConfig& hardware);
/// Distance in bytes of addresses in the same bank of the same channel and successive rows.
std::int64_t dram_bank_round(const HardwareConfig& hardware);

}  // namespace tilebeat
