// Requests for bytes of the map (WF-2): walks fetches in the order of the lines and sends one request a cycle. A fetch is
// a line, read as one run of bytes or column by column, or a window of the transit buffer. Fetches without a byte of
// the map cost nothing.
module line_reader (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_queue,        // lines that may be under way
    input  logic [15:0]                       option_outstanding,
    input  logic                              valid,
    input  logic                              fresh,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic [15:0]                       windows,             // under way
    input  logic                              leaves,              // the oldest one, in this cycle
    input  logic                              grant,
    input  logic [7:0]                        answered,            // requests, in their order
    output logic                              request,
    output logic [31:0]                       address,             // byte of the map's memory
    output logic [31:0]                       bytes,
    output logic                              send,                // a request is new in this cycle
    output logic                              begins,              // a fetch begins, and has its place from now on
    output logic [wfold_pkg::FETCH_BITS-1:0]  fetch,
    output logic [wfold_pkg::REFILL_BITS-1:0] fetch_refill,
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::refill_t refill, at_refill;
  wfold_pkg::fetch_t at;
  assign job = job_bits;
  assign shape = shape_bits;

  logic [15:0] line, at_line, lines, position, outstanding, limit;
  logic found, last, room, waits, begun;
  logic [31:0] waiting_address, waiting_bytes, new_address, new_bytes;
  logic signed [31:0] begin_byte, end_byte, pixel_begin;

  // The next fetch with a byte.
  always_comb begin
    at_refill = fresh ? wfold_pkg::first_refill(shape) : refill;
    at_line = fresh ? 16'd0 : line;
    at = '0;
    found = 1'b0;
    lines = wfold_pkg::refill_lines(shape, at_refill) * shape.groups;
    if (valid)
      while (!found && !at_refill.done) begin
        if (job.run.read_mode == wfold_pkg::READ_TRANSIT) at = wfold_pkg::window_of(job, shape, at_refill);
        else at = wfold_pkg::line_of(job, shape, at_refill, at_line);
        found = at.there && (!shape.window_all || at_refill.block == 16'd0);
        if (!found) begin
          at_line = at_line + 16'd1;
          if (job.run.read_mode == wfold_pkg::READ_TRANSIT || at_line == lines) begin
            at_line = 16'd0;
            at_refill = wfold_pkg::next_refill(job, shape, at_refill);
            lines = wfold_pkg::refill_lines(shape, at_refill) * shape.groups;
          end
        end
      end
  end

  // The request.
  always_comb begin
    pixel_begin = (at.first + $signed({16'd0, fresh ? 16'd0 : position})) * $signed({16'd0, job.run.pixel_bytes}) - $signed(job.run.lead_bytes);
    begin_byte = pixel_begin + at.channel;
    end_byte = pixel_begin + at.channel_end;
    if (begin_byte < 0) begin_byte = 0;
    if (end_byte > $signed(job.run.row_bytes)) end_byte = job.run.row_bytes;
    if (job.run.read_mode == wfold_pkg::READ_CONTINUOUS) begin
      begin_byte = at.begin_byte;
      end_byte = at.end_byte;
    end
    last = job.run.read_mode == wfold_pkg::READ_CONTINUOUS || at.first + $signed({16'd0, fresh ? 16'd0 : position}) == at.last;
    new_address = job.run.map_address + at.row * job.run.row_bytes + begin_byte;
    new_bytes = end_byte - begin_byte;
    limit = job.run.read_mode == wfold_pkg::READ_TRANSIT ? 16'd2 : option_queue;
    room = (begun && !fresh) || windows - {15'd0, leaves} < limit;
    begins = found && (!begun || fresh) && room;
    send = found && room && !waits && outstanding < option_outstanding;
    request = waits || send;
    address = waits ? waiting_address : new_address;
    bytes = waits ? waiting_bytes : new_bytes;
    fetch = at;
    fetch_refill = at_refill;
    state = send ? wfold_pkg::STATE_BUSY : found && !room ? wfold_pkg::STATE_LANDING : wfold_pkg::STATE_IDLE;
  end

  always_ff @(posedge clk) begin
    refill <= at_refill;
    line <= at_line;
    if (fresh) position <= 16'd0;
    begun <= found && room;
    if (send) begin
      waiting_address <= new_address;
      waiting_bytes <= new_bytes;
      position <= last ? 16'd0 : (fresh ? 16'd0 : position) + 16'd1;
      if (last) begin
        begun <= 1'b0;
        if (job.run.read_mode == wfold_pkg::READ_TRANSIT || at_line + 16'd1 == lines) begin
          line <= 16'd0;
          refill <= wfold_pkg::next_refill(job, shape, at_refill);
        end else line <= at_line + 16'd1;
      end
    end
    waits <= request && !grant;
    outstanding <= outstanding + {15'd0, send} - {8'd0, answered};
    if (reset) begin
      waits <= 1'b0;
      outstanding <= 16'd0;
      position <= 16'd0;
      begun <= 1'b0;
    end
  end
endmodule
