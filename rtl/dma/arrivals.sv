// Reads under way and stretches of borders between them, in the order of their bytes: which bytes have arrived.
module arrivals #(
    parameter WIDTH0 = 16,
    parameter WIDTH1 = 64,
    parameter SIZE = 4096
) (
    input  logic              clk,
    input  logic              reset,
    input  logic              send,          // a read, or a stretch that is there at once
    input  logic              send_border,
    input  logic              send_side,
    input  logic [31:0]       send_position,
    input  logic [15:0]       send_bytes,
    input  logic [7:0]        send_fill,
    output logic [5:0]        tag,           // of the next one
    input  logic [1:0]        beat,
    input  logic [11:0]       beat_tags,
    input  logic [WIDTH0*8-1:0] data0,
    input  logic [WIDTH1*8-1:0] data1,
    input  logic [1:0]        done,          // with the last beat
    output logic [15:0]       taken[dma_pkg::SIDES],
    output logic [31:0]       arrived,       // as many bytes of the stream are there
    output logic [7:0]        buffer[SIZE]
);
  localparam READS = dma_pkg::READS;
  logic [31:0] positions[READS], arrived_before;
  logic [15:0] sizes[READS], received[READS];
  logic [READS-1:0] complete, border, sides;
  logic [5:0] head, next_head;
  logic [6:0] count, left;

  always_comb begin
    next_head = head;
    left = count;
    arrived = arrived_before;
    taken[0] = 16'd0;
    taken[1] = 16'd0;
    for (int i = 0; i < READS; i = i + 1)
      if (left != 7'd0 && complete[next_head] && left + i == count) begin
        arrived = positions[next_head] + sizes[next_head];
        if (!border[next_head]) taken[sides[next_head]] = taken[sides[next_head]] + 16'd1;
        next_head = next_head + 6'd1;
        left = left - 7'd1;
      end
    tag = head + count[5:0];
  end

  logic [5:0] tags[2];
  assign tags[0] = beat_tags[5:0];
  assign tags[1] = beat_tags[11:6];
  always_ff @(posedge clk) begin
    head <= next_head;
    count <= left + {6'd0, send};
    arrived_before <= arrived;
    if (send) begin
      positions[tag] <= send_position;
      sizes[tag] <= send_bytes;
      received[tag] <= 16'd0;
      complete[tag] <= send_border;
      border[tag] <= send_border;
      sides[tag] <= send_side;
    end
    if (beat[0]) received[tags[0]] <= received[tags[0]] + WIDTH0;
    if (beat[1]) received[tags[1]] <= received[tags[1]] + WIDTH1;
    if (done[0]) complete[tags[0]] <= 1'b1;
    if (done[1]) complete[tags[1]] <= 1'b1;
    if (reset) begin
      head <= 6'd0;
      count <= 7'd0;
      arrived_before <= 32'd0;
    end
  end

  // Bytes find their places as they come; those of a border are there at once.
  logic [7:0] next[SIZE];
  always_comb begin
    next = buffer;
    if (beat[0])
      for (int i = 0; i < WIDTH0; i = i + 1)
        if (received[tags[0]] + i < sizes[tags[0]]) next[(positions[tags[0]]+received[tags[0]]+i)%SIZE] = data0[i*8+:8];
    if (beat[1])
      for (int i = 0; i < WIDTH1; i = i + 1)
        if (received[tags[1]] + i < sizes[tags[1]]) next[(positions[tags[1]]+received[tags[1]]+i)%SIZE] = data1[i*8+:8];
    if (send && send_border) for (int i = 0; i < send_bytes; i = i + 1) next[(send_position+i)%SIZE] = send_fill;
  end
  always_ff @(posedge clk) buffer <= next;
endmodule
