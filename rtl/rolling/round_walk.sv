// The rounds of a run, one after the other: kernels outside, rows inside, cuts of the inner dimension innermost (RO-4, RO-6).
// Loaders and array walk alike, each at its own pace.
module round_walk #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4
) (
    input  logic                               clk,
    input  logic                               reset,
    input  logic [rolling_pkg::JOB_BITS-1:0]   job_bits,
    input  logic                               assigned,  // register addresses are assigned by the loader
    input  logic                               step,      // to the next round
    output logic [rolling_pkg::ROUND_BITS-1:0] round_bits,
    output logic [7:0]                         size,      // register groups of the round
    output logic [7:0]                         cuts       // cuts of the inner dimension in it
);
  localparam X = R > C ? R : C;

  rolling_pkg::job_t job;
  conv_pkg::setup_t conv;
  assign conv = job.conv;
  rolling_pkg::round_t round;
  assign job = job_bits;
  assign round_bits = round;

  logic        begun;       // the run has begun
  logic [31:0] row, element;
  logic [15:0] kernel, group, group_left;
  logic [7:0]  base;                    // of assigned groups
  logic [(GROUPS+1)*8-1:0] turn;        // rounds so far, modulo every number of sets that there may be
  logic [7:0]  sets;

  logic        left;
  logic [15:0] lines, span, left_here, longer;
  logic [31:0] rows, n, step_elements;
  logic [7:0]  lanes, set_size;

  always_comb begin
    left = rolling_pkg::left_transposed(job.rolling.variant);
    lines = left ? C : R;
    lanes = left ? R : C;
    span = lines * job.rolling.stacked_blocks;
    rows = job.rolling.images * job.run.rows * job.run.columns;
    n = job.run.channels * conv.kernel_h * conv.kernel_w;
    round = '0;
    round.group = begun ? group : job.first_group;
    round.row = row;
    round.kernel = kernel;
    round.element = element;
    round.elements = n;
    left_here = begun ? group_left : job.rolling.group_kernels - job.first_in_group;
    if (job.rolling.group_kernels == 16'd0 || left_here > job.run.kernels - kernel) left_here = job.run.kernels - kernel;
    round.rows = rows - row < {16'd0, span} ? rows[15:0] - row[15:0] : span;
    round.kernels = left_here < span ? left_here : span;
    step_elements = lanes * job.rolling.stacked_cuts;
    round.first_cut = element == 32'd0;
    round.last_cut = element + step_elements >= n;
    round.first_row = row == 32'd0;
    round.last_row = row + span >= rows;
    round.ends_run = round.last_cut && round.last_row && kernel + round.kernels >= job.run.kernels;

    longer = round.rows > round.kernels ? round.rows : round.kernels;
    round.blocks = 8'd1;
    for (int i = 1; i < 16; i = i + 1) if (longer > lines * i) round.blocks = i + 1;
    round.block = lines;
    if (job.rolling.scheme == rolling_pkg::SCHEME_WHOLE)
      for (int i = X; i >= 1; i = i - 1) if (round.blocks * i >= longer) round.block = i;
    cuts = 8'd0;
    for (int i = 0; i < GROUPS; i = i + 1) if (i < job.rolling.stacked_cuts && element + lanes * i < n) cuts = cuts + 8'd1;
    set_size = assigned ? round.blocks * cuts : job.rolling.stacked_blocks * job.rolling.stacked_cuts;
    size = set_size;
    sets = 8'd0;
    for (int i = 1; i <= GROUPS; i = i + 1) if (set_size * i <= GROUPS) sets = i;
    round.base = assigned ? base : turn[sets*8+:8] * set_size;
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      begun <= 1'b0;
      row <= 32'd0;
      element <= 32'd0;
      kernel <= 16'd0;
      group <= 16'd0;
      group_left <= 16'd0;
      base <= 8'd0;
      turn <= '0;
    end else if (step) begin
      begun <= !round.ends_run;
      base <= rolling_pkg::group_at(base, set_size, GROUPS);
      for (int i = 1; i <= GROUPS; i = i + 1) turn[i*8+:8] <= turn[i*8+:8] + 8'd1 == i ? 8'd0 : turn[i*8+:8] + 8'd1;
      group <= round.group;
      group_left <= left_here;
      element <= element + step_elements;
      if (round.last_cut) begin
        element <= 32'd0;
        row <= row + span;
        if (round.last_row) begin
          row <= 32'd0;
          kernel <= kernel + round.kernels;
          group_left <= left_here - round.kernels;
          if (left_here == round.kernels) begin
            group <= round.group + 16'd1;
            group_left <= job.rolling.group_kernels;
          end
        end
        if (round.ends_run) kernel <= 16'd0;
      end
    end
  end
endmodule
