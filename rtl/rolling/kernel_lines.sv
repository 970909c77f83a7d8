// Address generator of B and of records (RO-5, RO-6, RO-7). Kernels lie as blocks of a stack's kernels, cut by cut; in each
// cut kernel by kernel, or element by element where they are transposed while they are loaded: then a column of lines is
// loaded at a time. The records of a column of stacks follow the lines of its first stack.
module kernel_lines #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter PORT = 4
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic [7:0]                       option_bank_shift,
    input  logic [15:0]                      option_banks,
    input  logic                             assigned,
    input  logic                             job_valid,
    input  logic [rolling_pkg::JOB_BITS-1:0] job_bits,
    output logic                             job_done,
    input  logic                             room,
    output logic                             request,
    output logic [47:0]                      address,
    output logic [7:0]                       count,
    output logic                             first,
    output logic                             last,
    output logic [7:0]                       lane,
    output logic [7:0]                       elements,
    output logic                             record,
    output logic [7:0]                       group,
    output logic [7:0]                       line,
    output logic [15:0]                      tag,
    output logic                             across,
    output logic                             opens,
    output logic                             last_of_round,
    output logic [7:0]                       round_size
);
  localparam X = R > C ? R : C;

  rolling_pkg::job_t job;
  rolling_pkg::round_t round;
  logic [rolling_pkg::ROUND_BITS-1:0] round_bits;
  logic step;
  assign job = job_bits;
  assign round = round_bits;

  round_walk #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS)
  ) walk (
      .clk(clk),
      .reset(reset),
      .job_bits(job_bits),
      .assigned(assigned),
      .step(step),
      .round_bits(round_bits),
      .size(round_size)
  );

  logic        records;  // they are asked for
  logic [15:0] number;   // of the record
  logic [7:0]  block, cut, in_cut, position;

  logic [7:0]  lanes, length, block_lines, lines, unit_elements;
  logic [31:0] cut_element, left;
  logic [47:0] cut_address, unit_address, words;
  logic [15:0] kernel;
  logic        more, last_unit, last_cut, last_block, round_end, has_records, done;

  always_comb begin
    lanes = rolling_pkg::left_transposed(job.rolling.variant) ? R : C;
    across = job.rolling.while_loading;
    cut_element = round.element + lanes * cut;
    left = round.elements - cut_element;
    length = left < {24'd0, lanes} ? left[7:0] : lanes;
    block_lines = rolling_pkg::lines_of(round.kernels, round.block, block);
    kernel = round.block * block;
    cut_address = job.run.weights + {32'd0, round.kernel} * round.elements + {16'd0, cut_element} * round.kernels;
    lines = across ? length : block_lines;
    unit_elements = across ? block_lines : length;
    unit_address = cut_address + (across ? {40'd0, in_cut} * round.kernels + kernel : ({32'd0, kernel} + in_cut) * length);
    if (records) begin
      unit_elements = 8'd16;
      unit_address = job.run.post + ({32'd0, round.kernel} + number) * 48'd16;
    end
    address = unit_address + position;
    words = 48'd0;
    more = 1'b1;
    count = 8'd0;
    for (int i = 0; i < PORT; i = i + 1) begin
      words = ((address + i) >> option_bank_shift) - (address >> option_bank_shift);
      if (more && position + i < unit_elements && words < option_banks) count = i + 1;
      else more = 1'b0;
    end
    last = position + count == unit_elements;
    first = position == 8'd0;
    request = job_valid && (room || !first);
    done = request && last;
    lane = position;
    elements = unit_elements;
    record = records;
    group = round.base + block * (assigned ? round_size / round.blocks : job.rolling.stacked_cuts) + cut;
    line = in_cut;
    tag = kernel + in_cut;
    if (across) tag = kernel;
    if (records) tag = round.kernels;
    opens = in_cut == 8'd0;
    last_unit = in_cut + 8'd1 == lines;
    last_cut = cut + 8'd1 == job.rolling.stacked_cuts || left <= {24'd0, lanes};
    last_block = kernel + round.block >= round.kernels;
    last_of_round = !records && last_unit && last_cut && last_block;
    has_records = job.conv.post_parameters && job.run.last && round.first_row && round.last_cut;
    round_end = records ? done && number + 16'd1 == round.kernels : done && last_of_round && !has_records;
    step = round_end;
    job_done = step && round.ends_run;
  end

  always_ff @(posedge clk) begin
    if (request) position <= last ? 8'd0 : position + count;
    if (done && !records) begin
      in_cut <= in_cut + 8'd1;
      if (last_unit) begin
        in_cut <= 8'd0;
        cut <= cut + 8'd1;
        if (last_cut) begin
          cut <= 8'd0;
          block <= block + 8'd1;
          if (last_block) begin
            block <= 8'd0;
            records <= has_records;
          end
        end
      end
    end
    if (done && records) begin
      number <= number + 16'd1;
      if (round_end) begin
        number <= 16'd0;
        records <= 1'b0;
      end
    end
    if (reset) begin
      records <= 1'b0;
      number <= 16'd0;
      block <= 8'd0;
      cut <= 8'd0;
      in_cut <= 8'd0;
      position <= 8'd0;
    end
  end
endmodule
