// The port of a side: one request at a time waits for its grant, so many are under way.
module request_port (
    input  logic        clk,
    input  logic        reset,
    input  logic [15:0] option_outstanding,
    output logic        free,         // a request may be sent
    input  logic [15:0] taken,        // requests whose answers the engine takes
    input  logic        send,
    input  logic        send_write,
    input  logic [47:0] send_address,
    input  logic [15:0] send_bytes,
    input  dma_pkg::place_t send_place,  // of its bytes, of a write
    output logic        request,
    output logic        write,
    output logic [47:0] address,
    output logic [15:0] bytes,
    output dma_pkg::place_t place,
    input  logic        grant
);
  logic waiting, waiting_write;
  logic [47:0] waiting_address;
  logic [15:0] waiting_bytes, under_way, now_under_way;
  dma_pkg::place_t waiting_place;

  always_comb begin
    now_under_way = under_way - taken;
    free = !waiting && now_under_way < option_outstanding;
    request = waiting || send;
    write = waiting ? waiting_write : send_write;
    address = waiting ? waiting_address : send_address;
    bytes = waiting ? waiting_bytes : send_bytes;
    place = waiting ? waiting_place : send_place;
  end

  always_ff @(posedge clk) begin
    waiting <= request && !grant;
    waiting_write <= write;
    waiting_address <= address;
    waiting_bytes <= bytes;
    waiting_place <= place;
    under_way <= now_under_way + {15'd0, send};
    if (reset) begin
      waiting <= 1'b0;
      under_way <= 16'd0;
    end
  end
endmodule
