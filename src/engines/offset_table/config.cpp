#include "engines/offset_table/config.h"

#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "engines/offset_table/operations.h"
#include "engines/offset_table/table_file.h"
#include "isa/instruction.h"

#include <fmt/format.h>

namespace tilebeat::offset_table {

template <class V>
void describe(V& v, CacheConfig& c) {
  v.integer("bytes", c.bytes, {64, 1 << 24}, "bytes of all lines");
  v.integer("line_bytes", c.line_bytes, {4, 1024}, "bytes of a line, a power of two");
  v.integer("ways", c.ways, {1, 64}, "lines of a set");
  v.choice("replacement", c.replacement, kReplacementNames,
           "which line of a set makes room: the one that was not used for longest, or the oldest");
  v.integer("banks", c.banks, {1, 64},
            "banks of 4-byte words, a power of two; each serves one access a cycle");
  v.choice("bank_order", c.bank_order, kBankOrderNames,
           "which bank a word lies in: by its place in the line, or turned by a part of the line's number");
  v.integer("misses", c.misses, {1, 256}, "lines that are fetched at a time (MSHRs)");
  v.integer("hit_latency_cycles", c.hit_latency_cycles, {1, 64}, "cycles from the tags to the lanes");
}

template <class V>
void describe(V& v, OffsetConfig& c) {
  v.integer("rows", c.rows, {1, 64}, "threads whose operands are multiplied a beat");
  v.integer("columns", c.columns, {1, 64}, "kernels that they are multiplied with");
  v.integer("vector", c.vector, {1, 16},
            "neighbouring elements of a thread that are multiplied a beat, where the layout has them");
  v.choice("layout", c.layout, kMapLayoutNames, "how maps lie in NRAM");
  v.integer("block_channels", c.block_channels, {1, 256}, "channels of a block of nchwc");
  v.choice("thread_order", c.thread_order, kThreadOrderNames,
           "which outputs are neighbouring threads: consecutive ones, or blocks of 4 x 4");
  v.choice("addresses", c.addresses, kAddressesNames,
           "from tables that were compiled ahead, or from a generator that divides and multiplies");
  v.integer("divider_cycles", c.divider_cycles, {1, 64}, "cycles of the generator's divider, not pipelined");
  v.integer("multiplier_cycles", c.multiplier_cycles, {1, 64}, "cycles of its multiplier, pipelined");
  v.integer("address_queue", c.address_queue, {1, 64},
            "offsets of the generator that are under way or wait for their beats");
  v.object("cache", c.cache, "the line cache in front of NRAM");
  v.integer("table_bytes", c.table_bytes, {256, 1 << 24},
            "bytes of the table cache; larger tables stream through halves of it");
  v.integer("beat_queue", c.beat_queue, {1, 1024}, "beats that wait between the tags and the lanes");
  v.integer("port_bytes", c.port_bytes, {1, 256},
            "bytes of an access to NRAM or WRAM, one a cycle each; a power of two");
  v.integer("drain_bytes", c.drain_bytes, {4, 1024}, "bytes of sums that leave the lanes a cycle");
  v.integer("write_queue", c.write_queue, {1, 4096}, "rows of results that wait to be written");
  v.integer("post_latency_cycles", c.post_latency_cycles, {0, 1024},
            "cycles of latency of the post-processing path");
  v.integer("record_kernels", c.record_kernels, {1, 65536},
            "kernels whose biases and scales the unit holds; a multiple of columns");
}

void check_engine(const OffsetConfig& c, const HardwareConfig& hardware, const Place& root) {
  const Place place = root.key("offset"), cache = place.key("cache");
  need_power_of_two(c.port_bytes, place.key("port_bytes"));
  need_power_of_two(c.cache.line_bytes, cache.key("line_bytes"));
  need_power_of_two(c.cache.banks, cache.key("banks"));
  need(c.cache.bytes % (c.cache.line_bytes * c.cache.ways) == 0, cache.key("bytes"), c.cache.bytes,
       fmt::format("a multiple of line_bytes x ways ({})", c.cache.line_bytes * c.cache.ways));
  need_power_of_two(c.cache.sets(), cache.key("bytes"));
  need(c.drain_bytes % kWordBytes == 0, place.key("drain_bytes"), c.drain_bytes,
       "a multiple of 4, the bytes of a sum");
  need(c.record_kernels % c.columns == 0, place.key("record_kernels"), c.record_kernels,
       fmt::format("a multiple of columns ({})", c.columns));
  need(hardware.dataflow != kDataflow || hardware.chip.has_value(), root.key("dataflow"), hardware.dataflow,
       "a file with `chip`: the engine reads NRAM and WRAM");
}

std::int64_t peak_macs_per_clock(const OffsetConfig& c) {
  return std::int64_t{c.rows} * c.columns * c.vector;
}

std::int64_t results_per_clock(const OffsetConfig& c) {
  return c.drain_bytes / kSumBytes;
}

// Codes of two weights a byte.
DecoderSize kernel_decoders(const OffsetConfig& c, const HardwareConfig&) {
  return {1, std::int64_t{2} * c.port_bytes};
}

std::int64_t buffer_bytes(const OffsetConfig& c) {
  return std::int64_t{c.cache.bytes} + c.table_bytes + std::int64_t{kPostParameterBytes} * c.record_kernels;
}

// Faults hit NRAM, because the lines of the cache are copies of it.
FaultSpace fault_space(const OffsetConfig&, const HardwareConfig& hardware) {
  if (!hardware.chip) return {};
  const MemoryConfig& nram = hardware.chip->core.nram;
  return {nram.banks, nram.size_bytes / nram.banks, FaultSpace::Cells::kNram};
}

// Upsets hit the sums of the lanes, a bank each.
FaultSpace pe_space(const OffsetConfig& c) {
  return {c.rows * c.columns, sizeof(std::int32_t)};
}

std::shared_ptr<CompiledAhead> compiled_ahead(OffsetConfig& c) {
  if (!c.library) c.library = std::make_shared<TableLibrary>();
  return c.library;
}

EngineDescription description() {
  return {kDataflow,
          "offset",
          "sizes of the offset-table engine",
          make_engine_config<OffsetConfig>,
          {"layout", "block_channels", "thread_order"},
          {"tables"}};
}

void OffsetSetup::describe(FieldVisitor& visit) {
  visit("layout", layout, 2), visit("order", order, 1), visit("block", block, 16, kFromOne);
  visit("channels", channels, 16, kFromOne), visit("groups", groups, 16, kFromOne);
  visit("group_kernels", group_kernels, 16, kFromOne), visit("block_kernels", block_kernels, 16, kFromOne);
  visit("vector", vector, 8, kFromOne), visit("bank_shift", bank_shift, 5), visit("part", part, 16, kFromOne),
      visit("useful_taps", useful_taps, 32);
}

void OffsetMap::describe(FieldVisitor& visit) {
  visit("tables", tables, 48);
  visit("rows", rows, 16, kFromOne), visit("columns", columns, 16, kFromOne);
  visit("height", height, 16), visit("width", width, 16);
  visit("h_offset", h_offset, 16), visit("w_offset", w_offset, 16);
}

void OffsetRun::describe(FieldVisitor& visit) {
  visit("map", map, 48), visit("weights", weights, 48), visit("post", post, 48), visit("result", result, 48);
  visit("result_pixel", result_pixel, 32);
  visit("kernels", kernels, 16, kFromOne), visit("first_kernel", first_kernel, 16);
  visit("first_channel", first_channel, 16), visit("channels", channels, 16, kFromOne);
  visit("first", first, 1), visit("last", last, 1), visit("same_map", same_map, 1);
  visit("image", image, 48), visit("same_image", same_image, 1);
}

std::string OffsetRun::subject() const {
  return fmt::format("{} kernels", kernels);
}

std::vector<const OperationType*> operations() {
  return operation_types<OffsetSetup, OffsetMap, OffsetRun>();
}

}  // namespace tilebeat::offset_table
