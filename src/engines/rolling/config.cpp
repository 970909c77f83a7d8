#include "engines/rolling/config.h"

#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "engines/rolling/operations.h"
#include "isa/instruction.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {

template <class V>
void describe(V& v, RollingConfig& c) {
  v.integer("rows", c.rows, {1, 128}, "rows of PEs");
  v.integer("columns", c.columns, {1, 128}, "columns of PEs");
  v.integer("groups", c.groups, {1, 64}, "registers of each operand in a PE; a block pair takes one of each");
  v.integer("multipliers", c.multipliers, {1, 64},
            "multipliers of a PE: as many register groups are multiplied in one beat");
  v.integer("start_row", c.start_row, {0, 127}, "row of the PE where matrices begin, less than rows");
  v.integer("start_column", c.start_column, {0, 127}, "column of that PE, less than columns");
  v.integer("port_bytes", c.port_bytes, {1, 256}, "bytes of an operand that arrive at its registers a cycle");
  v.integer("request_bytes", c.request_bytes, {1, 4096},
            "bytes of the longest request for lines of an operand");
  v.integer("line_queue", c.line_queue, {1, 4096},
            "lines of an operand that are requested ahead of the registers");
  v.integer("result_blocks", c.result_blocks, {1, 4096},
            "output blocks that each of the two halves of the result buffer holds; blocks of lines are "
            "stacked s at "
            "a time only where a half holds s x s output blocks");
  v.integer("drain_bytes", c.drain_bytes, {4, 1024}, "bytes of sums that leave the result buffer a cycle");
  v.integer(
      "record_slots", c.record_slots, {0, 4096},
      "columns of output blocks whose records of bias and scale are held, from their load until the last "
      "block is drained; 0: groups + 2, as many as there can be");
  v.integer("write_queue", c.write_queue, {1, 4096}, "requests to write results that wait for the bus");
  v.integer("post_latency_cycles", c.post_latency_cycles, {0, 1024},
            "cycles of latency of the post-processing path");
  v.choice("variant", c.variant, kVariantChoiceNames,
           "which operand is transposed (right: B, left: A), which one rolls, and where to; or what takes "
           "the fewest cycles");
  v.choice("blocking", c.blocking, kBlockingChoiceNames,
           "operands larger than the array: one block pair after the other; stacked, blocks exchanged "
           "between register groups; stacked, one ring with correction; or what takes the fewest cycles");
  v.integer(
      "stacked_blocks", c.stacked_blocks, {0, 64},
      "blocks of lines that are stacked in register groups (s), as far as an operand has them; 0: chosen");
  v.integer("stacked_cuts", c.stacked_cuts, {0, 64},
            "cuts of the inner dimension that are stacked in register groups; 0: chosen");
  v.choice("realign", c.realign, kRealignmentNames,
           "how sums come to their places: lines of the result buffer roll, or elements carry tags");
  v.choice("wrap", c.wrap, kWrapNames,
           "where the line that leaves a ring waits: in spare registers, or in the buffer (2 cycles a ring)");
  v.choice("spare_lines", c.spare_lines, kSpareLinesNames,
           "lines of spare registers: one for each ring; one that rings share, which roll one after the "
           "other; or none, with wrap \"buffer\"");
  v.choice("registers", c.registers, kRegisterGroupsNames,
           "register groups of a round: those of an earlier round of the same size, or those that the loader "
           "assigns, as many as the round has block pairs");
  v.choice(
      "transposition", c.transposition, kTranspositionChoiceNames,
      "kernels lie transposed in memory, are transposed while they are loaded, or before that in WRAM, in a "
      "step of its own");
  v.choice("stationary", c.stationary, kStationaryNames,
           "one operand stays while the other one rolls; or a plain array, where outputs stay and both "
           "operands are streamed");
}

// Whether register groups and the result buffer hold the blocks that are to be stacked (SPEC RO-7).
void check_stacks(const RollingConfig& c, const Place& place) {
  const int cuts = std::max(1, c.stacked_cuts);
  need(c.stacked_blocks * cuts <= c.groups, place.key("stacked_blocks"), c.stacked_blocks,
       fmt::format("at most {}: {} groups hold so many blocks of {} cuts", c.groups / cuts, c.groups, cuts));
  need(c.stacked_blocks * c.stacked_blocks <= c.result_blocks, place.key("result_blocks"), c.result_blocks,
       fmt::format("at least {0} x {0}, the output blocks of {0} stacked blocks", c.stacked_blocks));
  const auto blocking = nth(kBlockingChoiceNames, c.blocking);
  if (c.blocking == BlockingChoice::kPlain)
    need(c.stacked_blocks <= 1, place.key("blocking"), blocking,
         fmt::format("another one with stacked_blocks {}", c.stacked_blocks));
  if (!stacks_blocks(c)) return;
  need(c.stacked_blocks != 1, place.key("blocking"), blocking, "\"plain\" or \"auto\" with stacked_blocks 1");
  need(c.groups / cuts >= 2, place.key("blocking"), blocking,
       fmt::format("\"plain\" or \"auto\": {} groups hold no two blocks of {} cuts", c.groups, cuts));
  need(c.result_blocks >= 4, place.key("result_blocks"), c.result_blocks,
       "at least 4, for the 2 x 2 output blocks of stacked blocks");
}

void check_engine(const RollingConfig& c, const HardwareConfig& hardware, const Place& root) {
  const Place place = root.key("rolling");
  need(c.start_row < c.rows, place.key("start_row"), c.start_row, fmt::format("less than rows ({})", c.rows));
  need(c.start_column < c.columns, place.key("start_column"), c.start_column,
       fmt::format("less than columns ({})", c.columns));
  need(c.drain_bytes % 4 == 0, place.key("drain_bytes"), c.drain_bytes,
       "a multiple of 4, the bytes of a sum");
  need(c.stacked_cuts <= c.groups, place.key("stacked_cuts"), c.stacked_cuts,
       fmt::format("at most groups ({})", c.groups));
  check_stacks(c, place);
  need(c.multipliers <= c.groups, place.key("multipliers"), c.multipliers,
       fmt::format("at most groups ({})", c.groups));
  need(c.stationary != Stationary::kOutput || c.multipliers == 1, place.key("multipliers"), c.multipliers,
       "1 with stationary \"output\": a PE adds up one output");
  need(hardware.dataflow != kDataflow || hardware.chip || c.transposition != TranspositionChoice::kStep,
       place.key("transposition"), nth(kTranspositionChoiceNames, c.transposition),
       "another one: a board has no memory to transpose kernels in");
  need(c.spare_lines != SpareLines::kNone || c.wrap == Wrap::kBuffer, place.key("wrap"),
       nth(kWrapNames, c.wrap), "\"buffer\": there are no spare registers");
  need(c.stationary != Stationary::kOutput || c.variant == VariantChoice::kAuto, place.key("variant"),
       nth(kVariantChoiceNames, c.variant), "\"auto\" with stationary \"output\": nothing rolls");
  need(hardware.dataflow != kDataflow || c.request_bytes <= hardware.dma.burst_bytes,
       place.key("request_bytes"), c.request_bytes,
       fmt::format("at most dma.burst_bytes ({})", hardware.dma.burst_bytes));
}

std::int64_t peak_macs_per_clock(const RollingConfig& c) {
  return std::int64_t{c.rows} * c.columns * c.multipliers;
}

std::int64_t results_per_clock(const RollingConfig& c) {
  return c.drain_bytes / kSumBytes;
}

// Codes of two weights a byte. A board reads kernels from DRAM, which has no images.
DecoderSize kernel_decoders(const RollingConfig& c, const HardwareConfig& hardware) {
  if (!hardware.chip || c.transposition == TranspositionChoice::kStep) return {};
  return {1, std::int64_t{2} * c.port_bytes};
}

namespace {

// The most blocks of lines in an output block.
int most_blocks(const RollingConfig& c) {
  int blocks = 1;
  while (blocks < c.groups && (blocks + 1) * (blocks + 1) <= c.result_blocks) ++blocks;
  return blocks;
}

}  // namespace

std::int64_t buffer_bytes(const RollingConfig& c) {
  const std::int64_t side = std::max(c.rows, c.columns), transposed = side * side * most_blocks(c);
  constexpr std::int64_t kBothOperands = 2, kHalves = 2;
  return (kBothOperands * c.groups + kHalves * c.result_blocks * kSumBytes) * c.rows * c.columns +
         (c.transposition == TranspositionChoice::kStep ? transposed : 0) +
         (spare_lines_of(shape_of(c)) +
          std::int64_t{record_slots_of(c)} * kPostParameterBytes * most_blocks(c)) *
             std::max(c.rows, c.columns);
}

// Faults hit the registers of both operands: a bank is one group's registers of one operand.
FaultSpace fault_space(const RollingConfig& c, const HardwareConfig&) {
  return {2 * c.groups, std::int64_t{c.rows} * c.columns};
}

FaultSpace pe_space(const RollingConfig& c) {
  return {2 * c.groups, std::int64_t{c.rows} * c.columns};
}

EngineDescription description() {
  return {kDataflow,
          "rolling",
          "sizes of the rolling-register matrix unit",
          make_engine_config<RollingConfig>,
          {"variant", "blocking", "stacked_blocks", "stacked_cuts", "realign", "wrap", "transposition",
           "stationary"}};
}

void RollingSetup::describe(FieldVisitor& visit) {
  visit("variant", variant, 3), visit("scheme", scheme, 2), visit("realignment", realignment, 1);
  visit("wrap", wrap, 1), visit("transposition", transposition, 1);
  visit("stacked_blocks", stacked_blocks, 8, kFromOne), visit("stacked_cuts", stacked_cuts, 8, kFromOne);
  visit("pixel_bytes", pixel_bytes, 16, kFromOne), visit("group_channels", group_channels, 16, kFromOne);
  visit("group_kernels", group_kernels, 16, kFromOne), visit("block_kernels", block_kernels, 16, kFromOne);
  visit("images", images, 16, kFromOne), visit("useful_taps", useful_taps, 32);
}

void RollingRun::describe(FieldVisitor& visit) {
  visit("map", map, 48), visit("weights", weights, 48), visit("post", post, 48), visit("result", result, 48);
  visit("result_pixel", result_pixel, 20), visit("rows", rows, 16, kFromOne),
      visit("columns", columns, 16, kFromOne);
  visit("kernels", kernels, 16, kFromOne), visit("height", height, 16), visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16), visit("first_kernel", first_kernel, 16);
  visit("first_channel", first_channel, 16), visit("channels", channels, 16, kFromOne);
  visit("first", first, 1), visit("last", last, 1), visit("transposes", transposes, 1);
  visit("packed", packed, 1), visit("same_image", same_image, 1);
}

std::string RollingRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

std::vector<const OperationType*> operations() {
  return operation_types<RollingSetup, RollingRun>();
}

}  // namespace tilebeat::rolling
