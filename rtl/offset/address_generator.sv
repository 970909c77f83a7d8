// The baseline without tables (OT-4): one divider and one multiplier make the bases of a group's threads and then the offset of each of its
// beats. What they compute is in thread_registers and gather_addresses; here are their cycles. A base takes two divisions and five products,
// an offset two and four; the divider is not pipelined, the multiplier is, and both work on neighbouring addresses at a time.
module address_generator #(
    parameter COLUMNS = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_divider,
    input  logic [15:0]                       option_multiplier,
    input  logic                              valid,         // a run is under way, and has beats left
    input  logic                              begins,
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    input  logic                              set_free,      // of the threads' registers
    input  logic                              step,          // an offset is taken
    input  logic                              last_of_group, // it is the last one of a group of threads
    output logic                              base_made,     // it is in its register from the next cycle on
    output logic                              offset_there
);
  /* verilator no_inline_module */

  offset_pkg::beat_t made;        // the beat whose offset is made next
  logic [offset_pkg::BEAT_BITS-1:0] made_bits;
  logic [15:0] divisions, bases_left, left, now_left, now_bases, ahead;
  logic making_bases, now_making, offset_made, segment_ends, ended;  // ended: all offsets of the group are made
  assign made = made_bits;

  beat_walk #(
      .COLUMNS(COLUMNS)
  ) walk (
      .clk(clk),
      .reset(reset),
      .number(4'd0),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .step(offset_made),
      .beat_bits(made_bits),
      .segment_ends(segment_ends)
  );

  always_comb begin
    divisions = option_divider << 1;
    now_making = begins || making_bases;
    now_bases = begins ? made.tile.threads : bases_left;
    now_left = begins ? divisions + 16'd3 + option_multiplier : left;
    base_made = valid && now_making && set_free && now_left == 16'd0;
    offset_made = valid && !now_making && !ended && now_left == 16'd0;
    offset_there = ahead != 16'd0;
  end

  always_ff @(posedge clk) begin
    if (valid) begin
      making_bases <= now_making;
      bases_left <= now_bases;
      left <= now_left == 16'd0 ? 16'd0 : now_left - 16'd1;
      if (base_made) begin
        bases_left <= now_bases - 16'd1;
        left <= (divisions < 16'd5 ? 16'd5 : divisions) - 16'd1;
        if (now_bases == 16'd1) begin
          making_bases <= 1'b0;
          left <= divisions + 16'd3 + option_multiplier - 16'd1;
        end
      end
      if (offset_made) begin
        left <= (divisions < 16'd4 ? 16'd4 : divisions) - 16'd1;
        ended <= made.last_of_group;
      end
      if (step && last_of_group) begin
        making_bases <= 1'b1;
        bases_left <= made.tile.threads;
        left <= divisions + 16'd3 + option_multiplier;
        ended <= 1'b0;
      end
      ahead <= ahead + {15'd0, offset_made} - {15'd0, step};
    end
    if (reset) begin
      making_bases <= 1'b0;
      ended <= 1'b0;
      ahead <= 16'd0;
    end
  end
endmodule
