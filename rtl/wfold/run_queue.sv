// Instructions and the runs that wait: a run takes the registers along that hold when it is dispatched, and is the
// engine's in the cycle after the last beat of the one before. wfold.align waits in the same queue. A conv.setup, and what
// stands behind it, waits until all results have left the third buffers.
module run_queue #(
    parameter NS = 4,
    parameter NCU = 2,
    parameter M = 16,
    parameter L1 = 4,
    parameter L2 = 5,
    parameter KF = 0,
    parameter PLACES = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [31:0]                       option_half,        // bytes of half the transit buffer
    input  logic                              instruction_valid,
    input  logic [511:0]                      instruction,
    input  logic                              done,               // the last beat of the engine's run, the last access of wfold.align
    input  logic                              drained,            // no results are left behind this cycle
    output logic                              setup_waits,        // a conv.setup waits for results
    output logic                              delays,             // wfold.align begins one cycle later
    output logic                              valid,              // a run is under way
    output logic                              aligns,             // kernels are folded in place
    output logic                              fresh,              // the first cycle of either
    output logic [wfold_pkg::JOB_BITS-1:0]    job,
    output logic [wfold_pkg::SHAPE_BITS-1:0]  shape
);
  /* verilator no_inline_module */

  conv_pkg::setup_t conv;
  wfold_pkg::kernels_t kernels;
  logic as_they_are;
  wfold_pkg::job_t dispatched, next;
  wfold_pkg::align_t align;
  logic push, loads, is_align, busy, setup_held;
  logic [wfold_pkg::JOB_BITS-1:0] jobs[0:PLACES-1];  // that wait
  logic [7:0] count, head;

  always_comb begin
    dispatched.conv = conv;
    dispatched.kernels = kernels;
    dispatched.as_they_are = as_they_are;
    dispatched.run = instruction[128+:384];
    align = instruction[128+:384];
    is_align = instruction[7:0] == wfold_pkg::OPCODE_ALIGN;
    dispatched.aligns = is_align;
    dispatched.drained = setup_held;
    if (is_align) begin
      dispatched.kernels.folded = 1'b0;
      dispatched.run = '0;
      dispatched.run.granularity = M;
      dispatched.run.weights = align.weights;
      dispatched.run.kernels = align.kernels;
      dispatched.run.pixel_bytes = align.pixel_bytes;
      dispatched.run.first_channel = align.first_channel;
      dispatched.run.channels = align.channels;
    end
    push = instruction_valid && (instruction[7:0] == wfold_pkg::OPCODE_RUN || is_align);
    busy = valid || aligns;
    next = count != 8'd0 ? jobs[head[1:0]] : dispatched;
    loads = (done || !busy) && (count != 8'd0 || push) && (!next.drained || drained);
    setup_waits = setup_held && !busy;
  end

  always_ff @(posedge clk) begin
    if (instruction_valid)
      case (instruction[7:0])
        wfold_pkg::OPCODE_CONV_SETUP: begin
          conv <= instruction[128+:384];
          as_they_are <= 1'b0;
        end
        wfold_pkg::OPCODE_KERNELS: begin
          kernels <= instruction[128+:56];
          as_they_are <= 1'b1;
        end
        default: ;
      endcase
    if (push) jobs[2'(head + count)] <= dispatched;
    if (loads) begin
      job <= next;
      shape <= wfold_pkg::shape_of(next, NS, NCU, M, L1, L2, option_half, KF);
      head <= head + 8'd1;
    end
    count <= count + {7'd0, push} - {7'd0, loads};
    if (loads || done) begin
      valid <= loads && !next.aligns;
      aligns <= loads && next.aligns;
    end
    fresh <= loads;
    delays <= loads && aligns && next.aligns && count != 8'd0;
    // The set-up is done when no run is under way and no results are left.
    if (instruction_valid && instruction[7:0] == wfold_pkg::OPCODE_CONV_SETUP) setup_held <= busy && !done || !drained;
    else if ((done || !busy) && drained) setup_held <= 1'b0;
    if (reset) begin
      valid <= 1'b0;
      aligns <= 1'b0;
      setup_held <= 1'b0;
      delays <= 1'b0;
      fresh <= 1'b0;
      count <= 8'd0;
      head <= 8'd0;
      as_they_are <= 1'b0;
    end
  end
endmodule
