// The place of the pixel that each lane reads in a beat (SW-1, SW-2): bank, word, and whether there is one. Quotients by the
// strides come counted; what is divided here is divided by the constants G and L, by shifts or by multiplication.
module lane_addresses #(
    parameter R = 8,
    parameter G = 2
) (
    input  logic        table1,
    input  conv_pkg::setup_t setup,
    input  switch_array_pkg::run_t run,
    input  logic [15:0] row,          // the operation cycle begins with this output row and column
    input  logic [15:0] column,
    input  logic [31:0] base,         // the channel block begins there
    input  logic signed [31:0] h_tap, // output (0, 0) needs this row and column of the map at this tap
    input  logic signed [31:0] w_tap,
    input  logic signed [31:0] h_quotient,  // these are their quotients and remainders by the strides of the arrangement
    input  logic [15:0] h_remainder,
    input  logic signed [31:0] w_quotient,
    input  logic [15:0] w_remainder,
    output logic [R-1:0]    pixel,    // the lane has one
    output logic [R*8-1:0]  bank,
    output logic [R*32-1:0] address,
    output logic [R*16-1:0] h,
    output logic [R*16-1:0] w
);
  localparam L = R / G;

  logic [15:0] stride_h, stride_w, odd_columns, phase_begin;
  logic signed [31:0] h_of[0:R-1];
  logic signed [31:0] w_of[0:R-1];
  logic [31:0] row_quotient[0:R-1];
  logic [31:0] column_quotient[0:R-1];
  logic [31:0] line[0:R-1];  // it is the row's quotient by G: its number within its half, less h mod sh
  logic [31:0] n[0:R-1];
  logic [31:0] word[0:R-1];

  localparam [32:0] PER_GROUP = switch_array_pkg::reciprocal(G);
  localparam [32:0] PER_LANE = switch_array_pkg::reciprocal(L);

  always_comb begin
    stride_h = table1 ? 16'd1 : setup.stride_h;
    stride_w = table1 ? 16'd1 : setup.stride_w;
    odd_columns = run.width - {1'b0, run.phase_columns} * stride_w;
    phase_begin = w_remainder * {1'b0, run.phase_columns} + (w_remainder < odd_columns ? w_remainder : odd_columns);
    if (stride_w == 16'd1) phase_begin = 16'd0;
    for (int g = 0; g < G; g = g + 1) begin
      for (int l = 0; l < L; l = l + 1) begin
        h_of[g*L+l] = ({16'd0, row} + g) * {16'd0, setup.stride_h} + h_tap;
        w_of[g*L+l] = ({16'd0, column} + l) * {16'd0, setup.stride_w} + w_tap;
        row_quotient[g*L+l] = ({16'd0, row} + g) * (table1 ? {16'd0, setup.stride_h} : 32'd1) + h_quotient;
        column_quotient[g*L+l] = ({16'd0, column} + l) * (table1 ? {16'd0, setup.stride_w} : 32'd1) + w_quotient;
        line[g*L+l] = switch_array_pkg::divided(row_quotient[g*L+l], PER_GROUP, $clog2(G));
        n[g*L+l] = (line[g*L+l] * {16'd0, stride_h} + {16'd0, h_remainder}) * {16'd0, run.width}
            + {16'd0, phase_begin} + column_quotient[g*L+l];
        pixel[g*L+l] = {16'd0, row} + g < {16'd0, run.rows} && {16'd0, column} + l < {16'd0, run.columns}
            && h_of[g*L+l] >= 0 && h_of[g*L+l] < $signed({16'd0, run.height})
            && w_of[g*L+l] >= 0 && w_of[g*L+l] < $signed({16'd0, run.width});
        word[g*L+l] = switch_array_pkg::divided(n[g*L+l], PER_LANE, $clog2(L));
        bank[(g*L+l)*8+:8] = (row_quotient[g*L+l] - line[g*L+l] * G) * L + (n[g*L+l] - word[g*L+l] * L);
        address[(g*L+l)*32+:32] = base + word[g*L+l];
        h[(g*L+l)*16+:16] = h_of[g*L+l][15:0];
        w[(g*L+l)*16+:16] = w_of[g*L+l][15:0];
      end
    end
  end
endmodule
