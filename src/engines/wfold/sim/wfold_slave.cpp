#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "fabric/direct_access.h"
#include "kernels/mac.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat::wfold {

WfoldSlave::WfoldSlave(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
                       int number)
    : sc_module(name),
      control("control"),
      images("images"),
      chunks("chunks"),
      results("results"),
      region("region"),
      context_(context),
      config_(config),
      number_(number),
      kernels_(wfold_shape(config).kernels_per_slave()),
      most_results_(wfold_shape(config).windows() * config.line_bytes / 2),
      maps_(to_size(wfold_shape(config).map_lines() * config.line_bytes)),
      kernels_buffer_(to_size(wfold_shape(config).kernel_lines() * config.line_bytes)),
      maps_filled_(to_size(wfold_shape(config).map_lines())),
      kernels_filled_(to_size(wfold_shape(config).kernel_lines())),
      port_line_(to_size(std::max(config.line_bytes, config.weight_port_bytes))),
      latched_(to_size(config.compute_units * config.line_bytes)),
      window_(to_size(config.line_bytes)),
      third_(to_size(2 * kernels_ * most_results_)),
      pairs_(to_size(kernels_ * most_results_)),
      records_(to_size(2 * kernels_)),
      read_(tlm::TLM_READ_COMMAND, 1),
      record_bytes_(kPostParameterBytes) {
  control.register_b_transport(this, &WfoldSlave::take_clock);
  images.register_b_transport(this, &WfoldSlave::take_image);
  chunks.register_b_transport(this, &WfoldSlave::take_chunk);
  results.register_b_transport(this, &WfoldSlave::read_results);
  if (context_.trace() != nullptr) declare_signals();
}

// A kernel line: bytes after subtraction of the zero point, at their places, filled up to the granularity, Ws
// times (SPEC WF-3, WF-9).
void WfoldSlave::replicate(const std::uint8_t* bytes, const KernelLine& stored, const WfoldJob& job,
                           std::int16_t* line) const {
  const int granularity = job.run.granularity;
  const bool is_unsigned = job.setup.weight_type == DType::kUint8;
  std::fill_n(line, granularity, std::int16_t{0});
  for (const KernelLine::Piece& piece : stored.pieces) {
    for (int i = 0; i < piece.count; ++i) {
      const std::uint8_t byte = bytes[piece.from + i];
      const int weight = is_unsigned ? byte : static_cast<std::int8_t>(byte);
      line[piece.to + i] = static_cast<std::int16_t>(weight - job.setup.weight_zero_point);
    }
  }
  for (int at = granularity; at < config_.line_bytes; at += granularity)
    std::copy_n(line, granularity, line + at);
}

// ---- clock granularity ----

void WfoldSlave::take_clock(SlaveClock& clock, sc_core::sc_time&) {
  take_upsets(context_.clock.cycle_of(now_ps()), clock.job.setup);
  // The beat uses the buffers' contents from before this cycle.
  if (clock.beat) run_beat(*clock.beat, clock.job);
  mark_absent(clock.lines.absent, clock.job.schedule);
  if (clock.lines.line) enter_line(*clock.lines.line, clock.job);
  if (clock.port_read) read_port(*clock.port_read, clock.job);
  if (clock.align) align(*clock.align, clock.job);
}

void WfoldSlave::take_upsets(Cycle now, const ConvSetup& setup) {
  upsets_.until(now, [this, &setup](const Fault& upset) {
    const std::size_t byte = to_size(upset.address);
    Sum& sum = third_[byte / sizeof(std::int32_t)];
    sum = with_flipped_bits(sum, std::uint32_t{upset.mask} << 8 * (byte % sizeof(std::int32_t)),
                            setup.input_type == DType::kInt16);
  });
}

// An access of the region's port `delay` cycles from now.
void WfoldSlave::access(tlm::tlm_command command, std::uint64_t address, std::uint8_t* bytes, int count,
                        Cycle delay) {
  transport(region, payload_, command, address, bytes, static_cast<unsigned>(count),
            to_sc_time(delay * context_.clock.period_ps()));
  if (payload_.is_response_error())
    throw SimulationError(fmt::format("wfold.run: kernels beyond the region of {}", name()));
  ++port.accesses;
  port.bytes += count;
}

// Reads header and scales of an image, an access a cycle.
void WfoldSlave::take_image(ImageLoad& load, sc_core::sc_time&) {
  image_ = load.image, load.cycles = 0;
  const auto read = [&](WeightImage::Bytes bytes, std::uint8_t* to) {
    for (std::int64_t at = 0; at < bytes.count; at += config_.weight_port_bytes, ++load.cycles) {
      const auto some = to_int(std::min<std::int64_t>(config_.weight_port_bytes, bytes.count - at));
      access(tlm::TLM_READ_COMMAND, image_ + to_unsigned(bytes.begin + at), to + at, some, load.cycles);
    }
  };
  window_of_image_.emplace(most_scales, read);
  load.bytes = window_of_image_->image().bytes();
}

// Reads `count` bytes of kernels or records in one access.
void WfoldSlave::read_kernels(const WfoldJob& job, std::uint64_t address, std::uint8_t* bytes, int count) {
  if (!job.packed) return access(tlm::TLM_READ_COMMAND, address, bytes, count);
  const std::int64_t begin = to_signed(address - image_);
  window_of_image_->read_and_decode(
      begin, begin + count, bytes, [this](WeightImage::Bytes of, std::uint8_t* packed) {
        access(tlm::TLM_READ_COMMAND, image_ + to_unsigned(of.begin), packed, to_int(of.count));
      });
}

void WfoldSlave::align(const SlaveClock::Align& step, const WfoldJob& job) {
  const WfoldSchedule& schedule = job.schedule;
  if (schedule.kernel_of(number_, step.kernel) >= job.run.kernels) return;
  const std::int64_t own = job.run.weights + schedule.in_front_of_own(schedule.tile(0));
  if (!step.writes) {
    schedule.find_own_bytes(own, step.kernel, step.row, step.column, step.bytes, number_, line_);
    if (!line_.bytes.empty())
      access(tlm::TLM_READ_COMMAND, to_unsigned(line_.bytes.begin), port_line_.data(),
             to_int(line_.bytes.end - line_.bytes.begin));
    return;
  }
  std::vector<std::uint8_t> folded(to_size(step.bytes.end - step.bytes.begin),
                                   static_cast<std::uint8_t>(job.setup.weight_zero_point));
  for (const KernelLine::Piece& piece : line_.pieces)
    std::copy_n(port_line_.begin() + piece.from, piece.count, folded.begin() + piece.to);
  const std::int64_t column =
      (std::int64_t{step.kernel} * job.setup.kernel_h + step.row) * schedule.all_steps() + step.column;
  access(tlm::TLM_WRITE_COMMAND, to_unsigned(job.run.weights + column * job.run.channels + step.bytes.begin),
         folded.data(), count_of(folded));
}

void WfoldSlave::mark_absent(const SlaveClock::Absent& absent, const WfoldSchedule& schedule) {
  for (int i = 0; i < absent.count; ++i) {
    const int place = (absent.place + i) % schedule.places();
    if (place % schedule.groups() != schedule.group_of_slave(number_)) continue;
    const int slot = place / schedule.groups();
    std::fill_n(maps_.begin() + to_signed(slot) * config_.line_bytes, config_.line_bytes, std::int16_t{0});
    nth(maps_filled_, slot) = true;
  }
}

void WfoldSlave::enter_line(const SlaveClock::Line& line, const WfoldJob& job) {
  widen(line.bytes, config_.line_bytes, job.setup.input_type, job.setup.input_zero_point,
        maps_.data() + to_signed(line.slot) * config_.line_bytes);
  nth(maps_filled_, line.slot) = true;
}

void WfoldSlave::read_port(const SlaveClock::PortRead& read, const WfoldJob& job) {
  if (const auto* record = std::get_if<SlaveClock::PortRead::Record>(&read.content)) {
    if (job.schedule.kernel_of(number_, record->number) >= record->kernels) return;
    read_kernels(job, record->address, record_bytes_.data(), kPostParameterBytes);
    nth(records_, record->set * kernels_ + record->number) = decode_post_parameter(record_bytes_.data());
    return;
  }
  const auto& part = std::get<SlaveClock::PortRead::KernelBytes>(read.content);
  job.schedule.find_kernel_line(part.beat, part.tile, number_, line_);
  const int begin = to_int(part.cycle) * config_.weight_port_bytes;
  const int count = std::min(config_.weight_port_bytes, to_int(line_.bytes.end - line_.bytes.begin) - begin);
  if (count > 0)
    read_kernels(job, job.run.weights + to_unsigned(line_.bytes.begin + begin), port_line_.data() + begin,
                 count);
  if (count > 0 && job.packed) decoded += count;
  if (!part.line_complete) return;
  replicate(port_line_.data(), line_, job,
            kernels_buffer_.data() + to_signed(part.slot) * config_.line_bytes);
  nth(kernels_filled_, part.slot) = true;
}

// Selects map lines at any position of their circular buffer.
void WfoldSlave::select(const SlaveClock::Beat& beat, const WfoldJob& job, int lines, std::int16_t* to) {
  const int granularity = job.run.granularity, slots = wfold_shape(config_).map_lines();
  const int size = slots * config_.line_bytes;
  const int begin = beat.column * granularity % size;
  const int count = lines * config_.line_bytes;
  for (int line = begin / config_.line_bytes; line * config_.line_bytes < begin + count; ++line) {
    if (!nth(maps_filled_, line % slots))
      throw SimulationError(fmt::format("{}: map line {} of the slave is empty", name(), line));
  }
  const int until_wrap = std::min(count, size - begin);
  std::copy_n(maps_.begin() + begin, until_wrap, to);
  std::copy_n(maps_.begin(), count - until_wrap, to + until_wrap);
}

const std::int16_t* WfoldSlave::kernel_line(int slot) const {
  if (!nth(kernels_filled_, slot))
    throw SimulationError(fmt::format("{}: kernel line {} of the slave is empty", name(), slot));
  return kernels_buffer_.data() + to_signed(slot) * config_.line_bytes;
}

void WfoldSlave::run_beat(const SlaveClock::Beat& beat, const WfoldJob& job) {
  if (job.schedule.shape().kernels_first()) return run_latched_beat(beat, job);
  if (beat.selects) select(beat, job, config_.compute_units, latched_.data());
  Sum* const sums = results_of(beat.half, beat.at.kernel);
  if (beat.first) std::fill_n(sums, most_results_, 0);
  std::fill_n(pairs_.begin(), most_results_, 0);
  mac_lines(latched_.data(), config_.compute_units, config_.line_bytes, kernel_line(beat.slot),
            pairs_.data());
  add_results(pairs_.data(), job.run.granularity, most_results_, sums);
  if (context_.trace() == nullptr) return;
  trace_beat(beat, job.schedule);
  for (int unit = 0; unit < config_.compute_units; ++unit)
    note_results(unit, job.run.granularity, pairs_.data() + unit * config_.line_bytes / 2,
                 sums + unit * job.schedule.fold());
  trace_results(beat, config_.compute_units, job.run.granularity);
  trace_third(beat.half, beat.at.kernel);
}

// Every unit multiplies the kernel line that it has latched with the line of columns that all share.
void WfoldSlave::run_latched_beat(const SlaveClock::Beat& beat, const WfoldJob& job) {
  const int line_bytes = config_.line_bytes, columns = job.schedule.fold();
  const int tile_columns = job.schedule.shape().tile_columns(job.run.granularity);
  select(beat, job, 1, window_.data());
  for (int unit = 0; unit < beat.kernels; ++unit) {
    std::int16_t* const latched = latched_.data() + to_signed(unit) * line_bytes;
    if (beat.selects) std::copy_n(kernel_line(beat.slot + unit), line_bytes, latched);
    Sum* const tile = results_of(beat.half, unit);
    Sum* const sums = tile + to_signed(beat.at.window) * columns;
    if (beat.first) {
      std::fill_n(sums, columns, 0);
      std::fill(tile + tile_columns, tile + most_results_, 0);  // what a wider tile has left there
    }
    std::fill_n(pairs_.begin(), line_bytes / 2, 0);
    mac_lines(window_.data(), 1, line_bytes, latched, pairs_.data());
    add_results(pairs_.data(), job.run.granularity, line_bytes / 2, sums);
    if (context_.trace() == nullptr) continue;
    note_results(unit, job.run.granularity, pairs_.data(), sums);
    trace_third(beat.half, unit);
  }
  if (context_.trace() == nullptr) return;
  trace_results(beat, beat.kernels, job.run.granularity);
  trace_beat(beat, job.schedule);
}

// The adder trees: the products of a position, here in pairs, are added to its result.
template <class Pair>
void WfoldSlave::add_results(const Pair* pairs, int granularity, int count, Sum* sums) {
  const int of_result = granularity / 2;
  for (int i = 0; i < count / of_result; ++i, pairs += of_result)
    sums[i] = std::accumulate(pairs, pairs + of_result, sums[i]);
}

// ---- tile granularity ----

// Loads all lines of a kernel tile in the order of the beats, and its records, through direct memory access.
void WfoldSlave::load_kernels(const SlaveChunk& chunk) {
  const WfoldSchedule& schedule = chunk.job.schedule;
  const auto cells = ask_for_cells(region, tlm::TLM_READ_COMMAND, 0);
  if (!cells) throw SimulationError("a region of WRAM refuses direct memory access");
  cells->commit();
  if (!chunk.job.packed && chunk.job.run.weights + to_unsigned(schedule.region_bytes()) > cells->end)
    throw SimulationError(fmt::format("wfold.run: kernels beyond the region of {}", name()));
  const std::uint8_t* base =
      chunk.job.packed ? decoded_region(chunk, cells->cells) : cells->cells + chunk.job.run.weights;
  const std::int64_t lines = chunk.tile.kernels_per_slave * schedule.steps_of_tile();
  kernel_lines_.resize(to_size(lines * config_.line_bytes));
  WfoldBeat beat = chunk.first;
  tile_reads_.clear(), tile_weights_ = 0;
  for (std::int64_t i = 0; i < lines; ++i) {
    schedule.find_kernel_line(beat, chunk.tile, number_, line_);
    replicate(base + line_.bytes.begin, line_, chunk.job, kernel_lines_.data() + i * config_.line_bytes);
    note_line_reads(chunk);
    tile_weights_ += line_.bytes.end - line_.bytes.begin;
    schedule.advance_kernel_line(beat, chunk.tile);
  }
  if (!schedule.geometry().post_parameters) return;
  const std::uint8_t* record = base + schedule.records_begin(chunk.tile.kernel_tile);
  int read = 0;
  for (; read < chunk.tile.kernels_per_slave && schedule.kernel_of(number_, read) < chunk.tile.kernels;
       ++read)
    nth(records_, chunk.record_set * kernels_ + read) =
        decode_post_parameter(record + to_signed(read) * kPostParameterBytes);
  if (read > 0) count_reads(read, kPostParameterBytes);
}

// Counts the accesses for a kernel line.
void WfoldSlave::note_line_reads(const SlaveChunk& chunk) {
  for (std::int64_t at = line_.bytes.begin; at < line_.bytes.end; at += chunk.port_bytes) {
    const std::int64_t end = std::min<std::int64_t>(line_.bytes.end, at + chunk.port_bytes);
    if (!chunk.job.packed) {
      ++tile_reads_[to_int(end - at)];
      continue;
    }
    const std::int64_t from = to_signed(std::uint64_t{chunk.job.run.weights}) - to_signed(image_);
    window_of_image_->image().for_parts(from + at, from + end, [&](const WeightImage::Part& part) {
      ++tile_reads_[to_int(part.bytes().count)];
    });
  }
}

// The run's kernels and records as they are read, from its first one on; the first tile decodes all.
const std::uint8_t* WfoldSlave::decoded_region(const SlaveChunk& chunk, const std::uint8_t* cells) {
  if (chunk.first.tile > 0) return decoded_.data();
  const std::int64_t begin = to_signed(std::uint64_t{chunk.job.run.weights}) - to_signed(image_);
  decoded_.resize(to_size(chunk.job.schedule.region_bytes()));
  window_of_image_->read_and_decode(begin, begin + ssize(decoded_), decoded_.data(),
                                    [&](WeightImage::Bytes of, std::uint8_t* packed) {
                                      std::copy_n(cells + image_ + of.begin, of.count, packed);
                                    });
  return decoded_.data();
}

// Counts reads of the region that direct memory access replaces.
void WfoldSlave::count_reads(std::int64_t accesses, int bytes) {
  chunk_reads_ += accesses;
  port.accesses += accesses;
  port.bytes += accesses * bytes;
}

void WfoldSlave::take_chunk(SlaveChunk& chunk, sc_core::sc_time&) {
  chunk_reads_ = 0;
  if (chunk.new_kernels) load_kernels(chunk);
  const int count = chunk.tile.kernels_per_slave;
  if (chunk.job.run.begins_sums) std::fill_n(results_of(chunk.half, 0), kernels_ * most_results_, 0);
  // Every kernel line is read through the region's port, for each tile again.
  for (const auto& [bytes, accesses] : tile_reads_) count_reads(accesses, bytes);
  if (chunk.job.packed) decoded += tile_weights_;
  if (chunk_reads_ > 0)
    use_of(region).accesses(context_.clock.at(chunk.port_from), context_.clock.at(chunk.port_until - 1),
                            chunk.job.packed ? image_ : chunk.job.run.weights,
                            chunk.job.packed ? image_ : chunk.job.run.weights, chunk_reads_,
                            chunk.port_bytes);
  const auto run = [&](auto& pairs) {
    std::fill_n(pairs.begin(), count * most_results_, 0);
    mac_steps({chunk.lines, chunk.offsets, chunk.steps, wfold_shape(config_).windows(), config_.line_bytes,
               kernel_lines_.data(), count},
              pairs.data());
    for (int k = 0; k < count; ++k)
      add_results(pairs.data() + to_signed(k) * most_results_, chunk.job.run.granularity, most_results_,
                  results_of(chunk.half, k));
  };
  if (chunk.job.setup.input_type != DType::kInt16) return run(pairs_);
  wide_pairs_.resize(pairs_.size());
  run(wide_pairs_);
}

// ---- results ----

void WfoldSlave::read_results(ResultRead& read, sc_core::sc_time& delay) {
  if (context_.trace() != nullptr) trace_read(read, now_ps() + static_cast<Picoseconds>(delay.value()));
  take_upsets(context_.clock.cycle_of(now_ps() + static_cast<Picoseconds>(delay.value())), read.job.setup);
  std::int64_t* out = read.results;
  for (int column = read.first_column; column < read.end_column; ++column) {
    for (int k = read.first_kernel; k < read.end_kernel; ++k) {
      *out++ = post_process(results_of(read.half, k)[column], read.job.setup,
                            nth(records_, read.record_set * kernels_ + k));
    }
  }
  results_read += std::int64_t{read.end_column - read.first_column} * (read.end_kernel - read.first_kernel);
}

}  // namespace tilebeat::wfold
