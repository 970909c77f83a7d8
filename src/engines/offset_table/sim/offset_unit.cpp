#include "engines/offset_table/sim/offset_unit.h"

#include "base/types.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace tilebeat::offset_table {
namespace {

constexpr Cycle kEver = std::numeric_limits<Cycle>::max();

ImageLayout image_of_map(const TableShape& shape) {
  const std::int64_t kinds = shape.ragged() ? shape.groups : 1;
  return image_layout(shape.masks(), shape.kernel_h, shape.kernel_w, kinds * shape.segments() * shape.taps(),
                      shape.groups, shape.threads());
}

// Checks all fields: hand-written programs may contain any values.
void check_fields(const ConvSetup& c, const OffsetSetup& s, const OffsetMap& m, const OffsetRun& r,
                  const OffsetConfig& config) {
  const auto refuse = [](const std::string& what) { throw SimulationError("offset.run: " + what); };
  const TableShape shape = shape_of(c, s, m);
  if (const std::string wrong = shape.problem(); !wrong.empty()) refuse(wrong);
  if (s.block_kernels > config.columns || s.vector > config.vector)
    refuse(fmt::format("{} kernels and {} elements a beat, the lanes have {} and {}", s.block_kernels,
                       s.vector, config.columns, config.vector));
  if (r.first_channel + r.channels > shape.group_channels() ||
      (r.first_kernel + r.kernels - 1) / s.group_kernels >= s.groups)
    refuse(fmt::format("channels {} to {} of {}, kernels {} to {} of {} groups", r.first_channel,
                       r.first_channel + r.channels, shape.group_channels(), r.first_kernel,
                       r.first_kernel + r.kernels, s.groups));
  if (s.useful_taps > to_unsigned(shape.taps()))
    refuse(fmt::format("useful_taps {}: the kernel has {} taps", s.useful_taps, shape.taps()));
  if (c.post_parameters && r.last && r.kernels > config.record_kernels)
    refuse(
        fmt::format("biases and scales of {} kernels, the unit holds {}", r.kernels, config.record_kernels));
}

// Bytes of a map with all channels of all pixels.
std::uint64_t map_bytes(const OffsetSetup& s, const OffsetMap& m) {
  const int block = s.layout == MapLayout::kNhwc ? 1 : s.block;
  return std::uint64_t{m.height} * m.width * to_unsigned(align_up<int>(s.channels, block));
}

}  // namespace

Job::Job(const Instruction& i, const ConvSetup& c, const OffsetSetup& s, const OffsetMap& m,
         const OffsetRun& r, Cycle now)
    : instruction(i),
      conv(c),
      setup(s),
      map(m),
      run(r),
      shape(shape_of(conv, setup, map)),
      schedule(shape, setup, run),
      image(image_of_map(shape)),
      began(now) {}

OffsetUnit::OffsetUnit(sc_core::sc_module_name name, const SimContext& context, const OffsetConfig& config,
                       const DmaConfig& dma, const MemoryConfig& nram, const MemoryConfig& wram,
                       Granularity granularity)
    : CommandedUnit(name, context, Unit::kMatrix),
      tables("tables", context, config.table_bytes, dma, wake_),
      config_(config),
      granularity_(granularity),
      lines_("lines", context, nram, config.port_bytes),
      results_("results", context, nram, config.port_bytes),
      kernels_("kernels", context, wram, config.port_bytes),
      pipeline_(config, port_times(config, nram, wram)),
      work_(context, *this, {"", "utilization", "%", CounterInfo::Kind::kWork}),
      sums_(to_size(config.rows) * to_size(config.columns)),
      places_(to_size(config.cache.bytes)) {
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (context_.trace() != nullptr) declare_signals();
}

void OffsetUnit::bind_memories(Scratchpad& nram, Scratchpad& wram) {
  nram_end_ = nram.base() + nram.size();
  lines_.bind(nram, 0);
  results_.bind(nram, 1);
  kernels_.bind(wram, 0);
}

void OffsetUnit::read_every_word() {
  faulty_ = true;
}

void OffsetUnit::take(const Instruction& instruction, Cycle) {
  queue_.push_back(instruction);
}

void OffsetUnit::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = now_ = context_.clock.cycle_of(now_ps());
  begin_next(now);
  tables.step(now, works() ? Activity::kNoWork : blocker_);
  advance(granularity_ == Granularity::kClock ? now : kEver);
  if (granularity_ == Granularity::kClock) move_data(now);
  finish_jobs(now);
  schedule(now);
}

// Releases the front run when its operands have been read: who overwrites them need not wait for the results.
void OffsetUnit::begin_next(Cycle now) {
  if (reading_ && !job_ && *jobs_.back()->released <= now) {
    close_all(jobs_.back()->reads, now);
    tell(UnitMessage::Kind::kReleased, jobs_.back()->instruction.release_signals);
    queue_.pop_front();
    reading_ = false;
  }
  while (!reading_ && !queue_.empty()) {
    const Instruction& front = queue_.front();
    if (front.operation.is<OffsetRun>()) {
      begin_run(now);
      break;
    }
    if (const auto* conv = front.operation.get_if<ConvSetup>()) {
      conv_ = *conv;
    } else if (const auto* setup = front.operation.get_if<OffsetSetup>()) {
      setup_ = *setup;
      pipeline_.cache.set_bank_shift(setup_.bank_shift);
    } else if (const auto* map = front.operation.get_if<OffsetMap>()) {
      map_ = *map;
      computed_.reset();
    } else {
      throw SimulationError(summary(front) + ": the matrix unit of this core is an offset-table engine");
    }
    tell_complete(front);
    queue_.pop_front();
  }
  if (!reading_ && ledger.settled_at() <= now) ledger.enter(works() ? Activity::kOutputReady : blocker_, now);
}

void OffsetUnit::begin_run(Cycle now) {
  const auto& run = queue_.front().operation.get<OffsetRun>();
  check_fields(conv_, setup_, map_, run, config_);
  job_ = std::make_shared<Job>(queue_.front(), conv_, setup_, map_, run, now);
  const bool stays = !run.first || !run.last;
  if (stays && (job_->schedule.slices().size() > 1 || job_->shape.threads() > config_.rows))
    throw SimulationError("offset.run: sums of more outputs than the lanes have cannot stay in them");
  if (run.first == open_sums_)
    throw SimulationError(run.first ? "offset.run: begins sums while others have not ended"
                                    : "offset.run: goes on with sums that nobody began");
  open_sums_ = !run.last;
  if (granularity_ == Granularity::kTile)
    lines_.open_direct(), kernels_.open_direct(), results_.open_direct();
  if (run.image != 0) load_image(*job_, now);
  last_kernels_ = job_->kernels;
  pipeline_.decode_kernels(job_->kernels.decode_cycles());
  hold_memories(*job_, now);
  jobs_.push_back(job_);
  reading_ = true;
  ++stats.runs;
  if (ledger.settled_at() <= now) ledger.enter(Activity::kInputLoad, now);
  if (!run.same_map) {
    pipeline_.cache.invalidate();
    const Alternatives others = alternatives_of(job_->shape);
    stats.im2col_bytes += others.im2col, stats.pointer_bytes += others.pointers;
  }
  if (config_.addresses == Addresses::kTables)
    tables.begin(map_.tables, job_->image, job_->shape, job_->schedule, config_.rows, now);
  else if (!computed_)
    computed_ = compile_tables(job_->shape);
  if (conv_.post_parameters && run.last) job_->records.resize(run.kernels);
  group_ = 0, slice_ = 0, beat_ = 0, group_begun_ = false;
  wide_kernels_.assign(job_->schedule.slices().size(), {});
  forget_stretches();
}

// The port brings the header and the scales of the run's kernels, behind all that it was asked for before.
void OffsetUnit::load_image(Job& job, Cycle now) {
  if (job.run.same_image) return job.kernels.keep(kernels_, job.run.image, last_kernels_, "offset.run");
  const Cycle free = std::max(now, pipeline_.kernels_requested_by());
  pipeline_.hold_kernels(job.kernels.load(kernels_, job.run.image, {now, free, granularity_, most_scales}));
  stats.wram_read += job.kernels.load_bytes();
}

void OffsetUnit::hold_memories(Job& job, Cycle now) {
  const OffsetRun& run = job.run;
  const std::string user = summary(job.instruction);
  const auto kernels = to_unsigned(run.kernels);
  const auto element = to_unsigned(dtype_size(job.conv.output_type));
  const BytePattern map{run.map, map_bytes(job.setup, job.map)};
  if (Holds* nram = lines_.holds(); nram != nullptr) {
    if (!run.same_map) nram->end_watch();
    if (nram->changed())
      throw SimulationError("offset.run: same_map, but lines that the cache may hold were written since");
    nram->watch(map);
  }
  const BytePattern weights = job.kernels.held({run.weights, to_unsigned(job.schedule.weight_bytes())});
  const BytePattern records{run.post,
                            run.last && job.conv.post_parameters ? kernels * kPostParameterBytes : 0},
      result{run.result, kernels * element, run.result_pixel,
             run.last ? std::uint64_t{job.map.rows} * job.map.columns : 0};
  if (context_.bytes != nullptr) {
    Footprint made;
    for (const BytePattern& read : {map, weights, records}) add(read, made.chip.reads);
    if (config_.addresses == Addresses::kTables)
      made.chip.reads.add(BytePattern{job.map.tables, to_unsigned(job.image.end)});
    add(result, made.chip.writes);
    context_.bytes->begin(job.instruction, std::move(made), now);
  }
  lines_.hold(job.reads, user, Holds::Access::kRead, map, now);
  kernels_.hold(job.reads, user, Holds::Access::kRead, weights, now);
  if (records.run > 0) kernels_.hold(job.reads, user, Holds::Access::kRead, records, now);
  if (result.count > 0) results_.hold(job.writes, user, Holds::Access::kWrite, result, now);
}

// Processes beats whose tags can be looked up by cycle `limit`.
void OffsetUnit::advance(Cycle limit) {
  while (job_ && pipeline_.next_look() <= limit) {
    if (!group_begun_ && !begin_group()) return;
    if (!(granularity_ == Granularity::kTile ? do_stretch() : do_beat())) return;
  }
}

bool OffsetUnit::begin_group() {
  const std::int64_t first = group_ * config_.rows;
  const int count = to_int(std::min<std::int64_t>(config_.rows, job_->shape.threads() - first));
  std::optional<Cycle> there = job_->began;
  if (config_.addresses == Addresses::kTables) there = tables.threads_from(group_, next_request());
  if (!there) return false;
  activate(first, count);
  pipeline_.begin_group(count, std::max(*there, job_->began));
  group_begun_ = true;
  return true;
}

// Reads a little-endian entry of the image.
std::int32_t OffsetUnit::entry(std::int64_t offset, int bytes) const {
  std::uint32_t value = 0;
  std::memcpy(&value, tables.bytes() + offset, to_size(bytes));
  return static_cast<std::int32_t>(value);
}

// Loads the registers of `count` threads from `first` on.
void OffsetUnit::activate(std::int64_t first, int count) {
  const Job& job = *job_;
  threads_.resize(to_size(count));
  forget_stretches();
  for (int i = 0; i < count; ++i) {
    Thread& thread = nth(threads_, i);
    const std::int64_t number = first + i;
    const Pixel pixel = job.shape.pixel(number);
    thread.result = job.run.result + to_unsigned(std::int64_t{pixel.row} * job.map.columns + pixel.column) *
                                         job.run.result_pixel;
    if (config_.addresses == Addresses::kComputed) {
      const auto t = to_size(number);
      thread.base = computed_->bases[t];
      thread.row = job.shape.first_row(pixel.row), thread.column = job.shape.first_column(pixel.column);
      continue;
    }
    const std::int64_t record = job.image.threads + number * job.image.record_bytes;
    thread.base = entry(record);
    const int rows = job.image.row_mask_bytes, columns = job.image.column_mask_bytes;
    thread.rows = static_cast<std::uint32_t>(entry(record + kEntryBytes, rows));
    thread.columns = static_cast<std::uint32_t>(entry(record + kEntryBytes + rows, columns));
    thread.row = static_cast<std::int16_t>(thread.rows),
    thread.column = static_cast<std::int16_t>(thread.columns);
  }
}

std::int64_t OffsetUnit::map_size() const {
  return to_signed(map_bytes(job_->setup, job_->map));
}

// Appends the operands of a beat, by thread. Tables come from DRAM and may contain anything: an operand
// outside the map that the run holds ends the run.
void OffsetUnit::gather(const Beat& beat, int group, std::vector<Operand>& operands) const {
  const Job& job = *job_;
  const std::int64_t map = map_size();
  const bool reads = config_.addresses == Addresses::kTables;
  std::int64_t offset = beat.beyond;
  if (reads)
    offset += std::int64_t{entry(std::int64_t{beat.entry} * kEntryBytes)} +
              entry(job.image.groups + std::int64_t{group} * kEntryBytes);
  else
    offset += std::int64_t{nth(computed_->offsets, beat.entry)} + nth(computed_->groups, group);
  const MaskKind masks = job.shape.masks();
  const bool coordinates = masks == MaskKind::kCoordinates || (!reads && masks != MaskKind::kNone);
  const int down = beat.row * job.conv.dilation_h, right = beat.column * job.conv.dilation_w;
  for (const Thread& thread : threads_) {
    bool inside = true;
    if (coordinates) {
      const int row = thread.row + down, column = thread.column + right;
      inside = row >= 0 && row < job.map.height && column >= 0 && column < job.map.width;
    } else if (masks == MaskKind::kBits) {
      inside = ((thread.rows >> beat.row) & (thread.columns >> beat.column) & 1U) != 0;
    }
    Operand& operand = operands.emplace_back();
    if (!inside) continue;
    const std::int64_t at = thread.base + offset;
    if (at < 0 || at + beat.count > map)
      throw SimulationError(fmt::format("offset.run: its tables name bytes {} to {} of a map of {} bytes", at,
                                        at + beat.count - 1, map));
    operand.address = job.run.map + to_unsigned(at);
    operand.bytes = beat.count;
  }
}

// The first cycle in which the next beat's offset is present; none: not known yet.
std::optional<Cycle> OffsetUnit::offset_from(const Beat& beat) {
  if (config_.addresses == Addresses::kComputed) return job_->began;
  const std::optional<Cycle> there = tables.offsets_from(group_, slice_, beat, next_request());
  return there ? std::optional(std::max(*there, job_->began)) : there;
}

// Address of the kernels of a beat.
std::uint64_t OffsetUnit::weights_at(const Job& job, const Slice& slice, const Beat& beat) {
  return job.run.weights + to_unsigned(OffsetSchedule::weights_at(slice, beat));
}

// Counts the kernels of a beat.
void OffsetUnit::count_kernels(const Slice& slice, const Beat& beat) {
  const int bytes = OffsetSchedule::weight_bytes(slice, beat);
  stats.wram_read += job_->kernels.bytes_for(weights_at(*job_, slice, beat), bytes);
  if (job_->kernels.is_packed()) stats.decoded += bytes;
}

// Number of WRAM accesses for the kernels of the next beat.
int OffsetUnit::kernel_accesses(const Slice& slice) const {
  const Beat& beat = job_->schedule.beats(slice.group)[beat_];
  return job_->kernels.accesses(kernels_, weights_at(*job_, slice, beat),
                                OffsetSchedule::weight_bytes(slice, beat));
}

// Processes the next beat of the run; false while the cycle of its offset is unknown.
bool OffsetUnit::do_beat() {
  const Job& job = *job_;
  const Slice& slice = job.schedule.slices()[slice_];
  const std::vector<Beat>& beats = job.schedule.beats(slice.group);
  const Beat& beat = beats[beat_];
  const std::optional<Cycle> there = offset_from(beat);
  if (!there) return false;
  if (beat_ == 0) pipeline_.begin_slice(job.run.first);
  operands_.clear();
  gather(beat, slice.group, operands_);
  const Pipeline::BeatTimes times = pipeline_.beat(operands_, *there, kernel_accesses(slice), references_);
  count_beat(slice, times, references_);
  if (signals_ && context_.trace() != nullptr) trace_beat(times, beat);
  const bool ends = beat_ == beats.size();
  if (ends) end_slice(slice);
  keep(times, ends);
  if (ends) next_slice();
  return true;
}

// Counts the next beat after it has passed the tags.
void OffsetUnit::count_beat(const Slice& slice, const Pipeline::BeatTimes& times,
                            const std::vector<LineCache::Reference>& references) {
  account(times);
  const Beat& beat = job_->schedule.beats(slice.group)[beat_];
  count_kernels(slice, beat);
  if (beat_++ == 0) slice_began_ = times.begin;
  ++stats.beats;
  for (const LineCache::Reference& r : references) stats.nram_read += r.missed ? line_size(r.line) : 0;
}

void OffsetUnit::next_slice() {
  beat_ = 0;
  if (++slice_ < job_->schedule.slices().size()) return;
  slice_ = 0, group_begun_ = false;
  if (++group_ * config_.rows >= job_->shape.threads()) end_run();
}

// Accounts for the cycles from the previous beat to the end of this one, in the order in which the lanes
// wait.
void OffsetUnit::account(const Pipeline::BeatTimes& t) {
  const std::array<std::pair<Activity, Cycle>, 5> waits{{{Activity::kOutputDrain, t.sums},
                                                         {Activity::kTableLoad, t.tables},
                                                         {Activity::kAddress, t.addresses},
                                                         {Activity::kInputLoad, t.looked.ready},
                                                         {Activity::kWeightLoad, t.begin}}};
  for (const auto& [activity, until] : waits) wait_for(activity, std::min(until, t.begin));
  ledger.spend(Activity::kBusy, 1);
  ledger.spend(Activity::kBankConflict, t.looked.cycles - 1);
}

// Ends a slice after its last beat: its sums leave.
void OffsetUnit::end_slice(const Slice& slice) {
  const Job& job = *job_;
  const std::int64_t macs = ssize(threads_) * slice.count * job.setup.useful_taps * job.run.channels;
  stats.useful_macs += macs, job_->macs += macs;
  const auto threads = ssize(threads_);
  const auto products = ssize(job.schedule.beats(slice.group)) * config_.vector;
  stats.losses = stats.losses + MacLosses{(config_.rows - threads) * config_.columns * products,
                                          threads * (config_.columns - slice.count) * products,
                                          threads * slice.count * products - macs};
  work_.count(slice_began_, ledger.settled_at(), macs);
  rows_.clear();
  records_requested_.reset();
  if (!job.run.last) {
    written_ = pipeline_.lanes_free() + pipeline_.tree_cycles();
    return;
  }
  Cycle records = 0;
  if (!job.records.empty() && group_ == 0) {
    const int bytes = slice.count * kPostParameterBytes;
    const int accesses = kernels_.accesses(first_record(job, slice), bytes);
    records = pipeline_.read_records(accesses);
    records_requested_ = records - kernels_.latency() - job.kernels.decode_cycles() - accesses;
    stats.wram_read += bytes;
  }
  const int element = dtype_size(job.conv.output_type), bytes = slice.count * element;
  row_accesses_.clear();
  for (const Thread& thread : threads_)
    row_accesses_.push_back(results_.accesses(thread.result + to_unsigned(slice.first * element), bytes));
  written_ = pipeline_.end_slice(slice.count, records, row_accesses_, rows_);
  stats.results += ssize(threads_) * slice.count;
  stats.nram_written += ssize(threads_) * bytes;
}

void OffsetUnit::end_run() {
  job_->released = pipeline_.read_by();
  job_->done = std::max(written_, *job_->released);
  job_.reset();
}

void OffsetUnit::finish_jobs(Cycle now) {
  while (!jobs_.empty()) {
    Job& front = *jobs_.front();
    if (!front.done || *front.done > now || (reading_ && jobs_.size() == 1)) return;
    show_work(context_, *this, front.instruction, front.began, now, {{}, front.macs});
    close_all(front.writes, now);
    tell(UnitMessage::Kind::kDone, front.instruction.done_signals);
    jobs_.pop_front();
    if (jobs_.empty() && !reading_ && ledger.settled_at() <= now) ledger.enter(blocker_, now);
  }
}

void OffsetUnit::schedule(Cycle now) {
  NextClock next(now);
  tables.schedule(next);
  next.at(ledger.settled_at());
  for (const auto& job : jobs_) {
    if (job->released) next.at(*job->released);
    if (job->done) next.at(*job->done);
  }
  const bool clocked = job_ || !under_way_.empty() || !writes_.empty();
  if (granularity_ == Granularity::kClock && clocked) next.at(now + 1);
  wake_at(next);
}

// The rows of a slice as they are written, one thread after the other.
std::vector<std::uint8_t> OffsetUnit::post_processed(const Job& job, const Slice& slice,
                                                     const Sum* sums) const {
  const auto element = to_size(dtype_size(job.conv.output_type));
  std::vector<std::uint8_t> data(to_size(slice.count) * element);
  if (!job.records.empty()) {
    post_process_row(sums, slice.count, job.conv, job.records.data() + slice.first, data.data());
    return data;
  }
  const PostParameter none{};
  for (int k = 0; k < slice.count; ++k) {
    const std::int64_t value = post_process(sums[k], job.conv, none);
    std::memcpy(data.data() + to_size(k) * element, &value, element);
  }
  return data;
}

}  // namespace tilebeat::offset_table
