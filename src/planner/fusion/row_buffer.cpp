#include "base/types.h"
#include "planner/fusion/cluster_tasks.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Strides of one side of a transfer.
struct Side {
  std::int64_t column = 0, row = 0;
};
Side side_of(const CopyShape& s, TransferEnd end) {
  return end == TransferEnd::kSource ? Side{s.source_column, s.source_row}
                                     : Side{s.destination_column, s.destination_row};
}
// Bytes from the first to behind the last byte of one side.
std::int64_t extent(const CopyShape& s, TransferEnd end) {
  const Side side = side_of(s, end);
  return (s.rows - 1) * side.row + (s.columns - 1) * side.column + s.run;
}

// Cuts a transfer in two: before and from run `at` of its outermost axis with several runs on, or byte `at`
// of its only run.
std::pair<Transfer, Transfer> cut(const Transfer& whole, std::int64_t at) {
  Transfer first = whole, second = whole;
  const CopyShape& s = whole.shape;
  const auto move = [&](std::int64_t source, std::int64_t destination) {
    second.source += to_unsigned(source), second.destination += to_unsigned(destination);
  };
  if (s.rows > 1) {
    first.shape.rows = at, second.shape.rows = s.rows - at;
    move(at * s.source_row, at * s.destination_row);
  } else if (s.columns > 1) {
    first.shape.columns = at, second.shape.columns = s.columns - at;
    move(at * s.source_column, at * s.destination_column);
  } else {
    first.shape.run = at, second.shape.run = s.run - at;
    move(at, at);
  }
  return {first, second};
}

}  // namespace

Interval HeldTensor::rows_of(std::uint64_t address, std::int64_t bytes) const {
  const auto first = to_signed(address - origin_);
  return {to_int(first / row_bytes_), to_int(ceil_div(first + bytes, row_bytes_))};
}

CopyShape HeldTensor::with_places(const CopyShape& shape, TransferEnd end, std::int64_t place_bytes) const {
  CopyShape s = shape;
  const auto place = [&](std::int64_t count, std::int64_t& distance) {
    if (count > 1 && distance % row_bytes_ == 0) distance = distance / row_bytes_ * place_bytes;
  };
  const bool source = end == TransferEnd::kSource;
  place(s.columns, source ? s.source_column : s.destination_column);
  place(s.rows, source ? s.source_row : s.destination_row);
  return s;
}

NramPart::NramPart(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const GroupTensor& tensor)
    : HeldTensor(origin, tensor.row_bytes()),
      address_(address),
      pixel_bytes_(tensor.pixel_bytes()),
      ring_(graph, BufferRole::kMap, 1) {}

void NramPart::begin(const Region& part) {
  part_ = part, filling_ = ring_.next();
}

AccessList NramPart::accesses(Interval /*rows*/, AccessKind kind) const {
  return {access(kind)};
}

std::vector<Transfer> NramPart::placed(const Transfer& transfer, TransferEnd end) const {
  const std::int64_t row_bytes = part_.columns.size() * pixel_bytes_;
  Transfer inside = transfer;
  inside.shape = with_places(transfer.shape, end, row_bytes);
  std::uint64_t& address = end == TransferEnd::kSource ? inside.source : inside.destination;
  const auto offset = to_signed(address - origin_);
  address = address_ + to_unsigned((offset / row_bytes_ - part_.rows.begin) * row_bytes +
                                   offset % row_bytes_ - part_.columns.begin * pixel_bytes_);
  return {inside};
}

RowBuffer::RowBuffer(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const BufferedRow& row,
                     int capacity)
    : HeldTensor(origin, row.bytes), address_(address), row_(row), place_bytes_(row.place_bytes()) {
  for (int i = 0; i < capacity; ++i) places_.push_back(graph.add_buffer(BufferRole::kStaging));
}

void RowBuffer::begin_strip(int column) {
  if (place_bytes_ < row_.bytes) skipped_ = column * row_.pixel_bytes;
}

void RowBuffer::make(Interval rows) {
  const std::int64_t shift = next_ - rows.begin;
  next_ += rows.size();
  if (!made_.empty() && made_.back().shift == shift && made_.back().rows.end == rows.begin)
    made_.back().rows.end = rows.end;
  else
    made_.push_back({rows, shift});
  while (made_.front().rows.end + made_.front().shift + ssize(places_) <= next_) made_.pop_front();
}

std::int64_t RowBuffer::shift_of(int row) const {
  const auto found = std::find_if(made_.rbegin(), made_.rend(), [row](const Made& made) {
    return row >= made.rows.begin && row < made.rows.end;
  });
  if (found == made_.rend()) throw SimulationError(fmt::format("row {} of a row buffer is not there", row));
  return found->shift;
}

AccessList RowBuffer::accesses(Interval rows, AccessKind kind) const {
  AccessList accesses;
  const auto places = ssize(places_);
  for (int row = rows.begin; row < rows.end; ++row) {
    const std::int64_t number = row + shift_of(row);
    accesses.push_back({nth(places_, number % places), to_int(number / places), kind});
  }
  return accesses;
}

std::int64_t RowBuffer::unrolled(std::uint64_t address) const {
  const auto offset = to_signed(address - origin_);
  const std::int64_t row = offset / row_.bytes;
  return (row + shift_of(to_int(row))) * place_bytes_ + offset % row_.bytes - skipped_;
}

std::vector<Transfer> RowBuffer::placed(const Transfer& transfer, TransferEnd end) const {
  std::vector<Transfer> to;
  Transfer inside = transfer;
  inside.shape = with_places(transfer.shape, end, place_bytes_);
  add_placed(inside, unrolled(end == TransferEnd::kSource ? transfer.source : transfer.destination), end, to);
  return to;
}

// `begin`: offset of its first byte from the first place.
void RowBuffer::add_placed(const Transfer& transfer, std::int64_t begin, TransferEnd end,
                           std::vector<Transfer>& to) const {
  const std::int64_t lap = ssize(places_) * place_bytes_;
  const std::int64_t last = begin + extent(transfer.shape, end);
  const std::int64_t border = (begin / lap + 1) * lap;
  if (last <= border) {
    to.push_back(transfer);
    (end == TransferEnd::kSource ? to.back().source : to.back().destination) =
        address_ + to_unsigned(begin % lap);
    return;
  }
  // Takes whole runs of the outermost axis in front of the border; a run that crosses the border is cut
  // further.
  const CopyShape& s = transfer.shape;
  const Side side = side_of(s, end);
  const std::int64_t step = s.rows > 1 ? side.row : s.columns > 1 ? side.column : 1;
  const std::int64_t count = s.rows > 1 ? s.rows : s.columns > 1 ? s.columns : s.run;
  CopyShape inner = s;
  if (s.rows > 1)
    inner.rows = 1;
  else if (s.columns > 1)
    inner.columns = 1;
  else
    inner.run = 1;
  const std::int64_t fit =
      border - begin < extent(inner, end) ? 0 : (border - begin - extent(inner, end)) / step + 1;
  const std::int64_t first = std::min(count - 1, std::max<std::int64_t>(fit, 1));
  const auto [front, back] = cut(transfer, first);
  add_placed(front, begin, end, to);
  add_placed(back, begin + first * step, end, to);
}

}  // namespace tilebeat
