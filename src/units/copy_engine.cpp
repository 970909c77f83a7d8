#include "units/copy_engine.h"

#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

namespace {

// Whether a destination that shares bytes with its source gets ahead of it, so that a run would overwrite
// bytes that are still to be read. Its lead changes linearly along both counts, so checking the corners
// suffices.
bool overtakes(const Copy& copy) {
  const StridedBlock from = CopyStream::source(copy), to = CopyStream::destination(copy);
  if (from.total_bytes() == 0 || to.address >= from.end() || from.address >= to.end()) return false;
  if (copy.decodes) return true;  // weights take more bytes than their stream
  for (const std::int64_t row : {std::int64_t{0}, from.outer_count - 1}) {
    for (const std::int64_t column : {std::int64_t{0}, from.inner_count - 1}) {
      const auto read = to_signed(from.address) + row * from.outer_stride + column * from.inner_stride;
      const auto written = to_signed(to.address) + (copy.pad_top + row) * to.outer_stride +
                           (copy.pad_left + column) * to.inner_stride;
      if (written > read) return true;
    }
  }
  return false;
}

}  // namespace

// ---- CopyStream ----

CopyStream::CopyStream(const Copy& copy, int burst_bytes) : copy_(copy), burst_bytes_(burst_bytes) {
  if (copy.decodes) {
    copy_ = {};
    copy_.source = copy.source, copy_.run_bytes = copy.stream_bytes();
    enter_run();
    return;
  }
  // Adjacent runs are joined, as long as the length fits its field.
  const auto fits = [](std::uint64_t bytes) { return bytes <= UINT32_MAX; };
  if (copy.pad_left == 0 && copy.pad_right == 0 && fits(std::uint64_t{copy.run_bytes} * copy.inner_count) &&
      (copy.inner_count == 1 || copy.source_inner_stride == copy.run_bytes)) {
    copy_.run_bytes *= copy.inner_count;
    copy_.inner_count = 1;
    if (copy.pad_top == 0 && copy.pad_bottom == 0 && copy.source_outer_stride == copy_.run_bytes &&
        fits(std::uint64_t{copy_.run_bytes} * copy.outer_count)) {
      copy_.run_bytes *= copy.outer_count;
      copy_.outer_count = 1;
    }
  }
  enter_run();
}

std::int64_t CopyStream::total_bytes(const Copy& c) {
  return std::int64_t{c.run_bytes} * (c.pad_left + c.inner_count + c.pad_right) *
         (c.pad_top + c.outer_count + c.pad_bottom);
}

StridedBlock CopyStream::source(const Copy& c) {
  if (c.decodes) return {c.source, c.stream_bytes(), 1, 0, 1, 0};
  return {c.source, c.run_bytes, c.inner_count, c.source_inner_stride, c.outer_count, c.source_outer_stride};
}

StridedBlock CopyStream::destination(const Copy& c) {
  return {c.destination,
          c.run_bytes,
          std::int64_t{c.pad_left} + c.inner_count + c.pad_right,
          c.destination_inner_stride,
          std::int64_t{c.pad_top} + c.outer_count + c.pad_bottom,
          c.destination_outer_stride};
}

StridedBlock CopyStream::turned_block(const Copy& c, int block) {
  return {c.destination + to_unsigned(block) * c.destination_outer_stride,
          c.inner_count,
          c.transposed_columns,
          c.destination_inner_stride,
          c.run_bytes / c.transposed_columns,
          c.transposed_stride};
}

// Enters the next run of the destination, from the source or from the border.
void CopyStream::enter_run() {
  const std::int64_t columns = std::int64_t{copy_.pad_left} + copy_.inner_count + copy_.pad_right;
  const std::int64_t rows = std::int64_t{copy_.pad_top} + copy_.outer_count + copy_.pad_bottom;
  offset_ = 0;
  if (++column_ == columns) column_ = 0, ++row_;
  if (row_ == rows) {
    piece_.reset();
    return;
  }
  const std::int64_t row = row_ - copy_.pad_top, column = column_ - copy_.pad_left;
  Piece piece;
  piece.fill = row < 0 || row >= copy_.outer_count || column < 0 || column >= copy_.inner_count;
  piece.address =
      copy_.source + to_unsigned(row * copy_.source_outer_stride + column * copy_.source_inner_stride);
  piece_ = piece;
  // Inside a border adjacent runs of the source are joined as well.
  const bool touching = !piece.fill && copy_.source_inner_stride == copy_.run_bytes &&
                        std::uint64_t{copy_.run_bytes} * copy_.inner_count <= UINT32_MAX;
  const int runs = touching ? copy_.inner_count : 1;
  length_ = std::int64_t{copy_.run_bytes} * runs;
  column_ += runs - 1;
  const auto window = to_unsigned(burst_bytes_);
  const std::uint64_t to_boundary = piece_->fill ? window : window - piece_->address % window;
  piece_->bytes = to_int(std::min<std::int64_t>(to_signed(to_boundary), length_));
}

void CopyStream::advance() {
  offset_ += piece_->bytes;
  if (offset_ == length_) {
    enter_run();
    return;
  }
  piece_->address += to_unsigned(piece_->bytes);
  piece_->bytes = to_int(std::min<std::int64_t>(burst_bytes_, length_ - offset_));
}

// ---- CopyEngine ----

namespace {

bool is_in(const std::vector<AddressRange>& ranges, std::uint64_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [address](const AddressRange& r) { return address >= r.begin && address < r.end; });
}

}  // namespace

CopyEngine::CopyEngine(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
                       Unit unit, std::vector<AddressRange> inner_ranges, const std::vector<CopySide>& more,
                       int decode_bytes)
    : CommandedUnit(name, context, unit),
      outer("outer", context, config.max_outstanding, wake_),
      inner("inner", context, config.max_outstanding, wake_),
      config_(config),
      buffer_fill_(context, *this, {"", "buffer", "bytes", CounterInfo::Kind::kLevel}),
      unit_(unit),
      inner_ranges_(std::move(inner_ranges)),
      decode_bytes_(decode_bytes) {
  for (const CopySide& side : more) {
    more_outer.push_back(std::make_unique<BurstPort>(side.name, context, config.max_outstanding, wake_));
    more_ranges_.push_back(side.ranges);
  }
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) {
    read_signal_ = trace->add_signal(this->name(), "read_beat", 1);
    write_signal_ = trace->add_signal(this->name(), "write_beat", 1);
    buffer_signal_ = trace->add_signal(this->name(), "buffer_bytes", 32, Radix::kDecimal);
    if (decode_bytes_ > 0) decode_signal_ = trace->add_signal(this->name(), "decoding", 1);
  }
}

bool CopyEngine::is_inner(std::uint64_t address) const {
  return is_in(inner_ranges_, address);
}

BurstPort& CopyEngine::outer_port(std::uint64_t address) {
  for (std::size_t i = 0; i < more_ranges_.size(); ++i) {
    if (is_in(more_ranges_[i], address)) return *more_outer[i];
  }
  return outer;
}

void CopyEngine::check(const Copy& copy) const {
  const char* unit = nth(kUnitNames, copy.unit);
  if (CopyStream::total_bytes(copy) == 0)
    throw SimulationError(fmt::format("{}.copy: nothing to copy", unit));
  if (copy.decodes && decode_bytes_ == 0)
    throw SimulationError(fmt::format("{}.copy: the engine has no decoder of weights", unit));
  const bool moves = is_inner(copy.source) && is_inner(copy.destination);
  const bool may_move = unit_ == Unit::kFold || copy.unit == Unit::kMvdma;
  if (unit_ == Unit::kFold && !moves)
    throw SimulationError(
        fmt::format("fold.copy: {:#x} or {:#x} lies outside NRAM", copy.source, copy.destination));
  if (moves && may_move) {
    if (overtakes(copy))
      throw SimulationError(
          fmt::format("{}.copy: the destination {:#x} runs into what is still to be read from {:#x}", unit,
                      copy.destination, copy.source));
  } else if (is_inner(copy.source) == is_inner(copy.destination)) {
    throw SimulationError(
        fmt::format("{}.copy: {:#x} and {:#x} lie on the same side", unit, copy.source, copy.destination));
  }
  if (copy.block_bytes() + (copy.turns() ? config_.burst_bytes : 0) > config_.buffer_bytes)
    throw SimulationError(fmt::format(
        "{}.copy: a block of {} bytes to turn and a burst of {} do not fit the buffer of {} bytes", unit,
        copy.block_bytes(), config_.burst_bytes, config_.buffer_bytes));
  if (is_inner(copy.source)) check_inside("source", CopyStream::source(copy));
  if (!is_inner(copy.destination)) return;
  if (!copy.turns()) return check_inside("destination", CopyStream::destination(copy));
  // Blocks follow one another: the last one ends where the copy ends.
  for (const int block : {0, copy.outer_count - 1})
    check_inside("destination", CopyStream::turned_block(copy, block));
}

void CopyEngine::check_inside(const char* what, const StridedBlock& block) const {
  if (block.total_bytes() == 0) return;  // a destination that is all border has no source
  for (const AddressRange& range : inner_ranges_) {
    if (block.address < range.begin || block.address >= range.end || block.end() <= range.end) continue;
    throw SimulationError(fmt::format("{}.copy: the {} {:#x} to {:#x} leaves the memory at {:#x} to {:#x}",
                                      nth(kUnitNames, unit_), what, block.address, block.end() - 1,
                                      range.begin, range.end - 1));
  }
}

void CopyEngine::take(const Instruction& instruction, Cycle next) {
  Copy copy;
  if (const auto* gather = instruction.operation.get_if<RowGather>()) {
    check(*gather);
    copy.destination = gather->destination, copy.run_bytes = gather->row_bytes;
    copy.inner_count = gather->count, copy.destination_inner_stride = gather->row_bytes;
    check_inside("destination", CopyStream::destination(copy));
  } else {
    copy = instruction.operation.get<Copy>();
    check(copy);
  }
  jobs_.push_back({instruction, copy, CopyStream::total_bytes(copy), next});
}

Footprint CopyEngine::footprint(const Instruction& instruction) const {
  const Copy& copy = jobs_.back().copy;
  Footprint made;
  if (const auto* gather = instruction.operation.get_if<RowGather>()) {
    add_reads(*gather, made);
    add(CopyStream::destination(copy), made.chip.writes);
    return made;
  }
  add(CopyStream::source(copy), made.chip.reads);
  if (!copy.turns()) {
    add(CopyStream::destination(copy), made.chip.writes);
    return made;
  }
  const std::int64_t runs = std::int64_t{copy.run_bytes};
  if (runs * copy.outer_count > kMostRuns) return made;
  for (int block = 0; block < copy.outer_count; ++block)
    add(CopyStream::turned_block(copy, block), made.chip.writes);
  return made;
}

void CopyEngine::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  take_responses(now);
  take_data(now);
  begin_write();
  decode(now);
  const bool wrote = write(now);
  const bool read_one = read(now);
  if (!read_one) read_ledger.enter(read_blocker(now), now);
  if (!wrote) write_ledger.enter(write_blocker(now), now);
  buffer_fill_.level(now, reserved_);
  trace_state(now);
  if (read_one || wrote) wake_at(now + 1);
}

// Takes arrived data in order, and fills the border between them.
void CopyEngine::take_data(Cycle now) {
  while (!pieces_.empty()) {
    const Piece piece = pieces_.front();
    if (piece.port == nullptr) {
      data_.push(to_size(piece.bytes), piece.fill);
      filled += piece.bytes;
    } else {
      if (!piece.port->ready(tlm::TLM_READ_COMMAND, now)) return;
      std::vector<std::uint8_t> data = piece.port->take(tlm::TLM_READ_COMMAND);
      read_ledger.explain(piece.port->trail(), now);
      if (piece.indices)
        take_indices(data);
      else
        data_.push(data.data(), data.size());
      piece.port->recycle(std::move(data));
    }
    pieces_.pop_front();
    if (!piece.last) continue;
    tell(UnitMessage::Kind::kReleased, jobs_[to_release_].instruction.release_signals);
    ++to_release_;
  }
}

void CopyEngine::take_responses(Cycle now) {
  while (!writes_.empty() && writes_.front().first->ready(tlm::TLM_WRITE_COMMAND, now)) {
    const auto [port, written] = writes_.front();
    writes_.pop_front();
    port->recycle(port->take(tlm::TLM_WRITE_COMMAND));
    write_ledger.explain(port->trail(), now);
    bytes += written;
    Job& job = jobs_.front();
    job.unwritten -= written;
    if (job.unwritten > 0) continue;
    show_work(context_, *this, job.instruction, job.began, now, {CopyStream::total_bytes(job.copy)});
    tell(UnitMessage::Kind::kDone, job.instruction.done_signals);
    jobs_.pop_front();
    --to_read_, --to_release_, --to_write_;
  }
}

// Sets `stream_` to the next piece to read or fill; false when there is none.
bool CopyEngine::begin_stream() {
  if (stream_) return true;
  if (gathering_) return gather_next();
  if (to_read_ == jobs_.size()) return false;
  const Job& job = jobs_[to_read_];
  ++to_read_;
  if (const auto* gather = job.instruction.operation.get_if<RowGather>()) {
    gathering_.emplace(*gather);
    return gather_next();
  }
  stream_.emplace(job.copy, config_.burst_bytes);
  return true;
}

Activity CopyEngine::read_blocker(Cycle now) {
  if (!begin_stream()) return pieces_.empty() ? blocker_ : Activity::kMemory;
  const CopyStream::Piece& piece = stream_->piece();
  if (reserved_ + piece.bytes > config_.buffer_bytes) return Activity::kLanding;
  if (piece.fill) return Activity::kBusy;
  BurstPort& port = read_port(piece.address);
  if (!port.granted(now)) return port.waits_for();
  return port.has_room() ? Activity::kBusy : Activity::kOutstanding;
}

bool CopyEngine::read(Cycle now) {
  if (read_blocker(now) != Activity::kBusy || !stream_) return false;
  const CopyStream::Piece piece = stream_->piece();
  stream_->advance();
  Piece pending;
  pending.bytes = piece.bytes;
  pending.indices = gathering_ && gathering_->reads.has_value();
  pending.last = stream_->done() && (!gathering_ || gathering_->taken == gathering_->op.count);
  pending.fill = jobs_[to_read_ - 1].copy.fill;
  reserved_ += piece.bytes;
  if (!piece.fill) {
    BurstPort& port = read_port(piece.address);
    pending.port = &port;
    port.issue(tlm::TLM_READ_COMMAND, piece.address, piece.bytes, port.buffer(piece.bytes), now);
  }
  pieces_.push_back(pending);
  if (stream_->done()) stream_.reset();
  if (pending.last) gathering_.reset();
  read_ledger.enter(Activity::kBusy, now);
  return true;
}

// Sets `cutter_` to the next burst to write; false when there is none.
bool CopyEngine::begin_write() {
  if (cutter_) return true;
  if (to_write_ == jobs_.size()) return false;
  const Copy& copy = jobs_[to_write_].copy;
  if (copy.turns()) {
    to_turn_ = copy;
    cutter_.emplace(CopyStream::turned_block(copy, next_block_), config_.burst_bytes);
    if (++next_block_ < copy.outer_count) return true;
    next_block_ = 0;
  } else {
    cutter_.emplace(CopyStream::destination(copy), config_.burst_bytes);
    if (copy.decodes) decoding_ = Decoding{copy.stream_bytes(), CopyStream::total_bytes(copy)};
  }
  ++to_write_;
  return true;
}

void CopyEngine::decode(Cycle now) {
  if (!decoding_) return;
  Decoding& d = *decoding_;
  if (d.done && *d.done <= now) {
    d.weights.push(d.fresh.data(), d.fresh.size());
    reserved_ -= d.taken;
    d.done.reset();
  }
  if (!d.done) decode_burst(now);
  if (d.done) wake_at(*d.done);
}

// Begins to decode the next weights, for which bytes have arrived and room is left.
void CopyEngine::decode_burst(Cycle now) {
  Decoding& d = *decoding_;
  constexpr std::size_t kBursts = 2;
  const auto burst = to_size(config_.burst_bytes);
  if (d.weights_left == 0 || d.weights.size() + burst > kBursts * burst) return;
  d.fresh.resize(to_size(std::min<std::int64_t>(config_.burst_bytes, d.weights_left)));
  const std::size_t there = std::min(data_.size(), to_size(d.bytes_left));
  const WeightDecoder::Step step = decoder_.decode(data_.data(), there, d.fresh.data(), count_of(d.fresh));
  if (step.taken == 0 && step.made == 0) {
    if (to_signed(there) < d.bytes_left) return;
    throw SimulationError(fmt::format("{}.copy: the stream ends {} weights before the destination",
                                      nth(kUnitNames, unit_), d.weights_left));
  }
  data_.pop(step.taken);
  d.taken = to_int(to_signed(step.taken));
  d.bytes_left -= to_signed(step.taken), d.weights_left -= step.made;
  if (d.weights_left == 0 && (d.bytes_left > 0 || !decoder_.at_end()))
    throw SimulationError(
        fmt::format("{}.copy: the stream has more weights than the destination", nth(kUnitNames, unit_)));
  d.fresh.resize(to_size(step.made));
  decoded += step.made;
  d.done = now + std::max<Cycle>(1, ceil_div(to_signed(step.taken), std::int64_t{decode_bytes_}));
  if (Trace* trace = context_.trace(); trace != nullptr) {
    trace->change(decode_signal_, context_.clock.at(now), 1);
    trace->change(decode_signal_, context_.clock.at(*d.done), 0);
  }
}

// Transposes the block at the front of the buffer; false while it is incomplete.
bool CopyEngine::turn_block() {
  if (!to_turn_) return true;
  if (data_.size() < to_size(to_turn_->block_bytes())) return false;
  const std::size_t columns = to_turn_->run_bytes, rows = to_turn_->inner_count;
  const std::vector<std::uint8_t> block(data_.data(), data_.data() + to_turn_->block_bytes());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      data_.data()[column * rows + row] = block[row * columns + column];
  }
  to_turn_.reset();
  return true;
}

Activity CopyEngine::write_blocker(Cycle now) {
  if (!begin_write()) return writes_.empty() ? blocker_ : Activity::kMemory;
  BurstPort& port = write_port(cutter_->address());
  if (decoding_ && decoding_->weights.size() < to_size(cutter_->bytes()))
    return decoding_->done ? Activity::kDecode : Activity::kStaging;
  if (!decoding_ && (!turn_block() || data_.size() < to_size(cutter_->bytes()))) return Activity::kStaging;
  if (!port.granted(now)) return port.waits_for();
  return port.has_room() ? Activity::kBusy : Activity::kOutstanding;
}

bool CopyEngine::write(Cycle now) {
  if (write_blocker(now) != Activity::kBusy || !cutter_) return false;
  const std::uint64_t address = cutter_->address();
  const int burst = cutter_->bytes();
  BurstPort& port = write_port(address);
  std::vector<std::uint8_t> data = port.buffer(burst);
  ByteQueue& from = decoding_ ? decoding_->weights : data_;
  std::copy_n(from.data(), burst, data.begin());
  from.pop(to_size(burst));
  if (!decoding_) reserved_ -= burst;
  cutter_->advance();
  if (cutter_->done()) cutter_.reset(), decoding_.reset();
  port.issue(tlm::TLM_WRITE_COMMAND, address, burst, std::move(data), now);
  writes_.emplace_back(&port, burst);
  write_ledger.enter(Activity::kBusy, now);
  return true;
}

void CopyEngine::trace_state(Cycle now) {
  Trace* trace = context_.trace();
  if (trace == nullptr) return;
  const Picoseconds at = context_.clock.at(now);
  trace->change(read_signal_, at, read_ledger.current() == Activity::kBusy ? 1 : 0);
  trace->change(write_signal_, at, write_ledger.current() == Activity::kBusy ? 1 : 0);
  trace->change(buffer_signal_, at, to_unsigned(reserved_));
}

}  // namespace tilebeat
