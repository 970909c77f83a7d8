// The user's block: an array of R x C multiply-accumulate elements of P products each, in place of the PE array of the switch array.
// Operands are loaded at the end of the clock in which the switch hands them on, and multiplied in the clock of `mac`.
module user_array #(
    parameter R = 4,
    parameter C = 4,
    parameter P = 4
) (
    input  logic              clk,
    input  logic              load,
    input  logic [R*P*8-1:0]  x,
    input  logic [C*P*8-1:0]  w,
    input  logic              first,       // the beat that is loaded is the first of its sums
    input  logic              mac,
    output logic [R*C*32-1:0] sum,
    output logic [R*C*32-1:0] accumulator  // it includes this beat
);
  logic [R*P*8-1:0] operand;
  logic [C*P*8-1:0] weight;
  logic clears;
  logic [R*C*32-1:0] total;
  logic signed [31:0] part;

  always_comb begin
    for (int r = 0; r < R; r = r + 1) begin
      for (int c = 0; c < C; c = c + 1) begin
        part = 32'sd0;
        for (int p = 0; p < P; p = p + 1) part = part + 32'($signed(operand[(r*P+p)*8+:8])) * 32'($signed(weight[(c*P+p)*8+:8]));
`ifdef PLANTED_ERROR
        // The planted error: one element loses the carry out of its low half once its sum is large.
        if (r == 1 && c == 2 && part > 32'sd9000) part = part - 32'sd65536;
`endif
        sum[(r*C+c)*32+:32] = part;
        accumulator[(r*C+c)*32+:32] = (clears ? 32'd0 : total[(r*C+c)*32+:32]) + part;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (mac) total <= accumulator;
    if (load) begin
      operand <= x;
      weight <= w;
      clears <= first;
    end
  end
endmodule
