// Beats between the tags and the lanes, and the lanes' cycles: a beat is multiplied when its sums are free, its lines have entered, its
// kernels are there; it holds the banks as long as its worst bank (OT-6).
module beat_queue #(
    parameter R = 4,
    parameter S = 2,
    parameter PLACE = 7,
    parameter QUEUE = 17          // places: those that wait, and the one at the tags
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic [15:0]                      option_queue,
    input  logic [7:0]                       option_hit_latency,
    // The tags.
    output logic                             room,         // a beat may begin
    output logic [15:0]                      tail,         // its place
    input  logic                             lookup,
    input  logic                             begins,
    input  logic                             done,
    input  logic [offset_pkg::BEAT_BITS-1:0] beat_bits,
    input  logic [15:0]                      hits,
    input  logic [15:0]                      misses,
    input  logic [7:0]                       made,
    input  logic [15:0]                      cycles,       // of its worst bank
    input  logic [R-1:0]                     present,
    input  logic [R*16-1:0]                  in_line,      // place of each thread's first element in its line
    input  logic [R*S*PLACE-1:0]             places,
    input  logic [R*S*8-1:0]                 ages,
    input  logic                             table_waits,  // the next beat's tables are not there
    input  logic                             walked,       // the run has none
    input  logic                             expects,      // further beats of a run
    // Lines.
    input  logic                             line_there,
    output logic                             enters,
    output logic [15:0]                      entered,      // lines of the next beat that have
    // Kernels and sums.
    output logic [15:0]                      head,
    output logic                             present_head,
    input  logic                             kernels_there,
    input  logic                             sums_free,    // for the next beat
    // The lanes.
    output logic                             beat,
    output logic                             starts,       // the beat's first cycle
    output logic                             multiplies,   // the beat's last cycle
    output logic [offset_pkg::BEAT_BITS-1:0] head_bits,
    output logic [15:0]                      head_hits,
    output logic [15:0]                      head_misses,
    output logic [15:0]                      head_cycles,
    output logic [R-1:0]                     head_present,
    output logic [R*16-1:0]                  head_in_line,
    output logic [R*S*PLACE-1:0]             head_places,
    output logic [R*S*8-1:0]                 head_ages,
    output logic [3:0]                       state
);
  /* verilator no_inline_module */

  localparam ENTRY = offset_pkg::BEAT_BITS + 3 * 16 + R + R * 16 + R * S * (PLACE + 8);
  logic [ENTRY-1:0] entries[0:QUEUE-1];
  logic [QUEUE-1:0] looked_up;
  logic [15:0] since[0:QUEUE-1], clock, count, missed[0:QUEUE-1], spent;
  offset_pkg::beat_t head_beat;
  logic lines_missing, latency_over;

  function automatic [15:0] behind(input [15:0] entry, input [15:0] steps);
    behind = entry + steps >= QUEUE ? entry + steps - QUEUE : entry + steps;
  endfunction

  assign head_beat = head_bits;
  always_comb begin
    tail = behind(head, count);
    {head_bits, head_hits, head_misses, head_cycles, head_present, head_in_line, head_places, head_ages} = entries[head];
    present_head = count != 16'd0;
    // Lines enter while the lanes read none.
    lines_missing = present_head && (!looked_up[head] || entered != missed[head]);
    enters = present_head && spent == 16'd0 && entered != missed[head] && line_there;
    latency_over = clock - since[head] >= {8'd0, option_hit_latency};
    starts = present_head && spent == 16'd0 && !lines_missing && latency_over && kernels_there && sums_free;
    beat = starts || spent != 16'd0;
    multiplies = beat && spent + 16'd1 == head_cycles;
    room = count - {15'd0, spent != 16'd0} < option_queue;
    if (spent != 16'd0) state = offset_pkg::STATE_BANK_CONFLICT;
    else if (starts) state = offset_pkg::STATE_BUSY;
    else if (!present_head && !expects) state = offset_pkg::STATE_IDLE;
    else if (!present_head && walked) state = offset_pkg::STATE_INPUT_LOAD;
    else if (!sums_free) state = offset_pkg::STATE_OUTPUT_DRAIN;
    else if (!present_head && !lookup) state = table_waits ? offset_pkg::STATE_TABLE_LOAD : offset_pkg::STATE_ADDRESS;
    else if (!present_head || lines_missing || !latency_over) state = offset_pkg::STATE_INPUT_LOAD;
    else state = offset_pkg::STATE_WEIGHT_LOAD;
  end

  logic [15:0] place;
  assign place = begins ? tail : behind(tail, QUEUE - 16'd1);
  always_ff @(posedge clk) begin
    clock <= clock + 16'd1;
    if (lookup) begin
      entries[place] <= {beat_bits, hits, misses, cycles, present, in_line, places, ages};
      looked_up[place] <= done;
      if (begins) since[place] <= clock;
      missed[place] <= (begins ? 16'd0 : missed[place]) + {8'd0, made};
    end
    if (enters) entered <= entered + 16'd1;
    if (beat) spent <= multiplies ? 16'd0 : spent + 16'd1;
    if (multiplies) begin
      head <= behind(head, 16'd1);
      entered <= 16'd0;
    end
    count <= count + {15'd0, lookup && begins} - {15'd0, multiplies};
    if (reset) begin
      clock <= 16'd0;
      head <= 16'd0;
      count <= 16'd0;
      entered <= 16'd0;
      spent <= 16'd0;
    end
  end
endmodule
