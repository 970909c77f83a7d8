// Instructions and the runs that wait or are under way: a run takes the registers along that hold when it is dispatched.
// Loaders and array read the queue at their own pace; rolling.setup waits until no run is left.
module run_queue #(
    parameter PLACES = 8
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic                             instruction_valid,
    input  logic [511:0]                     instruction,
    input  logic [1:0]                       done,       // loaders, array have done with their oldest run
    output logic [1:0]                       valid,
    output logic [rolling_pkg::JOB_BITS-1:0] load_job,
    output logic [rolling_pkg::JOB_BITS-1:0] array_job
);
  conv_pkg::setup_t conv, next_conv;
  rolling_pkg::setup_t setup, next_setup;
  rolling_pkg::run_t run;
  rolling_pkg::job_t job;
  logic [rolling_pkg::JOB_BITS-1:0] jobs[0:PLACES-1];
  logic [15:0] write, read[0:1], left[0:1];
  logic push;
  logic [15:0] group, in_group;

  // Instructions behind a rolling.setup that waits, the oldest one in the lowest place.
  logic [2*512-1:0] held, next_held;
  logic [1:0]       held_count, next_count;
  logic [3*512-1:0] waiting;
  logic             blocked;

  quotient divide (
      .numerator(run.first_kernel),
      .denominator(next_setup.group_kernels),
      .result(group),
      .remainder(in_group)
  );

  always_comb begin
    next_conv = conv;
    next_setup = setup;
    run = '0;
    push = 1'b0;
    blocked = 1'b0;
    next_held = '0;
    next_count = 2'd0;
    waiting = {512'd0, held};
    if (instruction_valid) waiting[held_count*512+:512] = instruction;
    for (int i = 0; i < 3; i = i + 1)
      if (i < held_count + {1'b0, instruction_valid}) begin
        case (waiting[i*512+:8])
          rolling_pkg::OPCODE_SETUP: if (push || left[1] != {15'd0, done[1]}) blocked = 1'b1;
          rolling_pkg::OPCODE_RUN, rolling_pkg::OPCODE_CONV_SETUP: if (push) blocked = 1'b1;
          default: ;
        endcase
        if (blocked) begin
          next_held[next_count[0]*512+:512] = waiting[i*512+:512];
          next_count = next_count + 2'd1;
        end else
          case (waiting[i*512+:8])
            rolling_pkg::OPCODE_CONV_SETUP: next_conv = waiting[i*512+128+:384];
            rolling_pkg::OPCODE_SETUP: next_setup = waiting[i*512+128+:384];
            rolling_pkg::OPCODE_RUN: begin
              push = 1'b1;
              run = waiting[i*512+128+:384];
            end
            default: ;
          endcase
      end
    valid[0] = left[0] != 16'd0;
    valid[1] = left[1] != 16'd0 && left[1] >= left[0];  // a run is the array's when its lines are asked for
    load_job = jobs[read[0]];
    array_job = jobs[read[1]];
  end

  always_comb begin
    job.run = run;
    job.rolling = next_setup;
    job.conv = next_conv;
    job.first_group = group;
    job.first_in_group = in_group;
  end

  always_ff @(posedge clk) begin
    conv <= next_conv;
    setup <= next_setup;
    held <= next_held;
    held_count <= next_count;
    if (push) begin
      jobs[write] <= job;
      write <= write == PLACES - 1 ? 16'd0 : write + 16'd1;
    end
    for (int i = 0; i < 2; i = i + 1) begin
      left[i] <= left[i] + {15'd0, push} - {15'd0, done[i]};
      if (done[i]) read[i] <= read[i] == PLACES - 1 ? 16'd0 : read[i] + 16'd1;
    end
    if (reset) begin
      held_count <= 2'd0;
      write <= 16'd0;
      for (int i = 0; i < 2; i = i + 1) begin
        left[i] <= 16'd0;
        read[i] <= 16'd0;
      end
    end
  end
endmodule
