#include "engines/wfold/choice.h"

#include "base/types.h"
#include "engines/wfold/config.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilebeat::wfold {
namespace {

bool allows(WfoldReadMode mode, const WfoldSchedule& schedule, std::int64_t half) {
  if (mode == WfoldReadMode::kContinuous) return can_read_continuously(schedule);
  if (mode == WfoldReadMode::kTransit) return transit_holds_block(schedule, half);
  return true;
}

// Appends one line of a region: bytes [bytes.begin, bytes.end) of a folded pixel of the kernel.
void pack_line(const Problem& p, const Tensor& weights, int set, int kernel, int row,
               const FoldedColumn& column, const ByteRange& bytes, std::vector<std::uint8_t>& packed) {
  const std::size_t at = packed.size();
  packed.insert(packed.end(), to_size(bytes.end - bytes.begin),
                static_cast<std::uint8_t>(p.conv.weight_zero_point));
  if (kernel >= p.conv.out_channels) return;
  const int per_group = p.channels / p.conv.groups;
  const int group = kernel / (p.conv.out_channels / p.conv.groups);
  for (const FoldedColumn::Tap& tap : column.taps) {
    const std::int64_t first = std::int64_t{tap.phase} * p.channels + std::int64_t{group} * per_group;
    const std::int64_t begin = std::max(bytes.begin, first), end = std::min(bytes.end, first + per_group);
    if (begin >= end) continue;
    const std::int64_t from =
        (((std::int64_t{set} * p.conv.out_channels + kernel) * p.conv.kernel[0] + row) * p.conv.kernel[1] +
         tap.tap) *
        per_group;
    std::copy_n(weights.bytes.begin() + from + begin - first, end - begin,
                packed.begin() + to_signed(at) + begin - bytes.begin);
  }
}

// Appends the kernels of a region, in the order of WfoldSchedule.
void pack_kernels(const Problem& p, const Tensor& weights, int set, const std::vector<int>& kernels,
                  const ByteRange& channels, int granularity, std::vector<std::uint8_t>& packed) {
  const std::vector<FoldedColumn> columns =
      fold_kernel(p.conv.kernel[1], p.conv.stride[1], p.conv.dilation[1]);
  for (std::int64_t begin = channels.begin; begin < channels.end; begin += granularity) {
    const ByteRange block{begin, std::min(channels.end, begin + granularity)};
    for (const int kernel : kernels) {
      for (int row = 0; row < p.conv.kernel[0]; ++row) {
        for (const FoldedColumn& column : columns)
          pack_line(p, weights, set, kernel, row, column, block, packed);
      }
    }
  }
}

void pack_records(const Problem& p, const std::vector<int>& kernels, std::vector<std::uint8_t>& packed) {
  for (const int kernel : kernels) {
    const auto record = encode(post_parameter(p, kernel));
    packed.insert(packed.end(), record.begin(), record.end());
  }
}

}  // namespace

int kernels_of_regions(const Problem& p, int slaves, int block) {
  return ceil_div(p.kernels_of({block, block + 1}), slaves) * slaves;
}

std::int64_t packed_bytes(const Problem& p, const WfoldConfig& config, int block) {
  const ByteRange channels = channels_of(p, block, 1);
  const auto columns = to_signed(fold_kernel(p.conv.kernel[1], p.conv.stride[1], p.conv.dilation[1]).size());
  const std::int64_t kernel = kernel_layout_of(p, config, block, 1).own()
                                  ? std::int64_t{p.taps()} * (p.channels / p.conv.groups)
                                  : p.conv.kernel[0] * columns * (channels.end - channels.begin);
  return kernels_of_regions(p, config.slaves, block) *
         (kernel + (p.has_post_parameters() ? kPostParameterBytes : 0));
}

bool deals_kernels(const Problem& p, const WfoldConfig& config) {
  return config.kernel_place != KernelPlace::kOffline && !p.kernel_tensor;
}

WfoldKernelLayout kernel_layout_of(const Problem& p, const WfoldConfig& config, int block, int slave_groups) {
  if (!deals_kernels(p, config)) return {};
  // Without a stride and groups nothing lies between the bytes of a line.
  const bool in_place =
      config.kernel_place == KernelPlace::kInPlace && (p.conv.stride[1] > 1 || p.conv.groups > 1);
  WfoldKernelLayout layout{in_place ? KernelBytesAre::kFolded : KernelBytesAre::kOwn,
                           p.channels / p.conv.groups, 0, 0};
  if (p.conv.groups == 1) return layout;
  layout.group_kernels = p.conv.out_channels / p.conv.groups;
  layout.first_in_group = block * p.block_kernels % layout.group_kernels;
  layout.slave_groups = slave_groups;
  return layout;
}

int fitting_block_kernels(const Workload& workload, const Layer& layer, const HardwareConfig& hardware) {
  const WfoldConfig& config = hardware.engine<WfoldConfig>();
  const WfoldShape shape = wfold_shape(config);
  for (int per_slave = shape.kernels_per_slave(); per_slave > 1; --per_slave) {
    const Problem p = make_problem(workload, layer, hardware, shape.slaves * per_slave);
    if (packed_bytes(p, config, 0) <= hardware.chip->core.wram.size_bytes / 2) return p.block_kernels;
  }
  return shape.slaves;
}

ByteRange channels_of(const Problem& p, int block, int slave_groups) {
  const std::int64_t pixel = std::int64_t{p.conv.stride[1]} * p.channels;
  if (p.conv.groups == 1) return {0, pixel};
  const int first = block * p.block_kernels;
  const Interval channels =
      channels_of_kernels(p, {first, first + p.kernels_of({block, block + 1}) / slave_groups});
  return {channels.begin, pixel - p.channels + channels.end};
}

WfoldGeometry tile_geometry(const Problem& p, const WfoldChoice& choice, const WfoldConfig& config, int block,
                            int columns, const ByteRange& channels) {
  WfoldGeometry g;
  g.rows = 1, g.columns = columns, g.kernels = p.kernels_of({block, block + 1});
  g.kernel_layout = kernel_layout_of(p, config, block, choice.slave_groups);
  g.height = p.conv.kernel[0];
  g.kernel_h = p.conv.kernel[0], g.stride_h = p.conv.stride[0], g.dilation_h = p.conv.dilation[0];
  g.kernel_w = p.conv.kernel[1], g.stride_w = p.conv.stride[1], g.dilation_w = p.conv.dilation[1];
  g.pixel_bytes = p.conv.stride[1] * p.channels;
  g.first_channel = to_int(channels.begin);
  g.channels = to_int(channels.end - channels.begin);
  g.granularity = choice.granularity.granularity;
  g.post_parameters = p.has_post_parameters();
  return g;
}

namespace {

// One row of a tile that takes bytes `channels` of a folded pixel.
WfoldSchedule tile_of(const Problem& p, const WfoldChoice& choice, const WfoldConfig& config,
                      const ByteRange& channels) {
  const int columns = choice.shape.tile_columns(choice.granularity.granularity);
  WfoldGeometry geometry = tile_geometry(p, choice, config, 0, columns, channels);
  geometry.block_outer = config.block_order == BlockOrder::kBlockOuter;
  return {choice.shape, geometry};
}

// The read mode of a tile; nothing when `config` forces one that it does not allow.
std::optional<WfoldReadMode> mode_of(const WfoldSchedule& tile, const WfoldConfig& config) {
  const std::int64_t half = config.transit_bytes / 2;
  if (config.read_mode == ReadChoice::kAuto) return choose_read_mode(tile, half);
  const auto forced = static_cast<WfoldReadMode>(to_int(config.read_mode) - 1);
  return allows(forced, tile, half) ? std::optional(forced) : std::nullopt;
}

}  // namespace

WfoldReadMode read_mode_of(const Problem& p, const WfoldChoice& choice, const ByteRange& channels,
                           const WfoldConfig& config) {
  const WfoldSchedule tile = tile_of(p, choice, config, channels);
  if (const auto mode = mode_of(tile, config)) return *mode;
  const std::int64_t half = config.transit_bytes / 2;
  std::string allowed{kReadChoiceNames.front()};
  for (const auto mode : {WfoldReadMode::kContinuous, WfoldReadMode::kStrided, WfoldReadMode::kTransit}) {
    if (allows(mode, tile, half)) allowed += fmt::format(", {}", nth(kWfoldReadModeNames, mode));
  }
  throw UserError(fmt::format(
      "layer '{}' cannot fit wfold.read_mode {}, allowed are {}: {} channels of a pixel of {} bytes are {} "
      "blocks, half the transit buffer has {} bytes",
      p.name, nth(kReadChoiceNames, config.read_mode), allowed, tile.geometry().channels,
      tile.geometry().pixel_bytes, tile.blocks(), half));
}

namespace {

// Whether the kernels of every block can be dealt to groups of slaves: all slaves have equally many kernels,
// and every group of slaves whole groups of the convolution (document 003 [0063]).
bool can_send_to(int slave_groups, const Problem& p, const WfoldConfig& config) {
  if (slave_groups == 1) return true;
  if (p.conv.groups == 1 || !deals_kernels(p, config) || config.slaves % slave_groups != 0 ||
      slave_groups % config.masters != 0)
    return false;
  const int group_kernels = p.conv.out_channels / p.conv.groups;
  const auto fits = [&](int kernels) {
    return kernels % config.slaves == 0 && kernels / slave_groups % group_kernels == 0;
  };
  const int last = p.kernel_blocks() - 1;
  return fits(p.kernels_of({0, 1})) && p.kernels_of({last, last + 1}) == p.kernels_of({0, 1});
}

// Cycles that a choice takes a column: those of beats, lines or requests, whichever are most; nothing when it
// cannot read lines as `config` says.
std::optional<double> cycles_a_column(const Problem& p, const WfoldChoice& choice,
                                      const WfoldConfig& config) {
  const WfoldSchedule tile = tile_of(p, choice, config, channels_of(p, 0, choice.slave_groups));
  const std::optional<WfoldReadMode> mode = mode_of(tile, config);
  if (!mode) return std::nullopt;
  const std::int64_t lines = tile.all_lines() / tile.groups(), window = lines * tile.fold();
  std::int64_t requests = tile.all_lines();
  if (*mode == WfoldReadMode::kStrided) requests = window * tile.groups();
  if (*mode == WfoldReadMode::kTransit)
    requests = transit_holds_pixels(tile, config.transit_bytes / 2) ? window / tile.blocks() : window;
  requests *= config.masters;  // NRAM takes one a cycle
  const std::int64_t most = std::max({tile.beats(), tile.all_lines(), requests});
  return static_cast<double>(most) / tile.geometry().columns;
}

WfoldChoice choose_with(int slave_groups, const Problem& p, const WfoldConfig& config) {
  WfoldChoice choice;
  choice.shape = wfold_shape(config);
  choice.slave_groups = slave_groups;
  const ByteRange channels = channels_of(p, 0, slave_groups);
  choice.touched = to_int(channels.end - channels.begin);
  const int padded = p.conv.pads[1] + p.width + p.conv.pads[3];
  const int width = ceil_div(padded, p.conv.stride[1]);
  choice.granularity = choose_granularity(choice.touched, width, config.smallest_pci, config.tolerance_bytes,
                                          config.line_bytes);
  choice.forced = config.pci > 0;
  if (choice.forced) choice.granularity.granularity = config.pci;
  choice.folded_span = (p.conv.kernel[1] - 1) * p.conv.dilation[1] / p.conv.stride[1];
  return choice;
}

}  // namespace

namespace {

// Cycles that DRAM takes at least for a column of a kernel block, where the cores share its bandwidth: map,
// kernels and results cross it once.
double dram_cycles_a_column(const Problem& p, const HardwareConfig& hardware) {
  const std::int64_t pixel = std::int64_t{p.conv.stride[0]} * p.conv.stride[1] * p.channels +
                             std::int64_t{p.conv.out_channels} * p.element_bytes();
  const double kernels = static_cast<double>(p.taps()) * p.channels / p.conv.groups * p.conv.out_channels;
  const double pixels = static_cast<double>(p.batch) * p.out_height * p.out_width;
  const ChipConfig& chip = *hardware.chip;
  const double rate = dram_bytes_per_clock(hardware) * chip.memory_controllers / chip.cores();
  return (static_cast<double>(pixel) + kernels / pixels) / p.kernel_blocks() / rate;
}

}  // namespace

WfoldChoice choose_wfold(const Problem& p, const HardwareConfig& hardware, GroupsFor groups_for) {
  const WfoldConfig& config = hardware.engine<WfoldConfig>();
  const double bound = groups_for == GroupsFor::kEngineAndDram ? dram_cycles_a_column(p, hardware) : 0;
  WfoldChoice best = choose_with(1, p, config);
  std::optional<double> least = cycles_a_column(p, best, config);
  for (int groups = 2; groups <= config.multicast_groups; ++groups) {
    // More groups than DRAM keeps up with only cut the copies of kernels up.
    if (least && *least <= bound) break;
    if (!can_send_to(groups, p, config)) continue;
    WfoldChoice other = choose_with(groups, p, config);
    const std::optional<double> cycles = cycles_a_column(p, other, config);
    if (!cycles || (least && *cycles >= *least)) continue;
    best = std::move(other);
    least = cycles;
  }
  best.read_mode = read_mode_of(p, best, channels_of(p, 0, best.slave_groups), config);
  return best;
}

std::vector<std::uint8_t> pack_regions(const Problem& p, const WfoldChoice& choice, const Tensor& weights,
                                       int set, int block) {
  const int slaves = choice.shape.slaves, of_slave = kernels_of_regions(p, slaves, block) / slaves;
  std::vector<std::uint8_t> packed;
  for (int slave = 0; slave < slaves; ++slave) {
    std::vector<int> kernels;
    for (int k = 0; k < of_slave; ++k) kernels.push_back(block * p.block_kernels + slave + k * slaves);
    pack_kernels(p, weights, set, kernels, channels_of(p, block, 1), choice.granularity.granularity, packed);
    if (p.has_post_parameters()) pack_records(p, kernels, packed);
  }
  return packed;
}

std::vector<std::uint8_t> records_of(const Problem& p) {
  std::vector<int> kernels(to_size(p.conv.out_channels));
  std::iota(kernels.begin(), kernels.end(), 0);
  std::vector<std::uint8_t> records;
  pack_records(p, kernels, records);
  return records;
}

std::vector<std::uint8_t> pack_post_parameters(const Problem& p, const WfoldChoice& choice) {
  const int slaves = choice.shape.slaves, of_slave = kernels_of_regions(p, slaves, 0) / slaves;
  std::vector<std::uint8_t> packed;
  for (int kb = 0; kb < p.kernel_blocks(); ++kb) {
    for (int slave = 0; slave < slaves; ++slave) {
      std::vector<int> kernels;
      for (int k = 0; k < of_slave; ++k) kernels.push_back(kb * p.block_kernels + slave + k * slaves);
      pack_records(p, kernels, packed);
    }
  }
  return packed;
}

Explanation explain(const WfoldChoice& choice, const Problem& p, const HardwareConfig& hardware) {
  Explanation made;
  const WfoldConfig& config = hardware.engine<WfoldConfig>();
  const int taken = choice.granularity.granularity;
  std::vector<std::string> candidates;
  for (const GranularityCandidate& c : choice.granularity.candidates) {
    const char* verdict = c.granularity == taken ? "taken"
                          : c.too_wide           ? "the map is narrower than the fold"
                          : c.tolerable          ? "smaller than needed"
                                                 : "too much padding";
    candidates.push_back(
        fmt::format("{} (fold {}, {} bytes of padding): {}", c.granularity, c.fold, c.padding, verdict));
  }
  made.emplace_back("granularity",
                    fmt::format("{} of {} channel bytes in {} blocks, {}", taken, choice.touched,
                                ceil_div(choice.touched, taken),
                                choice.forced ? std::string("as wfold.pci says")
                                              : fmt::format("tolerance {} bytes", config.tolerance_bytes)));
  for (const std::string& text : candidates) made.emplace_back("", text);
  const WfoldSchedule tile(choice.shape, tile_geometry(p, choice, config, 0, choice.shape.tile_columns(taken),
                                                       channels_of(p, 0, choice.slave_groups)));
  made.emplace_back(
      "engine tile",
      fmt::format("{} columns x {} channels: {} beats, {} lines in {} refills of the first buffers",
                  tile.tile(0).columns, tile.tile(0).kernels, tile.beats(), tile.all_lines(),
                  tile.refills()));
  made.emplace_back("reads",
                    fmt::format("{}{}", nth(kWfoldReadModeNames, choice.read_mode),
                                config.read_mode == ReadChoice::kAuto ? "" : ", as wfold.read_mode says"));
  if (choice.slave_groups > 1) {
    made.emplace_back("broadcast", fmt::format("to {} groups of {} slaves, each with the channels of its own "
                                               "kernels",
                                               choice.slave_groups, config.slaves / choice.slave_groups));
  }
  if (config.masters > 1) {
    made.emplace_back("masters", fmt::format("{}, each reads and broadcasts the lines of {} slaves",
                                             config.masters, config.slaves / config.masters));
  }
  if (config.storage == StoragePlace::kShared)
    made.emplace_back("storage",
                      "NRAM and WRAM are one memory: a bank serves maps, results or kernels in a cycle");
  if (p.conv.stride[1] > 1) {
    made.emplace_back("width fold",
                      fmt::format("{} columns into one pixel of {} bytes, {} of {} kernel columns; {}",
                                  p.conv.stride[1], p.conv.stride[1] * p.channels, tile.all_steps(),
                                  p.conv.kernel[1], nth(kFoldPlaceNames, config.fold_place)));
  }
  const char* const folded = kernel_layout_of(p, config, 0, 1).own() ? "put into lines by the regions' ports"
                                                                     : "folded in place in WRAM";
  made.emplace_back("kernels",
                    deals_kernels(p, config)
                        ? fmt::format("as the workload has them, dealt to the slaves by the DMA, {}", folded)
                        : "as folded lines");
  if (tile.parts() > 1) made.emplace_back("wide kernel", fmt::format("split into {} parts", tile.parts()));
  return made;
}

}  // namespace tilebeat::wfold
