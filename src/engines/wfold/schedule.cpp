#include "engines/wfold/schedule.h"

#include "base/types.h"

#include <algorithm>

namespace tilebeat::wfold {
namespace {

constexpr int kRecordBytes = 16;  // bytes of a post-parameter record

}  // namespace

GranularityChoice choose_granularity(int channels, int width, int smallest, int tolerance, int line_bytes) {
  GranularityChoice choice;
  bool any = false;
  for (int p = line_bytes; p >= smallest && p > 0; p /= 2) {
    GranularityCandidate c;
    c.granularity = p;
    c.fold = line_bytes / p;
    c.padding = granularity_padding(channels, p);
    c.too_wide = c.fold > width;
    if (!c.too_wide && (!any || c.padding < choice.least_padding)) {
      choice.least_padding = c.padding;
      any = true;
    }
    choice.candidates.push_back(c);
  }
  choice.granularity = line_bytes;
  bool chosen = false;
  for (GranularityCandidate& c : choice.candidates) {
    c.tolerable = !c.too_wide && c.padding - choice.least_padding < tolerance;
    if (c.tolerable && !chosen) {
      choice.granularity = c.granularity;
      chosen = true;
    }
  }
  return choice;
}

std::vector<FoldedColumn> fold_kernel(int kernel_w, int stride_w, int dilation_w) {
  std::vector<FoldedColumn> columns;
  for (int tap = 0; tap < kernel_w; ++tap) {
    const int at = tap * dilation_w;
    if (columns.empty() || columns.back().column != at / stride_w) columns.push_back({at / stride_w, {}});
    columns.back().taps.push_back({tap, at % stride_w});
  }
  return columns;
}

WfoldSchedule::WfoldSchedule(const WfoldShape& shape, const WfoldGeometry& geometry)
    : shape_(shape),
      geometry_(geometry),
      fold_(shape.fold(geometry.granularity)),
      blocks_(ceil_div(geometry.channels, geometry.granularity)),
      kernel_groups_(geometry.kernel_layout.slave_groups),
      groups_(std::max(1, kernel_groups_ / shape.masters)),
      kernel_tiles_(ceil_div(geometry.kernels, shape.tile_kernels())),
      column_tiles_(ceil_div(geometry.columns, shape.tile_columns(geometry.granularity))),
      tiles_per_kernel_tile_(std::int64_t{geometry.rows} * column_tiles_) {
  const int widest = shape.widest_kernel(geometry.granularity);
  for (const FoldedColumn& folded : fold_kernel(geometry.kernel_w, geometry.stride_w, geometry.dilation_w)) {
    if (parts_.empty() || folded.column - parts_.back().columns.front() >= widest)
      parts_.push_back({all_steps_, {}, 0});
    parts_.back().columns.push_back(folded.column);
    ++all_steps_;
  }
  for (Part& part : parts_) {
    const int span = part.columns.back() - part.columns.front();
    part.lines = ceil_div(shape.windows() * fold_ + span, fold_);
    lines_per_tile_ += std::int64_t{part.lines} * groups_ * geometry.kernel_h * blocks_;
  }
  if (geometry.kernel_layout.dealt()) store_taps();
  const int outer = geometry.block_outer ? blocks_ : geometry.kernel_h;
  const int inner = geometry.block_outer ? geometry.kernel_h : blocks_;
  refills_.reserve(parts_.size() * to_size(outer) * to_size(inner));
  for (int part = 0; part < parts(); ++part) {
    for (int i = 0; i < outer; ++i) {
      for (int j = 0; j < inner; ++j) {
        WfoldRefill refill;
        refill.part = part;
        refill.kernel_row = geometry.block_outer ? j : i;
        refill.block = geometry.block_outer ? i : j;
        refills_.push_back(refill);
      }
    }
  }
}

int WfoldSchedule::kernels_of_tile(int kernel_tile) const {
  return std::min(shape_.tile_kernels(), geometry_.kernels - kernel_tile * shape_.tile_kernels());
}

WfoldTile WfoldSchedule::tile(std::int64_t index) const {
  WfoldTile tile;
  tile.kernel_tile = to_int(index / tiles_per_kernel_tile_);
  const std::int64_t in_plane = index % tiles_per_kernel_tile_;
  const int width = shape_.tile_columns(geometry_.granularity);
  tile.row = to_int(in_plane / column_tiles_);
  tile.column = to_int(in_plane % column_tiles_) * width;
  tile.columns = std::min(width, geometry_.columns - tile.column);
  tile.windows = ceil_div(tile.columns, fold_);
  tile.kernels = kernels_of_tile(tile.kernel_tile);
  tile.kernels_per_slave = per_slave(tile.kernels);
  return tile;
}

WfoldSchedule::LineSpan WfoldSchedule::lines_of_step(int part, int step) const {
  const std::vector<int>& columns = steps(part);
  const int offset = nth(columns, step) - columns.front();
  return {offset / fold_ * groups_, ceil_div(offset + shape_.windows() * fold_, fold_) * groups_};
}

WfoldSchedule::LineSpan WfoldSchedule::lines_of_window(int part, int step, int window, bool last) const {
  const std::vector<int>& columns = steps(part);
  const bool last_step = step + 1 == count_of(columns);
  if (last && last_step) return {lines(part), lines(part)};
  const auto offset = [&](int of_step) { return nth(columns, of_step) - columns.front(); };
  int first = offset(step) / fold_ + window + 1;
  if (last) first = offset(step + 1) / fold_;
  if (!last_step) first = std::min(first, offset(step + 1) / fold_);
  return {first * groups_, ceil_div(offset(step) + (window + 1) * fold_, fold_) * groups_};
}

int WfoldSchedule::group_step() const {
  const WfoldKernelLayout& layout = geometry_.kernel_layout;
  return kernel_groups_ == 1 ? 0 : group_kernels() / layout.group_kernels * layout.channels;
}

int WfoldSchedule::block_bytes(int block) const {
  return std::min(geometry_.granularity, geometry_.channels - block * geometry_.granularity);
}

ByteRange WfoldSchedule::bytes_of(int column, int last, int begin, int end) const {
  const std::int64_t first_byte =
      std::int64_t{column} * geometry_.pixel_bytes + geometry_.first_channel + begin - geometry_.lead_bytes;
  const std::int64_t end_byte =
      std::int64_t{last} * geometry_.pixel_bytes + geometry_.first_channel + end - geometry_.lead_bytes;
  return {std::max<std::int64_t>(0, first_byte), std::min(geometry_.row_bytes, end_byte)};
}

bool WfoldSchedule::line_exists(const WfoldTile& tile, const WfoldRefill& refill, int line,
                                int master) const {
  if (!row_exists(map_row(tile, refill))) return false;
  const int first = line_column(tile, refill, line);
  const auto [begin, end] = line_channels(refill, line, master);
  for (int column = first; column < first + fold_; ++column) {
    if (!bytes_of(column, column, begin, end).empty()) return true;
  }
  return false;
}

std::int64_t WfoldSchedule::beats() const {
  std::int64_t beats = 0;
  for (int t = 0; t < kernel_tiles_; ++t) {
    for (int column = 0; column < column_tiles_; ++column)
      beats += beats_of(tile(t * tiles_per_kernel_tile_ + column)) * geometry_.rows;
  }
  return beats;
}

bool WfoldSchedule::advance(WfoldBeat& beat, const WfoldTile& tile) const {
  int& number = shape_.kernels_first() ? beat.window : beat.kernel;
  if (++number < beats_of_step(tile)) return true;
  number = 0;
  return advance_step(beat);
}

bool WfoldSchedule::advance_kernel_line(WfoldBeat& beat, const WfoldTile& tile) const {
  if (++beat.kernel < tile.kernels_per_slave) return true;
  beat.kernel = 0;
  return advance_step(beat);
}

bool WfoldSchedule::advance_step(WfoldBeat& beat) const {
  ++beat.step_number;
  const int part = refill(beat.refill).part;
  if (++beat.step < count_of(steps(part))) return true;
  beat.step = 0;
  beat.first_line += lines(part);
  if (++beat.refill < refills()) return true;
  beat.refill = 0;
  if (++beat.tile == tiles()) return false;
  if (beat.tile % tiles_per_kernel_tile_ == 0) beat.step_number = 0;
  return true;
}

std::int64_t WfoldSchedule::kernel_tile_begin(int kernel_tile) const {
  const std::int64_t kernel = kernel_bytes() + (geometry_.post_parameters ? kRecordBytes : 0);
  if (kernel_tile < kernel_tiles_) return kernel_tile * shape_.kernels_per_slave() * kernel;
  return ((kernel_tiles_ - 1) * shape_.kernels_per_slave() + per_slave(kernels_of_tile(kernel_tiles_ - 1))) *
         kernel;
}

std::int64_t WfoldSchedule::records_begin(int kernel_tile) const {
  return kernel_tile_begin(kernel_tile) + per_slave(kernels_of_tile(kernel_tile)) * kernel_bytes();
}

void WfoldSchedule::store_taps() {
  const WfoldKernelLayout& layout = geometry_.kernel_layout;
  const int pixel_channels = geometry_.pixel_bytes / geometry_.stride_w;
  // Of several groups, the first one's channels are the first of the run.
  const int skipped = layout.group_kernels == 0 ? geometry_.first_channel : 0;
  for (const FoldedColumn& column :
       fold_kernel(geometry_.kernel_w, geometry_.stride_w, geometry_.dilation_w)) {
    std::vector<StoredTap>& taps = stored_.emplace_back();
    for (const FoldedColumn::Tap& tap : column.taps) {
      const int first = tap.phase * pixel_channels - skipped;
      StoredTap stored;
      stored.begin = std::max(first, 0), stored.end = std::min(first + layout.channels, geometry_.channels);
      if (stored.begin >= stored.end) continue;
      stored.at = row_bytes_, stored.source = std::int64_t{tap.tap} * layout.channels + stored.begin - first;
      row_bytes_ += stored.end - stored.begin;
      taps.push_back(stored);
    }
  }
}

std::vector<StoredColumn> WfoldSchedule::stored_columns() const {
  std::vector<StoredColumn> columns;
  for (const std::vector<StoredTap>& taps : stored_) {
    if (taps.empty()) continue;
    const StoredTap& last = taps.back();
    columns.push_back(
        {taps.front().source, taps.front().at, last.at + last.end - last.begin - taps.front().at});
  }
  return columns;
}

int WfoldSchedule::channel_shift(int kernel) const {
  const WfoldKernelLayout& layout = geometry_.kernel_layout;
  if (layout.group_kernels == 0) return 0;
  const int number = kernel_groups_ == 1 ? layout.first_in_group + kernel : kernel % group_kernels();
  return number / layout.group_kernels * layout.channels;
}

int WfoldSchedule::channels_of_kernels() const {
  const WfoldKernelLayout& layout = geometry_.kernel_layout;
  if (layout.group_kernels == 0) return 0;
  const int last = (kernel_groups_ == 1 ? geometry_.kernels : group_kernels()) - 1;
  const int other_phases = (geometry_.stride_w - 1) * (geometry_.pixel_bytes / geometry_.stride_w);
  return other_phases + channel_shift(last) + layout.channels;
}

// Adds the own bytes of a row at `row` that lie in bytes `bytes` of a folded column.
void WfoldSchedule::add_pieces(std::int64_t row, int column, int shift, ByteRange bytes,
                               KernelLine& line) const {
  for (const StoredTap& tap : nth(stored_, column)) {
    const auto begin = std::max<std::int64_t>(tap.begin + shift, bytes.begin);
    const auto end = std::min<std::int64_t>(tap.end + shift, bytes.end);
    if (begin >= end) continue;
    const std::int64_t from = row + tap.at + begin - tap.begin - shift;
    if (line.pieces.empty()) line.bytes = {from, from};
    line.pieces.push_back(
        {to_int(from - line.bytes.begin), to_int(begin - bytes.begin), to_int(end - begin)});
    line.bytes.end = from + end - begin;
  }
}

void WfoldSchedule::find_own_bytes(std::int64_t own, int kernel, int row, int column, ByteRange bytes,
                                   int slave, KernelLine& line) const {
  line.bytes = {}, line.pieces.clear();
  const int number = kernel_of(slave, kernel);
  if (number >= geometry_.kernels) return;
  add_pieces(own + kernel * own_kernel_bytes() + row * row_bytes_, column, channel_shift(number), bytes,
             line);
}

void WfoldSchedule::find_kernel_line(const WfoldBeat& beat, const WfoldTile& tile, int slave,
                                     KernelLine& line) const {
  line.bytes = {}, line.pieces.clear();
  const int in_tile = kernel_of(slave, beat.kernel);
  if (in_tile >= tile.kernels) return;
  const WfoldRefill at = refill(beat.refill);
  const int column = first_step(at.part) + beat.step, bytes = block_bytes(at.block);
  const std::int64_t block = block_begin(at.block), tile_begin = kernel_tile_begin(tile.kernel_tile);
  if (geometry_.kernel_layout.own()) {
    const int shift = channel_shift(tile.kernel_tile * shape_.tile_kernels() + in_tile);
    return add_pieces(tile_begin + beat.kernel * kernel_bytes() + at.kernel_row * row_bytes_, column, shift,
                      {block, block + bytes}, line);
  }
  const std::int64_t lines = std::int64_t{geometry_.kernel_h} * all_steps_;  // lines of a kernel and a block
  const std::int64_t number = beat.kernel * lines + std::int64_t{at.kernel_row} * all_steps_ + column;
  const std::int64_t begin = tile_begin + (geometry_.kernel_layout.bytes == KernelBytesAre::kFolded
                                               ? number * geometry_.channels + block
                                               : tile.kernels_per_slave * lines * block + number * bytes);
  line.bytes = {begin, begin + bytes};
  line.pieces.push_back({0, 0, bytes});
}

Cycle WfoldSchedule::port_cycles(const WfoldBeat& beat, const WfoldTile& tile, int port_bytes) const {
  if (block_bytes(refill(beat.refill).block) <= port_bytes) return 1;
  const WfoldKernelLayout& layout = geometry_.kernel_layout;
  const int slaves = layout.own() && layout.group_kernels > 0 ? shape_.slaves : 1;  // all lines are alike
  KernelLine line;
  std::int64_t most = 1;
  for (int slave = 0; slave < slaves; ++slave) {
    find_kernel_line(beat, tile, slave, line);
    most = std::max(most, line.bytes.end - line.bytes.begin);
  }
  return ceil_div<std::int64_t>(most, port_bytes);
}

// ---- walks ----

void WfoldWalk::begin(const WfoldSchedule& schedule) {
  beat = {};
  tile = schedule.tile(0);
  refill = schedule.refill(0);
  more = true;
}

void WfoldWalk::move(const WfoldSchedule& schedule, Advance to_next) {
  const std::int64_t old_tile = beat.tile;
  const int old_refill = beat.refill;
  more = (schedule.*to_next)(beat, tile);
  if (!more) return;
  if (beat.tile != old_tile) tile = schedule.tile(beat.tile);
  if (beat.tile != old_tile || beat.refill != old_refill) refill = schedule.refill(beat.refill);
}

std::int64_t WfoldWalk::lines_needed(const WfoldSchedule& schedule) const {
  if (schedule.shape().kernels_first())
    return beat.first_line + schedule.lines_of_window(refill.part, beat.step, beat.window, last_window()).end;
  return beat.first_line + schedule.lines_of_step(refill.part, beat.step).end;
}

std::int64_t WfoldWalk::lines_freed(const WfoldSchedule& schedule) const {
  if (schedule.shape().kernels_first())
    return beat.first_line +
           schedule.lines_of_window(refill.part, beat.step, beat.window, last_window()).first;
  const int next = beat.step + 1;
  const bool last = next == count_of(schedule.steps(refill.part));
  return beat.first_line +
         (last ? schedule.lines(refill.part) : schedule.lines_of_step(refill.part, next).first);
}

// ---- reading ----

namespace {

// Bytes of the widest row window of a master's refill, over `channels` bytes of channels of each group of
// slaves.
std::int64_t window_bytes(const WfoldSchedule& s, int channels) {
  int lines = 0;
  for (int part = 0; part < s.parts(); ++part) lines = std::max(lines, s.lines_of_group(part));
  return std::int64_t{lines} * s.fold() * (channels + s.groups_span());
}

}  // namespace

bool can_read_continuously(const WfoldSchedule& s) {
  return s.blocks() == 1 && s.geometry().channels == s.geometry().pixel_bytes;
}

bool transit_holds_pixels(const WfoldSchedule& s, std::int64_t transit_half) {
  const bool follow = !s.geometry().block_outer || s.geometry().kernel_h == 1;
  return follow && window_bytes(s, s.geometry().channels) <= transit_half;
}

bool transit_holds_block(const WfoldSchedule& s, std::int64_t transit_half) {
  return window_bytes(s, s.block_bytes(0)) <= transit_half;
}

WfoldReadMode choose_read_mode(const WfoldSchedule& s, std::int64_t transit_half) {
  if (can_read_continuously(s)) return WfoldReadMode::kContinuous;
  if (s.blocks() * s.groups() > 1 && transit_holds_pixels(s, transit_half)) return WfoldReadMode::kTransit;
  return WfoldReadMode::kStrided;
}

WfoldReader::WfoldReader(const WfoldSchedule& schedule, WfoldReadMode mode, std::int64_t transit_half,
                         int master)
    : schedule_(schedule),
      mode_(mode),
      master_(master),
      whole_pixels_(mode == WfoldReadMode::kTransit && transit_holds_pixels(schedule, transit_half)) {
  if (lines_here() == 0) advance();
}

// The lines that the next fetch brings.
int WfoldReader::lines_here() const {
  const WfoldTile tile = schedule_.tile(tile_);
  if (mode_ != WfoldReadMode::kTransit)
    return schedule_.line_exists(tile, schedule_.refill(refill_), line_, master_) ? 1 : 0;
  int lines = 0;
  for (int block = 0; block < (whole_pixels_ ? schedule_.blocks() : 1); ++block) {
    const WfoldRefill& refill = schedule_.refill(refill_ + block);
    for (int line = 0; line < schedule_.lines(refill.part); ++line)
      lines += schedule_.line_exists(tile, refill, line, master_) ? 1 : 0;
  }
  return lines;
}

WfoldFetch WfoldReader::fetch() const {
  const WfoldTile tile = schedule_.tile(tile_);
  const WfoldRefill refill = schedule_.refill(refill_);
  WfoldFetch fetch;
  const int row = schedule_.map_row(tile, refill);
  const WfoldSchedule::ChannelSpan channels = schedule_.line_channels(refill, line_, master_);
  int begin = channels.begin, end = channels.end;
  int first = schedule_.line_column(tile, refill, line_);
  int columns = schedule_.fold();
  if (mode_ == WfoldReadMode::kTransit) {
    columns = schedule_.lines_of_group(refill.part) * schedule_.fold();
    if (whole_pixels_) {
      fetch.refills = schedule_.blocks();
      begin = schedule_.master_begin(master_), end = begin + schedule_.geometry().channels;
    }
    end += schedule_.groups_span();
    fetch.lines = lines_here();
  }
  const auto request = [&](int column, int last) {
    const ByteRange bytes = schedule_.bytes_of(column, last, begin, end);
    if (!bytes.empty()) fetch.requests.push_back({row, bytes});
  };
  if (mode_ == WfoldReadMode::kContinuous) {
    request(first, first + columns - 1);
  } else {
    for (int c = first; c < first + columns; ++c) request(c, c);
  }
  return fetch;
}

std::size_t requests_of_line(const WfoldSchedule& schedule, const WfoldFetch& fetch, const WfoldTile& tile,
                             const WfoldRefill& refill, int line, int master) {
  const int first = schedule.line_column(tile, refill, line);
  const auto [begin, end] = schedule.line_channels(refill, line, master);
  const ByteRange last = schedule.bytes_of(first, first + schedule.fold() - 1, begin, end);
  std::size_t needed = fetch.requests.size();
  while (needed > 0 && fetch.requests[needed - 1].bytes.begin >= last.end) --needed;
  return needed;
}

void WfoldReader::advance() {
  do move_on();
  while (!done() && lines_here() == 0);
}

void WfoldReader::move_on() {
  const int part = schedule_.refill(refill_).part;
  if (mode_ != WfoldReadMode::kTransit) {
    if (++line_ < schedule_.lines(part)) return;
    line_ = 0;
    ++refill_;
  } else {
    refill_ += whole_pixels_ ? schedule_.blocks() : 1;
  }
  if (refill_ < schedule_.refills()) return;
  refill_ = 0;
  ++tile_;
}

}  // namespace tilebeat::wfold
