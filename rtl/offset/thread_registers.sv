// Threads are activated one a cycle: base and masks, or coordinates, of a record go into one of two sets of registers while the group in
// the other set is at work (OT-3, OT-5). With computed addresses a generator gives them instead of records.
module thread_registers #(
    parameter R = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              valid,         // a run is under way
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    input  logic                              computed,      // addresses
    // A record of the table.
    input  logic                              there,         // it is in the cache, or its base has been computed
    input  logic [127:0]                      record,
    output logic [31:0]                       thread,        // the next one
    output logic [31:0]                       loading_group,
    // The group at work.
    input  logic                              step,          // it ends
    input  logic                              last,          // with the run
    output logic                              ready,
    output logic [R-1:0]                      active,
    output logic [R*32-1:0]                   bases,
    output logic [R*64-1:0]                   masks          // rows in the lower half; or both coordinates
);
  /* verilator no_inline_module */

  offset_pkg::job_t job;
  offset_pkg::shape_t shape;
  conv_pkg::setup_t conv;
  assign job = job_bits;
  assign shape = shape_bits;
  assign conv = job.conv;

  logic [R-1:0] active_set[0:1];
  logic [R*32-1:0] bases_set[0:1];
  logic [R*64-1:0] masks_set[0:1];
  logic [1:0] full;
  logic load_set, work_set;
  logic [15:0] place, row, column;
  logic [63:0] mask;
  logic [31:0] base, rows_mask, columns_mask;
  logic signed [31:0] h, w, tap_h, tap_w;
  logic ends, reads, set_free;  // there are registers for the next thread

  always_comb begin
    thread = loading_group * shape.group_threads + {16'd0, place};
    set_free = !full[load_set] && loading_group < shape.thread_groups;
    reads = valid && there && set_free;
    ends = {16'd0, place} + 32'd1 == {16'd0, shape.group_threads} || thread + 32'd1 == shape.threads;
    h = $signed({16'd0, row}) * $signed({1'b0, conv.stride_h}) + $signed(job.map.h_offset);
    w = $signed({16'd0, column}) * $signed({1'b0, conv.stride_w}) + $signed(job.map.w_offset);
    base = record[31:0];
    rows_mask = 32'hffffffff;
    columns_mask = 32'hffffffff;
    tap_h = 32'sd0;
    tap_w = 32'sd0;
    if (computed) begin
      case (job.setup.layout)
        offset_pkg::LAYOUT_NHWC: base = (h * $signed({1'b0, job.map.width}) + w) * $signed({1'b0, job.setup.channels});
        offset_pkg::LAYOUT_NCHWC: base = (h * $signed({1'b0, job.map.width}) + w) * $signed({1'b0, job.setup.block});
        default: base = h * $signed({1'b0, job.map.width}) + w;
      endcase
      for (int i = 0; i < 32; i = i + 1) begin
        tap_h = h + i * $signed({1'b0, conv.dilation_h});
        tap_w = w + i * $signed({1'b0, conv.dilation_w});
        rows_mask[i] = tap_h >= 0 && tap_h < $signed({16'd0, job.map.height});
        columns_mask[i] = tap_w >= 0 && tap_w < $signed({16'd0, job.map.width});
      end
    end else if (shape.masked) begin
      rows_mask = record[63:32];
      columns_mask = record[32+8*shape.row_bytes+:32];
    end
    mask = {columns_mask, rows_mask};
    if (shape.beyond_masks) mask = computed ? {16'd0, w[15:0], 16'd0, h[15:0]} : {16'd0, record[63:48], 16'd0, record[47:32]};
    ready = full[work_set];
    active = active_set[work_set];
    bases = bases_set[work_set];
    masks = masks_set[work_set];
  end

  always_ff @(posedge clk) begin
    if (reads) begin
      if (place == 16'd0) active_set[load_set] <= '0;
      active_set[load_set][place] <= 1'b1;
      bases_set[load_set][place*32+:32] <= base;
      masks_set[load_set][place*64+:64] <= mask;
      place <= ends ? 16'd0 : place + 16'd1;
      {row, column} <= offset_pkg::next_output(row, column, job.map.rows, job.map.columns, job.setup.in_blocks);
      if (ends) begin
        full[load_set] <= 1'b1;
        load_set <= !load_set;
        loading_group <= loading_group + 32'd1;
      end
    end
    if (step) begin
      full[work_set] <= 1'b0;
      work_set <= !work_set;
      if (last) begin
        loading_group <= 32'd0;
        row <= 16'd0;
        column <= 16'd0;
      end
    end
    if (reset) begin
      full <= 2'd0;
      load_set <= 1'b0;
      work_set <= 1'b0;
      place <= 16'd0;
      row <= 16'd0;
      column <= 16'd0;
      loading_group <= 32'd0;
    end
  end
endmodule
