// Beats of granted writes on the bus of a side: one burst behind the other, packed from its first byte on.
module write_beats #(
    parameter WIDTH = 16,
    parameter SIZE = 8192  // bytes of the buffer
) (
    input  logic               clk,
    input  logic               reset,
    input  logic               grant,
    input  dma_pkg::place_t    place,     // of the burst in the buffer
    input  logic [15:0]        bytes,
    input  logic [7:0]         buffer[SIZE],
    output logic               beat,
    output logic [WIDTH*8-1:0] data
);
  localparam PLACES = 16;  // bursts that are granted and have not left
  dma_pkg::place_t places[PLACES], now;
  logic [15:0] sizes[PLACES], left, sent;
  logic [3:0] head, tail;
  logic [4:0] count;
  logic ends;
  // The next byte: its row, where its column begins, and where it is itself.
  logic [15:0] row, next_row;
  logic [31:0] column, next_column, at, next_at;

  always_comb begin
    now = places[head];
    beat = count != 5'd0;
    left = sizes[head] - sent;
    ends = left <= WIDTH;
    next_row = row;
    next_column = column;
    next_at = at;
    if (now.begins && sent == 16'd0) begin
      next_row = 16'd0;
      next_column = now.position;
      next_at = now.position;
    end
    data = '0;
    for (int i = 0; i < WIDTH; i = i + 1)
      if (i < left) begin
        data[i*8+:8] = buffer[next_at%SIZE];
        next_row = next_row + 16'd1;
        next_at = next_at + now.pitch;
        if (next_row == now.rows) begin
          next_row = 16'd0;
          next_column = next_column + 32'd1;
          next_at = next_column;
        end
      end
  end
  always_ff @(posedge clk) begin
    if (grant) begin
      places[tail] <= place;
      sizes[tail] <= bytes;
      tail <= tail + 4'd1;
    end
    if (beat) begin
      sent <= ends ? 16'd0 : sent + WIDTH;
      row <= next_row;
      column <= next_column;
      at <= next_at;
    end
    if (beat && ends) head <= head + 4'd1;
    count <= count + {4'd0, grant} - {4'd0, beat && ends};
    if (reset) begin
      head <= 4'd0;
      tail <= 4'd0;
      count <= 5'd0;
      sent <= 16'd0;
    end
  end
endmodule
