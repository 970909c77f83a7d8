#include <algorithm>

#include <fmt/format.h>

#include "chip_conv.h"

namespace tilebeat {
namespace {

constexpr double kClearlyFaster = 0.97;

// The cores of a cluster that compute one part of the channels: bits, and how many.
std::pair<std::uint64_t, int> sharers(const ChipConv& conv, const Split& split, int cluster, int channel) {
  std::uint64_t mask = 0;
  int count = 0;
  for (int i = 0; i < conv.chip().cores_per_cluster; ++i) {
    const int core = cluster * conv.chip().cores_per_cluster + i;
    if (core >= split.cores() || core % split.channels != channel) continue;
    if (part_of_core(conv, split, core).empty()) continue;
    mask |= std::uint64_t{1} << i;
    ++count;
  }
  return {mask, count};
}

// A group of kernels that a memory core fetches for some of its cores, the `load`-th of them.
struct Fetch {
  Interval group;
  int load = 0;
  std::uint64_t cores = 0;
};

// In the order in which cores need them.
std::vector<Fetch> fetches_of(const ChipConv& conv, const Split& split, const ConvBuffers& buffers,
                              int cluster) {
  std::vector<Fetch> fetches;
  for (int channel = 0; channel < split.channels; ++channel) {
    const auto [mask, count] = sharers(conv, split, cluster, channel);
    if (count == 0) continue;
    const std::vector<Interval> groups =
        groups_of(part_of(conv.problem.end_block, split.channels, channel, 1), buffers);
    for (std::size_t i = 0; i < groups.size(); ++i) fetches.push_back({groups[i], static_cast<int>(i), mask});
  }
  std::stable_sort(fetches.begin(), fetches.end(),
                   [](const Fetch& a, const Fetch& b) { return a.load < b.load; });
  return fetches;
}

}  // namespace

ConvWays choose_ways(const ChipConv& conv, const Split& split, const ConvBuffers& buffers) {
  const ChipConfig& chip = conv.chip();
  const std::int64_t sram = chip.sram_bytes(), kernels = 2 * buffers.kernel_bytes;
  // Where everything goes that way, half of the SRAM is for the rest.
  if (chip.dram_path == DramPath::kSram) {
    const bool broadcast = buffers.resident && kernels <= sram / 2;
    return {{true, !broadcast, true}, broadcast};
  }
  if (!memory_cores_work(chip)) return {};
  int most = 0;
  for (int channel = 0; channel < split.channels; ++channel)
    most = std::max(most, sharers(conv, split, 0, channel).second);
  const bool kernels_shared = most > 1 && buffers.resident && kernels <= sram;
  const bool maps_too = maps_shared(conv, split, buffers);
  SramWays best;
  double least = cost_of(conv, split, buffers, best).clocks;
  for (const SramWays ways :
       {SramWays{false, true, false}, SramWays{true, false, false}, SramWays{true, true, false}}) {
    if ((ways.kernels && !kernels_shared) || (ways.maps && !maps_too)) continue;
    if (ways.kernels && ways.maps && kernels + shared_map_bytes(conv, split, buffers) > sram) continue;
    const double clocks = cost_of(conv, split, buffers, ways).clocks;
    if (clocks >= (ways.maps ? kClearlyFaster : 1.0) * least) continue;
    best = ways, least = clocks;
  }
  return {{best.maps, false, false}, best.kernels};
}

std::vector<MemoryStep> broadcast_kernels(const ChipConv& conv, const Split& split,
                                          const ConvBuffers& buffers, const KernelPlace& kernels, int cluster,
                                          LayerPlan& made) {
  const std::vector<Fetch> fetches = fetches_of(conv, split, buffers, cluster);
  std::vector<MemoryStep> steps;
  const int count = static_cast<int>(fetches.size());
  const auto tell = [&](int i, std::vector<Instruction>& program) {
    const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
    program.push_back(
        {{peer(i % 2)}, {}, {}, Signal{fetch.cores, wram_full(fetch.load % buffers.kernel_buffers())}});
  };
  for (int i = 0; i < count; ++i) {
    const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
    const int buffer = i % 2;
    const std::uint64_t sram =
        sram_address(cluster) + static_cast<std::uint64_t>(buffer * buffers.kernel_bytes);
    const std::uint64_t wram =
        multicast_address(fetch.cores, true,
                          static_cast<std::uint64_t>(fetch.load % buffers.kernel_buffers() *
                                                     buffers.kernel_bytes / kernels.regions));
    const Parcel group = kernel_transfers(kernels, fetch.group, wram);
    Movement in{into_sram(group, sram), 0, 0, wram_full(buffer)};
    if (i >= 2) in.waits = wram_free(buffer);
    made.kernel_bytes += in.bytes();
    MemoryStep step{copies_of(Unit::kGdma, in), fetch.load};
    Movement out{out_of_sram(group, sram), wram_full(buffer), 0, peer(buffer)};
    if (i + 2 < count) out.releases = wram_free(buffer);
    append(step.instructions, copies_of(Unit::kMvdma, out));
    // Told behind the next fetch, but before the core needs it.
    if (i > 0) tell(i - 1, step.instructions);
    steps.push_back(std::move(step));
  }
  if (count > 0) tell(count - 1, steps.back().instructions);
  return steps;
}

std::string mapping_text(const ChipConv& conv, const Split& split, const ConvBuffers& buffers,
                         const ConvWays& ways, const std::string& blocks) {
  return fmt::format(
      "{} of {} cores: {} x {} parts of the map, {} of the channels; tiles of {} x {} outputs in NRAM, {} "
      "{} in WRAM, {}{}",
      split.cores(), conv.chip().cores(), split.rows, split.columns, split.channels, buffers.tile_rows,
      buffers.tile_columns, buffers.group_blocks, blocks,
      ways.broadcast      ? "fetched once a cluster and broadcast"
      : ways.ways.kernels ? "fetched through the SRAM"
                          : "fetched by each core",
      ways.ways.stores ? "; maps and results through the SRAM"
      : ways.ways.maps ? "; maps through the SRAM"
                       : "");
}

}  // namespace tilebeat
