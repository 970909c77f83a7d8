// Beats of granted writes on the bus of a side: one burst behind the other, packed from its first byte on.
module write_beats #(
    parameter WIDTH = 16,
    parameter SIZE = 4096  // bytes of the buffer
) (
    input  logic               clk,
    input  logic               reset,
    input  logic               grant,
    input  logic [31:0]        position,  // of the burst in the stream of bytes
    input  logic [15:0]        bytes,
    input  logic [7:0]         buffer[SIZE],
    output logic               beat,
    output logic [WIDTH*8-1:0] data
);
  localparam PLACES = 16;  // bursts that are granted and have not left
  logic [31:0] positions[PLACES];
  logic [15:0] sizes[PLACES], sent;
  logic [3:0] head, tail;
  logic [4:0] count;
  logic ends;

  always_comb begin
    beat = count != 5'd0;
    ends = sent + WIDTH >= sizes[head];
    for (int i = 0; i < WIDTH; i = i + 1) data[i*8+:8] = sent + i < sizes[head] ? buffer[(positions[head] + sent + i) % SIZE] : 8'd0;
  end
  always_ff @(posedge clk) begin
    if (grant) begin
      positions[tail] <= position;
      sizes[tail] <= bytes;
      tail <= tail + 4'd1;
    end
    if (beat) sent <= ends ? 16'd0 : sent + WIDTH;
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
