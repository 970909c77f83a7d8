// The baseline without tables (OT-4): one divider and one multiplier make the bases of a group's threads and the offset of each beat. What
// they compute is in thread_registers and gather_addresses; here are their cycles. A base takes two divisions and five products, an offset
// two and four; the divider is not pipelined, the multiplier is, and both work on neighbouring addresses at a time.
module address_generator (
    input  logic        clk,
    input  logic        reset,
    input  logic [15:0] option_divider,
    input  logic [15:0] option_multiplier,
    input  logic        begins,        // a run
    input  logic [15:0] threads,       // of the group
    input  logic        step,          // a beat's tags are looked up
    input  logic        last_of_group,
    input  logic        valid,
    output logic        base_made,     // it is in its register from the next cycle on
    output logic        offset_there
);
  /* verilator no_inline_module */

  logic [15:0] divisions, bases_left, left, now_left, now_bases;
  logic making_bases, now_making;

  always_comb begin
    divisions = option_divider << 1;
    now_making = begins || making_bases;
    now_bases = begins ? threads : bases_left;
    now_left = begins ? divisions + 16'd3 + option_multiplier : left;
    base_made = valid && now_making && now_left == 16'd0;
    offset_there = !now_making && now_left == 16'd0;
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
          left <= divisions + 16'd3 + option_multiplier;
        end
      end
      if (step) begin
        left <= (divisions < 16'd4 ? 16'd4 : divisions) - 16'd1;
        if (last_of_group) begin
          making_bases <= 1'b1;
          bases_left <= threads;
          left <= divisions + 16'd3 + option_multiplier;
        end
      end
    end
    if (reset) making_bases <= 1'b0;
  end
endmodule
