#include "tilebeat/error.h"
#include "units/copy_engine.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {

void CopyEngine::check(const RowGather& gather) const {
  if (is_inner(gather.source) || !is_inner(gather.destination))
    throw SimulationError(fmt::format("iodma.gather: rows go from {:#x} to {:#x}, not from DRAM to the core",
                                      gather.source, gather.destination));
  const auto inside = [this](std::uint64_t address) {
    if (!is_inner(address))
      throw SimulationError(fmt::format("iodma.gather: indices at {:#x} are not in the core", address));
  };
  const std::int64_t size = RowGather::kIndexBytes * gather.count;
  inside(gather.indices), check_inside("indices", {gather.indices, size});
  if (gather.more_rows == 0) return;
  inside(gather.more_indices), check_inside("indices", {gather.more_indices, size});
}

void CopyEngine::add_reads(const RowGather& gather, Footprint& made) {
  // Any row of the table may be read.
  add({gather.source, gather.row_bytes, std::max<std::int64_t>(gather.more_rows, 1), gather.more_pitch,
       gather.rows, gather.pitch},
      made.chip.reads);
  add(StridedBlock{gather.indices, RowGather::kIndexBytes * gather.count}, made.chip.reads);
  if (gather.more_rows > 0)
    add(StridedBlock{gather.more_indices, RowGather::kIndexBytes * gather.count}, made.chip.reads);
}

// Sets `stream_` to the next indices of a RowGather, or to the next row; false while indices are under way.
bool CopyEngine::gather_next() {
  Gathering& g = *gathering_;
  const bool pairs = g.op.more_rows > 0;
  const auto stream_of = [this](std::uint64_t source, std::int64_t count) {
    Copy copy;
    copy.source = source, set_field(copy.run_bytes, count);
    stream_.emplace(copy, config_.burst_bytes);
    return true;
  };
  if (g.taken == g.asked) {  // all rows of the indices so far were requested
    const bool second = pairs && g.reads == false;
    if (!second) g.begun = g.taken, g.first.clear(), g.second.clear();
    const std::int64_t some = indices_at_a_time();
    g.reads = second;
    if (second || !pairs) g.asked += some;
    return stream_of(
        (second ? g.op.more_indices : g.op.indices) + to_unsigned(RowGather::kIndexBytes * g.begun),
        RowGather::kIndexBytes * some);
  }
  g.reads.reset();
  const std::int64_t at = g.taken - g.begun;
  if (ssize(pairs ? g.second : g.first) < RowGather::kIndexBytes * (at + 1)) return false;
  const auto number = [&](const std::vector<std::uint8_t>& of, std::uint32_t rows) {
    std::int32_t index = 0;
    std::memcpy(&index, of.data() + RowGather::kIndexBytes * at, RowGather::kIndexBytes);
    if (index < 0 || index >= std::int64_t{rows})
      throw SimulationError(
          fmt::format("iodma.gather: index {} is {}, the table has {} rows", g.taken, index, rows));
    return to_unsigned(std::int64_t{index});
  };
  std::uint64_t row = g.op.source + number(g.first, g.op.rows) * g.op.pitch;
  if (pairs) row += number(g.second, g.op.more_rows) * g.op.more_pitch;
  ++g.taken;
  return stream_of(row, g.op.row_bytes);
}

// Those that are read from index `begun` on: as many as it has registers for.
std::int64_t CopyEngine::indices_at_a_time() const {
  return std::min<std::int64_t>(RowGather::kHeld, gathering_->op.count - gathering_->begun);
}

void CopyEngine::take_indices(const std::vector<std::uint8_t>& data) {
  Gathering& g = *gathering_;
  // The second ones follow when all first ones are there.
  std::vector<std::uint8_t>& to =
      ssize(g.first) < RowGather::kIndexBytes * indices_at_a_time() ? g.first : g.second;
  to.insert(to.end(), data.begin(), data.end());
  reserved_ -= to_int(ssize(data));
}

}  // namespace tilebeat
