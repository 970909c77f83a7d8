// R x C x V multipliers and their sums (OT-4, OT-6): two sets of accumulators by turns, complete ceil(log2 V) + 1 cycles behind a tile's last beat.
module multipliers #(
    parameter R = 4,
    parameter C = 4,
    parameter V = 4,
    parameter DEPTH = $clog2(V) + 1
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic                             multiplies,
    input  logic [offset_pkg::BEAT_BITS-1:0] beat_bits,
    input  logic [R-1:0]                     present,
    input  logic [R*V*9-1:0]                 operands,
    input  logic [C*V*8-1:0]                 bytes,       // of kernels, `count` for each
    input  logic                             is_unsigned,
    input  logic [9:0]                       zero_point,
    output logic [C*V*9-1:0]                 kernels,     // registers that take the bytes in this cycle
    output logic [C*V-1:0]                   known,
    // Sums that are complete behind this cycle.
    output logic                             completes,
    output logic                             set,         // of accumulators
    output logic [offset_pkg::TILE_BITS-1:0] tile_bits,
    output logic [2*R*C*32-1:0]              sums
);
  /* verilator no_inline_module */

  offset_pkg::beat_t beat;
  assign beat = beat_bits;

  logic [C*V*9-1:0] held;
  logic [C*V-1:0] held_known;
  logic [7:0] element;
  logic signed [9:0] value;
  always_comb begin
    kernels = held;
    known = held_known;
    element = 8'd0;
    value = 10'sd0;
    for (int k = 0; k < C; k = k + 1)
      for (int i = 0; i < V; i = i + 1)
        if (multiplies && k < beat.tile.kernels && i < beat.count) begin
          element = bytes[(k*beat.count+i)*8+:8];
          value = $signed({is_unsigned ? 2'b00 : {2{element[7]}}, element}) - $signed(zero_point);
          kernels[(k*V+i)*9+:9] = value[8:0];
          known[k*V+i] = 1'b1;
        end
  end

  // The trees, registers from level to level, drawn as one tree and the registers behind it.
  logic [R*C*32-1:0] products;
  logic signed [31:0] sum;
  always_comb begin
    products = '0;
    sum = 32'sd0;
    for (int t = 0; t < R; t = t + 1)
      for (int k = 0; k < C; k = k + 1) begin
        sum = 32'sd0;
        for (int i = 0; i < V; i = i + 1)
          if (i < beat.count) sum = sum + $signed(operands[(t*V+i)*9+:9]) * $signed(kernels[(k*V+i)*9+:9]);
        if (present[t] && k < beat.tile.kernels) products[(t*C+k)*32+:32] = sum;
      end
  end

  localparam STAGE = 1 + 1 + 1 + 1 + offset_pkg::TILE_BITS + R * C * 32;
  logic [STAGE-1:0] stages[0:DEPTH-1];
  logic [R*C*32-1:0] tree, accumulated;
  logic tree_valid, tree_first, tree_last, tree_clears, write_set;
  assign {tree_valid, tree_first, tree_last, tree_clears, tile_bits, tree} = stages[DEPTH-1];
  assign completes = tree_valid && tree_last;
  assign set = write_set;

  always_comb
    for (int i = 0; i < R * C; i = i + 1)
      accumulated[i*32+:32] = (tree_first && tree_clears ? 32'd0 : sums[(write_set*R*C+i)*32+:32]) + tree[i*32+:32];

  always_ff @(posedge clk) begin
    held <= kernels;
    held_known <= known;
    stages[0] <= {multiplies, beat.first, beat.last, beat.tile.begins, beat.tile, products};
    for (int i = 1; i < DEPTH; i = i + 1) stages[i] <= stages[i-1];
    if (tree_valid) sums[write_set*R*C*32+:R*C*32] <= accumulated;
    if (tree_valid && tree_last && !(stages_keep)) write_set <= !write_set;
    if (reset) begin
      held_known <= '0;
      write_set <= 1'b0;
      for (int i = 0; i < DEPTH; i = i + 1) stages[i] <= '0;
    end
  end

  // Sums of a run that is not the last one of its channels stay where they are.
  logic stages_keep;
  offset_pkg::tile_t tile;
  assign tile = tile_bits;
  assign stages_keep = !tile.drains;
endmodule
