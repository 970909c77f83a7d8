// Lines under way (OT-6): misses are requested in their order, PORT bytes a cycle, and wait until their line may enter the cache.
module line_fetch #(
    parameter LINE = 16,
    parameter PORT = 16,
    parameter MISSES = 16,        // entries
    parameter MADE = 8,           // misses of a cycle, at most
    parameter PLACE = 7,
    parameter MAX_LATENCY = 16
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic [15:0]           option_misses,
    input  logic [7:0]            option_latency,
    input  logic [7:0]            option_bank_shift,
    input  logic [15:0]           option_banks,
    output logic [15:0]           room,
    input  logic [7:0]            made,
    input  logic [MADE*48-1:0]    made_lines,
    input  logic [MADE*PLACE-1:0] made_places,
    output logic                  idle,         // no request is left behind this cycle
    // The memory's port.
    output logic                  request,
    output logic [47:0]           address,
    output logic [15:0]           bytes,
    input  logic [PORT*8-1:0]     data,         // `latency` cycles behind the request
    // The oldest line.
    output logic                  there,        // all its bytes came before this cycle
    output logic [PLACE-1:0]      place,
    output logic [LINE*8-1:0]     line,
    input  logic                  enters
);
  /* verilator no_inline_module */

  logic [MISSES*48-1:0] numbers;
  logic [MISSES*PLACE-1:0] places;
  logic [LINE*8-1:0] lines[0:MISSES-1], filled;
  logic [MISSES-1:0] arrived;
  logic [15:0] head, next, tail, count, waiting, position;  // waiting: not requested as a whole

  localparam FLIGHT = 1 + 1 + 16 + 16 + 16;
  logic [MAX_LATENCY*FLIGHT-1:0] flight;
  logic [FLIGHT-1:0] asked, arrives;
  logic arrives_valid, arrives_last, last;
  logic [15:0] arrives_entry, arrives_position, arrives_bytes;

  always_comb begin
    room = option_misses - count;
    request = waiting != 16'd0 || made != 8'd0;
    address = (waiting != 16'd0 ? numbers[next*48+:48] : made_lines[47:0]) * LINE + position;
    bytes = offset_pkg::cut(address, LINE - position, PORT, option_bank_shift, option_banks);
    last = position + bytes == LINE;
    asked = {request, last, next, position, bytes};
    arrives = option_latency == 8'd0 ? asked : flight[(option_latency-8'd1)*FLIGHT+:FLIGHT];
    {arrives_valid, arrives_last, arrives_entry, arrives_position, arrives_bytes} = arrives;
    idle = waiting + {8'd0, made} == {15'd0, request && last};
    there = count != 16'd0 && arrived[head];
    place = places[head*PLACE+:PLACE];
    filled = lines[arrives_entry];
    for (int i = 0; i < PORT; i = i + 1) if (i < arrives_bytes) filled[(arrives_position+i)*8+:8] = data[i*8+:8];
    line = lines[head];
  end

  function automatic [15:0] behind(input [15:0] entry, input [15:0] steps);
    behind = entry + steps >= MISSES ? entry + steps - MISSES : entry + steps;
  endfunction

  always_ff @(posedge clk) begin
    flight <= {flight[(MAX_LATENCY-1)*FLIGHT-1:0], asked};
    for (int i = 0; i < MADE; i = i + 1)
      if (i < made) begin
        numbers[behind(tail, i)*48+:48] <= made_lines[i*48+:48];
        places[behind(tail, i)*PLACE+:PLACE] <= made_places[i*PLACE+:PLACE];
        arrived[behind(tail, i)] <= 1'b0;
      end
    if (arrives_valid) begin
      lines[arrives_entry] <= filled;
      if (arrives_last) arrived[arrives_entry] <= 1'b1;
    end
    tail <= behind(tail, {8'd0, made});
    if (request) begin
      position <= last ? 16'd0 : position + bytes;
      if (last) next <= behind(next, 16'd1);
    end
    waiting <= waiting + {8'd0, made} - {15'd0, request && last};
    count <= count + {8'd0, made} - {15'd0, enters};
    if (enters) head <= behind(head, 16'd1);
    if (reset) begin
      flight <= '0;
      head <= 16'd0;
      next <= 16'd0;
      tail <= 16'd0;
      count <= 16'd0;
      waiting <= 16'd0;
      position <= 16'd0;
    end
  end
endmodule
