// The registers of one operand: `GROUPS` in every PE, nine bits with the zero point off, and the tags of their lines (RO-1, RO-4).
// A line is a row of the array, or a column where A is transposed. Lines are written by the loader, from the neighbouring line
// of their ring, and from the same PE's other groups.
module operand_registers #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter PORT = 4
) (
    input  logic                    clk,
    input  logic                    reset,
    input  logic                    left,         // lines are columns
    // The loader.
    input  logic [rolling_pkg::LOAD_BITS-1:0] load_bits,
    input  logic [(R>C?R:C)*9-1:0]            load_values,
    // Rings.
    input  logic                    moves,        // it is this operand that rolls
    input  logic [GROUPS-1:0]       roll,
    input  logic                    down,
    input  logic [GROUPS*8-1:0]     ring,         // lines of a group's ring
    input  logic [GROUPS-1:0]       exchange,     // the group takes all lines of group `from`
    input  logic [GROUPS-1:0]       correct,      // it takes the line that wrapped there
    input  logic [GROUPS*8-1:0]     from,
    input  logic [7:0]              edge_line,
    output logic [GROUPS*R*C*9-1:0] values,
    output logic [GROUPS*(R>C?R:C)-1:0]    valid,
    output logic [GROUPS*(R>C?R:C)*16-1:0] tags,
    output logic [GROUPS*(R>C?R:C)*9-1:0]  wrapping   // the line of each ring that a roll would wrap
);
  localparam X = R > C ? R : C;

  rolling_pkg::load_t load;
  assign load = load_bits;
  logic puts, begins;   // elements of a line, the first ones, go into registers
  assign puts = load.writes && !load.line.record;
  assign begins = load.enters && !load.line.record;

  logic [7:0] line, lane, source, length;
  logic [GROUPS-1:0] opened;
  always_comb begin
    opened = '0;
    for (int i = 0; i < GROUPS; i = i + 1) if (i < load.line.opens) opened[rolling_pkg::group_at(load.line.base, i, GROUPS)] = 1'b1;
  end
  logic [GROUPS*R*C*9-1:0]  next_values;
  logic [GROUPS*X-1:0]      next_valid;
  logic [GROUPS*X*16-1:0]   next_tags;

  always_comb begin
    next_values = values;
    next_valid = valid;
    next_tags = tags;
    line = 8'd0;
    lane = 8'd0;
    source = 8'd0;
    for (int g = 0; g < GROUPS; g = g + 1) begin
      length = ring[g*8+:8];
      for (int r = 0; r < R; r = r + 1)
        for (int c = 0; c < C; c = c + 1) begin
          line = left ? c : r;
          lane = left ? r : c;
          source = down ? (line == 8'd0 ? length - 8'd1 : line - 8'd1) : (line + 8'd1 == length ? 8'd0 : line + 8'd1);
          if (moves && roll[g] && line < length)
            next_values[((g*R+r)*C+c)*9+:9] = left ? values[((g*R+r)*C+source)*9+:9] : values[((g*R+source)*C+c)*9+:9];
          if (moves && (exchange[g] || correct[g] && line == edge_line)) next_values[((g*R+r)*C+c)*9+:9] = values[((from[g*8+:8]*R+r)*C+c)*9+:9];
          if (begins && opened[g]) next_values[((g*R+r)*C+c)*9+:9] = 9'd0;
          if (puts && load.line.group == g) begin
            if (load.line.across) begin
              if (lane == load.line.line && line >= load.lane && line < load.lane + load.count)
                next_values[((g*R+r)*C+c)*9+:9] = load_values[line*9+:9];
            end else if (line == load.line.line && lane >= load.lane && lane < load.lane + load.count)
              next_values[((g*R+r)*C+c)*9+:9] = load_values[lane*9+:9];
          end
        end
      for (int l = 0; l < X; l = l + 1) begin
        source = down ? (l == 0 ? length - 8'd1 : l - 1) : (l + 1 == length ? 8'd0 : l + 1);
        if (moves && roll[g] && l < length) begin
          next_valid[g*X+l] = valid[g*X+source];
          next_tags[(g*X+l)*16+:16] = tags[(g*X+source)*16+:16];
        end
        if (moves && (exchange[g] || correct[g] && l == edge_line)) begin
          next_valid[g*X+l] = valid[from[g*8+:8]*X+l];
          next_tags[(g*X+l)*16+:16] = tags[(from[g*8+:8]*X+l)*16+:16];
        end
        if (begins && opened[g]) next_valid[g*X+l] = 1'b0;
        if (begins && load.line.group == g && (load.line.across ? l < load.line.elements : l == load.line.line)) begin
          next_valid[g*X+l] = 1'b1;
          next_tags[(g*X+l)*16+:16] = load.line.across ? load.line.tag + l : load.line.tag;
        end
      end
    end
  end

  logic [7:0] wrap_line, wrap_lane;
  always_comb begin
    wrapping = '0;
    wrap_line = 8'd0;
    wrap_lane = 8'd0;
    for (int g = 0; g < GROUPS; g = g + 1)
      for (int r = 0; r < R; r = r + 1)
        for (int c = 0; c < C; c = c + 1) begin
          wrap_line = left ? c : r;
          wrap_lane = left ? r : c;
          if (wrap_line == (down ? ring[g*8+:8] - 8'd1 : 8'd0)) wrapping[(g*X+wrap_lane)*9+:9] = values[((g*R+r)*C+c)*9+:9];
        end
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      values <= '0;
      valid <= '0;
      tags <= '0;
    end else begin
      values <= next_values;
      valid <= next_valid;
      tags <= next_tags;
    end
  end
endmodule
