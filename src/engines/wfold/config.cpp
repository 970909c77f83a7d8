#include "engines/wfold/config.h"

#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "engines/wfold/operations.h"

#include <fmt/format.h>

namespace tilebeat::wfold {
namespace {

constexpr Range kWriterLatencyCycles{0, 1024};

}  // namespace

template <class V>
void describe(V& v, WfoldConfig& c) {
  v.integer("slaves", c.slaves, {1, 64}, "Ns: slaves; the WRAM has one region for each of them");
  v.integer("masters", c.masters, {1, kMostMasters},
            "masters, each of which reads and broadcasts the lines of its share of the slaves");
  v.integer("compute_units", c.compute_units, {1, 16}, "Ncu: compute units of a slave");
  v.integer("line_bytes", c.line_bytes, {8, 256},
            "M: bytes of a map line and of a kernel line, a power of two");
  v.integer("first_buffer_lines", c.first_buffer_lines, {2, 256},
            "L1: lines that a slave's first buffer holds, more than compute_units");
  v.integer("second_buffer_lines", c.second_buffer_lines, {2, 256},
            "L2: lines that a slave's second buffer holds; half of them bound what a tile takes of it");
  v.choice("first_buffer", c.first_buffer, kFirstBufferNames,
           "what a slave's first buffer holds, of which each compute unit takes lines of its own; the second "
           "one holds the other, a line of which goes to all compute units");
  v.integer(
      "adder_stages", c.adder_stages, {1, 8},
      "pipeline stages in which a compute unit multiplies and adds Pci products to a result; each adds up "
      "to the adder_stages-th root of Pci operands, rounded up");
  v.integer("weight_port_bytes", c.weight_port_bytes, {16, 256},
            "bytes that a slave reads of its region a cycle");
  v.integer(
      "multicast_groups", c.multicast_groups, {1, 64},
      "most groups of slaves that lines of their own can be sent to, a divisor of slaves; 1: every line "
      "goes to all slaves");
  v.integer("line_queue", c.line_queue, {1, 4096}, "map lines that are read ahead of the first buffers");
  v.integer("transit_bytes", c.transit_bytes, {0, 1 << 20},
            "bytes of the transit buffer, both halves together; 0: there is none");
  v.integer("write_queue", c.write_queue, {1, 4096}, "requests to write results that wait for the bus");
  v.integer("post_latency_cycles", c.post_latency_cycles, kWriterLatencyCycles,
            "cycles of latency of the post-processing path");
  v.integer("smallest_pci", c.smallest_pci, {2, 256},
            "smallest channel granularity to choose from, a power of two; the largest is line_bytes");
  v.integer("tolerance_bytes", c.tolerance_bytes, {1, 256},
            "a larger granularity is taken when its padding exceeds the least one by less than this");
  v.integer("pci", c.pci, {0, 256}, "channel granularity, a power of two; 0: chosen for each layer");
  v.choice(
      "read_mode", c.read_mode, kReadChoiceNames,
      "how map lines are read: one continuous request, one for each position, through the transit buffer, "
      "or what takes the fewest requests; a layer that does not allow a forced mode is refused");
  v.choice(
      "storage", c.storage, kStorageNames,
      "what the first and the second storage are: two memories, or two blocks of one memory, whose banks "
      "each make one access a cycle for either of them");
  v.choice("fold_place", c.fold_place, kFoldPlaceNames,
           "where the width of a map is folded by the stride: between the two on-chip storages, on the way "
           "from DRAM, or in place in NRAM");
  v.choice(
      "kernel_place", c.kernel_place, kKernelPlaceNames,
      "where kernels are dealt to slaves, aligned to the stride and filled: by the hardware while they are "
      "loaded, from the kernels as the workload has them, or by the planner in DRAM");
  v.choice("block_order", c.block_order, kBlockOrderNames,
           "which loop of a tile is the outer one: kernel rows or channel blocks");
}

namespace {

// Checks that NRAM and WRAM can be blocks of one memory: the second one differs in its size alone.
void check_shared(const WfoldConfig& c, const CoreConfig& core, const Place& root) {
  const Place wram = root.key("chip").key("core").key("wram");
  const auto need_equal = [&](const char* key, std::int64_t of_wram, std::int64_t of_nram) {
    need(of_wram == of_nram, wram.key(key), of_wram,
         fmt::format("that of nram ({}): with wfold.storage shared both are blocks of one memory", of_nram));
  };
  need_equal("banks", core.wram.banks, core.nram.banks);
  need_equal("bank_bytes", core.wram.bank_bytes, core.nram.bank_bytes);
  need_equal("latency_cycles", core.wram.latency_cycles, core.nram.latency_cycles);
  need_equal("request_queue", core.wram.request_queue, core.nram.request_queue);
  need(c.weight_port_bytes <= core.wram.bank_bytes, root.key("wfold").key("weight_port_bytes"),
       c.weight_port_bytes,
       fmt::format("at most chip.core.wram.bank_bytes ({}): with storage shared it is a bank's only port",
                   core.wram.bank_bytes));
}

}  // namespace

void check_engine(const WfoldConfig& c, const HardwareConfig& hardware, const Place& root) {
  const Place place = root.key("wfold");
  need_power_of_two(c.line_bytes, place.key("line_bytes"));
  need_power_of_two(c.smallest_pci, place.key("smallest_pci"));
  need_power_of_two(c.pci, place.key("pci"));
  need(c.pci != 1, place.key("pci"), c.pci, "0, or at least 2");
  need(c.first_buffer_lines > c.compute_units, place.key("first_buffer_lines"), c.first_buffer_lines,
       fmt::format("more than compute_units ({})", c.compute_units));
  need(c.slaves % c.multicast_groups == 0, place.key("multicast_groups"), c.multicast_groups,
       fmt::format("a divisor of slaves ({})", c.slaves));
  need(c.slaves % c.masters == 0, place.key("masters"), c.masters,
       fmt::format("a divisor of slaves ({})", c.slaves));
  need(c.multicast_groups == 1 || c.kernel_place != KernelPlace::kOffline, place.key("multicast_groups"),
       c.multicast_groups, "1, because kernel_place offline deals kernels as if lines went to all slaves");
  const std::string to_line = fmt::format("at most line_bytes ({})", c.line_bytes);
  need(c.smallest_pci <= c.line_bytes, place.key("smallest_pci"), c.smallest_pci, to_line);
  need(c.pci <= c.line_bytes, place.key("pci"), c.pci, to_line);
  if (hardware.dataflow != kWfoldDataflow) return;
  need(hardware.chip.has_value(), root.key("dataflow"), hardware.dataflow,
       fmt::format("{}, or a file with `chip`: the engine's two storages are NRAM and WRAM of a core",
                   engine_descriptions().front().dataflow));
  const MemoryConfig& wram = hardware.chip->core.wram;
  const Place banks = root.key("chip").key("core").key("wram").key("banks");
  need(wram.banks == c.slaves, banks, wram.banks,
       fmt::format("wfold.slaves ({}): a region for every slave", c.slaves));
  if (c.storage == StoragePlace::kShared) check_shared(c, hardware.chip->core, root);
}

std::int64_t peak_macs_per_clock(const WfoldConfig& c) {
  return std::int64_t{c.slaves} * c.compute_units * c.line_bytes;
}

// A line of sums drains in a cycle.
std::int64_t results_per_clock(const WfoldConfig& c) {
  return c.line_bytes / kSumBytes;
}

DecoderSize kernel_decoders(const WfoldConfig& c, const HardwareConfig&) {
  if (c.kernel_place == KernelPlace::kOffline) return {};
  return {c.slaves, std::int64_t{c.slaves} * c.weight_port_bytes};
}

std::int64_t buffer_bytes(const WfoldConfig& c) {
  return std::int64_t{c.slaves} * (c.first_buffer_lines + c.second_buffer_lines) * c.line_bytes +
         c.masters * c.transit_bytes;
}

// Faults hit the NRAM of a core, which the engine reads.
FaultSpace fault_space(const WfoldConfig&, const HardwareConfig& hardware) {
  const MemoryConfig& nram = hardware.chip->core.nram;
  return {nram.banks, nram.size_bytes / nram.banks, FaultSpace::Cells::kNram};
}

// Upsets hit the sums in the third buffers, a bank for each slave.
FaultSpace pe_space(const WfoldConfig& c) {
  const WfoldShape shape = wfold_shape(c);
  const int results = shape.windows() * c.line_bytes / 2;
  return {c.slaves, std::int64_t{2} * shape.kernels_per_slave() * results * to_signed(sizeof(std::int32_t))};
}

EngineDescription description() {
  return {
      kWfoldDataflow, "wfold", "sizes of the W-fold engine", make_engine_config<WfoldConfig>, {}, {}, true};
}

void WfoldRun::describe(FieldVisitor& visit) {
  visit("map", map, 32), visit("row_bytes", row_bytes, 32), visit("lead_bytes", lead_bytes, 32);
  visit("weights", weights, 32), visit("result", result, 32), visit("result_pixel", result_pixel, 32);
  visit("macs_per_output", macs_per_output, 32), visit("rows", rows, 16, kFromOne),
      visit("columns", columns, 16, kFromOne);
  visit("kernels", kernels, 16, kFromOne), visit("height", height, 16), visit("h_offset", h_offset, 16);
  visit("pixel_bytes", pixel_bytes, 16, kFromOne), visit("first_channel", first_channel, 16);
  visit("channels", channels, 16, kFromOne), visit("granularity", granularity, 9, kFromOne);
  visit("result_granularity", result_granularity, 9, kFromOne), visit("read_mode", read_mode, 2);
  visit("block_outer", block_outer, 1), visit("begins_sums", begins_sums, 1),
      visit("ends_sums", ends_sums, 1);
}

std::string WfoldRun::subject() const {
  return fmt::format("{}x{}x{}", rows, columns, kernels);
}

void WfoldKernels::describe(FieldVisitor& visit) {
  visit("channels", channels, 16, kFromOne), visit("group_kernels", group_kernels, 16);
  visit("first_in_group", first_in_group, 16), visit("folded", folded, 1);
  visit("slave_groups", slave_groups, 7, kFromOne);
  visit("packed", packed, 1), visit("image", image, 32);
}

std::string WfoldKernels::subject() const {
  return fmt::format("{} channels", channels);
}

void WfoldAlign::describe(FieldVisitor& visit) {
  visit("weights", weights, 32), visit("kernels", kernels, 16, kFromOne);
  visit("pixel_bytes", pixel_bytes, 16, kFromOne), visit("first_channel", first_channel, 16);
  visit("channels", channels, 16, kFromOne);
}

std::string WfoldAlign::subject() const {
  return fmt::format("{} kernels", kernels);
}

WfoldGeometry geometry_of(const ConvSetup& s, const WfoldKernelLayout& kernels, const WfoldRun& r) {
  WfoldGeometry g;
  g.kernel_layout = kernels;
  g.rows = r.rows, g.columns = r.columns, g.kernels = r.kernels;
  g.height = r.height, g.row_bytes = r.row_bytes, g.lead_bytes = r.lead_bytes, g.h_offset = r.h_offset;
  g.kernel_h = s.kernel_h, g.stride_h = s.stride_h, g.dilation_h = s.dilation_h;
  g.kernel_w = s.kernel_w, g.stride_w = s.stride_w, g.dilation_w = s.dilation_w;
  g.pixel_bytes = r.pixel_bytes, g.first_channel = r.first_channel, g.channels = r.channels;
  g.granularity = r.granularity;
  g.block_outer = r.block_outer;
  g.post_parameters = s.post_parameters && r.ends_sums;
  return g;
}

std::vector<const OperationType*> operations() {
  return operation_types<WfoldRun, WfoldKernels, WfoldAlign>();
}

}  // namespace tilebeat::wfold
