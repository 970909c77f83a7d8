// The result buffer and what leaves it: realignment, rows, records, post-processing, requests to write (RO-2, RO-6, RO-7).
module result_path #(
    parameter X = 4,
    parameter M = 1,
    parameter PORT = 4,
    parameter LINES = 4,
    parameter SUMS = 4,
    parameter WRITES = 16,
    parameter SLOTS = 6
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_writes,
    input  logic [15:0]                       option_slots,
    input  logic [7:0]                        option_latency,     // of post-processing
    input  logic [7:0]                        option_bank_shift,
    input  logic [15:0]                       option_banks,
    // The array.
    input  logic                              begins,             // a stack of output blocks
    input  logic [15:0]                       lines,              // of the half that it clears
    input  logic                              ends,
    input  logic                              half,
    input  logic [rolling_pkg::ROUND_BITS-1:0] round_bits,
    input  logic [rolling_pkg::JOB_BITS-1:0]  job_bits,
    input  logic                              run_ends,
    output logic [1:0]                        half_busy,
    input  logic [M*X-1:0]                    add,
    input  logic                              add_half,
    input  logic [M*X*16-1:0]                 add_line,
    input  logic [M*X*16-1:0]                 add_index,
    input  logic [M*X*32-1:0]                 add_sum,
    input  logic                              complete,           // with these sums
    input  logic                              stays,              // they end a run whose sums stay
    // The loader of records.
    input  logic [rolling_pkg::LOAD_BITS-1:0] load_bits,
    input  logic [127:0]                      record,
    output logic                              slot_free,
    // What leaves.
    output logic [2*LINES*LINES*32-1:0]       halves,
    output logic                              realign,
    output logic                              drain,
    output logic                              drain_half,
    output logic [SUMS*32-1:0]                drain_sums,
    output logic                              write,
    output logic [47:0]                       address,
    output logic [PORT*8-1:0]                 data,
    output logic [1:0]                        run_done,
    output logic [3:0]                        drain_state,
    output logic [3:0]                        write_state
);
  rolling_pkg::load_t load;
  rolling_pkg::half_t leaving;
  logic [rolling_pkg::HALF_BITS-1:0] drains;
  assign load = load_bits;

  rolling_pkg::half_t ending;
  rolling_pkg::round_t round;
  rolling_pkg::job_t job;
  logic [rolling_pkg::HALF_BITS-1:0] ends_with;
  assign round = round_bits;
  assign job = job_bits;
  assign ends_with = ending;
  always_comb begin
    ending.round = round;
    ending.job = job;
    ending.ends_column = round.last_row;
  end
  assign leaving = drains;

  logic [1:0] half_free;
  always_ff @(posedge clk) begin
    if (begins) half_busy[half] <= 1'b1;
    for (int h = 0; h < 2; h = h + 1) if (half_free[h]) half_busy[h] <= 1'b0;
    if (reset) half_busy <= 2'd0;
  end

  logic written, down, row_ends, records_there, column_ends;
  logic [7:0] step, block, count;
  logic [LINES*8-1:0] turns;
  logic [LINES*LINES*8-1:0] rings;
  logic [SUMS-1:0] read_valid;
  logic [SUMS*16-1:0] read_line, read_index;
  logic [15:0] row, column, columns, waiting;
  logic [SUMS*128-1:0] records;

  result_buffer #(
      .X(X),
      .M(M),
      .LINES(LINES),
      .SUMS(SUMS)
  ) buffer (
      .clk(clk),
      .clear(begins),
      .clear_half(half),
      .clear_lines(lines),
      .add(add),
      .add_half(add_half),
      .add_line(add_line),
      .add_index(add_index),
      .add_sum(add_sum),
      .realign(realign),
      .realign_half(drain_half),
      .realign_down(down),
      .realign_step(step),
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
  ) rows (
      .clk(clk),
      .reset(reset),
      .option_writes(option_writes),
      .ends(ends),
      .ends_half(half),
      .ends_with(ends_with),
      .complete(complete),
      .complete_half(add_half),
      .free(half_free),
      .records_there(records_there),
      .column_ends(column_ends),
      .realign(realign),
      .half(drain_half),
      .step(step),
      .down(down),
      .block(block),
      .turns(turns),
      .ring(rings),
      .read_valid(read_valid),
      .read_line(read_line),
      .read_index(read_index),
      .drain(drain),
      .row(row),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .drains(drains),
      .waiting(waiting),
      .state(drain_state)
  );

  record_slots #(
      .LINES(LINES),
      .SLOTS(SLOTS),
      .SUMS(SUMS)
  ) slots (
      .clk(clk),
      .reset(reset),
      .option_slots(option_slots),
      .begins(load.enters && load.line.record),
      .write(load.finishes && load.line.record),
      .record(record),
      .columns(load.line.tag),
      .free(slot_free),
      .there(records_there),
      .ends(column_ends),
      .column(column),
      .read(records)
  );

  conv_pkg::setup_t conv;
  logic [47:0] row_address;
  logic row_written;
  logic [15:0] rows_under_way;
  always_comb begin
    conv = leaving.job.conv;
    row_address = leaving.job.run.result + ({16'd0, leaving.round.row} + row) * leaving.job.run.result_pixel
                  + leaving.round.kernel * (conv.requantise && conv.output_type != conv_pkg::TYPE_INT32 ? 16'd1 : 16'd4);
    write_state = write ? rolling_pkg::STATE_BUSY : rows_under_way != 16'd0 || drain ? rolling_pkg::STATE_STAGING : rolling_pkg::STATE_IDLE;
  end

  always_ff @(posedge clk) begin
    rows_under_way <= rows_under_way + {15'd0, drain && column == 16'd0} - {15'd0, row_written};
    if (reset) rows_under_way <= 16'd0;
  end

  row_writer #(
      .LINES(LINES),
      .SUMS(SUMS),
      .PORT(PORT),
      .WRITES(WRITES)
  ) writer (
      .clk(clk),
      .reset(reset),
      .option_latency(option_latency),
      .option_bank_shift(option_bank_shift),
      .option_banks(option_banks),
      .drain(drain),
      .row_address(row_address),
      .column(column),
      .columns(columns),
      .row_ends(row_ends),
      .run_ends(half_free != 2'd0 && leaving.round.ends_run),
      .conv_bits(leaving.job.conv),
      .sums(drain_sums),
      .records(records),
      .waiting(waiting),
      .write(write),
      .address(address),
      .count(count),
      .data(data),
      .row_written(row_written),
      .run_written(written)
  );

  run_completion completion (
      .clk(clk),
      .reset(reset),
      .ends(run_ends),
      .stays(!job.run.last),
      .written(written),
      .added(stays),
      .done(run_done)
  );
endmodule
