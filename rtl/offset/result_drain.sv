// Rows of sums leave the accumulators: a thread's results of a slice, SUMS of them a cycle, tile by tile (OT-6).
module result_drain #(
    parameter R = 4,
    parameter C = 4,
    parameter SUMS = 4
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic [15:0]                      option_writes,
    // Sums that are complete behind this cycle.
    input  logic                             completes,
    input  logic                             set,
    input  logic [offset_pkg::TILE_BITS-1:0] tile_bits,
    input  logic [2*R*C*32-1:0]              sums,
    // The run of the oldest tile.
    output logic [3:0]                       run,
    input  logic [offset_pkg::JOB_BITS-1:0]  job_bits,
    input  logic [15:0]                      records_there,
    // The row that leaves.
    input  logic [15:0]                      waiting,
    output logic                             drain,
    output logic [15:0]                      column,
    output logic [15:0]                      columns,
    output logic                             row_ends,
    output logic                             run_ends,
    output logic [47:0]                      row_address,
    output logic [15:0]                      kernel,     // of the run, in the first lane
    output logic [SUMS*32-1:0]               row_sums,
    output logic                             frees,      // a set of accumulators
    output logic                             sums_stay   // sums are complete that do not leave, and end their run
);
  /* verilator no_inline_module */

  offset_pkg::tile_t made, tile;
  offset_pkg::job_t job;
  conv_pkg::setup_t conv;
  assign made = tile_bits;
  assign job = job_bits;
  assign conv = job.conv;

  logic [offset_pkg::TILE_BITS:0] tiles[0:1];  // with their set
  logic first, from;
  logic [1:0] count;
  logic [15:0] thread;
  // Outputs of the next thread, and of the first one of its group.
  logic [15:0] row, out, group_row, group_out, at_row, at_out;
  logic [31:0] group;
  logic begins, same_group;
  logic [31:0] next;

  assign {from, tile} = tiles[first];
  assign run = tile.job;
  always_comb begin
    columns = tile.kernels;
    begins = thread == 16'd0 && column == 16'd0;
    same_group = tile.thread_group == group;
    at_row = row;
    at_out = out;
    if (begins && tile.thread_group == 32'd0) {at_row, at_out} = 32'd0;
    else if (begins && same_group) {at_row, at_out} = {group_row, group_out};
    drain = count != 2'd0 && (column != 16'd0 || waiting < option_writes)
            && (!conv.post_parameters || records_there >= tile.kernel + tile.kernels);
    row_ends = column + SUMS >= columns;
    frees = drain && row_ends && thread + 16'd1 == tile.threads;
    run_ends = frees && tile.last_of_run;
    row_address = job.run.result + ({16'd0, at_row} * job.map.columns + at_out) * job.run.result_pixel
                  + tile.kernel * (conv.requantise && conv.output_type != conv_pkg::TYPE_INT32 ? 16'd1 : 16'd4);
    kernel = tile.kernel + column;
    row_sums = '0;
    for (int i = 0; i < SUMS; i = i + 1)
      if (drain && column + i < columns) row_sums[i*32+:32] = sums[((from*R+thread)*C+column+i)*32+:32];
    next = offset_pkg::next_output(at_row, at_out, job.map.rows, job.map.columns, job.setup.in_blocks);
    sums_stay = completes && !made.drains && made.last_of_run;
  end

  always_ff @(posedge clk) begin
    if (completes && made.drains) tiles[1'(first+count[0])] <= {set, tile_bits};
    if (drain) begin
      if (begins) begin
        group <= tile.thread_group;
        {group_row, group_out} <= {at_row, at_out};
      end
      {row, out} <= row_ends ? next : {at_row, at_out};
      column <= row_ends ? 16'd0 : column + SUMS;
      if (row_ends) thread <= frees ? 16'd0 : thread + 16'd1;
    end
    if (frees) first <= !first;
    count <= count + {1'b0, completes && made.drains} - {1'b0, frees};
    if (reset) begin
      first <= 1'b0;
      count <= 2'd0;
      thread <= 16'd0;
      column <= 16'd0;
      group <= 32'd0;
      {row, out} <= 32'd0;
    end
  end
endmodule
