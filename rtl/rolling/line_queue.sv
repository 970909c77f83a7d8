// Lines on their way from memory into registers (RO-6): a line has a place from its first request on, its bytes come
// `latency` cycles behind each request, and it enters in the cycle after its last one, PORT elements a cycle.
// Records of bias and scale are lines, too.
module line_queue #(
    parameter X = 4,           // elements of a line
    parameter W = 16,          // bytes of a place: a line, a record
    parameter PORT = 4,
    parameter PLACES = 64,
    parameter MAX_LATENCY = 16
) (
    input  logic              clk,
    input  logic              reset,
    input  logic [15:0]       option_queue,    // lines requested ahead of the registers
    input  logic [7:0]        option_latency,  // of the memory
    // A request.
    output logic              room,            // a line may begin
    input  logic              request,
    input  logic              first,           // of its line
    input  logic              last,
    input  logic              access,          // the memory is accessed; 0: all of the line is padding
    input  logic [7:0]        lane,            // of its first byte
    input  logic [7:0]        count,           // bytes
    input  logic [7:0]        elements,        // of the line
    input  logic              record,
    input  logic [10:0]       zero,            // its elements' zero point; bit 10: they are unsigned
    input  logic [7:0]        group,
    input  logic [7:0]        line,
    input  logic [15:0]       tag,
    input  logic              across,
    input  logic [7:0]        opens,           // it is the first line of its round, which has so many groups
    input  logic [7:0]        base,            // from this one on
    input  logic [7:0]        size,            // groups that its round holds
    input  logic              last_of_round,
    input  logic [8*PORT-1:0] data,
    // The oldest line.
    output logic              waits,           // it could enter
    output logic              pending,         // there is one
    output logic              empty,           // behind this cycle no line is left
    output logic              head_record,
    output logic [7:0]        head_size,
    input  logic              free,            // its registers are
    output logic              enters,
    output logic              writes,          // elements of it go into registers
    output logic              finishes,        // the last ones do
    output logic [7:0]        write_lane,
    output logic [7:0]        write_count,
    output logic [W*8-1:0]    write_bytes,
    output logic [W-1:0]      write_present,   // not padding
    output logic [7:0]        write_elements,
    output logic              write_record,
    output logic [10:0]       write_zero,
    output logic [7:0]        write_group,
    output logic [7:0]        write_line,
    output logic [15:0]       write_tag,
    output logic              write_across,
    output logic [7:0]        write_opens,
    output logic [7:0]        write_base,
    output logic [7:0]        write_size,
    output logic              write_last
);
  localparam META = 8 + 1 + 11 + 8 + 8 + 16 + 1 + 8 + 8 + 8 + 1;

  logic [W*8-1:0]  bytes[0:PLACES-1];
  logic [W-1:0]    present[0:PLACES-1];
  logic            complete[0:PLACES-1];
  logic [META-1:0] meta[0:PLACES-1];
  logic [15:0]     head, tail, lines;
  logic [15:0]     place;  // of the request's line

  // What a request asked for, until its bytes are there.
  localparam FLIGHT = 1 + 1 + 1 + 16 + 8 + 8;
  logic [MAX_LATENCY*FLIGHT-1:0] flight;
  logic [FLIGHT-1:0] asked, arrives;
  logic arrives_valid, arrives_last, arrives_access;
  logic [15:0] arrives_place;
  logic [7:0] arrives_lane, arrives_count;

  logic [15:0] newest;
  always_comb begin
    newest = tail == 16'd0 ? PLACES - 1 : tail - 16'd1;
    place = first ? tail : newest;
    asked = {request, last, access, place, lane, count};
    arrives = option_latency == 8'd0 ? asked : flight[(option_latency-8'd1)*FLIGHT+:FLIGHT];
    {arrives_valid, arrives_last, arrives_access, arrives_place, arrives_lane, arrives_count} = arrives;
  end

  // The line with the bytes that are there in this cycle.
  logic [W*8-1:0] filled;
  logic [W-1:0]   filled_present;
  always_comb begin
    filled = bytes[arrives_place];
    filled_present = request && first && arrives_place == tail ? '0 : present[arrives_place];
    for (int i = 0; i < W; i = i + 1)
      if (arrives_access && i >= arrives_lane && i < arrives_lane + arrives_count) begin
        filled[i*8+:8] = data[(i-arrives_lane)*8+:8];
        filled_present[i] = 1'b1;
      end
  end

  // The line that is entering.
  logic           entering;
  logic [7:0]     written;
  logic [W*8-1:0] entering_bytes;
  logic [W-1:0]   entering_present;
  logic [META-1:0] entering_meta;

  always_comb begin
    pending = lines != {15'd0, entering};
    waits = pending && complete[head] && !entering;
    head_record = meta[head][META-9];
    head_size = meta[head][8:1];
    enters = waits && free;
    writes = enters || entering;
    write_lane = enters ? 8'd0 : written;
    write_bytes = enters ? bytes[head] : entering_bytes;
    write_present = enters ? present[head] : entering_present;
    {write_elements, write_record, write_zero, write_group, write_line, write_tag, write_across, write_opens, write_base, write_size, write_last} = enters ? meta[head] : entering_meta;
    write_count = write_elements - write_lane < PORT ? write_elements - write_lane : PORT;
    finishes = writes && write_lane + write_count == write_elements;
    room = lines - {15'd0, finishes} < option_queue;
  end

  assign empty = lines == {15'd0, finishes} && !request;

  always_ff @(posedge clk) begin
    flight <= {flight[(MAX_LATENCY-1)*FLIGHT-1:0], asked};
    if (request && first) begin
      meta[tail] <= {elements, record, zero, group, line, tag, across, opens, base, size, last_of_round};
      present[tail] <= '0;
      complete[tail] <= 1'b0;
      tail <= tail == PLACES - 1 ? 16'd0 : tail + 16'd1;
    end
    if (arrives_valid) begin
      bytes[arrives_place] <= filled;
      present[arrives_place] <= filled_present;
      if (arrives_last) complete[arrives_place] <= 1'b1;
    end
    lines <= lines + {15'd0, request && first} - {15'd0, finishes};
    if (enters) begin
      head <= head == PLACES - 1 ? 16'd0 : head + 16'd1;
      entering_bytes <= bytes[head];
      entering_present <= present[head];
      entering_meta <= meta[head];
    end
    entering <= writes && !finishes;
    written <= write_lane + write_count;
    if (reset) begin
      flight <= '0;
      head <= 16'd0;
      tail <= 16'd0;
      lines <= 16'd0;
      entering <= 1'b0;
    end
  end
endmodule
