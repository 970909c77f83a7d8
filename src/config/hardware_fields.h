#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/schema/fields.h"

namespace tilebeat {

// Every field of a hardware file, once: key, range, meaning with unit (DESIGN, rules of style 3).

/// Periods of 100 ps to 1 us.
constexpr Bounds kClockMhz{1.0, 10000.0};
constexpr Range kCycles{0, 1024};
constexpr Range kDramPicoseconds{0, 1000000};
constexpr Range kTileExtent{0, std::int64_t{1} << 20};

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
  v.integer("output_buffer_bytes", c.output_buffer_bytes, {64, std::int64_t{1} << 30},
            "bytes of the output buffer, both halves together; a half holds at least R*C int32 results");
  v.integer("arrangement_queue_words", c.arrangement_queue_words, {1, 4096},
            "words that wait in front of the write port of each bank; at least those of one bus beat");
  v.integer("drain_clocks_per_lane", c.drain_clocks_per_lane, {1, 1024},
            "clocks in which the post-processor takes one lane of C results");
  v.integer("post_latency_cycles", c.post_latency_cycles, kCycles,
            "clocks of latency of the post-processing path");
}

template <class V>
void describe(V& v, WfoldConfig& c) {
  v.integer("slaves", c.slaves, {1, 64}, "Ns: slaves; the WRAM has one region for each of them");
  v.integer("compute_units", c.compute_units, {1, 16}, "Ncu: compute units of a slave");
  v.integer("line_bytes", c.line_bytes, {8, 256},
            "M: bytes of a map line and of a kernel line, a power of two");
  v.integer("first_buffer_lines", c.first_buffer_lines, {2, 256},
            "L1: map lines that a slave's first buffer holds, more than compute_units");
  v.integer("second_buffer_lines", c.second_buffer_lines, {2, 256},
            "L2: kernel lines that a slave's second buffer holds; half of them bound the kernels of a tile");
  v.integer("weight_port_bytes", c.weight_port_bytes, {16, 256},
            "bytes that a slave reads of its region a clock");
  v.integer("line_queue", c.line_queue, {1, 4096}, "map lines that are read ahead of the first buffers");
  v.integer("transit_bytes", c.transit_bytes, {0, 1 << 20},
            "bytes of the transit buffer, both halves together; 0: there is none");
  v.integer("write_queue", c.write_queue, {1, 4096}, "requests to write results that wait for the bus");
  v.integer("post_latency_cycles", c.post_latency_cycles, kCycles,
            "clocks of latency of the post-processing path");
  v.integer("smallest_pci", c.smallest_pci, {2, 256},
            "smallest channel granularity to choose from, a power of two; the largest is line_bytes");
  v.integer("tolerance_bytes", c.tolerance_bytes, {1, 256},
            "a larger granularity is taken when its padding exceeds the least one by less than this");
  v.integer("pci", c.pci, {0, 256}, "channel granularity, a power of two; 0: chosen for each layer");
  v.choice("read_mode", c.read_mode, kReadChoiceNames,
           "how map lines are read where a layer allows it: one continuous request, one for each position, "
           "through the transit buffer, or what takes the fewest requests");
  v.choice("fold_place", c.fold_place, kFoldPlaceNames,
           "where the width of a map is folded by the stride: between the two on-chip storages, on the way "
           "from DRAM, or in place in NRAM");
  v.choice("block_order", c.block_order, kBlockOrderNames,
           "which loop of a tile is the outer one: kernel rows or channel blocks");
}

template <class V>
void describe(V& v, DmaConfig& c) {
  v.integer("burst_bytes", c.burst_bytes, {1, 4096},
            "longest burst in bytes, a power of two and a multiple of interconnect.bytes_per_clock; none "
            "crosses a multiple of 4096");
  v.integer("max_outstanding", c.max_outstanding, {1, 1024}, "bursts under way at a time, a channel");
  v.integer("buffer_bytes", c.buffer_bytes, {1, 1 << 24},
            "bytes of the landing buffer of a channel; holds at least one burst");
  v.integer("command_queue", c.command_queue, {1, 1024}, "commands that wait in front of a unit");
}

template <class V>
void describe(V& v, InterconnectConfig& c) {
  v.integer("bytes_per_clock", c.bytes_per_clock, {1, 128}, "width of every port in bytes, a power of two");
  v.integer("request_cycles", c.request_cycles, {1, 1024},
            "clocks from the grant of a request to its arrival at the target");
  v.integer("response_cycles", c.response_cycles, {1, 1024},
            "clocks from the target's answer to the first beat at the initiator");
  v.integer("max_outstanding", c.max_outstanding, {1, 1024}, "bursts under way at a time, an initiator port");
}

template <class V>
void describe(V& v, DramConfig& c) {
  v.choice("preset", c.preset, kDramPresetNames,
           "values of all other fields of this object, unless named here");
  if (v.reading()) c = dram_preset(c.preset);
  v.choice("mapping", c.mapping, kAddressMappingNames, "the parts of an address, most significant first");
  v.integer("channels", c.channels, {1, 64}, "independent channels, a power of two");
  v.integer("banks", c.banks, {1, 64}, "banks a channel, a power of two");
  v.integer("row_bytes", c.row_bytes, {16, 1 << 20},
            "payload bytes of one open row of one bank, a power of two");
  v.integer("data_bits", c.data_bits, {8, 512}, "payload bits of a channel's data bus, a power of two");
  v.integer("ecc_bits", c.ecc_bits, {0, 128}, "bits of a channel's data bus that carry no payload");
  v.integer("burst_length", c.burst_length, {2, 64},
            "transfers of one burst, a power of two; two transfers take a clock");
  v.integer("clock_ps", c.clock_ps, {100, 1000000}, "period of the DRAM clock in ps; two transfers a clock");
  v.integer("tRCD_ps", c.tRCD_ps, kDramPicoseconds, "ps from activating a row to the first read or write");
  v.integer("tRP_ps", c.tRP_ps, kDramPicoseconds, "ps to close a row");
  v.integer("tCL_ps", c.tCL_ps, kDramPicoseconds, "ps from a read command to its first data");
  v.integer("tRAS_ps", c.tRAS_ps, kDramPicoseconds, "least ps from activating a row to closing it");
  v.integer("tCCD_ps", c.tCCD_ps, kDramPicoseconds, "least ps between two reads or writes of a channel");
  v.integer(
      "tREFI_ps", c.tREFI_ps, {10000, 1000000000},
      "ps between two refreshes; longer than tRAS_ps + 2 tRP_ps + tRFC_ps, each in whole DRAM clocks, and "
      "2 clocks");
  v.integer("tRFC_ps", c.tRFC_ps, {0, 10000000}, "ps of one refresh, less than tREFI_ps");
  v.boolean("refresh", c.refresh, "false: the DRAM is never refreshed");
  v.integer("queue_depth", c.queue_depth, {1, 4096}, "bursts that a channel's scheduler chooses from");
  v.integer("starvation_cap", c.starvation_cap, {0, 65536},
            "row hits that may overtake the oldest request before it is served");
  v.integer("size_bytes", c.size_bytes, {1 << 20, std::int64_t{1} << 40},
            "payload bytes in all, a power of two");
}

template <class V>
void describe(V& v, HostConfig& c) {
  v.integer("register_write_cycles", c.register_write_cycles, {1, 1000000},
            "clocks between two register writes");
  v.integer("instruction_buffer_bytes", c.instruction_buffer_bytes, {64, 1 << 24},
            "bytes of the buffer that instructions are fetched into");
}

template <class V>
void describe(V& v, PlannerConfig& c) {
  v.boolean("zero_inserted", c.zero_inserted,
            "run dilated kernels as larger dense ones filled with zeros: the baseline of document 000");
  v.choice(
      "loop_order", c.loop_order, kLoopOrderNames,
      "outer loop over tiles or over kernel blocks; auto tries both and takes, of all tilings that are "
      "expected "
      "to take at most 2 % longer than the fastest, the one that moves the fewest bytes on the DRAM bus");
  v.integer(
      "max_tile_rows", c.max_tile_rows, kTileExtent,
      "most output rows a tile, rounded down to a multiple of switch_array.groups but at least that many; 0: "
      "as many as fit");
  v.integer(
      "max_tile_columns", c.max_tile_columns, kTileExtent,
      "most output columns a tile, rounded down to a multiple of the lanes (rows / groups) but at least that "
      "many; 0: as many as fit");
}

template <class V>
void describe(V& v, MemoryConfig& c) {
  v.integer("size_bytes", c.size_bytes, {0, std::int64_t{1} << 30},
            "bytes, a multiple of banks x bank_bytes; 0 for the SRAM: cores_per_cluster x nram.size_bytes");
  v.integer("banks", c.banks, {1, 256},
            "banks with one port each; consecutive words lie in consecutive banks");
  v.integer("bank_bytes", c.bank_bytes, {1, 256},
            "width of a bank in bytes, a power of two that divides the bus's width");
  v.integer("latency_cycles", c.latency_cycles, kCycles,
            "clocks from the arrival of a request to its first word");
}

template <class V>
void describe(V& v, VectorConfig& c) {
  v.integer("lanes", c.lanes, {1, 4096}, "elements of one operation a clock");
  v.integer("latency_cycles", c.latency_cycles, kCycles,
            "clocks from the last operand of a result to the result");
  v.integer("parameter_bytes", c.parameter_bytes, {4096, 1 << 24},
            "bytes of tables and factors of one operation");
  v.integer("row_elements", c.row_elements, {64, 1 << 20},
            "longest channel vector of a softmax and of a pooling");
}

template <class V>
void describe(V& v, CoreConfig& c) {
  v.object("nram", c.nram, "memory for maps and intermediates");
  v.object("wram", c.wram, "memory for kernels");
  v.object("bus", c.bus, "the bus that joins the core's units to NRAM and WRAM");
  v.object("copy", c.copy, "IODMA and MVDMA");
  v.object("vector", c.vector, "the vector unit");
}

template <class V>
void describe(V& v, ChipConfig& c) {
  v.integer("clusters", c.clusters, {1, 64}, "clusters");
  v.integer("cores_per_cluster", c.cores_per_cluster, {1, 16}, "cores of a cluster");
  v.integer("memory_controllers", c.memory_controllers, {1, 16},
            "DRAM controllers, each with dram.channels channels; addresses alternate between them every 4096 "
            "bytes");
  v.object("core", c.core, "a core");
  v.object("sram", c.sram, "the shared memory of a cluster");
  v.object("cluster_bus", c.cluster_bus, "the bus between SRAM and cores, with broadcast");
  v.object("cluster_link", c.cluster_link, "the links between clusters that CDMA uses");
  v.object("copy", c.copy, "GDMA, CDMA and broadcast");
  v.integer("sync_cycles", c.sync_cycles, {1, 1024},
            "clocks of a signal between processors, and of a barrier's release");
  v.choice("dram_path", c.dram_path, kDramPathNames,
           "how data comes from DRAM to a core: direct by IODMA, through the SRAM by GDMA and broadcast, or "
           "as planned");
}

template <class V>
void describe(V& v, HardwareConfig& c) {
  v.name("name", c.name, "name of the hardware, shown in reports");
  v.number("clock_mhz", c.clock_mhz, kClockMhz, "clock of the NPU in MHz");
  v.choice("dataflow", c.dataflow, kDataflowNames, "engine that runs the matrix work");
  v.boolean("fused", c.fused, "fuse layers");
  v.object("switch_array", c.switch_array, "sizes of the switch-array engine");
  v.object("wfold", c.wfold, "sizes of the W-fold engine");
  v.object("dma", c.dma, "the DMA channels: maps in, parameters in, results out");
  v.object("interconnect", c.interconnect, "the bus between DMA, host and DRAM");
  v.object("dram", c.dram, "the DRAM behind its memory controller");
  v.object("host", c.host, "host CPU and instruction fetch");
  v.optional_object(
      "chip", c.chip,
      "clusters of cores with NRAM, WRAM and SRAM; without it the system on chip of one engine");
  v.object("planner", c.planner, "how work is mapped");
}

}  // namespace tilebeat
