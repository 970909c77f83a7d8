// The result buffer: two halves, one that sums are added to while the other one realigns or drains (RO-2, RO-6). A line of a half
// holds the sums of one line of the stationary operand. All sums of a half may move, and any line may be added to, in a cycle.
module result_buffer #(
    parameter X = 4,       // lines of the array
    parameter M = 1,
    parameter LINES = 4,   // of a half, and sums of a line
    parameter SUMS = 4     // that leave in a cycle
) (
    input  logic                  clk,
    input  logic                  clear,
    input  logic                  clear_half,
    input  logic [15:0]           clear_lines,
    // Sums of each multiplier and line.
    input  logic [M*X-1:0]        add,
    input  logic                  add_half,
    input  logic [M*X*16-1:0]     add_line,
    input  logic [M*X*16-1:0]     add_index,
    input  logic [M*X*32-1:0]     add_sum,
    // A step of the realignment: lines that are not in place roll by one, each within the rings of its blocks.
    input  logic                  realign,
    input  logic                  realign_half,
    input  logic                  realign_down,
    input  logic [7:0]            realign_step,
    input  logic [7:0]            block,          // sums of a ring's place: rings begin at its multiples
    input  logic [LINES*8-1:0]    turns,          // steps that a line makes
    input  logic [LINES*LINES*8-1:0] ring,        // of block of lines and phase: so many sums roll
    // Sums that leave.
    input  logic                  read_half,
    input  logic [SUMS-1:0]       read_valid,
    input  logic [SUMS*16-1:0]    read_line,
    input  logic [SUMS*16-1:0]    read_index,
    output logic [SUMS*32-1:0]    read_sum,
    output logic [2*LINES*LINES*32-1:0] contents
);
  localparam HALF = LINES * LINES * 32;

  logic [HALF-1:0] half[0:1];
  logic [HALF-1:0] moved[0:1];
  // A half that is cleared shows zeros in this cycle already.
  always_comb begin
    contents = {half[1], half[0]};
    for (int p = 0; p < LINES; p = p + 1) if (clear && p < clear_lines) contents[(clear_half*LINES+p)*LINES*32+:LINES*32] = '0;
  end

  logic [7:0] base, inner, length, source;
  logic [31:0] place;

  always_comb begin
    base = 8'd0;
    inner = 8'd0;
    length = 8'd0;
    source = 8'd0;
    place = 32'd0;
    for (int h = 0; h < 2; h = h + 1) begin
      moved[h] = half[h];
      if (realign && realign_half == h)
        for (int p = 0; p < LINES; p = p + 1) begin
          base = 8'd0;
          for (int t = 0; t < LINES; t = t + 1) begin
            if (t >= base + block) base = base + block;
            inner = t - base;
            length = ring[(p*LINES+t)*8+:8];
            source = realign_down ? (inner + 8'd1 == length ? 8'd0 : inner + 8'd1) : (inner == 8'd0 ? length - 8'd1 : inner - 8'd1);
            if (realign_step < turns[p*8+:8] && inner < length) moved[h][(p*LINES+t)*32+:32] = half[h][(p*LINES+base+source)*32+:32];
          end
        end
      for (int i = 0; i < M * X; i = i + 1)
        if (add[i] && add_half == h) begin
          place = add_line[i*16+:16] * LINES + add_index[i*16+:16];
          moved[h][place*32+:32] = moved[h][place*32+:32] + add_sum[i*32+:32];
        end
      for (int p = 0; p < LINES; p = p + 1) if (clear && clear_half == h && p < clear_lines) moved[h][p*LINES*32+:LINES*32] = '0;
    end
    for (int i = 0; i < SUMS; i = i + 1)
      read_sum[i*32+:32] = !read_valid[i] ? 32'd0 : half[read_half][({16'd0, read_line[i*16+:16]}*LINES+read_index[i*16+:16])*32+:32];
  end

  always_ff @(posedge clk) begin
    half[0] <= moved[0];
    half[1] <= moved[1];
  end
endmodule
