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
    output logic                        clear,
    output logic                        clear_half,
    output logic                        realign,
    output logic [7:0]                  realign_step,
    output logic                        drain,
    output logic                        drain_half,
    output logic [15:0]                 drain_row,
    output logic [SUMS*32-1:0]          drain_sums
);
  localparam X = R > C ? R : C;
  localparam LINES = STACK * X;
  localparam W = X > 16 ? X : 16;
  localparam DEPTH = $clog2(X) + $clog2(M) + 1;

  // Runs.
  logic a_asked, b_asked, a_asks_last, b_asks_last, loaded, array_done;
  logic [1:0] job_valid;  // of loaders, of the array
  logic [rolling_pkg::JOB_BITS-1:0] load_job_bits, array_job_bits;
  rolling_pkg::job_t load_job, job;
  conv_pkg::setup_t load_conv;
  assign load_conv = load_job.conv;
  assign load_job = load_job_bits;
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
  logic a_room, a_access, a_first, a_last, a_round_last, a_asks;
  logic [7:0] a_opens, a_base, a_count, a_lane, a_elements, a_group, a_line, a_size;
  logic [15:0] a_tag;

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
      .request(a_asks),
      .access(a_access),
      .address(a_address),
      .count(a_count),
      .first(a_first),
      .last(a_last),
      .lane(a_lane),
      .elements(a_elements),
      .group(a_group),
      .line(a_line),
      .tag(a_tag),
      .opens(a_opens),
      .base(a_base),
      .last_of_round(a_round_last),
      .round_size(a_size)
  );
  assign a_request = a_asks && a_access;

  logic a_waits, a_pending, a_head_record, a_free, a_enters, a_writes, a_finishes, aw_record, aw_across, aw_last, a_empty;
  logic [7:0] a_head_size, aw_size, aw_opens, aw_base, aw_lane, aw_count, aw_elements, aw_group, aw_line;
  logic [W*8-1:0] aw_bytes;
  logic [W-1:0] aw_present;
  logic [15:0] aw_tag;
  logic [10:0] aw_zero;

  line_queue #(
      .X(X),
      .W(W),
      .PORT(PORT),
      .PLACES(QUEUE),
      .MAX_LATENCY(MAX_LATENCY)
  ) a_lines (
      .clk(clk),
      .reset(reset),
      .option_queue(option_queue),
      .option_latency(option_a_latency),
      .room(a_room),
      .request(a_asks),
      .first(a_first),
      .last(a_last),
      .access(a_access),
      .lane(a_lane),
      .count(a_count),
      .elements(a_elements),
      .record(1'b0),
      .zero({load_conv.input_type == conv_pkg::TYPE_UINT8, load_conv.input_zero_point[9:0]}),
      .group(a_group),
      .line(a_line),
      .tag(a_tag),
      .across(1'b0),
      .opens(a_opens),
      .base(a_base),
      .size(a_size),
      .last_of_round(a_round_last),
      .data(a_data),
      .waits(a_waits),
      .pending(a_pending),
      .empty(a_empty),
      .head_record(a_head_record),
      .head_size(a_head_size),
      .free(a_free),
      .enters(a_enters),
      .writes(a_writes),
      .finishes(a_finishes),
      .write_lane(aw_lane),
      .write_count(aw_count),
      .write_bytes(aw_bytes),
      .write_present(aw_present),
      .write_elements(aw_elements),
      .write_record(aw_record),
      .write_zero(aw_zero),
      .write_group(aw_group),
      .write_line(aw_line),
      .write_tag(aw_tag),
      .write_across(aw_across),
      .write_opens(aw_opens),
      .write_base(aw_base),
      .write_size(aw_size),
      .write_last(aw_last)
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

  logic b_room, b_first, b_last, b_record, b_across, b_round_last;
  logic [7:0] b_opens, b_base, b_count, b_lane, b_elements, b_group, b_line, b_size;
  logic [15:0] b_tag;

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
      .request(b_asks),
      .address(b_line_address),
      .count(b_count),
      .first(b_first),
      .last(b_last),
      .lane(b_lane),
      .elements(b_elements),
      .record(b_record),
      .group(b_group),
      .line(b_line),
      .tag(b_tag),
      .across(b_across),
      .opens(b_opens),
      .base(b_base),
      .last_of_round(b_round_last),
      .round_size(b_size)
  );

  logic b_waits, b_pending, b_head_record, b_free, b_enters, b_writes, b_finishes, bw_record, bw_across, bw_last, b_empty;
  logic [7:0] b_head_size, bw_size, bw_opens, bw_base, bw_lane, bw_count, bw_elements, bw_group, bw_line;
  logic [W*8-1:0] bw_bytes;
  logic [W-1:0] bw_present;
  logic [15:0] bw_tag;
  logic [10:0] bw_zero;

  line_queue #(
      .X(X),
      .W(W),
      .PORT(PORT),
      .PLACES(QUEUE),
      .MAX_LATENCY(MAX_LATENCY)
  ) b_lines (
      .clk(clk),
      .reset(reset),
      .option_queue(option_queue),
      .option_latency(option_b_latency),
      .room(b_room),
      .request(b_asks),
      .first(b_first),
      .last(b_last),
      .access(1'b1),
      .lane(b_lane),
      .count(b_count),
      .elements(b_elements),
      .record(b_record),
      .zero({load_conv.weight_type == conv_pkg::TYPE_UINT8, load_conv.weight_zero_point[9:0]}),
      .group(b_group),
      .line(b_line),
      .tag(b_tag),
      .across(b_across),
      .opens(b_opens),
      .base(b_base),
      .size(b_size),
      .last_of_round(b_round_last),
      .data(b_data),
      .waits(b_waits),
      .pending(b_pending),
      .empty(b_empty),
      .head_record(b_head_record),
      .head_size(b_head_size),
      .free(b_free),
      .enters(b_enters),
      .writes(b_writes),
      .finishes(b_finishes),
      .write_lane(bw_lane),
      .write_count(bw_count),
      .write_bytes(bw_bytes),
      .write_present(bw_present),
      .write_elements(bw_elements),
      .write_record(bw_record),
      .write_zero(bw_zero),
      .write_group(bw_group),
      .write_line(bw_line),
      .write_tag(bw_tag),
      .write_across(bw_across),
      .write_opens(bw_opens),
      .write_base(bw_base),
      .write_size(bw_size),
      .write_last(bw_last)
  );

  // Rounds whose lines are in registers and that the array has not begun; register groups of those that it has not ended.
  logic [15:0] a_ready, b_ready, a_held, b_held;
  logic a_round_loads, b_round_loads, round_begins, round_ends, slot_free, records_there, column_ends;
  logic [7:0] round_size;
  assign a_round_loads = a_finishes && aw_last;
  assign b_round_loads = b_finishes && bw_last && !bw_record;
  assign a_free = a_held + {8'd0, a_head_size} <= GROUPS;
  assign b_free = b_head_record ? slot_free : b_held + {8'd0, b_head_size} <= GROUPS;

  always_ff @(posedge clk) begin
    a_ready <= a_ready + {15'd0, a_round_loads} - {15'd0, round_begins};
    b_ready <= b_ready + {15'd0, b_round_loads} - {15'd0, round_begins};
    a_held <= a_held + (a_round_loads ? {8'd0, aw_size} : 16'd0) - (round_ends ? {8'd0, round_size} : 16'd0);
    b_held <= b_held + (b_round_loads ? {8'd0, bw_size} : 16'd0) - (round_ends ? {8'd0, round_size} : 16'd0);
    if (reset) begin
      a_ready <= 16'd0;
      b_ready <= 16'd0;
      a_held <= 16'd0;
      b_held <= 16'd0;
    end
  end

  // The array.
  logic [15:0] computation;
  logic [M-1:0] multiply;
  logic [M*8-1:0] group;
  logic [M*16-1:0] place_first, moving_first;
  logic [M*8-1:0] turn;
  logic [7:0] ring_lines;
  logic half, stack_begins, stack_ends;
  logic [rolling_pkg::ROUND_BITS-1:0] round_bits;
  rolling_pkg::round_t round;
  logic [GROUPS-1:0] roll, exchange, correct, used, a_roll, b_roll, a_exchange, b_exchange, a_correct, b_correct;
  logic [GROUPS*8-1:0] ring, from;
  logic [7:0] edge_line;
  logic down, rolls_a;
  logic [GROUPS*X*9-1:0] a_wrapping, b_wrapping, wrapping;
  logic [1:0] half_busy, half_free;
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
      .a_loaded(a_ready != 16'd0),
      .b_loaded(b_ready != 16'd0),
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
      .edge_line(edge_line),
      .used(used)
  );
  assign beat_computation = computation;
  assign beat_group = group[7:0];

  always_comb begin
    left = rolling_pkg::left_transposed(job.rolling.variant);
    down = rolling_pkg::rolls_down(job.rolling.variant);
    rolls_a = rolling_pkg::rolls_a(job.rolling.variant);
    a_roll = rolls_a ? roll : '0;
    b_roll = rolls_a ? '0 : roll;
    a_exchange = rolls_a ? exchange : '0;
    b_exchange = rolls_a ? '0 : exchange;
    a_correct = rolls_a ? correct : '0;
    b_correct = rolls_a ? '0 : correct;
  end
  assign wrapping = rolls_a ? a_wrapping : b_wrapping;

  // Elements with their zero points off; padding is zero.
  logic [X*9-1:0] a_elements_in, b_elements_in;
  logic signed [9:0] widened;
  always_comb begin
    for (int i = 0; i < X; i = i + 1) begin
      widened = $signed({aw_zero[10] ? 2'b00 : {2{aw_bytes[i*8+7]}}, aw_bytes[i*8+:8]}) - $signed(aw_zero[9:0]);
      a_elements_in[i*9+:9] = aw_present[i] ? widened[8:0] : 9'd0;
      widened = $signed({bw_zero[10] ? 2'b00 : {2{bw_bytes[i*8+7]}}, bw_bytes[i*8+:8]}) - $signed(bw_zero[9:0]);
      b_elements_in[i*9+:9] = bw_present[i] ? widened[8:0] : 9'd0;
    end
  end

  operand_registers #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .PORT(PORT)
  ) a_registers (
      .clk(clk),
      .reset(reset),
      .left(left),
      .load(a_writes),
      .load_group(aw_group),
      .load_line(aw_line),
      .load_across(aw_across),
      .load_opens(aw_opens),
      .load_base(aw_base),
      .load_lane(aw_lane),
      .load_count(aw_count),
      .load_first(a_enters),
      .load_lines(aw_elements),
      .load_tag(aw_tag),
      .load_data(a_elements_in),
      .roll(a_roll),
      .down(down),
      .ring(ring),
      .exchange(a_exchange),
      .correct(a_correct),
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
      .load(b_writes && !bw_record),
      .load_group(bw_group),
      .load_line(bw_line),
      .load_across(bw_across),
      .load_opens(bw_opens),
      .load_base(bw_base),
      .load_lane(bw_lane),
      .load_count(bw_count),
      .load_first(b_enters),
      .load_lines(bw_elements),
      .load_tag(bw_tag),
      .load_data(b_elements_in),
      .roll(b_roll),
      .down(down),
      .ring(ring),
      .exchange(b_exchange),
      .correct(b_correct),
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

  adder_trees #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS),
      .M(M)
  ) trees (
      .clk(clk),
      .left(left),
      .multiply(multiply),
      .group(group),
      .a(a_values),
      .b(b_values),
      .sums(tree_sums)
  );

  // Where the sums of a beat go travels beside them.
  localparam PLACE = M + 1 + 1 + 1 + M * X + M * X + M * X * 32;
  logic [M*X-1:0] beat_add;
  logic [M*X*16-1:0] beat_line, beat_index;
  logic [PLACE-1:0] beat_place, place;
  logic [DEPTH*PLACE-1:0] places;
  logic [7:0] depth;
  logic [M-1:0] place_multiply;
  logic [M*X-1:0] place_add;
  logic add_ends, add_stays;
  logic [15:0] at, moving;
  logic [M*X-1:0] beat_lines, place_lines, held_known;
  logic [M*X*32-1:0] held, tree_sums;

  always_comb begin
    beat_add = '0;
    beat_line = '0;
    beat_index = '0;
    beat_lines = '0;
    moving = 16'd0;
    for (int m = 0; m < M; m = m + 1)
      for (int l = 0; l < X; l = l + 1) begin
        at = group[m*8+:8] * X + l;
        beat_add[m*X+l] = multiply[m] && a_valid[at] && b_valid[at];
        beat_line[(m*X+l)*16+:16] = rolls_a ? b_tags[at*16+:16] : a_tags[at*16+:16];
        // By tags a sum goes where realignment by rolling would bring it.
        moving = (rolls_a ? a_tags[at*16+:16] : b_tags[at*16+:16]) - moving_first[m*16+:16];
        if (down && moving != 16'd0) moving = turn[m*8+:8] - moving;
        beat_index[(m*X+l)*16+:16] = place_first[m*16+:16] + (job.rolling.by_tags ? moving : computation);
        beat_lines[m*X+l] = multiply[m] && l < ring_lines;
      end
    beat_place = {multiply, array_done && !job.run.last, stack_ends, half, beat_lines, beat_add, beat_line, beat_index};
    depth = (left ? $clog2(R) : $clog2(C)) + $clog2(M) + 1;
    place = places[(depth-8'd1)*PLACE+:PLACE];
    {place_multiply, add_stays, add_ends, add_half, place_lines, place_add, add_line, add_index} = place;
    // A line that is not in its ring keeps its sum.
    for (int i = 0; i < M * X; i = i + 1) sums[i*32+:32] = place_lines[i] ? tree_sums[i*32+:32] : held[i*32+:32];
    sums_known = held_known | place_lines;
    sums_valid = place_multiply;
    add = place_add;
  end

  always_ff @(posedge clk) begin
    places <= (places << PLACE) | beat_place;
    held <= sums;
    held_known <= sums_known;
    if (reset) begin
      places <= '0;
      held <= '0;
      held_known <= '0;
    end
  end

  // The result buffer and its way out.
  logic [7:0] block;
  logic down_now;
  logic [LINES*8-1:0] turns;
  logic [LINES*LINES*8-1:0] rings;
  logic [SUMS-1:0] read_valid;
  logic [SUMS*16-1:0] read_line, read_index;
  logic [15:0] column, columns, waiting;
  logic row_ends;
  logic [rolling_pkg::HALF_BITS-1:0] ends_with, drains;
  rolling_pkg::half_t ending;
  logic [SUMS*128-1:0] records;
  logic [7:0] write_count;
  logic written;

  always_comb begin
    ending.round = round;
    ending.job = job;
    ending.ends_column = round.last_row;
  end
  assign ends_with = ending;

  always_ff @(posedge clk) begin
    if (stack_begins) half_busy[half] <= 1'b1;
    for (int h = 0; h < 2; h = h + 1) if (half_free[h]) half_busy[h] <= 1'b0;
    if (reset) half_busy <= 2'd0;
  end

  assign clear = stack_begins;
  assign clear_half = half;

  result_buffer #(
      .X(X),
      .M(M),
      .LINES(LINES),
      .SUMS(SUMS)
  ) buffer (
      .clk(clk),
      .clear(clear),
      .clear_half(clear_half),
      .clear_lines(round.blocks * ring_lines),
      .add(add),
      .add_half(add_half),
      .add_line(add_line),
      .add_index(add_index),
      .add_sum(sums),
      .realign(realign),
      .realign_half(drain_half),
      .realign_down(down_now),
      .realign_step(realign_step),
      .block(block),
      .turns(turns),
      .ring(rings),
      .read_half(drain_half),
      .read_valid(read_valid),
      .read_line(read_line),
      .read_index(read_index),
      .read_sum(drain_sums),
      .contents(halves)
  );

  result_drain #(
      .X(X),
      .LINES(LINES),
      .SUMS(SUMS)
  ) results (
      .clk(clk),
      .reset(reset),
      .option_writes(option_writes),
      .ends(stack_ends),
      .ends_half(half),
      .ends_with(ends_with),
      .complete(add_ends),
      .complete_half(add_half),
      .free(half_free),
      .records_there(records_there),
      .column_ends(column_ends),
      .realign(realign),
      .half(drain_half),
      .step(realign_step),
      .down(down_now),
      .block(block),
      .turns(turns),
      .ring(rings),
      .read_valid(read_valid),
      .read_line(read_line),
      .read_index(read_index),
      .drain(drain),
      .row(drain_row),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .drains(drains),
      .waiting(waiting),
      .state(results_state)
  );

  record_slots #(
      .LINES(LINES),
      .SLOTS(SLOTS),
      .SUMS(SUMS)
  ) slots (
      .clk(clk),
      .reset(reset),
      .option_slots(option_slots),
      .begins(b_enters && bw_record),
      .write(b_finishes && bw_record),
      .record(bw_bytes[127:0]),
      .columns(bw_tag),
      .free(slot_free),
      .there(records_there),
      .ends(column_ends),
      .column(column),
      .read(records)
  );

  rolling_pkg::half_t leaving;
  assign leaving = drains;

  result_writer #(
      .LINES(LINES),
      .SUMS(SUMS),
      .PORT(PORT),
      .WRITES(WRITES)
  ) writer (
      .clk(clk),
      .reset(reset),
      .option_latency(option_post_latency),
      .option_bank_shift(option_a_bank_shift),
      .option_banks(option_a_banks),
      .drain(drain),
      .row(drain_row),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .run_ends(half_free != 2'd0 && leaving.round.ends_run),
      .drains(drains),
      .sums(drain_sums),
      .records(records),
      .waiting(waiting),
      .write(write),
      .address(write_address),
      .count(write_count),
      .data(write_data),
      .run_written(written),
      .state(write_state)
  );
  run_completion completion (
      .clk(clk),
      .reset(reset),
      .ends(array_done),
      .stays(!job.run.last),
      .written(written),
      .added(add_stays),
      .done(run_done)
  );

  // What loaders do.
  logic [7:0] a_last_group, a_last_line, b_last_group, b_last_line;
  logic b_last_across;
  always_comb begin
    load_a = a_enters;
    load_a_group = aw_group;
    load_a_line = aw_line;
    load_a_across = aw_across;
    load_b = b_enters;
    load_b_group = bw_record ? b_last_group : bw_group;
    load_b_line = bw_record ? b_last_line : bw_line;
    load_b_across = bw_record ? b_last_across : bw_across;
    a_request_state = a_asks ? rolling_pkg::STATE_BUSY : rolling_pkg::STATE_IDLE;
    b_request_state = b_request ? rolling_pkg::STATE_BUSY : rolling_pkg::STATE_IDLE;
    a_load_state = a_writes ? rolling_pkg::STATE_BUSY : a_waits ? rolling_pkg::STATE_INPUT_RELEASE : a_pending || (job_valid[0] && !a_asked) ? rolling_pkg::STATE_LINE_LOAD : rolling_pkg::STATE_IDLE;
    b_load_state = b_writes ? rolling_pkg::STATE_BUSY : b_waits ? rolling_pkg::STATE_WEIGHT_RELEASE
                   : b_pending || (job_valid[0] && !b_asked) ? rolling_pkg::STATE_LINE_LOAD : rolling_pkg::STATE_IDLE;
  end
  always_ff @(posedge clk)
    if (b_enters && !bw_record) begin
      b_last_group <= bw_group;
      b_last_line <= bw_line;
      b_last_across <= bw_across;
    end
endmodule
