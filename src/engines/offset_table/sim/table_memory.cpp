#include "engines/offset_table/sim/offset_unit.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::offset_table {

TableMemory::TableMemory(const char* name, const SimContext& context, int table_bytes, const DmaConfig& dma,
                         sc_core::sc_event& changed)
    : port(name, context, dma.max_outstanding, changed),
      table_bytes_(table_bytes),
      burst_bytes_(dma.burst_bytes) {}

void TableMemory::begin(std::uint64_t address, const ImageLayout& image, const TableShape& shape,
                        const OffsetSchedule& schedule, int rows, Cycle from) {
  stats.largest_bytes = std::max(stats.largest_bytes, image.end);
  taps_ = shape.taps();
  if (image.end <= table_bytes_) {
    hold_all(address, image, from);
    return;
  }
  held_.reset();
  address_ = address;
  image_.resize(to_size(image.end));
  threads_ = offsets_ = rest_ = Stream{};
  rest_.parts = {{image.taps, image.threads}}, rest_.total = 1;
  divide(image, schedule, rows, ceil_div<std::int64_t>(shape.threads(), rows));
  // Requests them in the order of their use.
  want(rest_, from), want(threads_, from), want(offsets_, from);
  want(threads_, from), want(offsets_, from);
}

void TableMemory::hold_all(std::uint64_t address, const ImageLayout& image, Cycle from) {
  if (held_ == address) {
    ++stats.reused;
    return;
  }
  ++stats.loads;
  held_ = address_ = address;
  image_.resize(to_size(image.end));
  threads_ = offsets_ = rest_ = Stream{};
  rest_.parts = {{0, image.end}}, rest_.total = 1;
  want(rest_, from);
}

void TableMemory::divide(const ImageLayout& image, const OffsetSchedule& schedule, int rows,
                         std::int64_t groups) {
  const TableParts parts = parts_of_image(image, to_int(table_bytes_), taps_, rows, groups);
  if (!parts.fits())
    throw SimulationError(
        fmt::format("{}: half of the table cache of {} bytes holds no part of tables of {} bytes",
                    port.socket.name(), table_bytes_, image.end));
  threads_.held = parts.threads_held, offsets_.held = parts.offsets_held;
  groups_of_part_ = parts.groups, segments_of_part_ = parts.segments;
  const std::int64_t offsets = image.taps, segment = std::int64_t{taps_} * kEntryBytes;
  const std::int64_t record = std::int64_t{rows} * image.record_bytes;
  for (std::int64_t group = 0; group < groups; group += groups_of_part_)
    threads_.parts.push_back({image.threads + group * record,
                              std::min(image.end, image.threads + (group + groups_of_part_) * record)});
  threads_.total = ssize(threads_.parts);
  if (offsets_.held) {
    offsets_.parts = {{0, offsets}}, offsets_.total = 1;
    return;
  }
  first_part_.clear(), first_entry_.clear();
  for (const Slice& slice : schedule.slices()) {
    const std::vector<Beat>& beats = schedule.beats(slice.group);
    first_part_.push_back(ssize(offsets_.parts));
    first_entry_.push_back(beats.front().entry);
    const std::int64_t begin = std::int64_t{beats.front().entry} * kEntryBytes;
    const std::int64_t end = (std::int64_t{beats.back().entry} + 1) * kEntryBytes;
    for (std::int64_t at = begin; at < end; at += segments_of_part_ * segment)
      offsets_.parts.push_back({at, std::min(end, at + segments_of_part_ * segment)});
  }
  offsets_.total = ssize(offsets_.parts) * groups;
}

// Requests the next part of a stream.
void TableMemory::want(Stream& stream, Cycle from) {
  if (stream.wanted == stream.total) return;
  const std::int64_t number = stream.wanted++;
  const Range range = stream.parts[to_size(number) % stream.parts.size()];
  stream.arrived.emplace_back();
  if (!stream.held) stats.streamed_bytes += range.end - range.begin;
  request_range(range, stream, number, from);
}

void TableMemory::request_range(Range range, Stream& stream, std::int64_t number, Cycle from) {
  stats.loaded_bytes += range.end - range.begin;
  if (range.begin == range.end) {
    stream.arrived.back() = from;
    return;
  }
  requests_.push_back({range, 0, 0, from, &stream, number});
}

// Part `part` is used from now on: the contents of the halves before it may be replaced.
std::optional<Cycle> TableMemory::forward(Stream& stream, std::int64_t part, Cycle used) {
  while (stream.current < part) {
    ++stream.current;
    stream.arrived.pop_front();
    want(stream, used);
  }
  return stream.arrived.front();
}

std::optional<Cycle> TableMemory::threads_from(std::int64_t group, Cycle used) {
  const std::optional<Cycle> rest = rest_.arrived.front();
  if (held_ || !rest) return rest;
  const std::optional<Cycle> there = forward(threads_, threads_.held ? 0 : group / groups_of_part_, used);
  return there ? std::optional(std::max(*rest, *there)) : there;
}

std::optional<Cycle> TableMemory::offsets_from(std::int64_t group, std::size_t slice, const Beat& beat,
                                               Cycle used) {
  const std::optional<Cycle> rest = rest_.arrived.front();
  if (held_ || !rest) return rest;
  if (offsets_.held) return offsets_.arrived.front();
  const std::int64_t segment = (beat.entry - first_entry_[slice]) / taps_;
  const std::int64_t part = group * ssize(offsets_.parts) + first_part_[slice] + segment / segments_of_part_;
  return forward(offsets_, part, used);
}

void TableMemory::step(Cycle now, Activity idle) {
  while (port.front_ready(now)) {
    std::vector<std::uint8_t> data = port.take_front();
    Request& front = requests_.front();
    std::memcpy(image_.data() + front.range.begin + front.received, data.data(), data.size());
    front.received += ssize(data);
    port.recycle(std::move(data));
    if (front.received < front.range.end - front.range.begin) continue;
    nth(front.stream->arrived, front.number - front.stream->current) = now;
    requests_.pop_front();
  }
  const auto next = std::find_if(requests_.begin(), requests_.end(),
                                 [](const Request& r) { return r.requested < r.range.end - r.range.begin; });
  if (next == requests_.end() || next->from > now) {
    port.ledger.enter(port.empty() ? idle : Activity::kMemory, now);
    return;
  }
  if (!port.granted(now) || !port.has_room()) {
    port.ledger.enter(port.granted(now) ? Activity::kOutstanding : port.waits_for(), now);
    return;
  }
  const std::uint64_t address = address_ + to_unsigned(next->range.begin + next->requested);
  const auto window = to_unsigned(burst_bytes_);
  const int bytes = to_int(std::min<std::int64_t>(next->range.end - next->range.begin - next->requested,
                                                  to_signed(window - address % window)));
  next->requested += bytes;
  port.issue(tlm::TLM_READ_COMMAND, address, bytes, port.buffer(bytes), now);
}

void TableMemory::schedule(NextClock& next) const {
  if (port.ledger.current() == Activity::kBusy) next.at(port.ledger.settled_at() + 1);
  for (const Request& request : requests_) {
    if (request.requested < request.range.end - request.range.begin) next.at(request.from);
  }
}

}  // namespace tilebeat::offset_table
