// Requests to write results (WF-7): lines of Pco channels and Wso columns; one request where nothing lies between the columns,
// else one for each column and block. A request is sent `post_latency` + 1 cycles behind the results that complete it, in order.
module result_writer #(
    parameter NS = 4,
    parameter M = 16,
    parameter K = 2,
    parameter LANES = M / 4,
    parameter COLUMNS = 512,      // whose results wait, a power of two
    parameter REQUESTS = 128,     // likewise
    parameter BURST = 64,         // requests that results of a cycle complete, at most
    parameter MAX_LATENCY = 16
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_queue,
    input  logic [15:0]                       option_outstanding,
    input  logic [7:0]                        option_latency,
    // Results.
    input  logic                              drain,
    input  logic                              last,
    input  logic                              ends_run,
    input  logic [15:0]                       column,
    input  logic [15:0]                       columns,
    input  logic [15:0]                       channel,
    input  logic [15:0]                       channels,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic [wfold_pkg::REFILL_BITS-1:0] tile_bits,
    input  logic [LANES*32-1:0]               results,
    output logic                              room,
    // Requests.
    input  logic                              grant,
    input  logic                              answered,
    output logic                              request,
    output logic                              send,
    output logic [31:0]                       address,
    output logic [15:0]                       bytes,
    output logic [M*8-1:0]                    data,
    output logic                              run_written,   // the last request of a run is answered
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  localparam ROW = NS * K * 32;                 // bits of a column's results
  localparam COLUMN_BITS = $clog2(COLUMNS);
  localparam REQUEST_BITS = $clog2(REQUESTS);

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::refill_t tile;
  assign job = job_bits;
  assign shape = shape_bits;
  assign tile = tile_bits;

  // Results of columns.
  logic [ROW-1:0] rows[0:COLUMNS-1], row;
  logic [15:0] tail, size;

  // Requests that are complete: where their results are, and to where they go.
  localparam ENTRY = 32 + 4 * 16;
  logic [REQUESTS*ENTRY-1:0] entries;
  logic [31:0] head_address;
  logic [15:0] head_bytes, head_column, head_byte, head_row;
  logic [31:0] pushed, sent, replies, ready;
  logic [31:0] history[0:MAX_LATENCY];
  // The request that is completed next: its line's first column, block, column.
  logic [15:0] line_column, block, in_line, at_line, at_block, at_in_line;
  logic [15:0] wide, deep, blocks, skew, line_columns, done, first, behind;
  logic [7:0] completes;
  logic [BURST*ENTRY-1:0] new_entries;
  logic complete;

  always_comb begin
    size = shape.results;
    deep = job.run.result_granularity / size;
    wide = M / job.run.result_granularity;
    skew = tile.kernel % deep;  // blocks are counted from the run's first kernel
    blocks = (channels + skew + deep - 16'd1) / deep;
    done = channel + LANES < channels ? channel + LANES : channels;
    at_line = line_column;
    at_block = block;
    at_in_line = in_line;
    completes = 8'd0;
    complete = drain;
    new_entries = '0;
    for (int i = 0; i < BURST; i = i + 1) begin
      line_columns = columns - at_line < wide ? columns - at_line : wide;
      first = at_block == 16'd0 ? 16'd0 : at_block * deep - skew;
      behind = (at_block + 16'd1) * deep - skew < channels ? (at_block + 16'd1) * deep - skew : channels;
      if (complete && at_line < columns) begin
        if (shape.one_request) complete = column + 16'd1 >= at_line + line_columns && done == channels;
        else
          complete = at_line + at_in_line < column || (at_line + at_in_line == column && done >= behind);
        if (complete) begin
          completes = completes + 8'd1;
          new_entries[i*ENTRY+:ENTRY] = {
            job.run.result + (tile.row * job.run.columns + tile.column + at_line + at_in_line) * job.run.result_pixel
                + (tile.kernel + first) * size,
            16'((shape.one_request ? line_columns * channels : behind - first) * size),
            16'(tail + at_line + at_in_line - column), 16'(first * size), shape.one_request ? 16'(channels * size) : 16'd65535};
          at_in_line = at_in_line + 16'd1;
          if (shape.one_request || at_in_line == line_columns) begin
            at_in_line = 16'd0;
            at_block = at_block + 16'd1;
            if (shape.one_request || at_block == blocks) begin
              at_block = 16'd0;
              at_line = at_line + line_columns;
            end
          end
        end
      end
    end
    row = channel == 16'd0 ? '0 : rows[tail[COLUMN_BITS-1:0]];
    for (int i = 0; i < LANES; i = i + 1)
      if (channel + i < channels) begin
        if (size == 16'd1) row[(channel+i)*8+:8] = results[i*32+:8];
        else row[(channel+i)*32+:32] = results[i*32+:32];
      end
  end

  // The oldest request.
  logic [REQUEST_BITS-1:0] head;
  logic waits, new_request;
  logic [31:0] waiting_address, outstanding;
  logic [15:0] waiting_bytes, from;
  logic [7:0] runs;
  logic [31:0] bounds[0:7];
  logic [2:0] first_run;
  always_comb begin
    head = sent[REQUEST_BITS-1:0];
    {head_address, head_bytes, head_column, head_byte, head_row} = entries[head*ENTRY+:ENTRY];
    ready = history[option_latency];
    new_request = sent != ready;
    outstanding = sent - replies;
    send = new_request && !waits && outstanding < {16'd0, option_outstanding};
    request = send || waits;
    address = waits ? waiting_address : head_address;
    bytes = waits ? waiting_bytes : head_bytes;
    data = '0;
    from = 16'd0;
    for (int i = 0; i < head_bytes; i = i + 1) begin
      from = head_byte + i;
      data[i*8+:8] = rows[COLUMN_BITS'(head_column+from/head_row)][(from%head_row)*8+:8];
    end
    room = pushed - sent - {31'd0, send} < {16'd0, option_queue};
    run_written = runs != 8'd0 && replies + {31'd0, answered} == bounds[first_run];
    state = send ? wfold_pkg::STATE_BUSY : wfold_pkg::STATE_IDLE;
  end

  always_ff @(posedge clk) begin
    if (drain) begin
      rows[tail[COLUMN_BITS-1:0]] <= row;
      if (done == channels) tail <= tail + 16'd1;
      line_column <= last ? 16'd0 : at_line;
      block <= at_block;
      in_line <= at_in_line;
    end
    for (int i = 0; i < BURST; i = i + 1)
      if (i < completes) entries[REQUEST_BITS'(pushed+i)*ENTRY+:ENTRY] <= new_entries[i*ENTRY+:ENTRY];
    pushed <= pushed + {24'd0, completes};
    history[0] <= pushed + {24'd0, completes};
    for (int i = 1; i <= MAX_LATENCY; i = i + 1) history[i] <= history[i-1];
    sent <= sent + {31'd0, send};
    replies <= replies + {31'd0, answered};
    if (send) begin
      waiting_address <= address;
      waiting_bytes <= bytes;
    end
    waits <= request && !grant;
    if (last && ends_run) bounds[3'(first_run+runs[2:0])] <= pushed + {24'd0, completes};
    runs <= runs + {7'd0, last && ends_run} - {7'd0, run_written};
    if (run_written) first_run <= first_run + 3'd1;
    if (reset) begin
      tail <= 16'd0;
      line_column <= 16'd0;
      block <= 16'd0;
      in_line <= 16'd0;
      pushed <= 32'd0;
      sent <= 32'd0;
      replies <= 32'd0;
      for (int i = 0; i <= MAX_LATENCY; i = i + 1) history[i] <= 32'd0;
      waits <= 1'b0;
      runs <= 8'd0;
      first_run <= 3'd0;
    end
  end
endmodule
