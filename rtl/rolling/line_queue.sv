// Lines on their way from memory into registers (RO-6): a line has a place from its first request on, its bytes come
// `latency` cycles behind each request, and it enters in the cycle after its last one, PORT elements a cycle.
// Records of bias and scale are lines, too.
module line_queue #(
    parameter X = 4,           // elements of a line
    parameter GROUPS = 4,
    parameter PORT = 4,
    parameter PLACES = 64,
    parameter MAX_LATENCY = 16,
    parameter [3:0] RELEASE = rolling_pkg::STATE_INPUT_RELEASE   // its state while registers are not free
) (
    input  logic              clk,
    input  logic              reset,
    input  logic [15:0]       option_queue,    // lines requested ahead of the registers
    input  logic [7:0]        option_latency,  // of the memory
    // A request.
    output logic              room,            // a line may begin
    input  logic [rolling_pkg::ASK_BITS-1:0]  ask_bits,
    input  logic [8*PORT-1:0]                 data,
    // Register groups and record slots.
    input  logic              round_begins,    // in the array
    input  logic              round_ends,
    input  logic [7:0]        ended_size,      // register groups that it held
    input  logic              slot_free,       // a record may enter
    output logic              ready,           // the lines of the next round are in registers
    // The oldest line.
    input  logic              expects,         // further lines will be asked for
    output logic [3:0]        state,
    output logic              empty,           // behind this cycle no line is left
    // What goes into registers.
    output logic [rolling_pkg::LOAD_BITS-1:0] load_bits,
    output logic [X*9-1:0]                    values,   // zero points off; padding is zero
    output logic [127:0]                      record
);
  localparam W = X > 16 ? X : 16;  // bytes of a place: a line, a record

  logic [W*8-1:0]  bytes[0:PLACES-1];
  logic [W-1:0]    present[0:PLACES-1];
  logic            complete[0:PLACES-1];
  logic [rolling_pkg::LINE_BITS-1:0] meta[0:PLACES-1];
  logic [15:0]     head, tail, lines;
  logic [15:0]     place;  // of the request's line
  rolling_pkg::ask_t ask;
  rolling_pkg::load_t load;
  rolling_pkg::line_t oldest;
  assign ask = ask_bits;
  assign load_bits = load;

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
    place = ask.first ? tail : newest;
    asked = {ask.request, ask.last, ask.access, place, ask.lane, ask.count};
    arrives = option_latency == 8'd0 ? asked : flight[(option_latency-8'd1)*FLIGHT+:FLIGHT];
    {arrives_valid, arrives_last, arrives_access, arrives_place, arrives_lane, arrives_count} = arrives;
  end

  // The line with the bytes that are there in this cycle.
  logic [W*8-1:0] filled;
  logic [W-1:0]   filled_present;
  always_comb begin
    filled = bytes[arrives_place];
    filled_present = ask.request && ask.first && arrives_place == tail ? '0 : present[arrives_place];
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
  logic [rolling_pkg::LINE_BITS-1:0] entering_meta;

  logic [W*8-1:0] leaving;
  logic [W-1:0]   leaving_present;
  logic [15:0]    rounds, held;   // rounds in registers that have not begun; groups of those that have not ended
  logic free, enters, finishes, waits, pending;
  logic signed [9:0] widened;

  always_comb begin
    oldest = meta[head];
    pending = lines != {15'd0, entering};
    waits = pending && complete[head] && !entering;
    free = oldest.record ? slot_free : held + {8'd0, oldest.size} <= GROUPS;
    enters = waits && free;
    load.writes = enters || entering;
    load.enters = enters;
    load.lane = enters ? 8'd0 : written;
    load.line = enters ? meta[head] : entering_meta;
    load.count = load.line.elements - load.lane < PORT ? load.line.elements - load.lane : PORT;
    finishes = load.writes && load.lane + load.count == load.line.elements;
    load.finishes = finishes;
    room = lines - {15'd0, finishes} < option_queue;
    ready = rounds != 16'd0;
    leaving = enters ? bytes[head] : entering_bytes;
    leaving_present = enters ? present[head] : entering_present;
    record = leaving[127:0];
    state = load.writes ? rolling_pkg::STATE_BUSY : waits ? RELEASE : pending || expects ? rolling_pkg::STATE_LINE_LOAD : rolling_pkg::STATE_IDLE;
    values = '0;
    widened = 10'sd0;
    for (int i = 0; i < X; i = i + 1) begin
      widened = $signed({load.line.zero[10] ? 2'b00 : {2{leaving[i*8+7]}}, leaving[i*8+:8]}) - $signed(load.line.zero[9:0]);
      if (leaving_present[i]) values[i*9+:9] = widened[8:0];
    end
  end

  logic round_loads;
  assign round_loads = finishes && load.line.last_of_round && !load.line.record;
  always_ff @(posedge clk) begin
    rounds <= rounds + {15'd0, round_loads} - {15'd0, round_begins};
    held <= held + (round_loads ? {8'd0, load.line.size} : 16'd0) - (round_ends ? {8'd0, ended_size} : 16'd0);
    if (reset) begin
      rounds <= 16'd0;
      held <= 16'd0;
    end
  end

  assign empty = lines == {15'd0, finishes} && !ask.request;

  always_ff @(posedge clk) begin
    flight <= {flight[(MAX_LATENCY-1)*FLIGHT-1:0], asked};
    if (ask.request && ask.first) begin
      meta[tail] <= ask.line;
      present[tail] <= '0;
      complete[tail] <= 1'b0;
      tail <= tail == PLACES - 1 ? 16'd0 : tail + 16'd1;
    end
    if (arrives_valid) begin
      bytes[arrives_place] <= filled;
      present[arrives_place] <= filled_present;
      if (arrives_last) complete[arrives_place] <= 1'b1;
    end
    lines <= lines + {15'd0, ask.request && ask.first} - {15'd0, finishes};
    if (enters) begin
      head <= head == PLACES - 1 ? 16'd0 : head + 16'd1;
      entering_bytes <= bytes[head];
      entering_present <= present[head];
      entering_meta <= meta[head];
    end
    entering <= load.writes && !finishes;
    written <= load.lane + load.count;
    if (reset) begin
      flight <= '0;
      head <= 16'd0;
      tail <= 16'd0;
      lines <= 16'd0;
      entering <= 1'b0;
    end
  end
endmodule
