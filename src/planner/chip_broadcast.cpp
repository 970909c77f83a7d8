#include <algorithm>

#include "chip_conv.h"

namespace tilebeat {
namespace {

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

bool kernels_through_sram(const ChipConv& conv, const Split& split, const ConvBuffers& buffers) {
  const ChipConfig& chip = conv.chip();
  if (!memory_cores_work(chip) || !buffers.resident || 2 * buffers.kernel_bytes > chip.sram_bytes())
    return false;
  if (chip.dram_path == DramPath::kSram) return true;
  int most = 0;
  for (int channel = 0; channel < split.channels; ++channel)
    most = std::max(most, sharers(conv, split, 0, channel).second);
  return most > 1 && cost_of(conv, split, true).clocks < cost_of(conv, split, false).clocks;
}

std::vector<Instruction> broadcast_kernels(const ChipConv& conv, const Split& split,
                                           const ConvBuffers& buffers, const KernelPlace& kernels,
                                           int cluster, LayerPlan& made) {
  const std::vector<Fetch> fetches = fetches_of(conv, split, buffers, cluster);
  std::vector<Instruction> program;
  const int count = static_cast<int>(fetches.size());
  const auto tell = [&](int i) {
    const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
    program.push_back(
        {{peer(i % 2)}, {}, {}, Signal{fetch.cores, wram_full(fetch.load % buffers.kernel_buffers())}});
  };
  for (int i = 0; i < count; ++i) {
    const Fetch& fetch = fetches[static_cast<std::size_t>(i)];
    const int buffer = i % 2;
    const std::uint64_t sram =
        sram_address(cluster) + static_cast<std::uint64_t>(buffer * buffers.kernel_bytes);
    Movement in{kernel_transfers(kernels, fetch.group, sram), 0, 0, wram_full(buffer)};
    if (i >= 2) in.waits = wram_free(buffer);
    made.kernel_bytes += in.bytes();
    append(program, copies_of(Unit::kGdma, in));
    const std::uint64_t wram = multicast_address(
        fetch.cores, true,
        static_cast<std::uint64_t>(fetch.load % buffers.kernel_buffers() * buffers.kernel_bytes));
    Movement out{{{sram, wram, plain(kernels.bytes(fetch.group))}}, wram_full(buffer), 0, peer(buffer)};
    if (i + 2 < count) out.releases = wram_free(buffer);
    append(program, copies_of(Unit::kMvdma, out));
    if (i > 0) tell(i - 1);
  }
  if (count > 0) tell(count - 1);
  return program;
}

}  // namespace tilebeat
