// The products of a beat, their sums, and beside them where they go in the result buffer (RO-2, RO-6).
module beat_sums #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter M = 1
) (
    input  logic                            clk,
    input  logic                            reset,
    input  logic                            left,
    input  logic                            rolls_a,
    input  logic                            down,
    input  logic                            by_tags,
    input  logic [GROUPS*R*C*9-1:0]         a_values,
    input  logic [GROUPS*R*C*9-1:0]         b_values,
    input  logic [GROUPS*(R>C?R:C)-1:0]     a_valid,
    input  logic [GROUPS*(R>C?R:C)-1:0]     b_valid,
    input  logic [GROUPS*(R>C?R:C)*16-1:0]  a_tags,
    input  logic [GROUPS*(R>C?R:C)*16-1:0]  b_tags,
    // The beat.
    input  logic [M-1:0]                    multiply,
    input  logic [M*8-1:0]                  group,
    input  logic [15:0]                     computation,
    input  logic [M*16-1:0]                 place_first,   // in its lines, of the group's phase
    input  logic [M*16-1:0]                 moving_first,  // number of the rolling block's first line
    input  logic [M*8-1:0]                  turn,          // lines of the ring
    input  logic [7:0]                      ring_lines,    // of the longest ring
    input  logic                            half,
    input  logic                            ends,          // its stack
    input  logic                            stays,         // it ends a run whose sums stay
    // Its sums, as many cycles later as the trees take.
    output logic [M*(R>C?R:C)*32-1:0]       sums,
    output logic [M-1:0]                    sums_valid,
    output logic [M*(R>C?R:C)-1:0]          sums_known,
    output logic [M*(R>C?R:C)-1:0]          add,
    output logic                            add_half,
    output logic [M*(R>C?R:C)*16-1:0]       add_line,
    output logic [M*(R>C?R:C)*16-1:0]       add_index,
    output logic                            add_ends,
    output logic                            add_stays
);
  localparam X = R > C ? R : C;
  localparam DEPTH = $clog2(X) + $clog2(M) + 1;
  localparam PLACE = M + 3 + M * X + M * X + M * X * 32;

  logic [M*X*32-1:0] tree_sums, held;

  adder_trees #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .M(M)
  ) trees (
      .clk(clk),
      .left(left),
      .multiply(multiply),
      .group(group),
      .a(a_values),
      .b(b_values),
      .sums(tree_sums)
  );

  logic [M*X-1:0]      beat_add, beat_lines, lines, known;
  logic [M*X*16-1:0]   beat_line, beat_index;
  logic [PLACE-1:0]    beat_place, place;
  logic [DEPTH*PLACE-1:0] places;  // the youngest beat stands in the lowest place
  logic [7:0]          depth;
  logic [15:0]         at, moving;

  always_comb begin
    beat_add = '0;
    beat_line = '0;
    beat_index = '0;
    beat_lines = '0;
    moving = 16'd0;
    at = 16'd0;
    for (int m = 0; m < M; m = m + 1)
      for (int l = 0; l < X; l = l + 1) begin
        at = group[m*8+:8] * X + l;
        beat_add[m*X+l] = multiply[m] && a_valid[at] && b_valid[at];
        beat_line[(m*X+l)*16+:16] = rolls_a ? b_tags[at*16+:16] : a_tags[at*16+:16];
        // By tags a sum goes where realignment by rolling would bring it.
        moving = (rolls_a ? a_tags[at*16+:16] : b_tags[at*16+:16]) - moving_first[m*16+:16];
        if (down && moving != 16'd0) moving = turn[m*8+:8] - moving;
        beat_index[(m*X+l)*16+:16] = place_first[m*16+:16] + (by_tags ? moving : computation);
        beat_lines[m*X+l] = multiply[m] && l < ring_lines;
      end
    beat_place = {multiply, stays, ends, half, beat_lines, beat_add, beat_line, beat_index};
    depth = (left ? $clog2(R) : $clog2(C)) + $clog2(M) + 1;
    place = places[(depth-8'd1)*PLACE+:PLACE];
    {sums_valid, add_stays, add_ends, add_half, lines, add, add_line, add_index} = place;
    // A line beyond the longest ring keeps its sum.
    for (int i = 0; i < M * X; i = i + 1) sums[i*32+:32] = lines[i] ? tree_sums[i*32+:32] : held[i*32+:32];
    sums_known = known | lines;
  end

  always_ff @(posedge clk) begin
    places <= (places << PLACE) | beat_place;
    held <= sums;
    known <= sums_known;
    if (reset) begin
      places <= '0;
      held <= '0;
      known <= '0;
    end
  end
endmodule
