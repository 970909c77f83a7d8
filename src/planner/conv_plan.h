#pragma once

#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/engines/switch_array/schedule.h"
#include "tilebeat/program/plan.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace tilebeat {

/// The array's sizes as its schedules see them.
inline ArrayShape array_shape(const SwitchArrayConfig& c) {
  return {c.rows, c.columns, c.groups, c.port_channels};
}

/// A convolution as the lowering sees it: shapes resolved, the zero-inserted baseline applied.
struct ConvProblem {
  std::string name;
  TensorInfo input, output;
  Conv2d conv;  ///< without weights; dense when the zero-inserted baseline is asked for
  std::shared_ptr<const Tensor> weights;  ///< [Co, Kh, Kw, Ci/groups], zeros inserted likewise
  std::int64_t useful_taps = 0;           ///< taps that are useful work (all but inserted zeros)
  int batch = 1, height = 0, width = 0, channels = 0, out_height = 0, out_width = 0;
  int block_kernels = 1;               ///< kernels of a kernel block
  int first_block = 0, end_block = 0;  ///< kernel blocks that are computed: all, or those of one core
  int taps() const { return conv.kernel[0] * conv.kernel[1]; }
};
/// The problem of a whole layer, in blocks of `block_kernels` kernels. `workload` outlives it.
ConvProblem make_problem(const Workload& workload, const Layer& layer, const PlannerConfig& planner,
                         int block_kernels);
/// The registers of the convolution. Throws UserError for what they cannot hold.
ConvSetup conv_setup(const ConvProblem& problem);
/// `value` as a field of 16 bits. Throws UserError that the layer cannot fit when it is not.
std::uint16_t narrow(const ConvProblem& problem, std::int64_t value, const char* what);
/// The post-parameters of kernel `kernel`; neutral ones when the layer has none or there is no such kernel.
PostParameter post_parameter(const ConvProblem& problem, int kernel);

/// Channel blocks [begin, end) that the kernels of block `kb` touch (SPEC SW-3).
struct PlaneRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
};
PlaneRange planes_of(const ConvProblem& problem, const ArrayShape& array, int kernel_block);

/// A tile: output pixels, and the input pixels inside the map that they need.
struct Tile {
  int image = 0;
  int out_row = 0, out_column = 0, rows = 0, columns = 0;
  int in_row = 0, in_column = 0, height = 0, width = 0;
  int h_offset = 0, w_offset = 0;  ///< tile-local input position of its output (0,0), tap (0,0)
};
std::vector<Tile> tiles_of(const ConvProblem& problem, const ConvTiling& tiling);

/// Where a map lies in memory: bytes from one image, row, pixel to the next.
struct MapPlace {
  std::uint64_t address = 0;
  std::int64_t image_stride = 0, row_stride = 0, pixel_stride = 0;
  std::uint64_t at(int image, int row, int column) const {
    return address +
           static_cast<std::uint64_t>(image * image_stride + row * row_stride + column * pixel_stride);
  }
};

/// Semaphores of the buffers around a segment; 0: nobody fills or empties them meanwhile.
struct SegmentTokens {
  Semaphore map_full = 0;      ///< waited for by the first load of the map
  Semaphore map_free = 0;      ///< given when the last load of the map is done
  Semaphore kernels_full = 0;  ///< likewise for kernels
  Semaphore kernels_free = 0;
  Semaphore result_free = 0;  ///< waited for by the first store
  Semaphore result_full = 0;  ///< given when the last store is done
};

/// Work of one matrix unit on one map, range of kernels and place for results. The system on chip has one a
/// layer, with everything in DRAM; a core has one for every tile in NRAM and group of kernels in WRAM.
struct Segment {
  ConvProblem problem;  ///< of the map that lies in memory, and the kernel blocks of the segment
  std::vector<Tile> tiles;
  MapPlace input, output;     ///< output: its channel 0 is the first kernel's
  std::uint64_t kernels = 0;  ///< packed kernels of the segment's first kernel block
  std::uint64_t post = 0;     ///< post-parameter records of that block; 0: none
  int map_load = 0;           ///< segments of one number find the same map there
  int kernel_load = 0;        ///< segments of one number find the same kernels there
  SegmentTokens tokens;
};

/// One chunk of the work, with what it needs and what happens around it.
struct Chunk {
  int segment = 0, tile = 0, kernel_block = 0;
  PlaneRange planes;  ///< channel blocks that it runs over
  bool first = true, last = true;
  int copy = 0;  ///< copy of the input banks
  bool loads_input = false;
  bool waits_input = false;     ///< the copy was in use before
  int load_input_before = 0;    ///< chunk before which the load is placed in the program
  bool releases_input = false;  ///< a later load reuses the copy
  int slot = 0;                 ///< region of the parameter buffer
  bool loads_kernels = false;
  int load_kernels_before = 0;
  bool waits_kernels = false;  ///< the slot was in use before
  bool releases_kernels = false;
  int half = 0;  ///< half of the output buffer
  int first_stored_block = 0,
      stored_blocks = 1;  ///< kernel blocks of the store that this chunk's results go into
  bool begins_store = false, ends_store = false;
  bool waits_output = false;   ///< begins_store, and the half was in use before
  bool output_reused = false;  ///< ends_store, and a later chunk reuses the half
};

/// The chunks of the segments in order, with residency worked out.
std::vector<Chunk> chunks_of(const std::vector<Segment>& segments, const HardwareConfig& hardware,
                             const ConvTiling& tiling);

/// Words a column that one slot of the parameter buffer takes under `tiling`.
int slot_words(const ConvProblem& problem, const HardwareConfig& hardware, const ConvTiling& tiling);

/// The way from where maps, kernels and results lie to the engine, for estimates.
struct MemoryPath {
  int bus_bytes = 16;             ///< a clock and port
  double memory_bytes = 16;       ///< a clock
  std::int64_t burst_bytes = 64;  ///< that the memory always moves whole
  int request_cycles = 2;
};
/// Bytes a clock of the NPU that all DRAM channels of one controller transfer at most.
double dram_bytes_per_clock(const HardwareConfig& hardware);
/// The way of the system on chip: its DRAM.
MemoryPath dram_path(const HardwareConfig& hardware);

/// Picks the tiling. Throws UserError when the layer cannot fit.
ConvTiling choose_tiling(const ConvProblem& problem, const HardwareConfig& hardware, const MemoryPath& path,
                         std::string& reason);

/// Channels that the input load of a chunk fetches: all, or those of the chunk's channel blocks.
struct ChannelRange {
  int begin = 0, count = 0;
};
ChannelRange loaded_channels(const ConvProblem& problem, int port_channels, bool channels_resident,
                             const Chunk& chunk);

/// Bytes that a chunk list moves between memory and engine.
struct Traffic {
  std::int64_t input = 0, kernels = 0, output = 0;
};
Traffic traffic_of(const std::vector<Segment>& segments, const HardwareConfig& hardware,
                   const ConvTiling& tiling, const std::vector<Chunk>& chunks);

/// Packed kernels of a layer: for each (kernel block, first plane) a run of words.
struct PackedKernels {
  std::vector<std::vector<std::uint8_t>> bytes;  ///< of each kernel block: all of a layer's can be large
  std::map<std::pair<int, int>, std::uint64_t> offsets;
  std::vector<std::uint64_t> blocks;  ///< offset of each kernel block, and the end
};
PackedKernels pack_kernels(const ConvProblem& problem, const ArrayShape& array, const ConvTiling& tiling);
/// Post-parameter records of a layer, C a kernel block; empty when the layer has neither bias nor
/// requantisation.
std::vector<std::uint8_t> pack_post_parameters(const ConvProblem& problem, const ArrayShape& array);

/// The instructions of the matrix unit and its channels, by the segment before whose chunks they are placed;
/// a load is placed at most one segment ahead.
std::vector<std::vector<Instruction>> lower_segments(const std::vector<Segment>& segments,
                                                     const HardwareConfig& hardware, const ConvTiling& tiling,
                                                     const PackedKernels& kernels);

/// `useful` multiply-accumulates of one output pixel of kernel block `kb` over channel blocks `planes`.
std::int64_t macs_per_pixel(const ConvProblem& problem, const ArrayShape& array, int kernel_block,
                            PlaneRange planes);

}  // namespace tilebeat
