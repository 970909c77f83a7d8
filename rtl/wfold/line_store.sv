// Bytes of the map that have arrived, in the order in which they were asked for: lines under way, or the windows of the
// transit buffer. Lines are formed from the oldest one and filled up with the zero point (WF-2).
module line_store #(
    parameter M = 16,
    parameter BUS = 16,
    parameter BYTES = 1024,   // a power of two
    parameter WINDOWS = 32,   // likewise
    parameter REQUESTS = 64
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    // Requests and their answers.
    input  logic                              send,
    input  logic [31:0]                       send_bytes,
    input  logic                              begins,
    input  logic [wfold_pkg::FETCH_BITS-1:0]  fetch_bits,
    input  logic [wfold_pkg::REFILL_BITS-1:0] fetch_refill,
    input  logic                              beat,
    input  logic [7:0]                        beat_request,  // number of the request that it answers
    input  logic [BUS*8-1:0]                  data,
    output logic [7:0]                        answered,      // requests that have all their bytes, and so have those before
    // The line that is next.
    input  logic [wfold_pkg::FETCH_BITS-1:0]  line_bits,
    input  logic signed [31:0]                line_column,   // its first column
    input  logic [wfold_pkg::FETCH_BITS-1:0]  window_bits,   // that it is formed from
    output logic                              there,         // it can leave
    output logic [M*8-1:0]                    line,
    input  logic                              take,
    output logic                              leaves,        // the window leaves with it
    // What lock step looks at.
    output logic [15:0]                       windows,
    output logic [31:0]                       arrived,
    output logic [31:0]                       head_begin,
    output logic [31:0]                       head_end,
    output logic [15:0]                       head_row,
    output logic [15:0]                       head_lines
);
  /* verilator no_inline_module */

  localparam BYTE_BITS = $clog2(BYTES);
  localparam WINDOW_BITS = $clog2(WINDOWS);
  localparam REQUEST_BITS = $clog2(REQUESTS);

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::fetch_t fetch, next, window;
  assign job = job_bits;
  assign shape = shape_bits;
  assign fetch = fetch_bits;
  assign next = line_bits;
  assign window = window_bits;

  // Requests that are not answered: where their bytes go, how many have come. Memories may answer out of order.
  logic [31:0] sizes[0:REQUESTS-1], begin_places[0:REQUESTS-1], got[0:REQUESTS-1];
  logic [REQUESTS-1:0] complete;
  logic [15:0] first_request, requests;
  logic [31:0] left, takes, answered_bytes, next_place;
  logic [REQUEST_BITS-1:0] slot, oldest_request;
  logic ends, runs_on;
  // Windows.
  logic [31:0] window_bytes[0:WINDOWS-1], window_begin[0:WINDOWS-1], window_end[0:WINDOWS-1];
  logic [15:0] window_row[0:WINDOWS-1], window_lines[0:WINDOWS-1], used;
  logic [15:0] oldest;
  // Bytes.
  logic [BYTES*8-1:0] bytes;
  logic [31:0] head, needed;
  logic signed [31:0] stride, column, channel, pixel, place;
  logic is_map;

  always_comb begin
    slot = beat_request[REQUEST_BITS-1:0];
    left = sizes[slot] - got[slot];
    takes = left < BUS ? left : BUS;
    ends = beat && takes == left;
    answered = 8'd0;
    answered_bytes = 32'd0;
    runs_on = 1'b1;
    oldest_request = first_request[REQUEST_BITS-1:0];
    for (int i = 0; i < requests; i = i + 1) begin
      runs_on = runs_on && (complete[oldest_request] || (ends && slot == oldest_request));
      if (runs_on) begin
        answered = answered + 8'd1;
        answered_bytes = answered_bytes + sizes[oldest_request];
      end
      oldest_request = oldest_request + 1'b1;
    end
    stride = job.run.read_mode == wfold_pkg::READ_CONTINUOUS ? $signed({16'd0, job.run.pixel_bytes}) : window.channel_end - window.channel;
    // The end of the line's last byte within the window.
    needed = (next.last - window.first) * stride - window.skip - window.channel
           + (next.end_byte - (next.last * $signed({16'd0, job.run.pixel_bytes}) - $signed(job.run.lead_bytes)));
    there = windows != 16'd0 && next.there && arrived >= needed;
    leaves = take && used + 16'd1 == window_lines[oldest];
    line = '0;
    for (int i = 0; i < M; i = i + 1) begin
      column = line_column + (i >>> shape.pci_shift);
      channel = next.channel + (i & ((32'sd1 <<< shape.pci_shift) - 1));
      pixel = column * $signed({16'd0, job.run.pixel_bytes}) - $signed(job.run.lead_bytes) + channel;
      place = (column - window.first) * stride + channel - window.channel - window.skip;
      is_map = column >= next.first && column <= next.last && channel < next.channel_end && pixel >= 0 && pixel < $signed(job.run.row_bytes);
      line[i*8+:8] = is_map ? bytes[BYTE_BITS'(head+place)*8+:8] : job.conv.input_zero_point[7:0];
    end
    head_begin = window_begin[oldest];
    head_end = window_end[oldest];
    head_row = window_row[oldest];
    head_lines = window_lines[oldest] - used;
  end

  always_ff @(posedge clk) begin
    if (send) begin
      sizes[REQUEST_BITS'(first_request+requests)] <= send_bytes;
      begin_places[REQUEST_BITS'(first_request+requests)] <= next_place;
      got[REQUEST_BITS'(first_request+requests)] <= 32'd0;
      complete[REQUEST_BITS'(first_request+requests)] <= 1'b0;
      next_place <= next_place + send_bytes;
    end
    if (begins) begin
      window_bytes[WINDOW_BITS'(oldest+windows)] <= fetch.bytes;
      window_begin[WINDOW_BITS'(oldest+windows)] <= fetch.begin_byte;
      window_end[WINDOW_BITS'(oldest+windows)] <= fetch.end_byte;
      window_row[WINDOW_BITS'(oldest+windows)] <= fetch.row[15:0];
      window_lines[WINDOW_BITS'(oldest+windows)] <= wfold_pkg::window_lines(job, shape, fetch_refill);
    end
    requests <= requests + {15'd0, send} - {8'd0, answered};
    first_request <= first_request + {8'd0, answered};
    if (beat) begin
      got[slot] <= got[slot] + takes;
      if (ends) complete[slot] <= 1'b1;
      for (int i = 0; i < BUS; i = i + 1)
        if (i < takes) bytes[BYTE_BITS'(begin_places[slot]+got[slot]+i)*8+:8] <= data[i*8+:8];
    end
    arrived <= arrived + answered_bytes - (leaves ? window_bytes[oldest] : 32'd0);
    windows <= windows + {15'd0, begins} - {15'd0, leaves};
    if (take) used <= leaves ? 16'd0 : used + 16'd1;
    if (leaves) begin
      head <= head + window_bytes[oldest];
      oldest <= {{16 - WINDOW_BITS{1'b0}}, WINDOW_BITS'(oldest + 16'd1)};
    end
    if (reset) begin
      requests <= 16'd0;
      first_request <= 16'd0;
      next_place <= 32'd0;
      complete <= '0;
      head <= 32'd0;
      arrived <= 32'd0;
      windows <= 16'd0;
      used <= 16'd0;
      oldest <= 16'd0;
    end
  end
endmodule
