#include "engines/switch_array/config.h"

#include "base/types.h"
#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "engines/switch_array/operations.h"
#include "isa/instruction.h"
#include "isa/operations.h"

#include <fmt/format.h>

namespace tilebeat::switch_array {
namespace {

constexpr Range kLatencyCycles{0, 1024};
constexpr std::int64_t kBytesPerResult = 4;

// Refuses a memory that is too large for a process.
void need_size(std::int64_t bytes, const Place& place, std::int64_t words) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  need(bytes <= kMost, place, words,
       fmt::format("fewer words: the banks would take {} bytes, {} are the limit", bytes, kMost));
}

}  // namespace

template <class V>
void describe(V& v, SwitchArrayConfig& c) {
  v.integer("rows", c.rows, {1, 256},
            "R: rows of PEs, equal to input banks and sub-switches; a multiple of groups");
  v.integer("columns", c.columns, {1, 256}, "C: columns of PEs, kernels computed at a time");
  v.integer("groups", c.groups, {1, 256}, "G: row groups; a group has L = R/G lanes");
  v.integer("port_channels", c.port_channels, {1, 64},
            "P: int8 channels (bytes) of a bank word and of a weight word");
  v.choice("arrangement", c.arrangement, kArrangementNames,
           "how a map lies in the banks: table1 is document 000's, stride_aware has no bank conflicts at any "
           "stride");
  v.integer("bank_depth_words", c.bank_depth_words, {16, 1 << 24},
            "words of P bytes of each of the two copies of an input bank");
  v.integer("parameter_depth_words", c.parameter_depth_words, {16, 1 << 24},
            "words of P bytes a column of the parameter buffer");
  v.integer("parameter_slots", c.parameter_slots, {1, 64},
            "kernel blocks whose biases and scales the post-processor holds");
  v.choice("records", c.records, kRecordsNames,
           "biases, scales and conv.setup while lanes drain: held, not overwritten until the last lane has "
           "drained, or copied with the accumulators");
  v.integer("output_buffer_bytes", c.output_buffer_bytes, {64, std::int64_t{1} << 30},
            "bytes of the output buffer, both halves together; a half holds at least R*C int32 results");
  v.integer(
      "arrangement_queue_words", c.arrangement_queue_words, {1, 4096},
      "words that wait in front of the write port of each bank; at least one more than a bus beat has bytes");
  v.integer("drain_clocks_per_lane", c.drain_clocks_per_lane, {1, 1024},
            "cycles in which the post-processor takes one lane of C results");
  v.integer(
      "adder_stages", c.adder_stages, {1, 8},
      "pipeline stages in which a PE multiplies and adds its P products to the accumulator; each adds up "
      "to the adder_stages-th root of P operands, rounded up");
  v.integer("post_latency_cycles", c.post_latency_cycles, kLatencyCycles,
            "cycles of latency of the post-processing path");
  v.integer("decode_bytes_per_clock", c.decode_bytes_per_clock, {0, 128},
            "bytes of int4 or uint4 weights a clock that the decoder in front of the parameter buffer takes, "
            "on a board; 0: there is none, such weights are refused");
}

// Checks the array's demands on the surrounding system, whose bus its channels use.
void check_channels(const SwitchArrayConfig& c, const HardwareConfig& hardware, const Place& root) {
  if (hardware.dataflow != kSwitchArrayDataflow) return;
  const int width = hardware.matrix_bus_bytes(), words = most_words_of_beat(width);
  need(
      c.arrangement_queue_words >= words, root.key("switch_array").key("arrangement_queue_words"),
      c.arrangement_queue_words,
      fmt::format("at least {}: what one beat of {} bytes can have for a bank, a word a byte and one without "
                  "bytes",
                  words, width));
  if (!hardware.chip) return;
  need(hardware.dma.burst_bytes >= width, root.key("dma").key("burst_bytes"), hardware.dma.burst_bytes,
       fmt::format("at least {}, the width of the core's bus (chip.core.bus.bytes_per_clock)", width));
}

void check_engine(const SwitchArrayConfig& c, const HardwareConfig& hardware, const Place& root) {
  const Place place = root.key("switch_array");
  need(c.rows % c.groups == 0, place.key("rows"), c.rows, fmt::format("a multiple of groups ({})", c.groups));
  const std::int64_t word = c.port_channels;
  need_size(2 * word * c.rows * c.bank_depth_words, place.key("bank_depth_words"), c.bank_depth_words);
  need_size(word * c.columns * c.parameter_depth_words, place.key("parameter_depth_words"),
            c.parameter_depth_words);
  const std::int64_t results = std::int64_t{c.rows} * c.columns;
  need(c.output_buffer_bytes / 2 >= results * kBytesPerResult, place.key("output_buffer_bytes"),
       c.output_buffer_bytes,
       fmt::format("at least {}: two halves of one operation cycle of {} int32 results",
                   2 * results * kBytesPerResult, results));
  check_channels(c, hardware, root);
}

std::int64_t peak_macs_per_clock(const SwitchArrayConfig& c) {
  return std::int64_t{c.rows} * c.columns * c.port_channels;
}

// Each group takes a lane of C results in so many cycles.
std::int64_t results_per_clock(const SwitchArrayConfig& c) {
  return std::int64_t{c.groups} * ceil_div(c.columns, c.drain_clocks_per_lane);
}

DecoderSize kernel_decoders(const SwitchArrayConfig& c, const HardwareConfig& hardware) {
  if (hardware.chip) return {1, hardware.matrix_bus_bytes()};
  const int lanes = decoded_per_clock(c);
  return {lanes > 0 ? 1 : 0, lanes};
}

std::int64_t buffer_bytes(const SwitchArrayConfig& c) {
  constexpr std::int64_t kCopies = 2;
  return kCopies * c.rows * c.bank_depth_words * c.port_channels +
         std::int64_t{c.columns} * c.parameter_depth_words * c.port_channels +
         std::int64_t{kPostParameterBytes} * c.columns * c.parameter_slots + c.output_buffer_bytes;
}

// Faults hit the input banks, both copies.
FaultSpace fault_space(const SwitchArrayConfig& c, const HardwareConfig&) {
  return {c.rows, std::int64_t{2} * c.bank_depth_words * c.port_channels};
}

// Upsets hit the accumulators, a bank each.
FaultSpace pe_space(const SwitchArrayConfig& c) {
  return {c.rows * c.columns, sizeof(std::int32_t)};
}

void set_quotients(const SwitchArrayConfig& c, const ConvSetup& setup, ConvRun& run) {
  const bool aware = c.arrangement == ArrangementKind::kStrideAware;
  const int stride_h = aware ? setup.stride_h : 1, stride_w = aware ? setup.stride_w : 1;
  const auto quotient = [](int value, int stride) {
    const int down = value >= 0 ? value / stride : -((stride - 1 - value) / stride);
    return static_cast<std::int16_t>(stride == 1 ? 0 : down);
  };
  const int words = words_per_plane(array_shape(c), run.height, run.width, stride_h);
  set_field(run.plane_words, std::min(words, int{UINT16_MAX}));
  set_field(run.phase_columns, quotient(run.width, stride_w));
  run.h_quotient = quotient(run.h_offset, stride_h);
  run.w_quotient = quotient(run.w_offset, stride_w);
}

namespace {

// Fills in the quotients of runs that have none.
void complete(const HardwareConfig& hardware, std::vector<Instruction>& program) {
  ConvSetup setup;
  for (Instruction& instruction : program) {
    if (const auto* registers = instruction.operation.get_if<ConvSetup>()) setup = *registers;
    auto* run = instruction.operation.get_if<ConvRun>();
    if (run != nullptr && run->plane_words == 0)
      set_quotients(hardware.engine<SwitchArrayConfig>(), setup, *run);
  }
}

}  // namespace

EngineDescription description() {
  EngineDescription engine{kSwitchArrayDataflow, "switch_array", "sizes of the switch-array engine",
                           make_engine_config<SwitchArrayConfig>};
  engine.traces_accumulators = true;
  engine.complete = complete;
  return engine;
}

void ConvRun::describe(FieldVisitor& visit) {
  visit("copy", copy, 1), visit("first", first, 1), visit("last", last, 1);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne), visit("height", height, 16),
      visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
  visit("first_plane", first_plane, 16), visit("planes", planes, 16, kFromOne),
      visit("kernels", kernels, 16, kFromOne);
  visit("slot", slot, 16), visit("parameter_word", parameter_word, 32);
  visit("output_base", output_base, 32), visit("output_stride", output_stride, 32),
      visit("macs_per_pixel", macs_per_pixel, 32);
  visit("blocks", blocks, 16, kFromOne), visit("plane_step", plane_step, 16);
  visit("plane_words", plane_words, 16), visit("phase_columns", phase_columns, 15);
  visit("h_quotient", h_quotient, 15), visit("w_quotient", w_quotient, 15);
}

std::string ConvRun::subject() const {
  return blocks == 1 ? fmt::format("{}x{}x{}", rows, columns, kernels)
                     : fmt::format("{}x{}x{}, {} blocks", rows, columns, kernels, blocks);
}

void LoadInput::describe(FieldVisitor& visit) {
  visit("copy", copy, 1), visit("address", address, 48);
  visit("row_stride", row_stride, 32), visit("pixel_stride", pixel_stride, 32);
  visit("height", height, 16), visit("width", width, 16), visit("channels", channels, 16, kFromOne);
  visit("stride_h", stride_h, 16, kFromOne), visit("stride_w", stride_w, 16, kFromOne),
      visit("fill", fill, 8);
  visit("slice", slice, 16);
}

std::string LoadInput::subject() const {
  return fmt::format("{}x{}x{}", height, width, channels);
}

void LoadKernels::describe(FieldVisitor& visit) {
  visit("address", address, 48), visit("post_address", post_address, 48), visit("words", words, 25, kFromOne);
  visit("parameter_word", parameter_word, 24), visit("slot", slot, 8),
      visit("post_records", post_records, 16);
  visit("packed", packed, 1), visit("stream_bytes", stream_bytes, 31);
  visit("group_channels", group_channels, 30), visit("group_kernels", group_kernels, 16, kFromOne);
  visit("first_kernel", first_kernel, 16), visit("kernels", kernels, 16);
  visit("first_channel", first_channel, 32), visit("block_words", block_words, 25, kFromOne);
  visit("block_channels", block_channels, 16), visit("taps", taps, 24, kFromOne), visit("fill", fill, 8);
}

void LoadImage::describe(FieldVisitor& visit) {
  visit("address", address, 48), visit("front_bytes", front_bytes, 32), visit("bytes", bytes, 32);
}

std::string LoadImage::subject() const {
  return fmt::format("{} bytes", bytes);
}

std::string LoadKernels::fault() const {
  if (packed && stream_bytes > 0) return "kernels of an image and of a stream";
  return {};
}

std::string LoadKernels::subject() const {
  return fmt::format("{} words", words);
}

void StoreOutput::describe(FieldVisitor& visit) {
  visit("address", address, 48), visit("row_stride", row_stride, 32), visit("pixel_stride", pixel_stride, 32);
  visit("source", source, 32), visit("pixel_bytes", pixel_bytes, 32, kFromOne);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne);
}

std::string StoreOutput::fault() const {
  return transfer_fault(rows, columns, pixel_bytes);
}

std::string StoreOutput::subject() const {
  return fmt::format("{}x{}x{} bytes", rows, columns, pixel_bytes);
}

std::vector<const OperationType*> operations() {
  return operation_types<ConvRun, LoadInput, LoadKernels, LoadImage, StoreOutput>();
}

}  // namespace tilebeat::switch_array
