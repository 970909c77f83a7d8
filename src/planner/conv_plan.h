#pragma once

#include "tilebeat/dataflow/switch_array.h"
#include "tilebeat/planner/plan.h"

#include <cstdint>
#include <functional>
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
  Conv2d conv;                   ///< with zero-inserted weights when the baseline is asked for
  std::int64_t useful_taps = 0;  ///< taps that are useful work (all but inserted zeros)
  int batch, height, width, channels, out_height, out_width;
  int taps() const { return conv.kernel[0] * conv.kernel[1]; }
};
ConvProblem make_problem(const Workload& workload, const Layer& layer, const PlannerConfig& planner);

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

/// One chunk of the layer, with what it needs and what happens around it.
struct Chunk {
  int tile = 0, kernel_block = 0;
  PlaneRange planes;  ///< channel blocks that it runs over
  bool first = true, last = true;
  int copy = 0;  ///< copy of the input banks
  bool loads_input = false;
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

/// The chunks of a tiling in order, with residency worked out.
std::vector<Chunk> chunks_of(const ConvProblem& problem, const HardwareConfig& hardware,
                             const ConvTiling& tiling, const std::vector<Tile>& tiles);

/// Words a column that one slot of the parameter buffer takes under `tiling`.
int slot_words(const ConvProblem& problem, const HardwareConfig& hardware, const ConvTiling& tiling);

/// Picks the tiling. Throws UserError when the layer cannot fit.
ConvTiling choose_tiling(const ConvProblem& problem, const HardwareConfig& hardware, std::string& reason);

/// Channels that the input load of a chunk fetches: all, or those of the chunk's channel blocks.
struct ChannelRange {
  int begin = 0, count = 0;
};
ChannelRange loaded_channels(const ConvProblem& problem, int port_channels, bool channels_resident,
                             const Chunk& chunk);

/// DRAM bytes of a chunk list.
struct Traffic {
  std::int64_t input = 0, kernels = 0, output = 0;
};
Traffic traffic_of(const ConvProblem& problem, const HardwareConfig& hardware, const ConvTiling& tiling,
                   const std::vector<Tile>& tiles, const std::vector<Chunk>& chunks);

/// Packed kernels of a layer in DRAM: for each (kernel block, first plane) a run of words.
struct PackedKernels {
  std::vector<std::uint8_t> bytes;
  std::map<std::pair<int, int>, std::uint64_t> offsets;
};
PackedKernels pack_kernels(const ConvProblem& problem, const ArrayShape& array, const ConvTiling& tiling);
/// Post-parameter records of a layer, C a kernel block; empty when the layer has neither bias nor
/// requantisation.
std::vector<std::uint8_t> pack_post_parameters(const ConvProblem& problem, const ArrayShape& array);

/// Addresses that the lowering of one layer needs.
struct ConvAddresses {
  std::uint64_t input = 0, output = 0, kernels = 0, post = 0;
};
/// Appends the layer's instructions, `layer.end` included.
void lower_conv(const ConvProblem& problem, const HardwareConfig& hardware, const ConvTiling& tiling,
                const PackedKernels& kernels, const ConvAddresses& addresses, std::uint32_t layer,
                std::vector<Instruction>& program);

/// `useful` multiply-accumulates of one output pixel of kernel block `kb` over channel blocks `planes`.
std::int64_t macs_per_pixel(const ConvProblem& problem, const ArrayShape& array, int kernel_block,
                            PlaneRange planes);

}  // namespace tilebeat
