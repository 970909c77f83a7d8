// Instructions and the runs that wait: a run takes the registers along that hold when it is dispatched, and is the
// engine's in the cycle after the last beat of the one before.
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
    input  logic                              done,               // the last beat of the engine's run
    output logic                              valid,
    output logic                              fresh,              // the first cycle of a run
    output logic [wfold_pkg::JOB_BITS-1:0]    job,
    output logic [wfold_pkg::SHAPE_BITS-1:0]  shape
);
  /* verilator no_inline_module */

  conv_pkg::setup_t conv;
  wfold_pkg::kernels_t kernels;
  logic as_they_are;
  wfold_pkg::job_t dispatched, next;
  logic push, loads;
  logic [wfold_pkg::JOB_BITS-1:0] jobs[0:PLACES-1];  // that wait
  logic [7:0] count, head;

  always_comb begin
    dispatched.conv = conv;
    dispatched.kernels = kernels;
    dispatched.as_they_are = as_they_are;
    dispatched.run = instruction[128+:384];
    push = instruction_valid && instruction[7:0] == wfold_pkg::OPCODE_RUN;
    loads = (done || !valid) && (count != 8'd0 || push);
    next = count != 8'd0 ? jobs[head[1:0]] : dispatched;
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
    if (loads) valid <= 1'b1;
    else if (done) valid <= 1'b0;
    fresh <= loads;
    if (reset) begin
      valid <= 1'b0;
      fresh <= 1'b0;
      count <= 8'd0;
      head <= 8'd0;
      as_they_are <= 1'b0;
    end
  end
endmodule
