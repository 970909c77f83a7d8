#include "base/copy_word.h"
#include "engines/switch_array/chunks.h"
#include "engines/switch_array/kernel_words.h"
#include "engines/switch_array/lowering.h"
#include "planner/language/matrix_backend.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <any>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::switch_array {

namespace {

// The words of one kernel block of a set, in the order channel blocks, taps, columns, P channels; for kernels
// with groups only the bytes inside the groups.
std::vector<std::uint8_t> packed_block(const Problem& p, const ArrayShape& array, const Tensor& weights,
                                       int set, int kernel_block) {
  const Interval planes = planes_of(p, array, kernel_block);
  const int channels_per_group = p.channels / p.conv.groups;
  const auto fill = static_cast<std::uint8_t>(p.conv.weight_zero_point);
  const int word = array.port_channels;
  const KernelWords words(kernel_load(p, array, kernel_block, planes), array.columns, word);
  std::vector<int> group_begin;  // by column that has a kernel: the first channel of its group
  for (int k = kernel_block * array.columns;
       k < std::min(p.conv.out_channels, (kernel_block + 1) * array.columns); ++k)
    group_begin.push_back(channels_of_kernels(p, {k, k + 1}).begin);
  std::vector<std::uint8_t> bytes(to_size(packed_bytes(p, array, kernel_block, planes)));
  std::uint8_t* out = bytes.data();
  // The offset of each column's kernel, relative to channel 0, which may lie in front of its group.
  std::vector<std::int64_t> kernels;
  for (std::size_t column = 0; column < group_begin.size(); ++column) {
    const std::int64_t kernel =
        std::int64_t{set} * p.conv.out_channels + kernel_block * array.columns + to_signed(column);
    kernels.push_back(kernel * p.taps() * channels_per_group - group_begin[column]);
  }
  const bool full = kernels.size() == to_size(array.columns);
  const int latest = full ? *std::max_element(group_begin.begin(), group_begin.end()) : 0;
  const int earliest = full ? *std::min_element(group_begin.begin(), group_begin.end()) : 0;
  for (int plane = planes.begin; plane < planes.end; ++plane) {
    // All channels of the plane lie in the groups of all kernels.
    const bool whole = full && plane * word >= latest && (plane + 1) * word <= earliest + channels_per_group;
    for (int tap = 0; tap < p.taps(); ++tap) {
      if (whole) {
        const std::uint8_t* const from = weights.bytes.data();
        const std::int64_t offset = std::int64_t{tap} * channels_per_group + std::int64_t{plane} * word;
        with_word_size(to_size(word), [&, out, from, offset](auto size) {
          std::uint8_t* to = out;
          for (const std::int64_t kernel : kernels) {
            std::memcpy(to, from + kernel + offset, size);
            to += size;
          }
        });
        out += std::ptrdiff_t{array.columns} * word;
        continue;
      }
      for (int column = 0; column < array.columns; ++column) {
        const int k = kernel_block * array.columns + column;
        const bool exists = k < p.conv.out_channels;
        const int first = exists ? plane * word - nth(group_begin, column) : 0;
        const std::int64_t kernel =
            ((std::int64_t{set} * p.conv.out_channels + k) * p.taps() + tap) * channels_per_group;
        if (exists && first >= 0 && first + word <= channels_per_group) {
          const std::uint8_t* from = weights.bytes.data() + kernel + first;
          out = std::copy_n(from, word, out);
          continue;
        }
        const Interval stored = words.brought(std::int64_t{plane - planes.begin} * p.taps() + tap, column);
        for (int i = stored.begin; i < stored.end; ++i) {
          const int channel = first + i;
          const bool taken = exists && channel >= 0 && channel < channels_per_group;
          *out++ = taken ? nth(weights.bytes, kernel + channel) : fill;
        }
      }
    }
  }
  return bytes;
}

class SwitchArrayLayer : public MatrixLayer {
 public:
  SwitchArrayLayer(const Workload& workload, const Layer& layer, const HardwareConfig& hardware)
      : hardware_(hardware),
        array_(array_shape(hardware.engine<SwitchArrayConfig>())),
        p_(make_problem(workload, layer, hardware, array_.columns)),
        widest_(widest_planes(p_, array_)) {
    if (p_.of_halves && array_.port_channels % 2 != 0)
      throw UserError(fmt::format(
          "layer '{}' cannot fit: switch_array.port_channels is {}, words of int16 maps need an even "
          "number",
          p_.name, array_.port_channels));
  }

  const Problem& problem() const override { return p_; }
  Grain grain() const override {
    const std::int64_t words = std::int64_t{widest_} * p_.taps();
    const std::int64_t drain = drain_cycles(hardware_.engine<SwitchArrayConfig>());
    std::int64_t bytes = 0;
    for (int kb = 0; kb < p_.kernel_blocks(); ++kb) {
      bytes = std::max(bytes, packed_bytes(p_, array_, kb, planes_of(p_, array_, kb)));
      if (p_.conv.groups == 1) break;
    }
    return {array_.groups,        array_.lanes(),         array_.columns,
            array_.port_channels, std::max(words, drain), bytes};
  }
  WeightLayout weight_layout() const override {
    const auto bytes_of = [this](int block) {
      return packed_bytes(p_, array_, block, planes_of(p_, array_, block));
    };
    return layout_with_records(p_, bytes_of);
  }
  std::vector<std::uint8_t> pack_block(const Tensor& weights, int set, int block) const override {
    return packed_block(p_, array_, weights, set, block);
  }
  bool reduces() const override { return p_.conv.groups == 1; }
  bool reads_images() const override { return true; }
  Interval weights_of(int block, Interval channels) const override {
    const Interval all = planes_of(p_, array_, block);
    const auto at = [&](int plane) {
      return to_int(packed_bytes(p_, array_, block, {all.begin, std::clamp(plane, all.begin, all.end)}));
    };
    return {at(channels.begin / array_.port_channels), at(ceil_div(channels.end, array_.port_channels))};
  }
  // Order of the parts: words of `port_channels` channels; channel blocks, in each the columns.
  std::vector<KernelPart> kernel_parts(int block, Interval channels) const override {
    const int word = array_.port_channels, first = block * array_.columns;
    const std::int64_t plane = std::int64_t{array_.columns} * word;
    const int whole = channels.size() / word * word;
    const Interval kernels{first, first + p_.kernels_of({block, block + 1})};
    std::vector<KernelPart> parts;
    if (whole > 0)
      parts.push_back({kernels, {channels.begin, channels.begin + whole}, word, 0, word, plane, 1});
    if (whole < channels.size())
      parts.push_back({kernels,
                       {channels.begin + whole, channels.end},
                       channels.size() - whole,
                       whole / word * plane,
                       word,
                       plane,
                       1});
    return parts;
  }
  std::vector<JobCut> cuts(const MatrixJob& largest, const PortPath& path,
                           double memory_bytes) const override {
    const int planes = std::min(widest_, ceil_div(largest.reduction.channels.size(), array_.port_channels));
    const bool whole = largest.reduction.first && largest.reduction.last;
    std::vector<double> key{path.round_trip, path.memory, memory_bytes};
    const Window &h = largest.tile.h, &w = largest.tile.w;
    for (const std::int64_t value :
         {std::int64_t{path.width}, std::int64_t{path.burst_bytes}, std::int64_t{path.outstanding}, path.atom,
          path.lost_by_run, std::int64_t{h.outs}, std::int64_t{h.ins}, std::int64_t{h.offset},
          std::int64_t{w.outs}, std::int64_t{w.ins}, std::int64_t{w.offset}, std::int64_t{largest.images},
          std::int64_t{largest.blocks.begin}, std::int64_t{largest.blocks.end}, std::int64_t{planes},
          std::int64_t{whole ? 1 : 0}, std::int64_t{largest.jobs_of_map}})
      key.push_back(static_cast<double>(value));
    const std::vector<TilingChoice>& ways = ways_.get(key, [&] {
      Problem local = tile_problem(p_, largest.tile);
      local.batch = largest.images;
      const Job job{local, largest.blocks, planes, whole, largest.jobs_of_map};
      return choose_tilings(job, hardware_, path, memory_bytes);
    });
    std::vector<JobCut> cuts;
    for (const TilingChoice& way : ways) cuts.push_back({Cut{&way, path, largest}});
    return cuts;
  }
  std::unique_ptr<MatrixLowering> lower(TaskGraph& graph, const EnginePlace& place,
                                        const JobCut& cut) const override {
    const auto& chosen = std::any_cast<const Cut&>(cut.engine);
    return make_lowering(graph, place, p_, chosen.way->tiling, hardware_, chosen.path, arranging_);
  }
  Explanation explain(const JobCut& cut) const override {
    const auto& chosen = std::any_cast<const Cut&>(cut.engine);
    const Tiling& tiling = chosen.way->tiling;
    std::vector<OutputTile> tiles;
    tiles_of(p_, chosen.largest, tiling, tiles);
    const int stored = tiling.order == LoopOrder::kTileOuter ? tiling.blocks_per_store : 1;
    const std::string together =
        tiling.blocks_per_chunk > 1 ? fmt::format(", {} run together", tiling.blocks_per_chunk) : "";
    return {{"engine tiles", fmt::format("{} of up to {} x {} output pixels a map", tiles.size(), tiling.rows,
                                         tiling.columns)},
            {"kernel blocks", fmt::format("{} of {} kernels{}, results of {} stored together",
                                          p_.kernel_blocks(), array_.columns, together, stored)},
            {"chunks", fmt::format("up to {} channel blocks each", tiling.planes_per_chunk)},
            {"why", chosen.way->reason}};
  }

 private:
  // A choice that the layer keeps, for the port of its jobs.
  struct Cut {
    const TilingChoice* way = nullptr;
    PortPath path;
    MatrixJob largest;
  };

  const HardwareConfig& hardware_;
  ArrayShape array_;
  Problem p_;
  int widest_;
  Memo<std::vector<double>, std::vector<TilingChoice>> ways_;  // by all that they depend on
  ArrangingCycles arranging_;
};

}  // namespace

/// The layer on the switch array (SPEC section 3). `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware) {
  return std::make_unique<SwitchArrayLayer>(workload, layer, hardware);
}

}  // namespace tilebeat::switch_array
