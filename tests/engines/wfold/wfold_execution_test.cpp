// A W-fold schedule carried out with plain loops gives the plain convolution, and every way of reading brings
// the bytes that its lines need (SPEC section 4).
#include "engines/wfold/schedule.h"
#include "wfold_cases.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using wfold::ByteRange;
using wfold::can_read_continuously;
using wfold::choose_read_mode;
using wfold::transit_holds_block;
using wfold::WfoldBeat;
using wfold::WfoldFetch;
using wfold::WfoldGeometry;
using wfold::WfoldReader;
using wfold::WfoldReadMode;
using wfold::WfoldRefill;
using wfold::WfoldRequest;
using wfold::WfoldSchedule;
using wfold::WfoldTile;

namespace {

using ByteValues = std::vector<int>;  // values of a byte each

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The operands and results of a convolution. Kernels have the channels of the run's group.
struct Data {
  std::vector<ByteValues> map;      ///< [row][column, channel]
  std::vector<ByteValues> kernels;  ///< [kernel][row, column, channel]
  int fill = 0;                     ///< value of what is padding
};
Data random_data(const WfoldCase& c) {
  const SpecConv& v = c.conv;
  std::uint32_t state = static_cast<std::uint32_t>(number(1, 1 << 30));
  const auto next = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<int>(state >> 24) - 128;
  };
  Data data;
  data.fill = one_in(2) ? 0 : next();
  data.map.assign(at(v.height), ByteValues(at(v.width * v.channels)));
  data.kernels.assign(at(v.out_channels), ByteValues(at(v.kernel[0] * v.kernel[1] * c.used)));
  for (auto* rows : {&data.map, &data.kernels}) {
    for (ByteValues& row : *rows) std::generate(row.begin(), row.end(), next);
  }
  return data;
}

/// Output [row][column][kernel], by the definition of a convolution.
std::vector<int> convolve(const WfoldCase& c, const Data& data) {
  const SpecConv& v = c.conv;
  std::vector<int> out;
  for (int o = 0; o < v.out_height * v.out_width * v.out_channels; ++o) {
    const ByteValues& kernel = data.kernels[at(o % v.out_channels)];
    const int oh = o / v.out_channels / v.out_width, ow = o / v.out_channels % v.out_width;
    int sum = 0;
    for (int tap = 0; tap < v.kernel[0] * v.kernel[1]; ++tap) {
      const int h = oh * v.stride[0] + tap / v.kernel[1] * v.dilation[0] - v.pad[0];
      const int w = ow * v.stride[1] + tap % v.kernel[1] * v.dilation[1] - v.pad[1];
      const bool inside = h >= 0 && h < v.height && w >= 0 && w < v.width;
      for (int ch = 0; ch < c.used; ++ch) {
        const int x = inside ? data.map[at(h)][at(w * v.channels + c.first + ch)] : data.fill;
        sum += x * kernel[at(tap * c.used + ch)];
      }
    }
    out.push_back(sum);
  }
  return out;
}

/// The rows of the map as the first storage holds them (WF-5).
std::vector<ByteValues> stored_map(const WfoldCase& c, const Data& data) {
  if (!c.folded) return data.map;
  const SpecConv stored = c.stored();
  std::vector<ByteValues> rows;
  for (const ByteValues& source : data.map) {
    ByteValues row(at(stored.width * stored.channels), data.fill);
    std::copy(source.begin(), source.end(), row.begin() + c.conv.pad[1] * c.conv.channels);
    rows.push_back(row);
  }
  return rows;
}

/// A folded column of a kernel: the channels of its taps, zeros between them.
ByteValues folded_column(const WfoldCase& c, const ByteValues& kernel, int kh, int column) {
  const SpecConv& v = c.conv;
  ByteValues folded(at(c.span()), 0);
  for (int tap = 0; tap < v.kernel[1]; ++tap) {
    if (tap * v.dilation[1] / v.stride[1] != column) continue;
    const int phase = tap * v.dilation[1] % v.stride[1];
    const auto from = kernel.begin() + (kh * v.kernel[1] + tap) * c.used;
    std::copy(from, from + c.used, folded.begin() + phase * v.channels);
  }
  return folded;
}

/// The region of a slave with the kernels' own bytes: of each tile of channels its kernels, and their
/// records.
ByteValues own_region_of(const WfoldCase& c, const Data& data, int slave) {
  const SpecConv& v = c.conv;
  const ByteValues surplus(at(v.kernel[0] * v.kernel[1] * c.used), 99);
  ByteValues region;
  for (int co = 0; co < v.out_channels; co += c.engine.tile_channels()) {
    const int here = std::min(c.engine.tile_channels(), v.out_channels - co);
    const auto a_slave = ceiling(here, c.engine.slaves);
    for (int k = 0; k < a_slave; ++k) {
      const int channel = slave + c.engine.slaves * k;
      const ByteValues& kernel = channel < here ? data.kernels[at(co + channel)] : surplus;
      region.insert(region.end(), kernel.begin(), kernel.end());
    }
    if (c.records) region.resize(region.size() + at(16 * a_slave), 77);
  }
  return region;
}

/// The region of a slave: of each tile of channels its kernels, [block of Pci channels of the folded pixel]
/// [kernel][kernel row][column with a tap][channel of the block], and their records.
ByteValues region_of(const WfoldCase& c, const Data& data, int slave) {
  const SpecConv& v = c.conv;
  const auto columns = tap_columns(v.kernel[1], v.stride[1], v.dilation[1]);
  const ByteValues surplus(at(v.kernel[0] * v.kernel[1] * c.used), 0);
  ByteValues region;
  for (int co = 0; co < v.out_channels; co += c.engine.tile_channels()) {
    const int here = std::min(c.engine.tile_channels(), v.out_channels - co);
    const auto a_slave = ceiling(here, c.engine.slaves);
    for (int begin = 0; begin < c.span(); begin += c.pci) {
      for (int k = 0; k < a_slave; ++k) {
        const int channel = slave + c.engine.slaves * k;
        const ByteValues& kernel = channel < here ? data.kernels[at(co + channel)] : surplus;
        for (int kh = 0; kh < v.kernel[0]; ++kh) {
          for (const int column : columns) {
            const ByteValues folded = folded_column(c, kernel, kh, column);
            region.insert(region.end(), folded.begin() + begin,
                          folded.begin() + std::min(begin + c.pci, c.span()));
          }
        }
      }
    }
    if (c.records) region.resize(region.size() + at(16 * a_slave), 77);
  }
  return region;
}

/// The lines of a refill, each with `fold` x Pci bytes; surplus channels hold what must not count.
std::vector<ByteValues> refill_of(const WfoldSchedule& s, const WfoldTile& tile, const WfoldRefill& refill,
                                  const std::vector<ByteValues>& map, int fill) {
  const WfoldGeometry& g = s.geometry();
  const int pci = g.granularity, row = s.map_row(tile, refill);
  const int begin = s.block_begin(refill.block), bytes = s.block_bytes(refill.block);
  std::vector<ByteValues> lines;
  for (int line = 0; line < s.lines(refill.part); ++line) {
    lines.emplace_back(at(s.fold() * pci), 1000);
    for (int i = 0; i < s.fold(); ++i) {
      const int column = s.line_column(tile, refill, line) + i;
      const ByteRange present = s.bytes_of(column, column, begin, begin + bytes);
      const std::int64_t first =
          std::int64_t{column} * g.pixel_bytes - g.lead_bytes + g.first_channel + begin;
      for (int b = 0; b < bytes; ++b) {
        const bool inside = s.row_exists(row) && first + b >= present.begin && first + b < present.end;
        lines.back()[at(i * pci + b)] = inside ? map.at(at(row)).at(at(first + b)) : fill;
      }
    }
  }
  return lines;
}

/// Carries out the schedule: what all slaves add up, as outputs.
std::vector<int> execute(const WfoldCase& c, const Data& data) {
  const WfoldSchedule s = c.schedule();
  const int pci = c.pci, fold = s.fold(), slaves = c.engine.slaves;
  const SpecConv& v = c.conv;
  const std::vector<ByteValues> map = stored_map(c, data);
  std::vector<ByteValues> regions;
  for (int slave = 0; slave < slaves; ++slave)
    regions.push_back(c.own_bytes ? own_region_of(c, data, slave) : region_of(c, data, slave));
  RC_ASSERT(static_cast<std::int64_t>(regions[0].size()) == s.region_bytes());
  std::vector<int> out(at(v.out_height * v.out_width * v.out_channels), 0);
  std::vector<ByteValues> lines;
  std::int64_t loaded = -1;
  wfold::KernelLine stored;
  WfoldBeat beat;
  do {
    const WfoldTile tile = s.tile(beat.tile);
    const WfoldRefill refill = s.refill(beat.refill);
    if (const auto now = beat.tile * s.refills() + beat.refill; now != loaded) {
      lines = refill_of(s, tile, refill, map, data.fill), loaded = now;
    }
    const std::vector<int>& steps = s.steps(refill.part);
    const int offset = steps.at(at(beat.step)) - steps.front();
    for (int slave = 0; slave < slaves; ++slave) {
      const int co = slave + slaves * beat.kernel;
      s.find_kernel_line(beat, tile, slave, stored);
      RC_ASSERT(stored.bytes.empty() == stored.pieces.empty());
      if (co >= tile.kernels) {
        RC_ASSERT(stored.bytes.empty());  // surplus channels are dropped, their kernels do not exist
        continue;
      }
      for (int column = 0; column < tile.columns; ++column) {
        const ByteValues& line = lines.at(at((offset + column) / fold));
        const int position = (offset + column) % fold * pci;
        int sum = 0;
        for (const auto& piece : stored.pieces) {
          for (int b = 0; b < piece.count; ++b)
            sum += line[at(position + piece.to + b)] *
                   regions[at(slave)].at(at(stored.bytes.begin + piece.from + b));
        }
        const int channel = tile.kernel_tile * c.engine.tile_channels() + co;
        out.at(at((tile.row * v.out_width + tile.column + column) * v.out_channels + channel)) += sum;
      }
    }
  } while (s.advance(beat));
  return out;
}

TEST(WfoldExecution, WF_4_schedule_computes_the_convolution) {
  check_cases(500, [] {
    const WfoldCase c = random_case(1000000);
    RC_LOG() << c;
    const Data data = random_data(c);
    RC_ASSERT(execute(c, data) == convolve(c, data));
  });
}

TEST(WfoldExecution, WF_5_two_ways_to_store_the_map_compute_alike) {
  for (int stride = 1; stride <= 8; ++stride) {
    for (int dilation = 1; dilation <= 3; ++dilation) {
      check_cases(3, [&] {
        WfoldCase c = worked_case(number(1, 20), number(1, 20), 3, 16, 9);
        c.conv.stride[1] = stride, c.conv.dilation[1] = dilation;
        c.conv.width = 8 * stride + 2 * dilation + 1 - number(0, 3);
        c.conv.pad[1] = number(0, 5);
        const Data data = random_data(c);
        const std::vector<int> want = convolve(c, data);
        RC_LOG() << c;
        RC_ASSERT(execute(c, data) == want);
        c.folded = true;
        RC_ASSERT(execute(c, data) == want);
      });
    }
  }
}

/// ByteValues of the stored map that a line's block of channels needs, [row, byte].
using Needs = std::map<std::pair<int, std::int64_t>, int>;
void add_needs(const WfoldCase& c, int oh, int kh, int first_column, int block, Needs& needs) {
  const SpecConv v = c.stored();
  const int row = oh * v.stride[0] + kh * v.dilation[0] - v.pad[0];
  if (row < 0 || row >= v.height) return;
  for (int i = 0; i < c.engine.fold(c.pci); ++i) {
    for (int ch = block * c.pci; ch < std::min((block + 1) * c.pci, c.span()); ++ch) {
      const std::int64_t byte = (first_column + i) * c.pixel() + c.first + ch - v.pad[1] * v.channels;
      if (byte >= 0 && byte < v.width * v.channels) ++needs[{row, byte}];
    }
  }
}

/// The bytes that each line of a run needs, in order.
std::vector<Needs> needs_of_lines(const WfoldCase& c) {
  const WfoldSchedule s = c.schedule();
  std::vector<Needs> lines;
  for (std::int64_t t = 0; t < s.tiles(); ++t) {
    const WfoldTile tile = s.tile(t);
    for (int r = 0; r < s.refills(); ++r) {
      const WfoldRefill refill = s.refill(r);
      const int column = tile.column + s.steps(refill.part).front();
      for (int line = 0; line < s.lines(refill.part); ++line)
        add_needs(c, tile.row, refill.kernel_row, column + line * s.fold(), refill.block,
                  lines.emplace_back());
    }
  }
  return lines;
}

/// Walks a reader: it brings every line that exists once and in order, each with all of its bytes and no byte
/// twice or in vain. Returns the requests.
std::int64_t check_reading(const WfoldCase& c, WfoldReadMode mode, std::int64_t half) {
  const WfoldSchedule s = c.schedule();
  WfoldReader reader(s, mode, half, 0);
  const bool transit = mode == WfoldReadMode::kTransit;
  const std::vector<Needs> needs_of = needs_of_lines(c);
  std::size_t lines = 0;
  const auto skip_to = [&](std::size_t end) {
    for (; lines < end; ++lines) RC_ASSERT(needs_of[lines].empty());
  };
  std::int64_t requests = 0;
  for (; !reader.done(); reader.advance()) {
    const WfoldFetch fetch = reader.fetch();
    RC_ASSERT(fetch.refills == (reader.whole_pixels() ? s.blocks() : 1));
    std::int64_t before = reader.tile() * s.lines_per_tile() + (transit ? 0 : reader.line());
    for (int r = 0; r < reader.refill(); ++r) before += s.lines(s.refill(r).part);
    skip_to(static_cast<std::size_t>(before));
    const int window = fetch.refills * s.lines(s.refill(reader.refill()).part);
    Needs needs;
    int present = 0;
    for (int i = 0; i < (transit ? window : 1); ++i, ++lines) {
      present += needs_of[lines].empty() ? 0 : 1;
      for (const auto& [place, count] : needs_of[lines]) needs[place] += count;
    }
    RC_ASSERT(fetch.lines == present);
    RC_ASSERT(present > 0);
    std::int64_t read = 0;
    for (const WfoldRequest& request : fetch.requests) {
      RC_ASSERT((!request.bytes.empty() && request.bytes.begin >= 0));
      for (auto b = request.bytes.begin; b < request.bytes.end; ++b, ++read) {
        const auto need = needs.find({request.row, b});
        RC_ASSERT(need != needs.end());  // read in vain, or twice
        needs.erase(need);
      }
    }
    RC_ASSERT(needs.empty());  // missing bytes
    if (transit && (reader.whole_pixels() || transit_holds_block(s, half))) RC_ASSERT(read <= half);
    requests += static_cast<std::int64_t>(fetch.requests.size());
  }
  skip_to(needs_of.size());
  return requests;
}

TEST(WfoldReading, WF_2_every_mode_brings_what_the_lines_need) {
  check_cases(300, [] {
    const WfoldCase c = random_case(1000000);
    RC_LOG() << c;
    const WfoldSchedule s = c.schedule();
    const auto wide = c.engine.first * c.engine.fold(c.pci) * c.span();  // no row window is wider
    const std::int64_t half = one_in(2) ? wide : number(1, wide);
    const auto strided = check_reading(c, WfoldReadMode::kStrided, half);
    const auto transit = check_reading(c, WfoldReadMode::kTransit, half);
    std::int64_t fewest = std::min(strided, transit_holds_block(s, half) ? transit : strided);
    RC_ASSERT(can_read_continuously(s) == (c.whole() && c.span() <= c.pci));
    if (can_read_continuously(s)) {
      const auto continuous = check_reading(c, WfoldReadMode::kContinuous, half);
      RC_ASSERT(continuous == wfold_requests(c.stored(), c.engine, c.pci, SpecReading::kContinuous));
      fewest = std::min(fewest, continuous);
    }
    const WfoldReadMode chosen = choose_read_mode(s, half);
    RC_ASSERT(check_reading(c, chosen, half) == fewest);
    if (!c.whole()) return;
    RC_ASSERT(strided == wfold_requests(c.stored(), c.engine, c.pci, SpecReading::kStrided));
    std::int64_t window = 0;
    for (const auto& part : kernel_parts(c.conv, c.engine, c.pci)) {
      window = std::max<std::int64_t>(window, refill_lines(c.engine, c.pci, part));
    }
    window *= c.engine.fold(c.pci) * c.span();
    const bool once = window <= half && (!c.block_outer || c.conv.kernel[0] == 1);
    RC_ASSERT(transit == wfold_requests(c.stored(), c.engine, c.pci,
                                        once ? SpecReading::kTransitOnce : SpecReading::kTransitByBlock));
  });
}

}  // namespace
}  // namespace tilebeat::testing
