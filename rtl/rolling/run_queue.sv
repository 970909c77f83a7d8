// Instructions and the runs that wait or are under way: a run takes the registers along that hold when it is dispatched.
// Loaders, array and results read the queue at their own pace; rolling.setup waits until no run is left.
module run_queue #(
    parameter PLACES = 8
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic                             instruction_valid,
    input  logic [511:0]                     instruction,
    input  logic [3:0]                       done,       // a reader has done with its oldest run: A, B, array, results
    output logic [3:0]                       valid,
    output logic [rolling_pkg::JOB_BITS-1:0] a_job,
    output logic [rolling_pkg::JOB_BITS-1:0] b_job,
    output logic [rolling_pkg::JOB_BITS-1:0] array_job
);
  conv_pkg::setup_t conv;
  rolling_pkg::setup_t setup;
  rolling_pkg::run_t run;
  rolling_pkg::job_t job;
  logic [rolling_pkg::JOB_BITS-1:0] jobs[0:PLACES-1];
  logic [15:0] write, read[0:3], left[0:3];
  logic push;
  logic [15:0] group, in_group;

  assign run = instruction[511:128];
  quotient divide (
      .numerator(run.first_kernel),
      .denominator(setup.group_kernels),
      .result(group),
      .remainder(in_group)
  );

  always_comb begin
    push = instruction_valid && instruction[7:0] == rolling_pkg::OPCODE_RUN;
    job.run = run;
    job.rolling = setup;
    job.conv = conv;
    job.first_group = group;
    job.first_in_group = in_group;
    for (int i = 0; i < 4; i = i + 1) valid[i] = left[i] != 16'd0;
    a_job = jobs[read[0]];
    b_job = jobs[read[1]];
    array_job = jobs[read[2]];
  end

  always_ff @(posedge clk) begin
    if (instruction_valid && instruction[7:0] == rolling_pkg::OPCODE_CONV_SETUP) conv <= instruction[511:128];
    if (instruction_valid && instruction[7:0] == rolling_pkg::OPCODE_SETUP) setup <= instruction[511:128];
    if (push) begin
      jobs[write] <= job;
      write <= write == PLACES - 1 ? 16'd0 : write + 16'd1;
    end
    for (int i = 0; i < 4; i = i + 1) begin
      left[i] <= left[i] + {15'd0, push} - {15'd0, done[i]};
      if (done[i]) read[i] <= read[i] == PLACES - 1 ? 16'd0 : read[i] + 16'd1;
    end
    if (reset) begin
      write <= 16'd0;
      for (int i = 0; i < 4; i = i + 1) begin
        left[i] <= 16'd0;
        read[i] <= 16'd0;
      end
    end
  end
endmodule
