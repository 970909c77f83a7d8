// The rolling-register unit in a core: two loaders with ports of their own, the array, the result buffer and its way to memory
// (RO-1 to RO-7). Lines of A and B come into register groups while other groups are multiplied; the sums of a stack of output
// blocks are added up in one half of the result buffer while the other one drains.
module rolling_unit #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter M = 1,              // multipliers of a PE
    parameter PORT = 4,           // bytes of a port
    parameter STACK = 1,          // blocks of lines in a half of the result buffer
    parameter SUMS = 2,           // that drain in a cycle
    parameter QUEUE = 64,         // places for lines, at most
    parameter WRITES = 16,        // requests to write, at most
    parameter SLOTS = 10,         // for records, at most
    parameter MAX_LATENCY = 16
) (
    input  logic                        clk,
    input  logic                        reset,
    // What a test changes from run to run.
    input  logic [15:0]                 option_queue,
    input  logic [15:0]                 option_writes,
    input  logic [15:0]                 option_slots,
    input  logic [7:0]                  option_post_latency,
    input  logic                        option_shared_spare,
    input  logic                        option_assigned,
    input  logic [7:0]                  option_a_latency,      // of the memories
    input  logic [7:0]                  option_b_latency,
    input  logic [7:0]                  option_a_bank_shift,
    input  logic [7:0]                  option_b_bank_shift,
    input  logic [15:0]                 option_a_banks,
    input  logic [15:0]                 option_b_banks,
    // Instructions.
    input  logic                        instruction_valid,
    input  logic [511:0]                instruction,
    output logic [1:0]                  run_done,
    // The ports.
    output logic                        a_request,
    output logic [47:0]                 a_address,
    input  logic [PORT*8-1:0]           a_data,
    output logic                        b_request,
    output logic                        b_write,        // kernels that are transposed
    output logic [47:0]                 b_address,
    output logic [PORT*8-1:0]           b_write_data,
    output logic                        b_transposing,
    input  logic [PORT*8-1:0]           b_data,
    output logic                        write,
    output logic [47:0]                 write_address,
    output logic [PORT*8-1:0]           write_data,
    // What lock step looks at.
    output logic [3:0]                  a_request_state,
    output logic [3:0]                  b_request_state,
    output logic [3:0]                  a_load_state,
    output logic [3:0]                  b_load_state,
    output logic [3:0]                  array_state,
    output logic [3:0]                  results_state,
    output logic [3:0]                  write_state,
    output logic                        load_a,
    output logic [7:0]                  load_a_group,
    output logic [7:0]                  load_a_line,
    output logic                        load_a_across,
    output logic                        load_b,
    output logic [7:0]                  load_b_group,
    output logic [7:0]                  load_b_line,
    output logic                        load_b_across,
    output logic                        beat,
    output logic [15:0]                 beat_computation,
    output logic [7:0]                  beat_group,
    output logic [7:0]                  beat_phase,
    output logic                        left,
    output logic [GROUPS*R*C*9-1:0]     a_values,
    output logic [GROUPS*R*C*9-1:0]     b_values,
    output logic [GROUPS*(R>C?R:C)-1:0]    a_valid,
    output logic [GROUPS*(R>C?R:C)-1:0]    b_valid,
    output logic [GROUPS*(R>C?R:C)*16-1:0] a_tags,
    output logic [GROUPS*(R>C?R:C)*16-1:0] b_tags,
    output logic [GROUPS*(R>C?R:C)*9-1:0]  spare,
    output logic [M-1:0]                   sums_valid,
    output logic [M*(R>C?R:C)-1:0]         sums_known,
    output logic [M*(R>C?R:C)*32-1:0]      sums,
    output logic [M*(R>C?R:C)-1:0]         add,
    output logic                           add_half,
    output logic [M*(R>C?R:C)*16-1:0]      add_line,
    output logic [M*(R>C?R:C)*16-1:0]      add_index,
    output logic [2*STACK*STACK*(R>C?R:C)*(R>C?R:C)*32-1:0] halves,
    output logic                        realign,
    output logic                        drain,
    output logic                        drain_half,
    output logic [SUMS*32-1:0]          drain_sums
);
  localparam X = R > C ? R : C;
  localparam LINES = STACK * X;

  // Runs.
  logic a_asked, b_asked, a_asks_last, b_asks_last, loaded, array_done;
  logic [1:0] job_valid;  // of loaders, of the array
  logic [rolling_pkg::JOB_BITS-1:0] load_job_bits, array_job_bits;
  rolling_pkg::job_t job;
  // Without a run the array stays as the last one left it.
  logic [rolling_pkg::JOB_BITS-1:0] last_job;
  assign job = job_valid[1] ? array_job_bits : last_job;
  always_ff @(posedge clk) if (job_valid[1]) last_job <= array_job_bits;

  run_queue runs (
      .clk(clk),
      .reset(reset),
      .instruction_valid(instruction_valid),
      .instruction(instruction),
      .done({array_done, loaded}),
      .valid(job_valid),
      .load_job(load_job_bits),
      .array_job(array_job_bits)
  );

  // The lines of the next run follow when all lines and records of this one are in registers.
  assign loaded = job_valid[0] && (a_asked || a_asks_last) && (b_asked || b_asks_last) && a_empty && b_empty;
  always_ff @(posedge clk) begin
    a_asked <= (a_asked || a_asks_last) && !loaded && !reset;
    b_asked <= (b_asked || b_asks_last) && !loaded && !reset;
  end

  // Loader of A.
  logic a_room, a_empty, a_ready;
  logic [rolling_pkg::ASK_BITS-1:0] a_ask_bits;
  logic [rolling_pkg::LOAD_BITS-1:0] a_load_bits;
  logic [X*9-1:0] a_line_values;
  logic [127:0] a_record;
  rolling_pkg::ask_t a_ask;
  rolling_pkg::load_t a_load;
  assign a_ask = a_ask_bits;
  assign a_load = a_load_bits;

  map_lines #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .PORT(PORT)
  ) map_requests (
      .clk(clk),
      .reset(reset),
      .option_bank_shift(option_a_bank_shift),
      .option_banks(option_a_banks),
      .assigned(option_assigned),
      .job_valid(job_valid[0] && !a_asked),
      .job_bits(load_job_bits),
      .job_done(a_asks_last),
      .room(a_room),
      .reads(a_request),
      .address(a_address),
      .ask_bits(a_ask_bits)
  );

  line_queue #(
      .X(X),
      .GROUPS(GROUPS),
      .PORT(PORT),
      .PLACES(QUEUE),
      .MAX_LATENCY(MAX_LATENCY),
      .RELEASE(rolling_pkg::STATE_INPUT_RELEASE)
  ) a_lines (
      .clk(clk),
      .reset(reset),
      .option_queue(option_queue),
      .option_latency(option_a_latency),
      .room(a_room),
      .ask_bits(a_ask_bits),
      .data(a_data),
      .round_begins(round_begins),
      .round_ends(round_ends),
      .ended_size(round_size),
      .slot_free(1'b0),
      .ready(a_ready),
      .expects(job_valid[0] && !a_asked),
      .state(a_load_state),
      .empty(a_empty),
      .load_bits(a_load_bits),
      .values(a_line_values),
      .record(a_record)
  );

  // Kernels that are transposed in their place first.
  logic turns_request;
  logic [47:0] turns_address;

  kernel_transposer #(
      .R(R),
      .C(C),
      .PORT(PORT),
      .KERNELS(LINES),
      .MAX_LATENCY(MAX_LATENCY)
  ) transposer (
      .clk(clk),
      .reset(reset),
      .option_latency(option_b_latency),
      .option_bank_shift(option_b_bank_shift),
      .option_banks(option_b_banks),
      .job_valid(job_valid[0]),
      .job_bits(load_job_bits),
      .job_ends(loaded),
      .active(b_transposing),
      .request(turns_request),
      .write(b_write),
      .address(turns_address),
      .write_data(b_write_data),
      .data(b_data)
  );

  // Loader of B and of records.
  logic b_asks;
  logic [47:0] b_line_address;
  assign b_request = b_asks || turns_request;
  assign b_address = b_transposing ? turns_address : b_line_address;

  logic b_room, b_empty, b_ready;
  logic [rolling_pkg::ASK_BITS-1:0] b_ask_bits;
  logic [rolling_pkg::LOAD_BITS-1:0] b_load_bits;
  logic [X*9-1:0] b_line_values;
  logic [127:0] b_record;
  rolling_pkg::load_t b_load;
  assign b_load = b_load_bits;

  kernel_lines #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .PORT(PORT)
  ) kernel_requests (
      .clk(clk),
      .reset(reset),
      .option_bank_shift(option_b_bank_shift),
      .option_banks(option_b_banks),
      .assigned(option_assigned),
      .job_valid(job_valid[0] && !b_asked && !b_transposing),
      .job_bits(load_job_bits),
      .job_done(b_asks_last),
      .room(b_room),
      .reads(b_asks),
      .address(b_line_address),
      .ask_bits(b_ask_bits)
  );

  line_queue #(
      .X(X),
      .GROUPS(GROUPS),
      .PORT(PORT),
      .PLACES(QUEUE),
      .MAX_LATENCY(MAX_LATENCY),
      .RELEASE(rolling_pkg::STATE_WEIGHT_RELEASE)
  ) b_lines (
      .clk(clk),
      .reset(reset),
      .option_queue(option_queue),
      .option_latency(option_b_latency),
      .room(b_room),
      .ask_bits(b_ask_bits),
      .data(b_data),
      .round_begins(round_begins),
      .round_ends(round_ends),
      .ended_size(round_size),
      .slot_free(slot_free),
      .ready(b_ready),
      .expects(job_valid[0] && !b_asked),
      .state(b_load_state),
      .empty(b_empty),
      .load_bits(b_load_bits),
      .values(b_line_values),
      .record(b_record)
  );

  logic round_begins, round_ends, slot_free;
  logic [7:0] round_size;

  // The array.
  logic [15:0] computation;
  logic [M-1:0] multiply;
  logic [M*8-1:0] group, turn;
  logic [M*16-1:0] place_first, moving_first;
  logic [7:0] ring_lines, edge_line;
  logic half, stack_begins, stack_ends;
  logic [rolling_pkg::ROUND_BITS-1:0] round_bits;
  rolling_pkg::round_t round;
  logic [GROUPS-1:0] roll, exchange, correct;
  logic [GROUPS*8-1:0] ring, from;
  logic down, rolls_a;
  logic [GROUPS*X*9-1:0] a_wrapping, b_wrapping, wrapping;
  logic [1:0] half_busy;
  assign round = round_bits;

  array_control #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .M(M)
  ) control (
      .clk(clk),
      .reset(reset),
      .assigned(option_assigned),
      .shared_spare(option_shared_spare),
      .job_valid(job_valid[1]),
      .job_bits(array_job_bits),
      .job_done(array_done),
      .a_loaded(a_ready),
      .b_loaded(b_ready),
      .half_busy(half_busy),
      .round_begins(round_begins),
      .round_ends(round_ends),
      .round_size(round_size),
      .state(array_state),
      .beat(beat),
      .computation(computation),
      .phase(beat_phase),
      .multiply(multiply),
      .group(group),
      .place(place_first),
      .moving_first(moving_first),
      .turn(turn),
      .lines(ring_lines),
      .half(half),
      .stack_begins(stack_begins),
      .stack_ends(stack_ends),
      .round_bits(round_bits),
      .roll(roll),
      .ring(ring),
      .exchange(exchange),
      .correct(correct),
      .from(from),
      .edge_line(edge_line)
  );
  assign beat_computation = computation;
  assign beat_group = group[7:0];

  always_comb begin
    left = rolling_pkg::left_transposed(job.rolling.variant);
    down = rolling_pkg::rolls_down(job.rolling.variant);
    rolls_a = rolling_pkg::rolls_a(job.rolling.variant);
  end
  assign wrapping = rolls_a ? a_wrapping : b_wrapping;

  operand_registers #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .PORT(PORT)
  ) a_registers (
      .clk(clk),
      .reset(reset),
      .left(left),
      .load_bits(a_load_bits),
      .load_values(a_line_values),
      .moves(rolls_a),
      .roll(roll),
      .down(down),
      .ring(ring),
      .exchange(exchange),
      .correct(correct),
      .from(from),
      .edge_line(edge_line),
      .values(a_values),
      .valid(a_valid),
      .tags(a_tags),
      .wrapping(a_wrapping)
  );

  operand_registers #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .PORT(PORT)
  ) b_registers (
      .clk(clk),
      .reset(reset),
      .left(left),
      .load_bits(b_load_bits),
      .load_values(b_line_values),
      .moves(!rolls_a),
      .roll(roll),
      .down(down),
      .ring(ring),
      .exchange(exchange),
      .correct(correct),
      .from(from),
      .edge_line(edge_line),
      .values(b_values),
      .valid(b_valid),
      .tags(b_tags),
      .wrapping(b_wrapping)
  );

  always_ff @(posedge clk) begin
    for (int g = 0; g < GROUPS; g = g + 1)
      if (roll[g]) spare[(option_shared_spare?0:g)*X*9+:X*9] <= wrapping[g*X*9+:X*9];
    if (reset) spare <= '0;
  end

  logic add_ends, add_stays;

  beat_sums #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .M(M)
  ) products (
      .clk(clk),
      .reset(reset),
      .left(left),
      .rolls_a(rolls_a),
      .down(down),
      .by_tags(job.rolling.by_tags),
      .a_values(a_values),
      .b_values(b_values),
      .a_valid(a_valid),
      .b_valid(b_valid),
      .a_tags(a_tags),
      .b_tags(b_tags),
      .multiply(multiply),
      .group(group),
      .computation(computation),
      .place_first(place_first),
      .moving_first(moving_first),
      .turn(turn),
      .ring_lines(ring_lines),
      .half(half),
      .ends(stack_ends),
      .stays(array_done && !job.run.last),
      .sums(sums),
      .sums_valid(sums_valid),
      .sums_known(sums_known),
      .add(add),
      .add_half(add_half),
      .add_line(add_line),
      .add_index(add_index),
      .add_ends(add_ends),
      .add_stays(add_stays)
  );

  // The result buffer and its way out.
  result_path #(
      .X(X),
      .M(M),
      .PORT(PORT),
      .LINES(LINES),
      .SUMS(SUMS),
      .WRITES(WRITES),
      .SLOTS(SLOTS)
  ) results (
      .clk(clk),
      .reset(reset),
      .option_writes(option_writes),
      .option_slots(option_slots),
      .option_latency(option_post_latency),
      .option_bank_shift(option_a_bank_shift),
      .option_banks(option_a_banks),
      .begins(stack_begins),
      .lines(round.blocks * ring_lines),
      .ends(stack_ends),
      .half(half),
      .round_bits(round_bits),
      .job_bits(job),
      .run_ends(array_done),
      .half_busy(half_busy),
      .add(add),
      .add_half(add_half),
      .add_line(add_line),
      .add_index(add_index),
      .add_sum(sums),
      .complete(add_ends),
      .stays(add_stays),
      .load_bits(b_load_bits),
      .record(b_record),
      .slot_free(slot_free),
      .halves(halves),
      .realign(realign),
      .drain(drain),
      .drain_half(drain_half),
      .drain_sums(drain_sums),
      .write(write),
      .address(write_address),
      .data(write_data),
      .run_done(run_done),
      .drain_state(results_state),
      .write_state(write_state)
  );

  // What loaders do. A record shows where the line before it went.
  rolling_pkg::line_t b_last, b_shown;
  assign b_shown = b_load.line.record ? b_last : b_load.line;
  always_ff @(posedge clk) if (b_load.enters && !b_load.line.record) b_last <= b_load.line;
  always_comb begin
    load_a = a_load.enters;
    load_a_group = a_load.line.group;
    load_a_line = a_load.line.line;
    load_a_across = a_load.line.across;
    load_b = b_load.enters;
    load_b_group = b_shown.group;
    load_b_line = b_shown.line;
    load_b_across = b_shown.across;
    a_request_state = a_ask.request ? rolling_pkg::STATE_BUSY : rolling_pkg::STATE_IDLE;
    b_request_state = b_request ? rolling_pkg::STATE_BUSY : rolling_pkg::STATE_IDLE;
  end
endmodule
