// The offset-table engine of a core (OT-1 to OT-6): tables, the gather through a line cache, R x C x V multipliers, results.
module offset_unit #(
    parameter R = 4,              // threads
    parameter C = 4,              // kernels
    parameter V = 4,              // neighbouring elements
    parameter LINE = 16,          // bytes of a line
    parameter SETS = 16,
    parameter WAYS = 4,
    parameter BANKS = 4,
    parameter PORT = 16,          // bytes of an access to a memory
    parameter SUMS = 4,           // sums that leave in a cycle
    parameter BUS = 16,
    parameter TABLE = 2048,       // bytes of the table cache, at most
    parameter QUEUE = 16,         // likewise beats that wait
    parameter MISSES = 16,
    parameter WRITES = 16,
    parameter RECORDS = 64,
    parameter MAX_LATENCY = 16,
    parameter S = (V + LINE - 2) / LINE + 1,
    parameter PLACE = $clog2(SETS * WAYS) + 1
) (
    input  logic                  clk,
    input  logic                  reset,
    // What a test changes from run to run.
    input  logic                  option_fifo,
    input  logic                  option_computed,
    input  logic [15:0]           option_divider,
    input  logic [15:0]           option_multiplier,
    input  logic [15:0]           option_address_queue,
    input  logic [31:0]           option_table_bytes,
    input  logic [15:0]           option_burst_bytes,
    input  logic [15:0]           option_outstanding,
    input  logic [15:0]           option_queue,
    input  logic [7:0]            option_hit_latency,
    input  logic [15:0]           option_misses,
    input  logic [15:0]           option_writes,
    input  logic [7:0]            option_post_latency,
    input  logic [7:0]            option_lines_latency,
    input  logic [7:0]            option_lines_bank_shift,
    input  logic [15:0]           option_lines_banks,
    input  logic [7:0]            option_kernels_latency,
    input  logic [7:0]            option_kernels_bank_shift,
    input  logic [15:0]           option_kernels_banks,
    // Instructions.
    input  logic                  instruction_valid,
    input  logic [511:0]          instruction,
    output logic [1:0]            run_done,
    // Tables, over the bus.
    output logic                  tables_request,
    output logic [47:0]           tables_address,
    output logic [31:0]           tables_bytes,
    input  logic                  tables_grant,
    input  logic                  tables_beat,
    input  logic [7:0]            tables_beat_request,
    input  logic [BUS*8-1:0]      tables_data,
    // Lines.
    output logic                  lines_request,
    output logic [47:0]           lines_address,
    output logic [15:0]           lines_bytes,
    input  logic [PORT*8-1:0]     lines_data,
    // Kernels and records.
    output logic                  kernels_request,
    output logic [47:0]           kernels_address,
    output logic [15:0]           kernels_bytes,
    input  logic [PORT*8-1:0]     kernels_data,
    // Results.
    output logic                  write,
    output logic [47:0]           write_address,
    output logic [7:0]            write_bytes,
    output logic [PORT*8-1:0]     write_data,
    // The lanes.
    output logic                  beat,
    output logic [31:0]           beat_group,
    output logic [15:0]           beat_slice,
    output logic [15:0]           beat_kh,
    output logic [15:0]           beat_kw,
    output logic [15:0]           beat_channel,
    output logic [15:0]           beat_hits,
    output logic [15:0]           beat_misses,
    output logic [15:0]           beat_cycles,
    output logic                  multiplies,
    output logic [R*V*9-1:0]      operands,
    output logic [R*V-1:0]        operands_known,
    output logic [C*V*9-1:0]      kernels,
    output logic [C*V-1:0]        kernels_known,
    output logic [3:0]            lanes_state
);
  localparam PLACES = QUEUE + 1;

  offset_pkg::beat_t tag_beat, head_beat, next_beat;
  offset_pkg::job_t job, head_job, drain_job;
  conv_pkg::setup_t head_conv;
  logic [offset_pkg::JOB_BITS-1:0] job_bits, drain_bits, jobs[0:offset_pkg::JOBS-1];
  logic [offset_pkg::BEAT_BITS-1:0] tag_bits, head_bits;
  logic [offset_pkg::TILE_BITS-1:0] tile_bits;
  assign job = job_bits;
  assign tag_beat = tag_bits;
  assign head_beat = head_bits;
  assign head_job = jobs[head_beat.tile.job];
  assign head_conv = head_job.conv;
  assign drain_bits = jobs[drain_run];
  assign drain_job = drain_bits;

  logic valid, begins, queue_room, table_waits, lookup, lookup_begins, done, line_there, enters, kernels_there, sums_free, present_head, walked, ends, run_ended, lines_idle, kernels_idle;
  logic [3:0] number, drain_run;
  logic [15:0] miss_room, hits, misses, cycles, queue_tail, queue_head;
  logic [R-1:0] present, head_present;
  logic [R*16-1:0] in_line, head_in_line;
  logic [R*S*PLACE-1:0] places, made_places, head_places;
  logic [R*S*48-1:0] made_lines;
  logic [R*S*8-1:0] ages, head_ages;
  logic [15:0] entered;
  logic [7:0] made;
  logic [PLACE-1:0] line_place;
  logic [LINE*8-1:0] line;
  logic [C*V*8-1:0] kernel_bytes;
  logic completes, set, drain, row_ends, run_ends, frees, sums_stay, written, row_written, starts;
  logic [2*R*C*32-1:0] sums;
  logic [15:0] waiting, column, columns, row_kernel, records_there;
  logic [47:0] row_address;
  logic [SUMS*32-1:0] row_sums;
  logic [SUMS*128-1:0] row_records;
  logic [RECORDS*128-1:0] records;
  logic [1:0] used;

  gather #(
      .R(R),
      .C(C),
      .V(V),
      .LINE(LINE),
      .SETS(SETS),
      .WAYS(WAYS),
      .BANKS(BANKS),
      .BUS(BUS),
      .TABLE(TABLE)
  ) front (
      .clk(clk),
      .reset(reset),
      .option_fifo(option_fifo),
      .option_computed(option_computed),
      .option_divider(option_divider),
      .option_multiplier(option_multiplier),
      .option_address_queue(option_address_queue),
      .option_table_bytes(option_table_bytes),
      .option_burst_bytes(option_burst_bytes),
      .option_outstanding(option_outstanding),
      .instruction_valid(instruction_valid),
      .instruction(instruction),
      .tables_request(tables_request),
      .tables_address(tables_address),
      .tables_bytes(tables_bytes),
      .tables_grant(tables_grant),
      .tables_beat(tables_beat),
      .tables_beat_request(tables_beat_request),
      .tables_data(tables_data),
      .valid(valid),
      .begins(begins),
      .ends(ends),
      .walked(walked),
      .run_done(run_ended),
      .number(number),
      .job_bits(job_bits),
      .queue_room(queue_room),
      .miss_room(miss_room),
      .table_waits(table_waits),
      .lookup(lookup),
      .lookup_begins(lookup_begins),
      .done(done),
      .beat_bits(tag_bits),
      .hits(hits),
      .misses(misses),
      .cycles(cycles),
      .present(present),
      .in_line(in_line),
      .places(places),
      .ages(ages),
      .made(made),
      .made_lines(made_lines),
      .made_places(made_places)
  );

  line_fetch #(
      .LINE(LINE),
      .PORT(PORT),
      .MISSES(MISSES),
      .MADE(R * S),
      .PLACE(PLACE),
      .MAX_LATENCY(MAX_LATENCY)
  ) fetch (
      .clk(clk),
      .reset(reset),
      .option_misses(option_misses),
      .option_latency(option_lines_latency),
      .option_bank_shift(option_lines_bank_shift),
      .option_banks(option_lines_banks),
      .room(miss_room),
      .made(made),
      .made_lines(made_lines),
      .made_places(made_places),
      .idle(lines_idle),
      .request(lines_request),
      .address(lines_address),
      .bytes(lines_bytes),
      .data(lines_data),
      .there(line_there),
      .place(line_place),
      .line(line),
      .enters(enters)
  );

  kernel_port #(
      .C(C),
      .V(V),
      .PORT(PORT),
      .SLOTS(PLACES),
      .RECORDS(RECORDS),
      .MAX_LATENCY(MAX_LATENCY)
  ) weights (
      .clk(clk),
      .reset(reset),
      .option_latency(option_kernels_latency),
      .option_bank_shift(option_kernels_bank_shift),
      .option_banks(option_kernels_banks),
      .push(lookup_begins),
      .push_address(tag_beat.weights),
      .push_bytes(tag_beat.tile.kernels * tag_beat.count),
      .push_slot(queue_tail),
      .push_records(push_records),
      .records_address(job.run.post + tag_beat.tile.kernel * 48'd16),
      .records_first(tag_beat.tile.kernel),
      .records_count(tag_beat.tile.kernels),
      .run_begins(begins),
      .run(number),
      .idle(kernels_idle),
      .request(kernels_request),
      .address(kernels_address),
      .bytes(kernels_bytes),
      .data(kernels_data),
      .slot(queue_head),
      .there(kernels_there),
      .kernels(kernel_bytes),
      .read_run(drain_run),
      .read_count(records_there),
      .read_records(records)
  );

  logic push_records;
  conv_pkg::setup_t conv;
  assign conv = job.conv;
  assign push_records = done && tag_beat.last && tag_beat.first_group && conv.post_parameters && job.run.last;

  beat_queue #(
      .R(R),
      .S(S),
      .PLACE(PLACE),
      .QUEUE(PLACES)
  ) queue (
      .clk(clk),
      .reset(reset),
      .option_queue(option_queue),
      .option_hit_latency(option_hit_latency),
      .room(queue_room),
      .tail(queue_tail),
      .lookup(lookup),
      .begins(lookup_begins),
      .done(done),
      .beat_bits(tag_bits),
      .hits(hits),
      .misses(misses),
      .made(made),
      .cycles(cycles),
      .present(present),
      .in_line(in_line),
      .places(places),
      .ages(ages),
      .table_waits(table_waits),
      .walked(walked),
      .expects(valid),
      .line_there(line_there),
      .enters(enters),
      .entered(entered),
      .head(queue_head),
      .present_head(present_head),
      .kernels_there(kernels_there),
      .sums_free(sums_free),
      .beat(beat),
      .starts(starts),
      .multiplies(multiplies),
      .head_bits(head_bits),
      .head_hits(beat_hits),
      .head_misses(beat_misses),
      .head_cycles(beat_cycles),
      .head_present(head_present),
      .head_in_line(head_in_line),
      .head_places(head_places),
      .head_ages(head_ages),
      .state(lanes_state)
  );

  line_data #(
      .R(R),
      .V(V),
      .LINE(LINE),
      .LINES(SETS * WAYS),
      .S(S),
      .PLACE(PLACE)
  ) lines (
      .clk(clk),
      .reset(reset),
      .enters(enters),
      .place(line_place),
      .line(line),
      .entered(entered),
      .multiplies(multiplies),
      .present(head_present),
      .in_line(head_in_line),
      .places(head_places),
      .ages(head_ages),
      .count(head_beat.count),
      .is_unsigned(head_conv.input_type == conv_pkg::TYPE_UINT8),
      .zero_point(head_conv.input_zero_point[9:0]),
      .operands(operands),
      .known(operands_known)
  );

  multipliers #(
      .R(R),
      .C(C),
      .V(V)
  ) lanes (
      .clk(clk),
      .reset(reset),
      .multiplies(multiplies),
      .beat_bits(head_bits),
      .present(head_present),
      .operands(operands),
      .bytes(kernel_bytes),
      .is_unsigned(head_conv.weight_type == conv_pkg::TYPE_UINT8),
      .zero_point(head_conv.weight_zero_point[9:0]),
      .kernels(kernels),
      .known(kernels_known),
      .completes(completes),
      .set(set),
      .tile_bits(tile_bits),
      .sums(sums)
  );

  result_drain #(
      .R(R),
      .C(C),
      .SUMS(SUMS)
  ) rows (
      .clk(clk),
      .reset(reset),
      .option_writes(option_writes),
      .completes(completes),
      .set(set),
      .tile_bits(tile_bits),
      .sums(sums),
      .run(drain_run),
      .job_bits(drain_bits),
      .records_there(records_there),
      .waiting(waiting),
      .drain(drain),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .run_ends(run_ends),
      .row_address(row_address),
      .kernel(row_kernel),
      .row_sums(row_sums),
      .frees(frees),
      .sums_stay(sums_stay)
  );

  row_writer #(
      .LINES(C),
      .SUMS(SUMS),
      .PORT(PORT),
      .WRITES(WRITES),
      .MAX_LATENCY(MAX_LATENCY)
  ) writer (
      .clk(clk),
      .reset(reset),
      .option_latency(option_post_latency),
      .option_bank_shift(option_lines_bank_shift),
      .option_banks(option_lines_banks),
      .drain(drain),
      .row_address(row_address),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .run_ends(run_ends),
      .conv_bits(drain_job.conv),
      .sums(row_sums),
      .records(row_records),
      .waiting(waiting),
      .write(write),
      .address(write_address),
      .count(write_bytes),
      .data(write_data),
      .row_written(row_written),
      .run_written(written)
  );

  run_completion #(
      .PLACES(offset_pkg::JOBS)
  ) completion (
      .clk(clk),
      .reset(reset),
      .ends(run_ended),
      .stays(!job.run.last),
      .written(written),
      .added(sums_stay),
      .done(run_done)
  );

  always_comb begin
    row_records = '0;
    for (int i = 0; i < SUMS; i = i + 1) if (column + i < columns) row_records[i*128+:128] = records[((row_kernel+i)%RECORDS)*128+:128];
    // For the next beat, which may not be at the tags yet.
    next_beat = present_head ? head_beat : tag_beat;
    sums_free = !next_beat.first || !next_beat.tile.begins || used < 2'd2;
    run_ended = ends && lines_idle && kernels_idle;
    beat_group = head_beat.tile.thread_group;
    beat_slice = head_beat.tile.slice;
    beat_kh = head_beat.kh;
    beat_kw = head_beat.kw;
    beat_channel = head_beat.channel;
  end

  always_ff @(posedge clk) begin
    if (begins) jobs[number] <= job_bits;
    used <= used + {1'b0, starts && head_beat.first && head_beat.tile.begins} - {1'b0, frees};
    if (reset) used <= 2'd0;
  end
endmodule
