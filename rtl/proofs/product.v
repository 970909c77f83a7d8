// Takes every product out of a circuit: the circuit shows the two operands, and what comes of them is an input. Both sides of a proof are
// given the same input where their operands are equal, which is what an uninterpreted function says.
(* blackbox *)
module product (
    input  [95:0] a,
    input  [95:0] b,
    output [95:0] y
);
endmodule

(* techmap_celltype = "$mul" *)
module product_of_mul (
    A,
    B,
    Y
);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;

  localparam SIGNED = A_SIGNED && B_SIGNED;
  wire [95:0] y;
  product cut (
      .a({{96 - A_WIDTH{SIGNED ? A[A_WIDTH-1] : 1'b0}}, A}),
      .b({{96 - B_WIDTH{SIGNED ? B[B_WIDTH-1] : 1'b0}}, B}),
      .y(y)
  );
  assign Y = y[Y_WIDTH-1:0];
endmodule
