#include "engines/switch_array/sim/pe_array.h"

#include "base/types.h"
#include "engines/switch_array/config.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat::switch_array {

PeArray::PeArray(sc_core::sc_module_name name, const SimContext& context, const SwitchArrayConfig& config,
                 bool trace_accumulators)
    : sc_module(name),
      operands("operands"),
      parameter_read("parameter_read", to_size(config.columns)),
      drain("drain"),
      context_(context),
      config_(config),
      shape_(array_shape(config)),
      padded_(padded_channels(config.port_channels)),
      accumulators_(config.rows, config.columns, config.port_channels),
      kernel_words_(to_size(config.adder_stages),
                    std::vector<std::uint8_t>(to_size(config.columns * config.port_channels))),
      wide_lanes_(to_size(config.rows * padded_)),
      wide_kernels_(to_size(config.columns * padded_)),
      shadow_(to_size(config.rows * config.columns)),
      words_(to_size(config.columns), config.port_channels) {
  operands.register_b_transport(this, &PeArray::b_transport);
  for (auto& bank : parameter_read) bank.register_invalidate_direct_mem_ptr(this, &PeArray::withdraw);
  traces_accumulators_ = trace_accumulators;
  if (context_.trace() != nullptr) declare_signals();
}

void PeArray::declare_signals() {
  Trace& trace = *context_.observers.trace;
  valid_ = Strobe(&trace, name(), "valid");
  for (int row = 0; row < config_.rows; ++row) {
    for (int column = 0; column < config_.columns; ++column) {
      const std::string pe =
          fmt::format("pe{}{:02}", row, column);  // document 000: pe1500 is row 15, column 0
      pes_.add(trace, {name(), pe, 32, Radix::kSigned, Shown::kWhenNamed});
      if (traces_accumulators_) pes_.add(trace, {name(), pe + "_acc", 32, Radix::kSigned});
    }
  }
  if (std::all_of(pes_.signals.begin(), pes_.signals.end(), [](SignalId signal) { return signal < 0; }))
    pes_ = {};
  sums_before_.resize(shadow_.size());
  shown_.resize(pes_.total_bytes);
}

void PeArray::b_transport(ArrayOperands& message, sc_core::sc_time&) {
  const auto take_setup = [this](const NewSetup& news) {
    setup_ = news.setup;
    forget_kernels();
    drain.send({news});
  };
  std::visit(Overloaded{take_setup, [this](const WaitsFor& news) { drain.send({news}); },
                        [this](const ArrayOperands::Kernels& kernels) { read_words(kernels); },
                        [&](const ArrayOperands::OneBeat& beat) { message.stalled = run_beat(beat); },
                        [&](const ArrayOperands::WholeChunk& chunk) { message.stalled = run_chunk(chunk); }},
             message.content);
  message.drained = shadow_free_ + 1;
}

// ---- clock granularity ----

void PeArray::read_words(const ArrayOperands::Kernels& kernels) {
  words_.read_row(parameter_read, to_unsigned(kernels.word) * to_unsigned(config_.port_channels),
                  kernel_words_[next_read_].data(), now_ps());
  next_read_ = (next_read_ + 1) % kernel_words_.size();
}

// Returns the cycles by which the beat was held back.
Cycle PeArray::run_beat(const ArrayOperands::OneBeat& message) {
  const ConvRun& run = message.chunk.run;
  const Beat& beat = message.beat;
  Cycle at = context_.clock.cycle_of(now_ps());
  const bool completes = beat.last_of_cycle && run.last;
  const Cycle stalled = completes ? std::max<Cycle>(0, shadow_free_ - at) : 0;
  at += stalled;

  const int p = config_.port_channels;
  const std::vector<std::uint8_t>& words = kernel_words_[next_mac_];
  next_mac_ = (next_mac_ + 1) % kernel_words_.size();
  widen_words(message.lanes, config_.rows, p, setup_.input_type, setup_.input_zero_point, wide_lanes_.data());
  widen_words(words.data(), config_.columns, p, setup_.weight_type, setup_.weight_zero_point,
              wide_kernels_.data());
  upsets_.until(at, [this](const Fault& upset) {
    accumulators_.flip(upset.bank / config_.columns, upset.bank % config_.columns,
                       std::uint32_t{upset.mask} << 8 * upset.address);
  });
  if (beat.index == 0 && run.first) accumulators_.clear(is_wide());
  accumulators_.mac(wide_lanes_.data(), wide_kernels_.data());
  if (context_.trace() != nullptr) trace_pes(at, beat.index == 0 && run.first);
  if (completes) drain_cycle(message, at);
  return stalled;
}

// The accumulators move to the shadow registers at the end of cycle `at` and drain from the next cycle on.
void PeArray::drain_cycle(const ArrayOperands::OneBeat& message, Cycle at) {
  for (int row = 0; row < config_.rows; ++row) {
    for (int column = 0; column < config_.columns; ++column) {
      nth(shadow_, row * config_.columns + column) = accumulators_.sum(row, column);
    }
  }
  shadow_free_ = at + drain_cycles(config_);
  const SwitchSchedule& schedule = message.chunk.schedule;
  const bool chunk_complete = message.beat.row_block == schedule.row_blocks() - 1 &&
                              message.beat.column_block == schedule.column_blocks() - 1;
  drain.send({DrainMessage::OneCycle{message.chunk, shadow_.data(), config_.columns, message.beat, at,
                                     chunk_complete}});
}

// Traces a beat, the first one of its sums or not.
void PeArray::trace_pes(Cycle at, bool begins) {
  Trace& trace = *context_.observers.trace;
  if (valid_.is_ignored(trace, pes_)) return;
  if (begins) std::fill(sums_before_.begin(), sums_before_.end(), 0);
  const Picoseconds begin = context_.clock.at(at), end = context_.clock.at(at + 1);
  const auto show = [this](std::uint8_t* to) {
    if (!pes_.signals.empty()) accumulators_.show(sums_before_.data(), traces_accumulators_, to);
  };
  if (std::uint8_t* const place = valid_.record(trace, begin, end, pes_); place != nullptr)
    return show(place);
  show(shown_.data());
  valid_.high(&trace, begin, end, pes_, shown_.data());
}

// ---- tile granularity ----

// Returns the cycles by which its beats were held back.
Cycle PeArray::run_chunk(const ArrayOperands::WholeChunk& message) {
  const ConvRun& run = message.chunk.run;
  const ChunkGeometry& g = message.chunk.schedule.geometry();
  const int stride = accumulator_stride(config_.columns);
  const auto wanted = to_size(g.rows * g.columns * stride);
  if (run.first) chunk_sums_.assign(wanted, 0);
  TileConvolution convolution{g.rows,          g.columns,  g.h_offset, g.w_offset,   g.kernel_h,
                              g.kernel_w,      g.stride_h, g.stride_w, g.dilation_h, g.dilation_w,
                              config_.columns, g.planes,   is_wide()};
  convolve_tile(convolution, message.tile, read_kernels(run, convolution), chunk_sums_.data());

  std::vector<Cycle> last_macs;
  Cycle stalled = 0;
  Cycle mac = message.first_mac - 1;  // the cycle of the latest MAC so far
  for (const int clocks : message.cycle_clocks) {
    mac += Cycle{clocks} * g.planes;
    if (!run.last) continue;
    const Cycle stall = std::max<Cycle>(0, shadow_free_ - mac);
    stalled += stall;
    mac += stall;
    shadow_free_ = mac + drain_cycles(config_);
    last_macs.push_back(mac);
  }
  // Each beat reads one word of every bank.
  const std::uint64_t word = run.parameter_word * to_unsigned(config_.port_channels);
  for (auto& bank : parameter_read)
    use_of(bank).accesses(now_ps(), context_.clock.at(mac), word, word, message.chunk.schedule.beats(),
                          config_.port_channels);
  if (run.last) {
    drain.send({DrainMessage::WholeChunk{message.chunk, chunk_sums_.data(), stride, last_macs}});
  }
  return stalled;
}

void PeArray::forget_kernels() {
  for (auto& kernels : chunk_kernels_) spare_kernels_.push_back(std::move(kernels.second));
  chunk_kernels_.clear();
}

// Reads the kernels of the chunk from the parameter banks, subtracts their zero point, and packs them for the
// fast kernel.
const std::vector<std::int16_t>& PeArray::read_kernels(const ConvRun& run, const TileConvolution& geometry) {
  const int p = config_.port_channels;
  const std::int64_t words = std::int64_t{run.planes} * geometry.kernel_h * geometry.kernel_w;
  const std::size_t elements = to_size(words) * to_size(config_.columns * padded_);
  for (TimedWrites* row : kernel_rows_) row->commit(now_ps());  // may withdraw, and so forget kernels
  const auto [known, is_new] = chunk_kernels_.try_emplace(run.parameter_word);
  std::vector<std::int16_t>& packed = known->second;
  if (!is_new &&
      packed.size() == to_size(accumulator_stride(config_.columns)) * elements / to_size(config_.columns))
    return packed;
  if (is_new && !spare_kernels_.empty()) {
    packed = std::move(spare_kernels_.back());
    spare_kernels_.pop_back();
  }
  wide_chunk_kernels_.resize(elements);
  for (int column = 0; column < config_.columns; ++column) {
    const auto cells = ask_for_cells(nth(parameter_read, column), tlm::TLM_READ_COMMAND, 0);
    if (!cells) throw SimulationError("a parameter bank refuses direct memory access");
    if (std::find(kernel_rows_.begin(), kernel_rows_.end(), cells->row) == kernel_rows_.end())
      kernel_rows_.push_back(cells->row);
    const std::uint8_t* word = cells->cells + to_signed(run.parameter_word) * p;
    widen_words(word, to_int(words), p, setup_.weight_type, setup_.weight_zero_point,
                wide_chunk_kernels_.data() + column * words * padded_);
  }
  pack_weights(geometry, run.planes * padded_, wide_chunk_kernels_, packed);
  return packed;
}

}  // namespace tilebeat::switch_array
