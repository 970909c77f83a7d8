// The ports of the slaves' regions (WF-3, WF-9): at the beginning of a kernel tile its biases and scales, one record a cycle,
// then kernel lines in the order of the beats. A line is the bytes that a kernel has of one folded column and channel block,
// put to their places and filled up with the zero point on the way.
module kernel_port #(
    parameter NS = 4,
    parameter M = 16,
    parameter SLOTS = 5,       // for kernel lines
    parameter PORT = 16       // bytes of a region's port
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              valid,
    input  logic                              fresh,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic [31:0]                       drained,        // tiles whose results have left
    input  logic [SLOTS-1:0]                     slot_busy,
    // The regions.
    output logic                              access,
    output logic [NS-1:0]                     enable,
    output logic [NS*32-1:0]                  address,        // byte of the region
    input  logic [NS*PORT*8-1:0]              data,
    // Into the slaves' buffers.
    output logic                              loads,          // a line is complete
    output logic [7:0]                        slot,
    output logic [NS*M*9-1:0]                 line,           // bytes with their zero point off
    // Records.
    output logic                              record,
    output logic                              record_first,   // of a kernel tile
    output logic [7:0]                        record_k,
    output logic [NS*128-1:0]                 record_data,
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::refill_t refill, at, following;
  assign job = job_bits;
  assign shape = shape_bits;

  // Where the port is.
  logic in_records, now_records, active, wants_records;
  logic [7:0] k, at_k, nco, sets;
  logic [15:0] tap, at_tap, next_tap, j, at_j;
  logic [31:0] tile_base, at_base, skipped, at_skipped, part_skipped, at_part_skipped;
  logic [7:0] piece, at_piece, pieces;
  logic [31:0] tap_bytes, tiles;  // tiles whose results leave, of the kernel tiles before
  logic release_wait, drain_wait, line_ends, step_ends, refill_ends, tile_ends;

  // The line of each slave.
  logic [NS*32-1:0] lows, highs, in_column;
  logic [31:0] offset[0:NS-1];   // of its first byte in the tile
  logic [NS*8-1:0] counts;
  logic [7:0] longest;
  logic [NS-1:0] exists;
  logic [NS*M-1:0] filled;       // lanes with a byte of the kernel
  logic own_bytes;
  logic [15:0] slaves, tap_number;
  assign own_bytes = job.as_they_are && !job.kernels.folded;

  kernel_bytes #(
      .NS(NS),
      .LANES(M)
  ) lanes (
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .own_bytes(own_bytes),
      .kernel(at.kernel),
      .nco(nco),
      .k(at_k),
      .tap(at_tap),
      .lows(lows),
      .highs(highs),
      .exists(exists),
      .skipped(in_column),
      .counts(counts),
      .filled(filled),
      .tap_number(tap_number),
      .tap_bytes(tap_bytes)
  );

  always_comb begin
    at = fresh ? wfold_pkg::first_refill(shape) : refill;
    at_k = fresh ? 8'd0 : k;
    at_tap = fresh ? 16'd0 : tap;
    at_j = fresh ? 16'd0 : j;
    at_base = fresh ? job.run.weights : tile_base;
    at_skipped = fresh ? 32'd0 : skipped;
    at_part_skipped = fresh ? 32'd0 : part_skipped;
    at_piece = fresh ? 8'd0 : piece;
    wants_records = job.conv.post_parameters && job.run.ends_sums;
    now_records = fresh ? wants_records : in_records;
    active = valid && !at.done;
    nco = job.run.kernels - at.kernel < shape.tile_kernels ? (job.run.kernels - at.kernel + NS - 16'd1) / NS : shape.tile_kernels / NS;
    sets = SLOTS / nco;
    slot = (at_j % sets) * nco + at_k;
  end

  // Where a line lies.
  always_comb begin
    longest = 8'd0;
    slaves = NS / shape.groups;
    lows = '0;
    highs = '0;
    for (int s = 0; s < NS; s = s + 1) begin
      lows[s*32+:32] = wfold_pkg::block_channel(job, shape, at.block, s / slaves);
      highs[s*32+:32] = wfold_pkg::block_channel_end(job, shape, at.block, s / slaves);
      offset[s] = at_k * shape.kernel_bytes + at.kh * shape.row_bytes;
      if (own_bytes) offset[s] = offset[s] + at_skipped + in_column[s*32+:32];
      else if (job.as_they_are) offset[s] = offset[s] + tap_number * job.run.channels + ({16'd0, at.block} << shape.pci_shift);
      else  // block by block the folded lines of all kernels
        offset[s] = ({16'd0, at.block} << shape.pci_shift) * nco * job.conv.kernel_h * shape.column_count
                  + ((at_k * job.conv.kernel_h + at.kh) * shape.column_count + tap_number) * (highs[s*32+:32] - lows[s*32+:32]);
      if (counts[s*8+:8] > longest) longest = counts[s*8+:8];
    end
    pieces = longest == 8'd0 ? 8'd1 : (longest + PORT - 8'd1) / PORT;
  end

  always_comb begin
    next_tap = wfold_pkg::next_tap(shape, at_tap);
    following = wfold_pkg::next_refill(job, shape, at);
    drain_wait = active && now_records && at_k == 8'd0 && tiles >= drained + 32'd2;
    release_wait = active && !now_records && at_piece == 8'd0 && slot_busy[slot];
    access = active && !drain_wait && !release_wait;
    record = access && now_records;
    record_first = record && at_k == 8'd0;
    record_k = at_k;
    line_ends = access && !now_records && at_piece + 8'd1 == pieces;
    step_ends = line_ends && at_k + 8'd1 == nco;
    refill_ends = step_ends && (next_tap == 16'd0 || next_tap > at.tap_last);
    tile_ends = refill_ends && (following.done || following.kernel != at.kernel);
    loads = line_ends;
    for (int s = 0; s < NS; s = s + 1) begin
      enable[s] = access && exists[s] && (now_records || at_piece * PORT < counts[s*8+:8]);
      address[s*32+:32] = now_records ? at_base + nco * shape.kernel_bytes + at_k * 8'd16
                          : at_base + offset[s] + at_piece * PORT;
      record_data[s*128+:128] = data[s*PORT*8+:128];
    end
    state = access ? wfold_pkg::STATE_BUSY : drain_wait ? wfold_pkg::STATE_OUTPUT_DRAIN : release_wait ? wfold_pkg::STATE_WEIGHT_RELEASE : wfold_pkg::STATE_IDLE;
  end

  // Bytes of the line so far, and the lane of each.
  logic [NS*M*8-1:0] gathered, gathering;
  logic [7:0] taken, value, lane, rank[0:M-1];
  always_comb begin
    for (int s = 0; s < NS; s = s + 1) begin
      gathering[s*M*8+:M*8] = at_piece == 8'd0 ? '0 : gathered[s*M*8+:M*8];
      for (int i = 0; i < PORT; i = i + 1)
        if (at_piece * PORT + i < M) gathering[(s*M+at_piece*PORT+i)*8+:8] = data[(s*PORT+i)*8+:8];
      taken = 8'd0;
      for (int i = 0; i < M; i = i + 1) begin
        rank[i] = taken;
        if (filled[s*M+i]) taken = taken + 8'd1;
      end
      for (int i = 0; i < M; i = i + 1) begin
        lane = i & ((1 << shape.pci_shift) - 1);
        value = gathering[(s*M+rank[lane])*8+:8];
        line[(s*M+i)*9+:9] = filled[s*M+lane] ? {job.conv.weight_type == conv_pkg::TYPE_INT8 && value[7], value} - job.conv.weight_zero_point[8:0] : 9'd0;
      end
    end
  end

  always_ff @(posedge clk) begin
    gathered <= gathering;
    refill <= at;
    k <= at_k;
    tap <= at_tap;
    j <= at_j;
    tile_base <= at_base;
    skipped <= at_skipped;
    part_skipped <= at_part_skipped;
    piece <= at_piece;
    in_records <= now_records;
    if (record) begin
      k <= at_k + 8'd1 == nco ? 8'd0 : at_k + 8'd1;
      in_records <= at_k + 8'd1 != nco;
    end
    if (access && !now_records) piece <= line_ends ? 8'd0 : at_piece + 8'd1;
    if (line_ends) k <= step_ends ? 8'd0 : at_k + 8'd1;
    if (step_ends) begin
      j <= at_j + 16'd1;
      tap <= next_tap;
      skipped <= at_skipped + tap_bytes;
    end
    if (refill_ends) begin
      refill <= following;
      tap <= following.tap_first;
      skipped <= following.part == at.part ? at_part_skipped : following.part == 15'd0 ? 32'd0 : at_skipped + tap_bytes;
      part_skipped <= following.part == at.part ? at_part_skipped : following.part == 15'd0 ? 32'd0 : at_skipped + tap_bytes;
    end
    if (tile_ends) begin
      j <= 16'd0;
      in_records <= wants_records;
      if (job.run.ends_sums) tiles <= tiles + job.run.rows * ((job.run.columns + shape.tile_columns - 16'd1) / shape.tile_columns);
      tile_base <= at_base + nco * (shape.kernel_bytes + (wants_records ? 32'd16 : 32'd0));
    end
    if (reset) tiles <= 32'd0;
  end
endmodule
