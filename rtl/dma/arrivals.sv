// Reads under way and stretches of borders between them, in the order of their bytes: which bytes have arrived. Stretches that
// follow one another are one.
module arrivals #(
    parameter SIDES = 2,
    parameter WIDTH0 = 16,  // bytes of a bus, of sides 0 and 2
    parameter WIDTH1 = 64,  // of the other ones
    parameter WIDTH = 64,   // of the widest
    parameter SIZE = 8192
) (
    input  logic              clk,
    input  logic              reset,
    input  logic              send,          // a read, or a stretch that is there at once
    input  logic              send_border,
    input  logic [1:0]        send_side,
    input  logic [31:0]       send_position,
    input  logic [15:0]       send_bytes,
    input  logic [7:0]        send_fill,
    output logic [5:0]        tag,           // of the next one
    input  logic [SIDES-1:0]  beat,
    input  logic [SIDES*6-1:0] beat_tags,
    input  logic [SIDES*WIDTH*8-1:0] data,
    input  logic [SIDES-1:0]  done,          // with the last beat
    output logic [15:0]       taken[SIDES],
    output logic [31:0]       arrived,       // as many bytes of the stream are there
    output logic [7:0]        buffer[SIZE]
);
  localparam READS = dma_pkg::READS;
  logic [31:0] positions[READS], arrived_before;
  logic [15:0] sizes[READS], received[READS];
  logic [READS-1:0] complete, border;
  logic [1:0] sides[READS];
  logic [5:0] head, next_head, youngest;
  logic [6:0] count, left;
  logic joins;

  always_comb begin
    next_head = head;
    left = count;
    arrived = arrived_before;
    for (int s = 0; s < SIDES; s = s + 1) taken[s] = 16'd0;
    for (int i = 0; i < READS; i = i + 1)
      if (left != 7'd0 && complete[next_head] && left + i == count) begin
        arrived = positions[next_head] + sizes[next_head];
        if (!border[next_head]) taken[sides[next_head]] = taken[sides[next_head]] + 16'd1;
        next_head = next_head + 6'd1;
        left = left - 7'd1;
      end
    tag = head + count[5:0];
    youngest = tag - 6'd1;
    joins = send && send_border && left != 7'd0 && border[youngest];
  end

  logic [5:0] tags[SIDES];
  always_comb for (int s = 0; s < SIDES; s = s + 1) tags[s] = beat_tags[s*6+:6];
  always_ff @(posedge clk) begin
    head <= next_head;
    count <= left + {6'd0, send && !joins};
    if (joins) sizes[youngest] <= sizes[youngest] + send_bytes;
    arrived_before <= arrived;
    if (send && !joins) begin
      positions[tag] <= send_position;
      sizes[tag] <= send_bytes;
      received[tag] <= 16'd0;
      complete[tag] <= send_border;
      border[tag] <= send_border;
      sides[tag] <= send_side;
    end
    for (int s = 0; s < SIDES; s = s + 1) begin
      if (beat[s]) received[tags[s]] <= received[tags[s]] + (s % 2 == 0 ? WIDTH0 : WIDTH1);
      if (done[s]) complete[tags[s]] <= 1'b1;
    end
    if (reset) begin
      head <= 6'd0;
      count <= 7'd0;
      arrived_before <= 32'd0;
    end
  end

  // Bytes find their places as they come; those of a border are there at once. No register takes a byte of the buffer, so that the order of
  // these assignments and of registers does not matter.
  always @(posedge clk) begin
    for (int s = 0; s < SIDES; s = s + 1)
      if (beat[s])
        for (int i = 0; i < (s % 2 == 0 ? WIDTH0 : WIDTH1); i = i + 1)
          if (received[tags[s]] + i < sizes[tags[s]]) buffer[(positions[tags[s]]+received[tags[s]]+i)%SIZE] = data[(s*WIDTH+i)*8+:8];
    if (send && send_border) for (int i = 0; i < send_bytes; i = i + 1) buffer[(send_position+i)%SIZE] = send_fill;
  end
endmodule
