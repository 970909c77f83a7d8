// The offset-table engine in clock granularity: data moves in the cycles that the pipeline answered.
#include "engines/offset_table/sim/offset_unit.h"
#include "kernels/mac.h"
#include "units/matrix_unit.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::offset_table {

// Keeps a beat that has passed the tags until the lanes have multiplied it.
void OffsetUnit::keep(const Pipeline::BeatTimes& times, bool ends) {
  Under under;
  under.job = job_;
  const Slice& slice = job_->schedule.slices()[slice_];
  const std::vector<Beat>& beats = job_->schedule.beats(slice.group);
  const std::size_t number = ends ? beats.size() - 1 : beat_ - 1;
  under.beat = number, under.slice = slice_;
  under.begins = number == 0 && job_->run.first, under.ends = ends;
  if (ends) under.records_requested = records_requested_;
  under.times = times;
  under.operands = operands_, under.references = references_;
  under.lines.resize(references_.size());
  under.kernels.resize(to_size(OffsetSchedule::weight_bytes(slice, beats[number])));
  if (ends) {
    for (const Thread& thread : threads_) under.results.push_back(thread.result);
    under.rows = rows_;
  }
  under_way_.push_back(std::move(under));
}

// Moves all data that move by cycle `now`.
void OffsetUnit::move_data(Cycle now) {
  for (Under& under : under_way_) fetch(under, now);
  while (!under_way_.empty() && under_way_.front().times.end <= now + 1) {
    multiply(under_way_.front());
    under_way_.pop_front();
  }
  for (; !writes_.empty() && writes_.front().at <= now; writes_.pop_front()) {
    const Write& front = writes_.front();
    results_.write(front.address, front.data.data(), count_of(front.data), 0);
  }
}

// Requests lines, kernels and records of this cycle.
void OffsetUnit::fetch(Under& under, Cycle now) {
  const auto size = to_size(config_.cache.line_bytes);
  for (std::size_t i = 0; i < under.references.size(); ++i) {
    const LineCache::Reference& reference = under.references[i];
    if (!reference.missed || reference.requested > now || !under.lines[i].empty()) continue;
    under.lines[i].resize(size);
    lines_.read(reference.line * size, under.lines[i].data(), line_size(reference.line), 0);
  }
  Job& job = *under.job;
  const Slice& slice = job.schedule.slices()[under.slice];
  if (!under.kernels_read && under.times.kernels_requested <= now) {
    under.kernels_read = true;
    const Beat& beat = job.schedule.beats(slice.group)[under.beat];
    job.kernels.read(kernels_, weights_at(job, slice, beat), under.kernels.data(), count_of(under.kernels),
                     0);
  }
  if (!under.records_requested || *under.records_requested > now) return;
  under.records_requested.reset();
  std::vector<std::uint8_t> records(to_size(slice.count) * kPostParameterBytes);
  kernels_.read(first_record(job, slice), records.data(), count_of(records), 0);
  keep_records(job, slice, records);
}

// Multiplies a beat; operands come from lines in their places and from lines that enter them, in order.
void OffsetUnit::multiply(Under& under) {
  const auto size = to_size(config_.cache.line_bytes);
  const Job& job = *under.job;
  const Slice& slice = job.schedule.slices()[under.slice];
  const int vector = job.schedule.vector(), elements = count_of(under.kernels) / slice.count;
  std::vector<std::uint8_t> bytes(under.operands.size() * to_size(vector));
  const auto collect = [&](std::uint64_t line, const std::uint8_t* from) {
    for (std::size_t t = 0; t < under.operands.size(); ++t) {
      const Operand& operand = under.operands[t];
      for (int i = 0; i < operand.bytes; ++i) {
        const std::uint64_t address = operand.address + to_unsigned(i);
        if (address / size == line) bytes[t * to_size(vector) + to_size(i)] = from[address % size];
      }
    }
  };
  // Lines that are present are read before others replace them.
  for (const LineCache::Reference& r : under.references) {
    if (!r.missed) collect(r.line, places_.data() + to_size(r.place) * size);
  }
  for (std::size_t i = 0; i < under.references.size(); ++i) {
    const LineCache::Reference& r = under.references[i];
    if (!r.missed) continue;
    std::copy(under.lines[i].begin(), under.lines[i].end(),
              places_.begin() + to_signed(to_size(r.place) * size));
    collect(r.line, under.lines[i].data());
  }
  if (signals_ && context_.trace() != nullptr) trace_operands(under, bytes);
  upsets_.until(under.times.end - 1, [this, &under](const Fault& upset) {
    Sum& sum = nth(sums_, upset.bank);
    sum = with_flipped_bits(sum, std::uint32_t{upset.mask} << 8 * upset.address,
                            under.job->conv.input_type == DType::kInt16);
  });
  if (under.begins) std::fill(sums_.begin(), sums_.end(), 0);
  const Beat& beat = job.schedule.beats(slice.group)[under.beat];
  const bool is_unsigned = job.conv.weight_type == DType::kUint8;
  std::vector<std::int16_t> elements_of_thread(to_size(vector));
  for (std::size_t t = 0; t < under.operands.size(); ++t) {
    Sum* sums = sums_.data() + t * to_size(config_.columns);
    tilebeat::widen(bytes.data() + t * to_size(vector), under.operands[t].bytes, job.conv.input_type,
                    job.conv.input_zero_point, elements_of_thread.data(), beat.channel);
    for (int i = 0; i < under.operands[t].bytes; ++i) {
      const std::int32_t x = nth(elements_of_thread, i);
      for (int k = 0; k < slice.count; ++k) {
        const std::uint8_t weight = nth(under.kernels, k * elements + i);
        sums[k] +=
            x * ((is_unsigned ? weight : static_cast<std::int8_t>(weight)) - job.conv.weight_zero_point);
      }
    }
  }
  if (!under.ends || under.rows.empty()) return;
  store_rows(under);
}

void OffsetUnit::keep_records(Job& job, const Slice& slice, const std::vector<std::uint8_t>& bytes) {
  for (int k = 0; k < slice.count; ++k)
    nth(job.records, slice.first + k) =
        decode_post_parameter(bytes.data() + to_size(k) * kPostParameterBytes);
}

// Starts the rows whose cycles are known by now on their way to NRAM.
void OffsetUnit::store_rows(const Under& under) {
  const Job& job = *under.job;
  const Slice& slice = job.schedule.slices()[under.slice];
  const auto offset = to_unsigned(slice.first * dtype_size(job.conv.output_type));
  for (std::size_t t = 0; t < under.rows.size(); ++t)
    writes_.push_back({under.rows[t].sent, under.results[t] + offset,
                       post_processed(job, slice, sums_.data() + t * to_size(config_.columns))});
}

// ---- traces ----

void OffsetUnit::declare_signals() {
  Trace& trace = *context_.observers.trace;
  const std::string scope = std::string(name()) + ".lanes";
  Signals s{};
  s.beat = trace.add_signal(scope, "beat", 1);
  s.group = trace.add_signal(scope, "group", 32, Radix::kDecimal),
  s.slice = trace.add_signal(scope, "slice", 16, Radix::kDecimal);
  s.row = trace.add_signal(scope, "kernel_row", 16, Radix::kDecimal),
  s.column = trace.add_signal(scope, "kernel_column", 16, Radix::kDecimal);
  s.channel = trace.add_signal(scope, "channel", 16, Radix::kDecimal);
  s.hits = trace.add_signal(scope, "hits", 16, Radix::kDecimal),
  s.misses = trace.add_signal(scope, "misses", 16, Radix::kDecimal);
  s.conflicts = trace.add_signal(scope, "bank_cycles", 16, Radix::kDecimal);
  s.valid = Strobe(&trace, scope, "valid");
  // The lanes' operands: nine bits signed (SPEC NU-1).
  const auto operands = [&](const char* kind, int count) {
    std::vector<SignalId> all;
    for (int i = 0; i < count * config_.vector; ++i)
      all.push_back(trace.add_signal(fmt::format("{}.{}{}", scope, kind, i / config_.vector),
                                     fmt::format("c{}", i % config_.vector), 9, Radix::kSigned,
                                     Shown::kWhenNamed));
    return all;
  };
  s.maps = operands("row", config_.rows), s.kernels = operands("column", config_.columns);
  signals_ = s;
}

// Traces the operands of the lanes in the last cycle of a beat. `bytes`: the map's, by thread.
void OffsetUnit::trace_operands(const Under& under, const std::vector<std::uint8_t>& bytes) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = now_ps();
  const ConvSetup& conv = under.job->conv;
  // A half of an int16 is shown as a byte.
  const int first =
      under.job->schedule.beats(under.job->schedule.slices()[under.slice].group)[under.beat].channel;
  const auto show = [&](SignalId signal, std::uint8_t byte, DType type, int zero, int number) {
    const bool low_half = type == DType::kInt16 && number % 2 == 0;
    const int value = (type == DType::kUint8 || low_half ? byte : static_cast<std::int8_t>(byte)) - zero;
    trace.change(signal, at, static_cast<std::uint32_t>(value) & 0x1FF);
  };
  const auto vector = to_size(under.job->schedule.vector());
  const auto lanes = to_size(config_.vector);
  signals_->valid.high(&trace, at, at + context_.clock.period_ps());
  for (std::size_t t = 0; t < under.operands.size(); ++t) {
    for (std::size_t i = 0; i < to_size(under.operands[t].bytes); ++i)
      show(signals_->maps[t * lanes + i], bytes[t * vector + i], conv.input_type, conv.input_zero_point,
           first + to_int(i));
  }
  const std::size_t elements =
      under.kernels.size() / to_size(under.job->schedule.slices()[under.slice].count);
  for (std::size_t i = 0; i < under.kernels.size(); ++i)
    show(signals_->kernels[i / elements * lanes + i % elements], under.kernels[i], conv.weight_type,
         conv.weight_zero_point, 0);
}

void OffsetUnit::trace_beat(const Pipeline::BeatTimes& times, const Beat& beat) {
  Trace& trace = *context_.observers.trace;
  const Picoseconds at = context_.clock.at(times.begin);
  const auto value = [](std::int64_t number) { return to_unsigned(number); };
  trace.change(signals_->beat, at, 1);
  trace.change(signals_->beat, context_.clock.at(times.end), 0);
  trace.change(signals_->group, at, value(group_)), trace.change(signals_->slice, at, slice_);
  trace.change(signals_->row, at, value(beat.row)), trace.change(signals_->column, at, value(beat.column));
  trace.change(signals_->channel, at, value(beat.channel));
  const auto missed = std::count_if(references_.begin(), references_.end(),
                                    [](const LineCache::Reference& r) { return r.missed; });
  trace.change(signals_->misses, at, value(missed));
  trace.change(signals_->hits, at, value(ssize(references_) - missed));
  trace.change(signals_->conflicts, at, value(times.looked.cycles));
}

namespace {

/// The offset-table engine as a core sees it.
class OffsetMatrixUnit : public MatrixUnit {
 public:
  explicit OffsetMatrixUnit(const MatrixUnitContext& c)
      : unit_("offset", c.context, c.hardware.engine<OffsetConfig>(), c.hardware.dma,
              c.hardware.chip->core.nram, c.hardware.chip->core.wram, c.granularity) {
    unit_.most_scales = c.hardware.port_scales();
  }

  std::vector<NamedPort> memory_ports() override { return {}; }
  std::vector<NamedPort> dram_ports() override { return {{"tables", &unit_.tables.port.socket}}; }
  int nram_ports() const override { return OffsetUnit::kNramPorts; }
  int wram_ports() const override { return OffsetUnit::kWramPorts; }
  void bind_memories(Scratchpad& nram, Scratchpad& wram) override { unit_.bind_memories(nram, wram); }
  std::vector<UnitSockets> units() override { return {unit_sockets(Unit::kMatrix, unit_)}; }
  void forget_tables() override { unit_.tables.forget(); }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("offset.lanes", unit_.ledger);
    visitor.ledger("offset.tables", unit_.tables.port.ledger);
    const LaneStats& lanes = unit_.stats;
    visitor.array(unit_.ledger, lanes.beats, lanes.useful_macs);
    visitor.losses(lanes.losses);
    visitor.counter("offset.lanes", "beats", "beats", lanes.beats);
    visitor.counter("offset.lanes", "runs", "runs", lanes.runs);
    visitor.counter("offset.lanes", "useful_macs", "multiply-accumulates", lanes.useful_macs);
    visitor.counter("offset.lanes", "results", "results", lanes.results);
    visitor.results(lanes.results);
    const CacheStats& cache = unit_.pipeline().cache.stats;
    visitor.counter("offset.cache", "hits", "lines", cache.hits);
    visitor.counter("offset.cache", "misses", "lines", cache.misses);
    visitor.counter("offset.cache", "evictions", "lines", cache.evictions);
    visitor.counter("offset.cache", "words", "bank accesses", cache.words);
    visitor.counter("offset.cache", "bank_conflict", "cycles", cache.conflict_cycles);
    const TableStats& tables = unit_.tables.stats;
    visitor.counter("offset.tables", "loads", "tables", tables.loads);
    visitor.counter("offset.tables", "reused", "runs", tables.reused);
    visitor.counter("offset.tables", "largest", "bytes", tables.largest_bytes);
    visitor.counter("offset.tables", "loaded", "bytes", tables.loaded_bytes);
    visitor.counter("offset.tables", "streamed", "bytes", tables.streamed_bytes);
    visitor.counter("offset.tables", "address_cycles_saved", "cycles", unit_.pipeline().cycles_saved());
    visitor.counter("offset.tables", "im2col", "bytes", lanes.im2col_bytes);
    visitor.counter("offset.tables", "pointers", "bytes", lanes.pointer_bytes);
    visitor.own_bytes("offset.cache", kOwnNramRead, lanes.nram_read);
    visitor.own_bytes("offset.lanes", kOwnNramWrite, lanes.nram_written);
    visitor.own_bytes("offset.lanes", kOwnWramRead, lanes.wram_read);
    visitor.counter("offset.lanes", kDecodedCounter, "weights", lanes.decoded);
    visitor.decoded(lanes.decoded);
  }
  void read_every_word() override { unit_.read_every_word(); }
  void upset_pe(const Fault& upset) override { unit_.upset(upset); }

 private:
  OffsetUnit unit_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext& context) {
  return std::make_unique<OffsetMatrixUnit>(context);
}

}  // namespace tilebeat::offset_table
