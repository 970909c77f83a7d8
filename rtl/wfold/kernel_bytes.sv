// Which bytes of the slaves' kernels belong to channels [low, high) of a folded column: a line's, or a piece's that is folded
// in place. They follow one another in a kernel, because its taps are neighbours (WF-5, WF-6, WF-9).
module kernel_bytes #(
    parameter NS = 4,
    parameter LANES = 16
) (
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic                              own_bytes,   // else the lines are folded already, and have all bytes
    input  logic [15:0]                       kernel,      // the tile's first one
    input  logic [7:0]                        nco,
    input  logic [7:0]                        k,
    input  logic [15:0]                       tap,
    input  logic [NS*32-1:0]                  lows,
    input  logic [NS*32-1:0]                  highs,
    output logic [NS-1:0]                     exists,
    output logic [NS*32-1:0]                  skipped,     // bytes that the kernel has in the column before `low`
    output logic [NS*8-1:0]                   counts,
    output logic [NS*LANES-1:0]               filled,      // lanes with a byte of the kernel
    output logic [15:0]                       tap_number,
    output logic [31:0]                       tap_bytes    // of the whole column, of channels that the run takes
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  assign job = job_bits;
  assign shape = shape_bits;

  logic [31:0] low, high, number, base, channel, phase, overlap_low, overlap_high, group, position, ahead;
  logic [15:0] slaves;
  logic [7:0] count;
  logic there, grouped;

  always_comb begin
    slaves = NS / shape.groups;
    grouped = job.kernels.group_kernels != 16'd0;
    tap_number = 16'd0;
    for (int c = 0; c < tap; c = c + 1) if (shape.taps[c]) tap_number = tap_number + 16'd1;
    tap_bytes = 32'd0;
    for (int p = 0; p < job.conv.stride_w; p = p + 1) begin
      position = tap * job.conv.stride_w + p;
      if (shape.positions[position[6:0]]) tap_bytes = tap_bytes + wfold_pkg::phase_part(job, shape.phase_bytes, p);
    end
    filled = '0;
    exists = '0;
    skipped = '0;
    counts = '0;
    for (int s = 0; s < NS; s = s + 1) begin
      low = lows[s*32+:32];
      high = highs[s*32+:32];
      number = {16'd0, kernel} + (s / slaves) * slaves * nco + k * slaves + s % slaves;
      exists[s] = number < job.run.kernels;
      group = grouped ? (job.kernels.first_in_group + number) / job.kernels.group_kernels : 32'd0;
      base = grouped ? job.run.first_channel % shape.phase_bytes + group * job.kernels.channels : 32'd0;
      ahead = 32'd0;
      for (int p = 0; own_bytes && p < job.conv.stride_w; p = p + 1) begin
        position = tap * job.conv.stride_w + p;
        if (shape.positions[position[6:0]]) begin
          overlap_low = p * shape.phase_bytes + base;
          overlap_high = overlap_low + (grouped ? job.kernels.channels : shape.phase_bytes);
          if (overlap_low < job.run.first_channel) overlap_low = job.run.first_channel;
          if (overlap_high > low) overlap_high = low;
          if (overlap_high > overlap_low) ahead = ahead + overlap_high - overlap_low;
        end
      end
      skipped[s*32+:32] = ahead;
      count = 8'd0;
      phase = low / shape.phase_bytes;
      channel = low % shape.phase_bytes;
      for (int i = 0; i < high - low; i = i + 1) begin
        position = tap * job.conv.stride_w + phase;
        there = exists[s]
              && (!own_bytes || (shape.positions[position[6:0]]
                                 && (!grouped || (channel >= base && channel < base + job.kernels.channels))));
        filled[s*LANES+i] = there;
        if (there) count = count + 8'd1;
        channel = channel + 32'd1;
        if (channel == shape.phase_bytes) begin
          channel = 32'd0;
          phase = phase + 32'd1;
        end
      end
      counts[s*8+:8] = count;
    end
  end
endmodule
