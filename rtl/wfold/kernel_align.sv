// Kernels of a tile that are folded in place (WF-9): their own bytes lie at the tail of the folded ones' place and are moved to
// its head, kernel by kernel, column by column. A piece of at most PORT bytes of a folded column takes two cycles: its bytes
// are read, and written with the fill between them.
module kernel_align #(
    parameter NS = 4,
    parameter PORT = 16       // bytes of a region's port
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              valid,
    input  logic                              delays,         // nothing is done in this cycle
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    output logic [NS-1:0]                     enable,
    output logic                              write,
    output logic [NS*32-1:0]                  address,        // byte of the region
    output logic [NS*PORT*8-1:0]              write_data,
    output logic [7:0]                        write_bytes,
    input  logic [NS*PORT*8-1:0]              data,
    output logic                              done            // with the last write
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  assign job = job_bits;
  assign shape = shape_bits;

  logic [7:0] k, nco, piece;
  logic [15:0] kh, tap, tap_number, slaves, next_tap;
  logic [31:0] skipped, tap_bytes, low, high, folded_row, folded_kernel, tail;
  logic writes, active, column_ends;
  logic [NS*32-1:0] lows, highs, in_column;
  logic [NS*8-1:0] counts;
  logic [NS-1:0] exists;
  logic [NS*PORT-1:0] filled;
  logic [NS*PORT*8-1:0] held;
  logic [7:0] taken;

  kernel_bytes #(
      .NS(NS),
      .LANES(PORT)
  ) lanes (
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .own_bytes(1'b1),
      .kernel(16'd0),
      .nco(nco),
      .k(k),
      .tap(tap),
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
    nco = (job.run.kernels + NS - 16'd1) / NS;
    slaves = NS / shape.groups;
    low = piece * PORT;
    high = low + PORT < job.run.channels ? low + PORT : job.run.channels;
    lows = '0;
    highs = '0;
    for (int s = 0; s < NS; s = s + 1) begin
      lows[s*32+:32] = wfold_pkg::block_channel(job, shape, 16'd0, s / slaves) + low;
      highs[s*32+:32] = wfold_pkg::block_channel(job, shape, 16'd0, s / slaves) + high;
    end
    folded_row = shape.column_count * job.run.channels;
    folded_kernel = folded_row * job.conv.kernel_h;
    tail = nco * (folded_kernel - shape.kernel_bytes);
    next_tap = wfold_pkg::next_tap(shape, tap);
    column_ends = high == job.run.channels;
    active = valid && !delays;
    write = active && writes;
    write_bytes = high - low;
    enable = '0;
    address = '0;
    write_data = '0;
    taken = 8'd0;
    for (int s = 0; s < NS; s = s + 1) begin
      enable[s] = active && exists[s] && (writes || counts[s*8+:8] != 8'd0);
      address[s*32+:32] = writes ? job.run.weights + k * folded_kernel + kh * folded_row + tap_number * job.run.channels + piece * PORT
                          : job.run.weights + tail + k * shape.kernel_bytes + kh * shape.row_bytes + skipped + in_column[s*32+:32];
      taken = 8'd0;
      for (int i = 0; i < PORT; i = i + 1) begin
        write_data[(s*PORT+i)*8+:8] = filled[s*PORT+i] ? held[(s*PORT+taken)*8+:8] : job.conv.weight_zero_point[7:0];
        if (filled[s*PORT+i]) taken = taken + 8'd1;
      end
    end
    done = write && column_ends && next_tap == 16'd0 && kh + 16'd1 == job.conv.kernel_h && k + 8'd1 == nco;
  end

  always_ff @(posedge clk) begin
    held <= data;
    if (active) begin
      writes <= !writes;
      if (writes) begin
        piece <= column_ends ? 8'd0 : piece + 8'd1;
        if (column_ends) begin
          tap <= next_tap;
          skipped <= next_tap == 16'd0 ? 32'd0 : skipped + tap_bytes;
          if (next_tap == 16'd0) begin
            kh <= kh + 16'd1 == job.conv.kernel_h ? 16'd0 : kh + 16'd1;
            if (kh + 16'd1 == job.conv.kernel_h) k <= k + 8'd1 == nco ? 8'd0 : k + 8'd1;
          end
        end
      end
    end
    if (reset) begin
      k <= 8'd0;
      kh <= 16'd0;
      tap <= 16'd0;
      piece <= 8'd0;
      skipped <= 32'd0;
      writes <= 1'b0;
    end
  end
endmodule
