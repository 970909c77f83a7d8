#include "engines/offset_table/schedule.h"

#include "engines/offset_table/config.h"

#include <algorithm>

namespace tilebeat::offset_table {
namespace {

std::vector<Beat> beats_of(const TableShape& shape, const OffsetSetup& setup, int group, int first,
                           int count) {
  std::vector<Beat> beats;
  int before = 0;
  const int group_begin = group * shape.group_channels();
  const int begin = group_begin + first, end = begin + count;
  int entry = shape.ragged() ? group * shape.segments() * shape.taps() : 0;
  for (const Segment& segment : segments_of(shape, group)) {
    const int last = std::min(end, segment.first + segment.size);
    for (int part = std::max(begin, segment.first); part < last; part += setup.part) {
      const int part_end = std::min(last, part + setup.part);
      for (int tap = 0; tap < shape.taps(); ++tap) {
        for (int c = part; c < part_end; c += setup.vector) {
          beats.push_back({entry + tap, c - segment.first, std::min<int>(setup.vector, part_end - c),
                           tap / shape.kernel_w, tap % shape.kernel_w, c - group_begin, before});
          before += beats.back().count;
        }
      }
    }
    entry += shape.taps();
  }
  return beats;
}

}  // namespace

std::size_t beats_in_lines(const std::vector<Beat>& beats, std::size_t index, std::int64_t room) {
  const Beat& first = beats[index];
  std::size_t end = index + 1;
  for (; end < beats.size(); ++end) {
    const Beat& next = beats[end];
    const int moved = next.beyond - first.beyond;
    if (next.entry != first.entry || next.count != first.count || moved < 0 || moved > room ||
        moved % kWordBytes != 0)
      break;
  }
  return end - index - 1;
}

TableShape shape_of(const ConvSetup& conv, const OffsetSetup& setup, const OffsetMap& map) {
  TableShape s;
  s.layout = setup.layout, s.block = setup.block, s.order = setup.order;
  s.channels = setup.channels, s.height = map.height, s.width = map.width;
  s.out_height = map.rows, s.out_width = map.columns;
  s.kernel_h = conv.kernel_h, s.kernel_w = conv.kernel_w;
  s.stride_h = conv.stride_h, s.stride_w = conv.stride_w;
  s.dilation_h = conv.dilation_h, s.dilation_w = conv.dilation_w;
  s.pad_h = -map.h_offset, s.pad_w = -map.w_offset;
  s.groups = setup.groups;
  return s;
}

OffsetSchedule::OffsetSchedule(const TableShape& shape, const OffsetSetup& setup, const OffsetRun& run)
    : vector_(setup.vector), first_group_(run.first_kernel / setup.group_kernels) {
  const int groups =
      shape.ragged() ? (run.first_kernel + run.kernels - 1) / setup.group_kernels + 1 : first_group_ + 1;
  for (int group = first_group_; group < groups; ++group)
    beats_.push_back(beats_of(shape, setup, group, run.first_channel, run.channels));
  for (int kernel = 0; kernel < run.kernels;) {
    const int number = run.first_kernel + kernel;
    const int of_block = setup.block_kernels - kernel % setup.block_kernels;
    const int of_group = setup.group_kernels - number % setup.group_kernels;
    Slice slice;
    slice.group = number / setup.group_kernels;
    slice.first = kernel, slice.count = std::min({of_block, of_group, run.kernels - kernel});
    slice.weights = weight_bytes_;
    weight_bytes_ += std::int64_t{elements_of(beats(slice.group))} * slice.count;
    slices_.push_back(slice);
    kernel += slice.count;
  }
}

int elements_of_beat(const TableShape& shape, int most) {
  return std::min({most, shape.segment(), shape.group_channels()});
}

}  // namespace tilebeat::offset_table
