#include "engines/switch_array/sim/post_processor.h"

#include "base/types.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "fabric/direct_access.h"
#include "tilebeat/error.h"
#include "units/matrix_unit.h"
#include "units/post_processing.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::switch_array {

PostProcessor::PostProcessor(sc_core::sc_module_name name, const SimContext& context,
                             const SwitchArrayConfig& config)
    : sc_module(name),
      drain("drain"),
      parameters("parameters"),
      slots("slots"),
      output("output", to_size(config.groups)),
      completion("completion", Unit::kMatrix),
      context_(context),
      config_(config),
      shape_(array_shape(config)),
      output_held_(context.holds(kOutputBuffer)),
      records_(to_size(config.parameter_slots * config.columns)),
      slot_drained_(to_size(config.parameter_slots)),
      pixel_(to_size(config.columns) * sizeof(Sum)) {
  drain.register_b_transport(this, &PostProcessor::take_results);
  parameters.register_b_transport(this, &PostProcessor::take_parameters);
  slots.register_b_transport(this, &PostProcessor::tell_slot);
  SC_METHOD(complete);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) {
    record_write_ = Strobe(trace, this->name(), "record_write");
    record_address_ = trace->add_signal(this->name(), "record_addr", 32);
    record_data_ = trace->add_signal(this->name(), "record", 8 * kPostParameterBytes);
  }
}

PostRecords::PostRecords(std::size_t count) : records_(count) {
  cells_ = reinterpret_cast<std::uint8_t*>(records_.data());
  row_.join(0, *this);
}

void PostRecords::write(std::size_t number, const PostParameter& record, Picoseconds at) {
  WriteRun run;
  run.due = at, run.address = number * sizeof record, run.word_bytes = sizeof record;
  row_.add(run, reinterpret_cast<const std::uint8_t*>(&record));
}

void PostProcessor::take_parameters(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const auto record = payload.get_address() / kPostParameterBytes;
  const Picoseconds at = now_ps() + to_signed(delay.value());
  if (context_.trace() != nullptr) trace_record(record, payload.get_data_ptr(), at);
  records_.write(record, decode_post_parameter(payload.get_data_ptr()), at);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

void PostProcessor::tell_slot(RecordSlot& slot, sc_core::sc_time&) {
  slot.free_from = std::max(context_.clock.cycle_of(now_ps()), nth(slot_drained_, slot.number));
}

// Traces a record that is written to its place at `at`.
void PostProcessor::trace_record(std::uint64_t record, const std::uint8_t* bytes, Picoseconds at) const {
  Trace& trace = *context_.observers.trace;
  record_write_.high(&trace, at, at + context_.clock.period_ps());
  trace.change(record_address_, at, record);
  trace.change(record_data_, at, bytes, kPostParameterBytes);
}

void PostProcessor::take_results(DrainMessage& message, sc_core::sc_time&) {
  const auto wait = [this](const WaitsFor& news) {  // the latest drain may go on beyond this cycle
    const Cycle now = context_.clock.cycle_of(now_ps());
    ledger.enter(news.activity, std::max(now, ledger.settled_at()));
  };
  std::visit(Overloaded{[this](const NewSetup& news) { setup_ = news.setup; }, wait,
                        [this](const DrainMessage::OneCycle& results) { take_cycle(results); },
                        [this](const DrainMessage::WholeChunk& results) { take_chunk(results); }},
             message.content);
}

void PostProcessor::take_cycle(const DrainMessage::OneCycle& results) {
  begin_results(results.chunk.run, results.last_mac);
  drain_lanes(results);
  book_drain(results.last_mac);
  hold_slot(results.chunk.run, results.last_mac);
  if (results.chunk_complete) complete_chunk(results.chunk, results.last_mac);
}

void PostProcessor::take_chunk(const DrainMessage::WholeChunk& results) {
  begin_results(results.chunk.run, results.last_macs.front());
  drain_chunk(results);
  for (const Cycle last_mac : results.last_macs) book_drain(last_mac);
  hold_slot(results.chunk.run, results.last_macs.back());
  complete_chunk(results.chunk, results.last_macs.back());
}

// Results whose sums are copied in cycle `copied`, with the records that lie in the registers then.
void PostProcessor::begin_results(const ConvRun& run, Cycle copied) {
  records_.commit(context_.clock.at(copied));
  pixel_bytes_ = run.kernels * dtype_size(setup_.output_type);
}

// Books the drain of an operation cycle whose last MAC was in cycle `last_mac`.
void PostProcessor::book_drain(Cycle last_mac) {
  ledger.enter(Activity::kBusy, last_mac + 1);
  ledger.enter(Activity::kOutputReady, last_mac + 1 + drain_cycles(config_));
  stats.lane_drains += config_.rows;
}

// The records of a run are used until the last lane of its latest operation cycle has drained.
void PostProcessor::hold_slot(const ConvRun& run, Cycle last_mac) {
  if (config_.records == RecordsKind::kHeld && setup_.post_parameters)
    nth(slot_drained_, run.slot) = last_mac + 1 + drain_cycles(config_);
}

// Completes a chunk whose last results drain after cycle `last_mac`.
void PostProcessor::complete_chunk(const ArrayChunk& chunk, Cycle last_mac) {
  const Cycle drained = last_mac + 1 + drain_cycles(config_);
  const std::int64_t results = std::int64_t{chunk.run.rows} * chunk.run.columns * pixel_bytes_;
  show_work(context_, *this, chunk.instruction, last_mac + 1, drained, {results});
  if (chunk.run.blocks > 1) return;  // further blocks of the same instruction
  const Cycle at = drained + config_.post_latency_cycles;
  if (output_held_ != nullptr) output_held_->close_oldest(at);
  completions_.push_back({at, chunk.instruction.done_signals});
  if (completions_.size() == 1) notify_at(wake_, context_.clock, at);
}

// Clock granularity: lane l of every group leaves in the l-th drain slot and is written `post_latency_cycles`
// later.
void PostProcessor::drain_lanes(const DrainMessage::OneCycle& results) {
  const ArrayChunk& chunk = results.chunk;
  const ChunkGeometry& g = chunk.schedule.geometry();
  for (int lane = 0; lane < shape_.lanes(); ++lane) {
    const Cycle at = written_at(results.last_mac, lane);
    for (int group = 0; group < shape_.groups; ++group) {
      const int row = results.beat.row_block * shape_.groups + group;
      const int column = results.beat.column_block * shape_.lanes() + lane;
      if (row >= g.rows || column >= g.columns) continue;
      process_pixel(chunk.run, results.sums + to_signed(group * shape_.lanes() + lane) * results.stride,
                    pixel_.data());
      transport(nth(output, group), payload_, tlm::TLM_WRITE_COMMAND, output_address(chunk, row, column),
                pixel_.data(), static_cast<unsigned>(pixel_bytes_),
                to_sc_time(context_.clock.at(at) - now_ps()));
    }
  }
}

// Tile granularity: the same results through the direct memory interface, the lanes of a group together.
void PostProcessor::drain_chunk(const DrainMessage::WholeChunk& results) {
  const ArrayChunk& chunk = results.chunk;
  const ChunkGeometry& g = chunk.schedule.geometry();
  const auto cells = ask_for_cells(output[0], tlm::TLM_READ_COMMAND, 0);
  if (!cells) throw SimulationError("the output buffer refuses direct memory access");
  cells->commit();
  lanes_.resize(to_size(shape_.lanes() * pixel_bytes_));
  for (int row = 0; row < g.rows; ++row) {
    for (int first = 0, block = 0; first < g.columns; first += shape_.lanes(), ++block) {
      const int lanes = std::min(shape_.lanes(), g.columns - first);
      const Sum* sums = results.sums + (to_signed(row) * g.columns + first) * results.stride;
      for (int lane = 0; lane < lanes; ++lane, sums += results.stride)
        process_pixel(chunk.run, sums, lanes_.data() + to_signed(lane) * pixel_bytes_);
      const int operation_cycle = row / shape_.groups * chunk.schedule.column_blocks() + block;
      WriteRun run = cells->run(output_address(chunk, row, first), to_size(pixel_bytes_),
                                context_.clock.at(written_at(nth(results.last_macs, operation_cycle), 0)));
      run.words = static_cast<std::uint32_t>(lanes), run.step = chunk.run.output_stride;
      run.interval = config_.drain_clocks_per_lane * context_.clock.period_ps();
      cells->row->add(run, lanes_.data());
    }
  }
  for (int group = 0; group < shape_.groups; ++group) {
    const int rows = (g.rows - group + shape_.groups - 1) / shape_.groups;
    if (rows <= 0) continue;
    const int last_row = group + (rows - 1) * shape_.groups;
    use_of(nth(output, group))
        .accesses(context_.clock.at(written_at(results.last_macs.front(), 0)),
                  context_.clock.at(written_at(results.last_macs.back(), shape_.lanes() - 1)),
                  output_address(chunk, group, 0), output_address(chunk, last_row, g.columns - 1),
                  std::int64_t{rows} * g.columns, pixel_bytes_);
  }
}

// The cycle in which a lane's results are written, after an operation cycle's last MAC.
Cycle PostProcessor::written_at(Cycle last_mac, int lane) const {
  return last_mac + Cycle{lane + 1} * config_.drain_clocks_per_lane + config_.post_latency_cycles;
}

std::uint64_t PostProcessor::output_address(const ArrayChunk& chunk, int row, int column) const {
  const auto pixel = to_unsigned(row) * to_unsigned(chunk.schedule.geometry().columns) + to_unsigned(column);
  return chunk.run.output_base + pixel * chunk.run.output_stride;
}

void PostProcessor::process_pixel(const ConvRun& run, const Sum* sums, std::uint8_t* to) {
  const PostParameter* parameter = records_.data() + to_signed(run.slot) * config_.columns;
  post_process_row(sums, run.kernels, setup_, parameter, to);
  stats.results += run.kernels;
}

void PostProcessor::complete() {
  if (gate_.hold(context_.jitter)) return;
  completion.tell(UnitMessage::Kind::kDone, completions_.front().signals);
  completions_.pop_front();
  if (!completions_.empty()) notify_at(wake_, context_.clock, completions_.front().at);
}

}  // namespace tilebeat::switch_array
