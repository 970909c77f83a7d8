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
    output logic                             reads,
    output logic [47:0]                      address,
    output logic [rolling_pkg::ASK_BITS-1:0] ask_bits
);
  localparam X = R > C ? R : C;

  rolling_pkg::job_t job;
  conv_pkg::setup_t conv;
  assign conv = job.conv;
  rolling_pkg::round_t round;
  logic [rolling_pkg::ROUND_BITS-1:0] round_bits;
  logic step;
  logic request, first, last, record, across, last_of_round;
  logic [7:0] count, lane, elements, group, line, opens, base, round_size;
  logic [15:0] tag;
  logic [7:0] round_cuts;
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
      .size(round_size),
      .cuts(round_cuts)
  );

  logic        records;  // they are asked for
  logic [15:0] number;   // of the record
  logic [7:0]  block, cut, in_cut, position;

  // Where the block of kernels in memory begins that holds the stack's first kernel, this block's, and the line's.
  logic [15:0] stack_begin, block_begin, line_begin;

  logic [7:0]  lanes, length, block_lines, lines, end_at;
  logic [31:0] cut_element, left;
  logic [47:0] words, n;
  localparam WIDEST = X > 16 ? X : 16;
  logic [WIDEST*48-1:0] addresses;
  logic [15:0] kernel, at_kernel, at_begin, at_size, next_begin;
  logic        more, last_unit, last_cut, last_block, round_end, has_records, done;

  always_comb begin
    lanes = rolling_pkg::left_transposed(job.rolling.variant) ? R : C;
    across = job.rolling.while_loading;
    n = {16'd0, round.elements};
    cut_element = round.element + lanes * cut;
    left = round.elements - cut_element;
    length = left < {24'd0, lanes} ? left[7:0] : lanes;
    block_lines = rolling_pkg::lines_of(round.kernels, round.block, block);
    kernel = round.block * block;
    lines = across ? length : block_lines;
    elements = records ? 8'd16 : across ? block_lines : length;

    // All bytes of the line. Across, it is an element of each kernel of the block.
    at_kernel = round.kernel + kernel + (across ? 16'd0 : {8'd0, in_cut});
    at_begin = line_begin;
    at_size = 16'd0;
    addresses = '0;
    for (int i = 0; i < X; i = i + 1) begin
      at_size = job.run.kernels - at_begin < job.rolling.block_kernels ? job.run.kernels - at_begin : job.rolling.block_kernels;
      if (across) begin
        addresses[i*48+:48] = job.run.weights + at_begin * n + ({16'd0, cut_element} + in_cut) * at_size + (at_kernel - at_begin);
        if (i < block_lines) begin
          at_kernel = at_kernel + 16'd1;
          if (at_kernel == at_begin + job.rolling.block_kernels) at_begin = at_kernel;
        end
      end else addresses[i*48+:48] = job.run.weights + at_begin * n + {16'd0, cut_element} * at_size + (at_kernel - at_begin) * length + i;
    end
    next_begin = across ? at_begin : at_kernel + 16'd1 == at_begin + job.rolling.block_kernels ? at_kernel + 16'd1 : at_begin;

    address = records ? job.run.post + ({32'd0, round.kernel} + number) * 48'd16 + position : addresses[position*48+:48];
    more = 1'b1;
    words = 48'd0;
    end_at = position;
    for (int i = 0; i < WIDEST; i = i + 1)
      if (i >= position && more) begin
        words = ((address + (i - position)) >> option_bank_shift) - (address >> option_bank_shift);
        if (i < elements && i - position < PORT && words < option_banks && (records || addresses[i*48+:48] == address + (i - position))) end_at = i + 1;
        else more = 1'b0;
      end
    count = end_at - position;
    last = end_at == elements;
    first = position == 8'd0;
    request = job_valid && (room || !first);
    done = request && last;
    lane = position;
    record = records;
    group = rolling_pkg::group_at(round.base, block * (assigned ? round_cuts : job.rolling.stacked_cuts) + cut, GROUPS);
    line = in_cut;
    tag = records ? round.kernels : across ? kernel : kernel + in_cut;
    base = round.base;
    opens = in_cut == 8'd0 && cut == 8'd0 && block == 8'd0 && !records ? (assigned ? round_size : round.blocks * job.rolling.stacked_cuts) : 8'd0;
    last_unit = in_cut + 8'd1 == lines;
    last_cut = cut + 8'd1 == job.rolling.stacked_cuts || left <= {24'd0, lanes};
    last_block = kernel + round.block >= round.kernels;
    last_of_round = !records && last_unit && last_cut && last_block;
    has_records = conv.post_parameters && job.run.last && round.first_row && round.last_cut;
    round_end = records ? done && number + 16'd1 == round.kernels : done && last_of_round && !has_records;
    step = round_end;
    job_done = step && round.ends_run;
  end

  rolling_pkg::ask_t ask;
  assign ask_bits = ask;
  assign reads = request;
  always_comb begin
    ask = '0;
    ask.request = request;
    ask.access = 1'b1;
    ask.first = first;
    ask.last = last;
    ask.lane = lane;
    ask.count = count;
    ask.line.elements = elements;
    ask.line.record = record;
    ask.line.zero = {conv.weight_type == conv_pkg::TYPE_UINT8, conv.weight_zero_point[9:0]};
    ask.line.group = group;
    ask.line.line = line;
    ask.line.tag = tag;
    ask.line.across = across;
    ask.line.opens = opens;
    ask.line.base = base;
    ask.line.size = round_size;
    ask.line.last_of_round = last_of_round;
  end

  always_ff @(posedge clk) begin
    if (request) position <= last ? 8'd0 : position + count;
    if (done && !records) begin
      in_cut <= in_cut + 8'd1;
      line_begin <= across ? line_begin : next_begin;
      if (last_unit) begin
        in_cut <= 8'd0;
        cut <= cut + 8'd1;
        line_begin <= block_begin;
        if (last_cut) begin
          cut <= 8'd0;
          block <= block + 8'd1;
          block_begin <= next_begin;
          line_begin <= next_begin;
          if (last_block) begin
            block <= 8'd0;
            records <= has_records;
            block_begin <= stack_begin;
            line_begin <= stack_begin;
            if (round.last_cut && round.last_row) begin
              stack_begin <= round.ends_run ? 16'd0 : next_begin;
              block_begin <= round.ends_run ? 16'd0 : next_begin;
              line_begin <= round.ends_run ? 16'd0 : next_begin;
            end
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
      stack_begin <= 16'd0;
      block_begin <= 16'd0;
      line_begin <= 16'd0;
    end
  end
endmodule
