// Products of a beat and their sums along the lanes (RO-6): a tree for each line and multiplier of a PE, a register behind
// every level, one more behind the products, and as many levels behind the trees as several multipliers need.
module adder_trees #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter M = 1
) (
    input  logic                        clk,
    input  logic                        left,
    input  logic [M-1:0]                multiply,
    input  logic [M*8-1:0]              group,
    input  logic [GROUPS*R*C*9-1:0]     a,
    input  logic [GROUPS*R*C*9-1:0]     b,
    output logic [M*(R>C?R:C)*32-1:0]   sums   // a line of sums for each multiplier
);
  localparam X = R > C ? R : C;
  localparam LEVELS = $clog2(X);
  localparam WIDTH = 1 << LEVELS;
  localparam LATE = $clog2(M);

  // level[k] holds WIDTH >> k partial sums of each line and multiplier.
  logic [M*X*WIDTH*32-1:0] products;
  logic [M*X*WIDTH*32-1:0] level[0:LEVELS];
  logic [M*X*32-1:0] whole;

  logic signed [8:0] x, y;
  always_comb begin
    products = '0;
    for (int m = 0; m < M; m = m + 1)
      for (int r = 0; r < R; r = r + 1)
        for (int c = 0; c < C; c = c + 1) begin
          x = a[((group[m*8+:8]*R+r)*C+c)*9+:9];
          y = b[((group[m*8+:8]*R+r)*C+c)*9+:9];
          if (multiply[m]) begin
            if (left) products[((m*X+c)*WIDTH+r)*32+:32] = x * y;
            else products[((m*X+r)*WIDTH+c)*32+:32] = x * y;
          end
        end
  end

  genvar k;
  generate
    for (k = 1; k <= LEVELS; k = k + 1) begin : halving
      logic [M*X*WIDTH*32-1:0] halved;
      always_comb begin
        halved = '0;
        for (int t = 0; t < M * X; t = t + 1)
          for (int i = 0; i < (WIDTH >> k); i = i + 1)
            halved[(t*WIDTH+i)*32+:32] = level[k-1][(t*WIDTH+2*i)*32+:32] + level[k-1][(t*WIDTH+2*i+1)*32+:32];
      end
      always_ff @(posedge clk) level[k] <= halved;
    end
  endgenerate
  always_ff @(posedge clk) level[0] <= products;

  // A tree of fewer lanes has fewer levels.
  always_comb begin
    for (int t = 0; t < M * X; t = t + 1) whole[t*32+:32] = left ? level[$clog2(R)][t*WIDTH*32+:32] : level[$clog2(C)][t*WIDTH*32+:32];
  end

  generate
    if (LATE == 0) begin : at_once
      assign sums = whole;
    end else begin : late
      logic [LATE*M*X*32-1:0] behind;  // the youngest sums stand in the lowest place
      always_ff @(posedge clk) behind <= (behind << (M * X * 32)) | whole;
      assign sums = behind[(LATE-1)*M*X*32+:M*X*32];
    end
  endgenerate
endmodule
