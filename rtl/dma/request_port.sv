// The port of a side: one request at a time waits for its grant, so many are under way. Writes are answered in any order and leave in
// theirs.
module request_port (
    input  logic        clk,
    input  logic        reset,
    input  logic [15:0] option_outstanding,
    output logic        free,        // a request may be sent
    input  logic [15:0] reads_taken,  // reads whose bytes have arrived, in their order
    input  logic        send_read,
    input  logic        send_write,
    input  logic [47:0] send_address,
    input  logic [15:0] send_bytes,
    input  logic [31:0] send_position,
    output logic        request,
    output logic        write,
    output logic [47:0] address,
    output logic [15:0] bytes,
    output logic [31:0] position,
    output logic [3:0]  write_tag,   // of the next write
    input  logic        grant,
    input  logic        write_done,
    input  logic [3:0]  write_done_tag,
    output logic [4:0]  writes_left  // of those that were sent in the clocks before
);
  logic waiting, waiting_write;
  logic [47:0] waiting_address;
  logic [15:0] waiting_bytes, under_way, now_under_way;
  logic [31:0] waiting_position;
  logic [dma_pkg::WRITES-1:0] answered;
  logic [3:0] head;
  logic [4:0] writes, taken;

  always_comb begin
    taken = 5'd0;
    for (int i = 0; i < dma_pkg::WRITES; i = i + 1) if (taken == i && taken < writes && answered[(head+i)%dma_pkg::WRITES]) taken = taken + 5'd1;
    writes_left = writes - taken;
    write_tag = head + writes[3:0];
    now_under_way = under_way - {11'd0, taken} - reads_taken;
    free = !waiting && now_under_way < option_outstanding;
    request = waiting || send_read || send_write;
    write = waiting ? waiting_write : send_write;
    address = waiting ? waiting_address : send_address;
    bytes = waiting ? waiting_bytes : send_bytes;
    position = waiting ? waiting_position : send_position;
  end

  always_ff @(posedge clk) begin
    waiting <= request && !grant;
    waiting_write <= write;
    waiting_address <= address;
    waiting_bytes <= bytes;
    waiting_position <= position;
    under_way <= now_under_way + {15'd0, send_read || send_write};
    if (write_done) answered[write_done_tag] <= 1'b1;
    if (send_write) answered[write_tag] <= 1'b0;
    head <= head + taken[3:0];
    writes <= writes_left + {4'd0, send_write};
    if (reset) begin
      waiting <= 1'b0;
      under_way <= 16'd0;
      head <= 4'd0;
      writes <= 5'd0;
    end
  end
endmodule
