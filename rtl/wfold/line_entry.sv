// Lines on their way into the first buffers (WF-8): in their order, one a cycle when its bytes have arrived and its place
// is free. Lines without a byte of the map are marked in their places, any number before the line of the cycle.
module line_entry #(
    parameter NS = 4,       // slaves
    parameter PLACES = 8    // for lines in a slave, at most
) (
    input  logic                              clk,
    input  logic                              valid,
    input  logic                              fresh,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic [31:0]                       freed,       // lines of the run that no step will read, of a group
    // The line that is next.
    output logic [wfold_pkg::FETCH_BITS-1:0]  line_bits,
    output logic signed [31:0]                line_column,
    output logic [wfold_pkg::FETCH_BITS-1:0]  window_bits,
    input  logic                              there,
    output logic                              first,       // it was next before lines were marked in this cycle
    output logic                              enter,
    output logic [7:0]                        group,
    output logic [7:0]                        slot,
    output logic [NS*PLACES-1:0]              mark,        // of a group, places whose line has no byte
    output logic [31:0]                       entered,     // lines of the run, of all groups
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::line_t line, now, next;
  wfold_pkg::fetch_t look;
  assign job = job_bits;
  assign shape = shape_bits;

  logic found, stops, waits;

  function automatic [31:0] place_of(input wfold_pkg::shape_t shape, input wfold_pkg::line_t line);
    place_of = line.base + {16'd0, line.line / shape.groups};
  endfunction
  function automatic logic has_place(input wfold_pkg::shape_t shape, input wfold_pkg::line_t line, input [31:0] freed);
    has_place = place_of(shape, line) < freed + {24'd0, shape.places};
  endfunction

  // Lines that are marked before the next one with bytes.
  assign now = fresh ? wfold_pkg::first_line(shape) : line;
  always_comb begin
    next = now;
    look = '0;
    mark = '0;
    found = 1'b0;
    stops = !valid;
    waits = 1'b0;
    first = 1'b0;
    for (int i = 0; i <= shape.places * shape.groups; i = i + 1)
      if (!stops && !next.refill.done) begin
        look = wfold_pkg::line_of(job, shape, next.refill, next.line);
        stops = look.there || !has_place(shape, next, freed);
        waits = !has_place(shape, next, freed);
        found = look.there;
        if (i == 0) first = look.there;
        if (!stops) begin
          mark[(next.line%shape.groups)*PLACES+place_of(shape, next)%shape.places] = 1'b1;
          next = wfold_pkg::next_line(job, shape, next);
        end
      end
  end

  assign line_bits = look;
  assign line_column = $signed({16'd0, next.refill.column}) + $signed({16'd0, next.refill.tap_first})
                     + ($signed({16'd0, next.line / shape.groups}) <<< shape.ws_shift);
  always_comb begin
    window_bits = look;
    if (job.run.read_mode == wfold_pkg::READ_TRANSIT) window_bits = wfold_pkg::window_of(job, shape, next.refill);
  end

  assign enter = found && !waits && there;
  assign group = next.line % shape.groups;
  assign slot = place_of(shape, next) % shape.places;
  assign entered = now.total;
  assign state = enter ? wfold_pkg::STATE_BUSY : found && !there ? wfold_pkg::STATE_LINE_LOAD : waits ? wfold_pkg::STATE_INPUT_RELEASE : wfold_pkg::STATE_IDLE;

  always_ff @(posedge clk) line <= enter ? wfold_pkg::next_line(job, shape, next) : next;
endmodule
