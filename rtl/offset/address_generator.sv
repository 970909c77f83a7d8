// The baseline without tables (OT-4): one divider and one multiplier make the bases of a group's threads and then the offset of each of its
// beats. What they compute is in thread_registers and gather_addresses; here are their cycles. A base takes two divisions and five products,
// an offset two and four; the divider is not pipelined, the multiplier is, and both work on neighbouring addresses at a time. Offsets that
// are under way or wait for their beats have option_address_queue places.
module address_generator #(
    parameter COLUMNS = 4,
    parameter MAX_MULTIPLIER = 64
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_divider,
    input  logic [15:0]                       option_multiplier,
    input  logic [15:0]                       option_address_queue,
    input  logic                              valid,         // a run is under way, and has beats left
    input  logic                              begins,
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    input  logic                              step,          // the tags are done with a beat, and with its offset
    input  logic                              last_of_group, // it is the last one of a group of threads
    output logic                              base_made,     // it is in its register from the next cycle on
    output logic                              offset_there
);
  /* verilator no_inline_module */

  // The beat whose offset is begun next.
  offset_pkg::beat_t next;
  logic [offset_pkg::BEAT_BITS-1:0] next_bits;
  logic segment_ends;
  assign next = next_bits;

  // Bases come first, then offsets, until all of the group are begun.
  logic bases, now_bases, ended;
  logic [15:0] to_begin, now_to_begin, to_make, now_to_make;
  // The divider keeps an address until the multiplier takes it; what is in the multiplier's stages moves on every cycle.
  logic dividing, begin_base, begin_offset, handed_over, issued, made;
  logic [15:0] division_left, products_left;
  logic [MAX_MULTIPLIER-1:0] stages, moving;
  // Offsets that have a place, and those of them that are made.
  logic [15:0] places, waiting;

  beat_walk #(
      .COLUMNS(COLUMNS)
  ) walk (
      .clk(clk),
      .reset(reset),
      .number(4'd0),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .step(begin_offset),
      .beat_bits(next_bits),
      .segment_ends(segment_ends)
  );

  always_comb begin
    now_bases = begins || bases;
    now_to_begin = begins ? next.tile.threads : to_begin;
    now_to_make = begins ? next.tile.threads : to_make;
    handed_over = dividing && division_left == 16'd0 && products_left == 16'd0;
    begin_base = valid && now_bases && now_to_begin != 16'd0 && (!dividing || handed_over);
    begin_offset = valid && !now_bases && !ended && (!dividing || handed_over) && places < option_address_queue;
    issued = products_left == 16'd1;
    moving = {stages[MAX_MULTIPLIER-2:0], issued};
    made = moving[option_multiplier-16'd1];
    base_made = made && now_bases;
    offset_there = waiting != 16'd0;
  end

  always_ff @(posedge clk) begin
    stages <= moving;
    if (begin_base || begin_offset) begin
      dividing <= 1'b1;
      division_left <= (option_divider << 1) - 16'd1;
    end else begin
      if (handed_over) dividing <= 1'b0;
      if (division_left != 16'd0) division_left <= division_left - 16'd1;
    end
    if (handed_over) products_left <= now_bases ? 16'd4 : 16'd3;
    else if (products_left != 16'd0) products_left <= products_left - 16'd1;
    places <= places + {15'd0, begin_offset} - {15'd0, valid && step};
    waiting <= waiting + {15'd0, made && !now_bases} - {15'd0, valid && step};
    if (valid) begin
      bases <= now_bases && !(base_made && now_to_make == 16'd1);
      to_begin <= now_to_begin - {15'd0, begin_base};
      to_make <= now_to_make - {15'd0, base_made};
      if (begin_offset) ended <= next.last_of_group;
      if (step && last_of_group) begin
        bases <= 1'b1;
        to_begin <= next.tile.threads;
        to_make <= next.tile.threads;
        ended <= 1'b0;
      end
    end
    if (reset) begin
      stages <= '0;
      dividing <= 1'b0;
      division_left <= 16'd0;
      products_left <= 16'd0;
      bases <= 1'b0;
      ended <= 1'b0;
      places <= 16'd0;
      waiting <= 16'd0;
    end
  end
endmodule
