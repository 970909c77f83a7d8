#include "tilebeat/base/math.h"

#include <algorithm>

#include "chip_conv.h"

namespace tilebeat {
namespace {

// The steps of one core, made one after the other.
class CoreStepsMaker {
 public:
  CoreStepsMaker(const ChipConv& conv, int core, const ConvBuffers& buffers, const KernelPlace& kernels,
                 std::uint64_t input, std::uint64_t output, bool broadcast)
      : conv_(conv),
        p_(conv.problem),
        core_(core),
        buffers_(buffers),
        kernels_(kernels),
        input_(input),
        output_(output),
        broadcast_(broadcast) {}

  CoreSteps run(const CorePart& part) {
    const std::vector<NramTile> tiles = tiles_of_part(part);
    const std::vector<Interval> groups = groups_of(part.blocks, buffers_);

    // Which of the two is fetched again and again is what takes fewer bytes.
    std::int64_t maps = 0, kernels = 0;
    for (const NramTile& t : tiles) maps += std::int64_t{t.h.ins} * t.w.ins * p_.channels;
    for (const Interval& g : groups) kernels += kernels_.bytes(g);
    const auto tile_count = static_cast<std::int64_t>(tiles.size()),
               group_count = static_cast<std::int64_t>(groups.size());
    const bool tiles_outer =
        buffers_.resident || group_count == 1 || maps + kernels * tile_count <= maps * group_count + kernels;

    for (std::size_t i = 0; i < (tiles_outer ? tiles.size() : groups.size()); ++i) {
      for (std::size_t j = 0; j < (tiles_outer ? groups.size() : tiles.size()); ++j) {
        const std::size_t tile = tiles_outer ? i : j, group = tiles_outer ? j : i;
        add_step(tiles[tile], static_cast<int>(tile), groups[group], static_cast<int>(group));
      }
    }
    give_back();
    made_steps_.work.ahead = buffers_.map_buffers - 1;
    return std::move(made_steps_);
  }

 private:
  std::vector<NramTile> tiles_of_part(const CorePart& part) const {
    std::vector<NramTile> tiles;
    for (int n = 0; n < p_.batch; ++n) {
      for (int r = part.rows.begin; r < part.rows.end; r += buffers_.tile_rows) {
        for (int c = part.columns.begin; c < part.columns.end; c += buffers_.tile_columns) {
          tiles.push_back({n, conv_.window_h({r, std::min(part.rows.end, r + buffers_.tile_rows)}),
                           conv_.window_w({c, std::min(part.columns.end, c + buffers_.tile_columns)})});
        }
      }
    }
    return tiles;
  }

  void add_step(const NramTile& tile, int tile_number, Interval group, int group_number) {
    const int number = static_cast<int>(made_steps_.steps.size());
    if (tile_number != tile_) {
      tile_ = tile_number;
      load_map(tile, number);
    }
    const bool loaded = buffers_.resident && kernel_loads_ > group_number;
    if (group_number != group_ && !loaded) load_kernels(group, number);
    group_ = group_number;
    ConvStep step;
    step.tile = tile, step.blocks = group;
    step.kernels = std::min(group.size() * conv_.unit.channels,
                            p_.conv.out_channels - group.begin * conv_.unit.channels);
    step.kernel_load = buffers_.resident ? group_number : kernel_loads_ - 1;
    step.map = map_address(std::max(0, map_loads_ - 1));
    step.result = result_address(number);
    step.packed = kernel_address(step.kernel_load);
    step.post =
        kernels_.post == 0 ? 0 : step.packed + static_cast<std::uint64_t>(kernels_.kernel_bytes(group));
    const bool empty = tile.h.ins == 0 || tile.w.ins == 0;
    step.map_load = empty ? -1 - number : map_loads_ - 1;
    if (!empty) step.tokens.map_full = map_full(step.map_load % buffers_.map_buffers);
    step.tokens.kernels_full = wram_full(step.kernel_load % buffers_.kernel_buffers());
    if (number >= 2) step.tokens.result_free = result_free(number % 2);
    step.tokens.result_full = result_full(number % 2);
    store_result(step, number);
    made_steps_.steps.push_back(step);
  }

  std::uint64_t map_address(int load) const {
    return nram_address(core_) + static_cast<std::uint64_t>(load % buffers_.map_buffers * buffers_.map_bytes);
  }
  std::uint64_t result_address(int step) const {
    return nram_address(core_) + static_cast<std::uint64_t>(buffers_.map_buffers * buffers_.map_bytes +
                                                            step % 2 * buffers_.result_bytes);
  }
  std::uint64_t kernel_address(int load) const {
    return wram_address(core_) + static_cast<std::uint64_t>(load % buffers_.kernel_buffers() *
                                                            buffers_.kernel_bytes / kernels_.regions);
  }

  void load_map(const NramTile& tile, int step) {
    CopyShape shape = plain(std::int64_t{tile.w.ins} * p_.channels);
    shape.rows = tile.h.ins;
    shape.source_row = std::int64_t{p_.width} * p_.channels;
    shape.destination_row = conv_.map_row_bytes(tile.w);
    if (shape.bytes() == 0) return;  // padding alone
    const int load = map_loads_++, buffer = load % buffers_.map_buffers;
    const std::int64_t pixel = (std::int64_t{tile.image} * p_.height + tile.h.in) * p_.width + tile.w.in;
    Movement movement;
    movement.transfers = {
        {input_ + static_cast<std::uint64_t>(pixel * p_.channels), map_address(load), shape}};
    if (load >= buffers_.map_buffers) movement.waits = map_free(buffer);
    movement.done = map_full(buffer);
    made_steps_.work.loads.push_back({movement, step, CoreWork::Operand::kMap});
  }

  void load_kernels(Interval group, int step) {
    const int load = kernel_loads_++, buffer = load % buffers_.kernel_buffers();
    if (broadcast_) return;
    Movement movement;
    movement.transfers = kernel_transfers(kernels_, group, kernel_address(load));
    if (load >= buffers_.kernel_buffers()) movement.waits = wram_free(buffer);
    movement.done = wram_full(buffer);
    made_steps_.work.loads.push_back({movement, step, CoreWork::Operand::kKernels});
  }

  void store_result(const ConvStep& step, int number) {
    const NramTile& tile = step.tile;
    const int element = conv_.element_bytes();
    CopyShape shape = plain(std::int64_t{step.kernels} * element);
    shape.columns = tile.w.outs, shape.rows = tile.h.outs;
    shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
    shape.destination_column = std::int64_t{p_.conv.out_channels} * element;
    shape.destination_row = shape.destination_column * p_.out_width;
    const std::int64_t pixel =
        (std::int64_t{tile.image} * p_.out_height + tile.h.out) * p_.out_width + tile.w.out;
    const std::int64_t channel = std::int64_t{step.blocks.begin} * conv_.unit.channels;
    const std::uint64_t destination =
        output_ + static_cast<std::uint64_t>((pixel * p_.conv.out_channels + channel) * element);
    made_steps_.work.stores.push_back({{{step.result, destination, shape}}, result_full(number % 2), 0, 0});
  }

  // Who gives buffers back, where somebody waits for them.
  void give_back() {
    const int count = static_cast<int>(made_steps_.steps.size());
    for (int number = 0; number < count; ++number) {
      ConvStep& step = made_steps_.steps[static_cast<std::size_t>(number)];
      if (step.map_load + buffers_.map_buffers < map_loads_ && step.tokens.map_full != 0)
        step.tokens.map_free = map_free(step.map_load % buffers_.map_buffers);
      if (step.kernel_load + buffers_.kernel_buffers() < kernel_loads_)
        step.tokens.kernels_free = wram_free(step.kernel_load % buffers_.kernel_buffers());
      if (number + 2 < count)
        made_steps_.work.stores[static_cast<std::size_t>(number)].releases = result_free(number % 2);
    }
  }

  const ChipConv& conv_;
  const ConvProblem& p_;
  int core_;
  const ConvBuffers& buffers_;
  const KernelPlace& kernels_;
  std::uint64_t input_, output_;
  bool broadcast_;
  CoreSteps made_steps_;
  int tile_ = -1, group_ = -1;            // that the buffers hold last
  int map_loads_ = 0, kernel_loads_ = 0;  // so far
};

}  // namespace

ConvProblem tile_problem(const ConvProblem& problem, const NramTile& tile) {
  ConvProblem local = problem;
  local.batch = 1;
  local.height = tile.h.ins, local.width = tile.w.ins;
  local.out_height = tile.h.outs, local.out_width = tile.w.outs;
  local.conv.pads = {-tile.h.offset, -tile.w.offset, 0, 0};
  return local;
}

std::vector<Interval> groups_of(Interval blocks, const ConvBuffers& buffers) {
  std::vector<Interval> groups;
  for (int b = blocks.begin; b < blocks.end; b += buffers.group_blocks)
    groups.push_back({b, std::min(blocks.end, b + buffers.group_blocks)});
  return groups;
}

std::vector<Transfer> kernel_transfers(const KernelPlace& kernels, Interval group,
                                       std::uint64_t destination) {
  const std::uint64_t first = kernels.blocks[static_cast<std::size_t>(group.begin)],
                      end = kernels.blocks[static_cast<std::size_t>(group.end)];
  std::vector<Transfer> transfers;
  if (kernels.regions > 1) {
    for (int block = group.begin; block < group.end; ++block) {
      const std::uint64_t from = kernels.blocks[static_cast<std::size_t>(block)],
                          next = kernels.blocks[static_cast<std::size_t>(block) + 1];
      CopyShape shape = plain(static_cast<std::int64_t>(next - from) / kernels.regions);
      shape.rows = kernels.regions;
      shape.source_row = shape.run, shape.destination_row = kernels.region_bytes;
      transfers.push_back({kernels.address + from, destination, shape});
      destination += static_cast<std::uint64_t>(shape.run);
    }
    return transfers;
  }
  transfers.push_back({kernels.address + first, destination, plain(static_cast<std::int64_t>(end - first))});
  if (kernels.post != 0) {
    transfers.push_back({kernels.post + static_cast<std::uint64_t>(group.begin * kernels.post_bytes),
                         destination + static_cast<std::uint64_t>(kernels.kernel_bytes(group)),
                         plain(group.size() * kernels.post_bytes)});
  }
  return transfers;
}

CoreSteps steps_of_core(const ChipConv& conv, const CorePart& part, int core, const ConvBuffers& buffers,
                        const KernelPlace& kernels, std::uint64_t input, std::uint64_t output,
                        bool broadcast) {
  if (part.empty()) return {};
  return CoreStepsMaker(conv, core, buffers, kernels, input, output, broadcast).run(part);
}

}  // namespace tilebeat
