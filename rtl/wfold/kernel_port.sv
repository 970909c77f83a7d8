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
  logic [31:0] offset[0:NS-1];   // of its first byte in the kernel
  logic [7:0] count[0:NS-1], longest;
  logic [NS-1:0] exists;
  logic [M-1:0] filled[0:NS-1];  // lanes with a byte of the kernel
  logic [31:0] low, high, kernel_number, base_channel, lane_channel, lane_phase, overlap_low, overlap_high, group_number, position;
  logic lane_there, own_bytes;
  logic [15:0] slaves, tap_number;

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

  // Bytes of a line.
  always_comb begin
    longest = 8'd0;
    own_bytes = job.as_they_are && !job.kernels.folded;
    slaves = NS / shape.groups;
    tap_number = 16'd0;
    for (int c = 0; c < wfold_pkg::COLUMNS; c = c + 1) if (c < at_tap && shape.taps[c]) tap_number = tap_number + 16'd1;
    tap_bytes = 32'd0;
    for (int p = 0; p < job.conv.stride_w; p = p + 1) begin
      position = at_tap * job.conv.stride_w + p;
      if (shape.positions[position[6:0]]) tap_bytes = tap_bytes + wfold_pkg::phase_part(job, shape.phase_bytes, p);
    end
    for (int s = 0; s < NS; s = s + 1) begin
      low = wfold_pkg::block_channel(job, shape, at.block, s / slaves);
      high = wfold_pkg::block_channel_end(job, shape, at.block, s / slaves);
      kernel_number = {16'd0, at.kernel} + (s / slaves) * slaves * nco + at_k * slaves + s % slaves;
      exists[s] = kernel_number < job.run.kernels;
      group_number = job.kernels.group_kernels == 16'd0 ? 32'd0 : (job.kernels.first_in_group + kernel_number) / job.kernels.group_kernels;
      base_channel = job.kernels.group_kernels == 16'd0 ? 32'd0
                     : job.run.first_channel % shape.phase_bytes + group_number * job.kernels.channels;
      offset[s] = at_k * shape.kernel_bytes + at.kh * shape.row_bytes + at_skipped;
      if (!own_bytes)  // block by block the folded lines of all kernels
        offset[s] = ({16'd0, at.block} << shape.pci_shift) * nco * job.conv.kernel_h * shape.column_count
                  + ((at_k * job.conv.kernel_h + at.kh) * shape.column_count + tap_number) * (high - low);
      count[s] = 8'd0;
      filled[s] = '0;
      // What lies before this block in the folded column.
      for (int p = 0; own_bytes && p < job.conv.stride_w; p = p + 1) begin
        position = at_tap * job.conv.stride_w + p;
        if (shape.positions[position[6:0]]) begin
          overlap_low = p * shape.phase_bytes + base_channel;
          overlap_high = job.kernels.group_kernels == 16'd0 ? overlap_low + shape.phase_bytes : overlap_low + job.kernels.channels;
          if (overlap_low < job.run.first_channel) overlap_low = job.run.first_channel;
          if (overlap_high > low) overlap_high = low;
          if (overlap_high > overlap_low) offset[s] = offset[s] + overlap_high - overlap_low;
        end
      end
      lane_phase = low / shape.phase_bytes;
      lane_channel = low % shape.phase_bytes;
      for (int i = 0; i < high - low; i = i + 1) begin
        position = at_tap * job.conv.stride_w + lane_phase;
        lane_there = exists[s] && (!own_bytes || shape.positions[position[6:0]])
                   && (!own_bytes || job.kernels.group_kernels == 16'd0 || (lane_channel >= base_channel && lane_channel < base_channel + job.kernels.channels));
        filled[s][i] = lane_there;
        if (lane_there) count[s] = count[s] + 8'd1;
        lane_channel = lane_channel + 32'd1;
        if (lane_channel == shape.phase_bytes) begin
          lane_channel = 32'd0;
          lane_phase = lane_phase + 32'd1;
        end
      end
      if (count[s] > longest) longest = count[s];
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
      enable[s] = access && exists[s] && (now_records || at_piece * PORT < count[s]);
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
        if (filled[s][i]) taken = taken + 8'd1;
      end
      for (int i = 0; i < M; i = i + 1) begin
        lane = i & ((1 << shape.pci_shift) - 1);
        value = gathering[(s*M+rank[lane])*8+:8];
        line[(s*M+i)*9+:9] = filled[s][lane] ? {job.conv.weight_type == conv_pkg::TYPE_INT8 && value[7], value} - job.conv.weight_zero_point[8:0] : 9'd0;
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
