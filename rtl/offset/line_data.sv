// The lines of the cache, and the operands that a beat takes out of them (OT-4). A line that leaves its place for another line of the beat that
// needs both is kept for this beat. An element that is not there leaves its register as it is.
module line_data #(
    parameter R = 4,
    parameter V = 4,
    parameter LINE = 16,
    parameter LINES = 64,
    parameter S = 2,
    parameter PLACE = 7
) (
    input  logic                 clk,
    input  logic                 reset,
    input  logic                 enters,
    input  logic [PLACE-1:0]     place,
    input  logic [LINE*8-1:0]    line,
    input  logic [15:0]          entered,    // lines of the beat that have entered before
    input  logic                 multiplies,
    input  logic [R-1:0]         present,
    input  logic [R*16-1:0]      in_line,
    input  logic [R*S*PLACE-1:0] places,
    input  logic [R*S*8-1:0]     ages,       // misses of the beat when each was looked up
    input  logic [7:0]           count,
    input  logic                 is_unsigned,
    input  logic [9:0]           zero_point,
    output logic [R*V*9-1:0]     operands,   // zero points off
    output logic [R*V-1:0]       known       // ever loaded
);
  /* verilator no_inline_module */

  logic [LINE*8-1:0] lines[0:LINES-1], kept[0:R*S-1], wide;
  logic [R*S*PLACE-1:0] kept_places;
  logic [R*V*9-1:0] held;
  logic [R*V-1:0] held_known;
  logic [7:0] element;
  logic signed [9:0] value;
  logic [15:0] at;

  always_comb begin
    operands = held;
    known = held_known;
    element = 8'd0;
    value = 10'sd0;
    at = 16'd0;
    wide = '0;
    for (int t = 0; t < R; t = t + 1)
      for (int i = 0; i < V; i = i + 1)
        if (multiplies && present[t] && i < count) begin
          at = in_line[t*16+:16] + i;
          wide = lines[places[(t*S+at/LINE)*PLACE+:PLACE]];
          for (int k = R * S - 1; k >= 0; k = k - 1)
            if (k < entered && k >= ages[(t*S+at/LINE)*8+:8] && kept_places[k*PLACE+:PLACE] == places[(t*S+at/LINE)*PLACE+:PLACE]) wide = kept[k];
          element = wide[(at%LINE)*8+:8];
          value = $signed({is_unsigned ? 2'b00 : {2{element[7]}}, element}) - $signed(zero_point);
          operands[(t*V+i)*9+:9] = value[8:0];
          known[t*V+i] = 1'b1;
        end
  end

  always_ff @(posedge clk) begin
    if (enters) begin
      lines[place] <= line;
      kept[entered] <= lines[place];
      kept_places[entered*PLACE+:PLACE] <= place;
    end
    held <= operands;
    held_known <= known;
    if (reset) held_known <= '0;
  end
endmodule
