// From instructions to beats whose lines and kernels are asked for: runs, tables, threads, the order of beats, addresses, tags (OT-1 to OT-6).
module gather #(
    parameter R = 4,
    parameter C = 4,
    parameter V = 4,
    parameter LINE = 16,
    parameter SETS = 16,
    parameter WAYS = 4,
    parameter BANKS = 4,
    parameter BUS = 16,
    parameter TABLE = 2048,
    parameter S = (V + LINE - 2) / LINE + 1,
    parameter PLACE = $clog2(SETS * WAYS) + 1
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic                             option_fifo,
    input  logic                             option_computed,
    input  logic [15:0]                      option_divider,
    input  logic [15:0]                      option_multiplier,
    input  logic [15:0]                      option_address_queue,
    input  logic [31:0]                      option_table_bytes,
    input  logic [15:0]                      option_burst_bytes,
    input  logic [15:0]                      option_outstanding,
    input  logic                             instruction_valid,
    input  logic [511:0]                     instruction,
    // The bus.
    output logic                             tables_request,
    output logic [47:0]                      tables_address,
    output logic [31:0]                      tables_bytes,
    input  logic                             tables_grant,
    input  logic                             tables_beat,
    input  logic [7:0]                       tables_beat_request,
    input  logic [BUS*8-1:0]                 tables_data,
    // The run.
    output logic                             valid,
    output logic                             begins,
    output logic                             ends,          // the run's last beat is behind the tags, or passes them in this cycle
    output logic                             walked,        // it was behind them before
    input  logic                             run_done,      // all its operands are requested
    output logic [3:0]                       number,
    output logic [offset_pkg::JOB_BITS-1:0]  job_bits,
    // The beat at the tags.
    input  logic                             queue_room,
    input  logic [15:0]                      miss_room,
    output logic                             table_waits,
    output logic                             lookup,
    output logic                             lookup_begins,
    output logic                             done,
    output logic [offset_pkg::BEAT_BITS-1:0] beat_bits,
    output logic [15:0]                      hits,
    output logic [15:0]                      misses,
    output logic [15:0]                      cycles,
    output logic [R-1:0]                     present,
    output logic [R*16-1:0]                  in_line,
    output logic [R*S*PLACE-1:0]             places,
    output logic [R*S*8-1:0]                 ages,
    output logic [7:0]                       made,
    output logic [R*S*48-1:0]                made_lines,
    output logic [R*S*PLACE-1:0]             made_places
);
  /* verilator no_inline_module */

  offset_pkg::job_t job;
  offset_pkg::shape_t shape;
  offset_pkg::beat_t beat;
  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits;
  assign job = job_bits;
  assign shape = shape_bits;
  assign beat = beat_bits;

  logic segment_ends, record_there, table_there, offset_there, base_made, offset_made, ready;
  logic [127:0] record;
  logic [31:0] thread, loading_group, offset, displacement, distance;
  logic [R-1:0] active;
  logic [R*32-1:0] bases;
  logic [R*64-1:0] masks;
  logic [R*48-1:0] addresses;
  logic partly;

  run_queue #(
      .THREADS(R)
  ) runs (
      .clk(clk),
      .reset(reset),
      .option_table_bytes(option_table_bytes),
      .instruction_valid(instruction_valid),
      .instruction(instruction),
      .done(run_done),
      .valid(valid),
      .begins(begins),
      .number(number),
      .job_bits(job_bits),
      .shape_bits(shape_bits)
  );

  table_loader #(
      .COLUMNS(C),
      .TABLE(TABLE),
      .BUS(BUS)
  ) tables (
      .clk(clk),
      .reset(reset),
      .option_computed(option_computed),
      .option_burst_bytes(option_burst_bytes),
      .option_outstanding(option_outstanding),
      .valid(valid),
      .begins(begins),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .request(tables_request),
      .address(tables_address),
      .bytes(tables_bytes),
      .grant(tables_grant),
      .beat(tables_beat),
      .beat_request(tables_beat_request),
      .data(tables_data),
      .thread(thread),
      .loading_group(loading_group),
      .record_there(record_there),
      .record(record),
      .beat_bits(beat_bits),
      .segment_ends(segment_ends),
      .step(done),
      .offset_there(table_there),
      .offset(offset),
      .displacement(displacement),
      .distance(distance)
  );

  address_generator #(
      .COLUMNS(C)
  ) generator (
      .clk(clk),
      .reset(reset),
      .option_divider(option_divider),
      .option_multiplier(option_multiplier),
      .option_address_queue(option_address_queue),
      .valid(valid && !walked && option_computed),
      .begins(begins),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .step(done),
      .last_of_group(beat.last_of_group),
      .base_made(base_made),
      .offset_there(offset_made)
  );

  thread_registers #(
      .R(R)
  ) threads (
      .clk(clk),
      .reset(reset),
      .valid(valid && !walked),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .computed(option_computed),
      .there(option_computed ? base_made : record_there),
      .record(record),
      .thread(thread),
      .loading_group(loading_group),
      .step(done && beat.last_of_group),
      .last(beat.last_of_run),
      .ready(ready),
      .active(active),
      .bases(bases),
      .masks(masks)
  );

  beat_walk #(
      .COLUMNS(C)
  ) walk (
      .clk(clk),
      .reset(reset),
      .number(number),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .step(done),
      .beat_bits(beat_bits),
      .segment_ends(segment_ends)
  );

  gather_addresses #(
      .R(R)
  ) adders (
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .beat_bits(beat_bits),
      .computed(option_computed),
      .offset(offset),
      .displacement(displacement),
      .distance(distance),
      .active(active),
      .bases(bases),
      .masks(masks),
      .present(present),
      .addresses(addresses)
  );

  line_tags #(
      .R(R),
      .V(V),
      .LINE(LINE),
      .SETS(SETS),
      .WAYS(WAYS)
  ) tags (
      .clk(clk),
      .reset(reset),
      .option_fifo(option_fifo),
      .forgets(begins && !job.run.same_map),
      .lookup(lookup),
      .begins(lookup_begins),
      .present(present),
      .addresses(addresses),
      .count(beat.count),
      .room(miss_room),
      .done(done),
      .hits(hits),
      .misses(misses),
      .places(places),
      .ages(ages),
      .made(made),
      .made_lines(made_lines),
      .made_places(made_places)
  );

  bank_cycles #(
      .R(R),
      .V(V),
      .LINE(LINE),
      .BANKS(BANKS)
  ) conflicts (
      .present(present),
      .addresses(addresses),
      .count(beat.count),
      .shift(job.setup.bank_shift),
      .cycles(cycles)
  );

  always_comb begin
    offset_there = option_computed ? offset_made : table_there;
    table_waits = valid && !walked && !option_computed && (!table_there || (!ready && !record_there));
    lookup = valid && !walked && (partly || (ready && offset_there && queue_room));
    lookup_begins = lookup && !partly;
    ends = walked || (done && beat.last_of_run);
    for (int t = 0; t < R; t = t + 1) in_line[t*16+:16] = addresses[t*48+:48] % LINE;
  end

  always_ff @(posedge clk) begin
    partly <= lookup && !done;
    walked <= ends && !run_done;
    if (reset) begin
      partly <= 1'b0;
      walked <= 1'b0;
    end
  end
endmodule
