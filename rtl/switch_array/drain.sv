// Counts the lanes out of the shadow registers: one lane of every group in `clocks_per_lane` cycles, from the cycle after the
// copy on. The next copy may take place in the last cycle of the last lane (SW-8).
module drain #(
    parameter L = 4
) (
    input  logic        clk,
    input  logic        reset,
    input  logic [15:0] clocks_per_lane,
    input  logic        copy,
    output logic        active,
    output logic [15:0] lane,
    output logic        leaves,  // the lane enters post-processing in this cycle
    output logic        free     // a copy may take place at the end of this cycle
);
  logic [15:0] clock;

  assign leaves = active && clock + 16'd1 == clocks_per_lane;
  assign free = !active || (leaves && lane == L - 1);

  always_ff @(posedge clk) begin
    if (reset) begin
      active <= 1'b0;
      lane <= 16'd0;
      clock <= 16'd0;
    end else if (copy) begin
      active <= 1'b1;
      lane <= 16'd0;
      clock <= 16'd0;
    end else if (active) begin
      clock <= leaves ? 16'd0 : clock + 16'd1;
      if (leaves) lane <= lane + 16'd1;
      if (leaves && lane == L - 1) active <= 1'b0;
    end
  end
endmodule
