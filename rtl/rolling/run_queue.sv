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
  conv_pkg::setup_t conv;
  rolling_pkg::setup_t setup;
  rolling_pkg::run_t run;
  rolling_pkg::job_t job;
  logic [rolling_pkg::JOB_BITS-1:0] jobs[0:PLACES-1];
  logic [15:0] write, read[0:1], left[0:1];
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
    valid[0] = left[0] != 16'd0;
    valid[1] = left[1] != 16'd0 && left[1] >= left[0];  // a run is the array's when its lines are asked for
    load_job = jobs[read[0]];
    array_job = jobs[read[1]];
  end

  always_ff @(posedge clk) begin
    if (instruction_valid && instruction[7:0] == rolling_pkg::OPCODE_CONV_SETUP) conv <= instruction[511:128];
    if (instruction_valid && instruction[7:0] == rolling_pkg::OPCODE_SETUP) setup <= instruction[511:128];
    if (push) begin
      jobs[write] <= job;
      write <= write == PLACES - 1 ? 16'd0 : write + 16'd1;
    end
    for (int i = 0; i < 2; i = i + 1) begin
      left[i] <= left[i] + {15'd0, push} - {15'd0, done[i]};
      if (done[i]) read[i] <= read[i] == PLACES - 1 ? 16'd0 : read[i] + 16'd1;
    end
    if (reset) begin
      write <= 16'd0;
      for (int i = 0; i < 2; i = i + 1) begin
        left[i] <= 16'd0;
        read[i] <= 16'd0;
      end
    end
  end
endmodule
