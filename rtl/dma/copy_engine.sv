// A DMA engine (HI-2, HI-3): IODMA, MVDMA, GDMA or CDMA. Copies are executed in their order; one is read while the one before is written.
module copy_engine #(
    parameter SIDES = 2,    // ports: the outer one, that of the inner side; with four of them, of a merged engine, the link and the broadcast
    parameter WIDTH0 = 16,  // bytes of the buses of the outer side and the link
    parameter WIDTH1 = 64,  // of the inner side and the broadcast
    parameter WIDTH = WIDTH0 < WIDTH1 ? WIDTH1 : WIDTH0,
    parameter SIZE = 8192   // bytes of the buffer, those included that wait for their beats, and all of a block until its last byte has left
) (
    input  logic                clk,
    input  logic                reset,
    // What a file says; it is taken over in reset.
    input  logic [15:0]         option_burst,
    input  logic [15:0]         option_outstanding,
    input  logic [31:0]         option_buffer,
    input  logic [SIDES*48-1:0] option_begin,  // addresses of the sides; all others are those of side 0
    input  logic [SIDES*48-1:0] option_end,
    // Instructions.
    input  logic                instruction_valid,
    input  logic [511:0]        instruction,
    // The ports.
    output logic [SIDES-1:0]    request,
    output logic [SIDES-1:0]    request_write,
    output logic [SIDES*48-1:0] request_address,
    output logic [SIDES*16-1:0] request_bytes,
    output logic [SIDES-1:0]    sends,       // a request is new
    output logic [5:0]          read_tag,    // of a new read
    output logic [5:0]          write_tag,   // of a new write
    input  logic [SIDES-1:0]    grant,
    input  logic [SIDES-1:0]    read_beat,
    input  logic [SIDES*6-1:0]  read_beat_tag,
    input  logic [SIDES-1:0]    read_done,   // with the last beat
    input  logic [SIDES*WIDTH*8-1:0] read_data,
    output logic [SIDES-1:0]    write_beat,
    output logic [SIDES*WIDTH*8-1:0] write_data,
    input  logic [SIDES-1:0]    write_done,
    input  logic [SIDES*6-1:0]  write_done_tag,
    // What is seen of it.
    output logic                reads,       // a read, or a stretch of the border
    output logic                writes,
    output logic [31:0]         reserved,    // bytes of the buffer
    output logic [3:0]          copies_done
);
  logic [15:0] burst, outstanding;
  logic [31:0] buffer_bytes;
  logic [SIDES*48-1:0] begins, ends_of;
  always_ff @(posedge clk)
    if (reset) begin
      burst <= option_burst;
      outstanding <= option_outstanding;
      buffer_bytes <= option_buffer;
      begins <= option_begin;
      ends_of <= option_end;
    end

  // Copies: the next one to come, that is read, that is written, that is not complete.
  dma_pkg::copy_t jobs[dma_pkg::JOBS], read_job, write_job;
  logic [3:0] next_job, job_read, job_written, job_arrived, job_done;
  logic [4:0] jobs_unread, jobs_unwritten;
  logic read_loaded, write_loaded;

  // The side of an address: the first one that has it, or side 0.
  function automatic [1:0] side_of(input [47:0] address);
    side_of = 2'd0;
    for (int s = SIDES - 1; s > 0; s = s - 1) if (address >= begins[s*48+:48] && address < ends_of[s*48+:48]) side_of = s;
  endfunction

  logic [47:0] read_address, write_address;
  logic [15:0] read_bytes, write_bytes;
  logic read_border, read_last, write_last;
  logic [1:0] read_side_of, write_side_of;
  logic read_load, write_load, read_step, write_step;
  logic [31:0] write_needs;
  dma_pkg::place_t write_place;

  assign read_job = jobs[job_read];
  assign write_job = jobs[job_written];
  read_side read_walk (
      .clk(clk),
      .load(read_load),
      .copy(next_read),
      .option_burst(burst),
      .step(read_step),
      .address(read_address),
      .bytes(read_bytes),
      .border(read_border),
      .last(read_last)
  );
  write_side write_walk (
      .clk(clk),
      .load(write_load),
      .copy(next_written),
      .option_burst(burst),
      .step(write_step),
      .position(write_position),
      .address(write_address),
      .bytes(write_bytes),
      .needed(write_needs),
      .place(write_place),
      .last(write_last)
  );

  // The copies with which the next clock begins.
  dma_pkg::copy_t next_read, next_written;
  dma_pkg::copy_t fresh;
  logic [3:0] job_read_next, job_written_next;
  logic [4:0] unread_next, unwritten_next;
  assign fresh = instruction[511:128];
  always_comb begin
    job_read_next = job_read + {3'b0, read_step && read_last};
    unread_next = jobs_unread - {4'b0, read_step && read_last};
    read_load = (!read_loaded || read_step && read_last) && (unread_next != 5'd0 || instruction_valid);
    next_read = unread_next != 5'd0 ? jobs[job_read_next] : fresh;
    job_written_next = job_written + {3'b0, write_step && write_last};
    unwritten_next = jobs_unwritten - {4'b0, write_step && write_last};
    write_load = (!write_loaded || write_step && write_last) && (unwritten_next != 5'd0 || instruction_valid);
    next_written = unwritten_next != 5'd0 ? jobs[job_written_next] : fresh;
  end
  always_ff @(posedge clk) begin
    if (instruction_valid) begin
      jobs[next_job] <= fresh;
      next_job <= next_job + 4'd1;
    end
    job_read <= job_read_next;
    job_written <= job_written_next;
    jobs_unread <= unread_next + {4'b0, instruction_valid};
    jobs_unwritten <= unwritten_next + {4'b0, instruction_valid};
    read_loaded <= read_load || read_loaded && !(read_step && read_last);
    write_loaded <= write_load || write_loaded && !(write_step && write_last);
    if (reset) begin
      next_job <= 4'd0;
      job_read <= 4'd0;
      job_written <= 4'd0;
      jobs_unread <= 5'd0;
      jobs_unwritten <= 5'd0;
      read_loaded <= 1'b0;
      write_loaded <= 1'b0;
    end
  end

  // What is requested in this clock: a write goes before a read at the same port.
  logic [31:0] read_position, write_position, arrived, reserved_before;
  logic [SIDES-1:0] free, send_read, send_write;
  logic [15:0] reads_taken[SIDES], writes_taken[SIDES];
  logic [31:0] writes_sent, writes_answered;
  logic ahead;  // the bytes of the copy before the last one have not arrived
  always_comb begin
    read_side_of = side_of(read_job.source);
    write_side_of = side_of(write_job.destination);
    write_step = write_loaded && free[write_side_of] && arrived - write_position >= write_needs && arrived - write_position < 32'h80000000;
    reserved = reserved_before - (write_step ? write_bytes : 32'd0);
    ahead = job_read - job_arrived >= 4'd2;
    read_step = read_loaded && !ahead && (read_border || free[read_side_of] && !(write_step && write_side_of == read_side_of))
                && reserved + read_bytes <= buffer_bytes;
    if (read_step) reserved = reserved + read_bytes;
    send_read = '0;
    send_write = '0;
    send_read[read_side_of] = read_step && !read_border;
    send_write[write_side_of] = write_step;
    sends = send_read | send_write;
    reads = read_step;
    writes = write_step;
  end
  // The oldest copy whose bytes have not all arrived.
  logic [31:0] ends[dma_pkg::JOBS];
  logic [3:0] arriving;
  always_comb begin
    arriving = job_arrived;
    for (int i = 0; i < dma_pkg::JOBS; i = i + 1) if (arriving != job_read && arrived - ends[arriving] < 32'h80000000) arriving = arriving + 4'd1;
  end
  always_ff @(posedge clk) begin
    job_arrived <= reset ? 4'd0 : arriving;
    if (read_step) ends[job_read] <= read_position + read_bytes;
    reserved_before <= reserved;
    if (read_step) read_position <= read_position + read_bytes;
    if (write_step) write_position <= write_position + write_bytes;
    if (reset) begin
      reserved_before <= 34'd0;
      read_position <= 34'd0;
      write_position <= 34'd0;
    end
  end

  logic [7:0] buffer[SIZE];
  arrivals #(
      .SIDES(SIDES),
      .WIDTH0(WIDTH0),
      .WIDTH1(WIDTH1),
      .WIDTH(WIDTH),
      .SIZE(SIZE)
  ) landing (
      .send(read_step),
      .send_border(read_border),
      .send_side(read_side_of),
      .send_position(read_position),
      .send_bytes(read_bytes),
      .send_fill(read_job.fill),
      .tag(read_tag),
      .beat(read_beat),
      .beat_tags(read_beat_tag),
      .data(read_data),
      .done(read_done),
      .taken(reads_taken),
      .*
  );

  write_answers #(
      .SIDES(SIDES)
  ) answers (
      .send(write_step),
      .send_side(write_side_of),
      .tag(write_tag),
      .done(write_done),
      .done_tags(write_done_tag),
      .taken(writes_taken),
      .total(writes_answered),
      .*
  );
  genvar s;
  generate
    for (s = 0; s < SIDES; s = s + 1) begin : side
      localparam BUS = s % 2 == 0 ? WIDTH0 : WIDTH1;
      dma_pkg::place_t place;
      logic [BUS*8-1:0] data;
      request_port port (
          .option_outstanding(outstanding),
          .free(free[s]),
          .taken(reads_taken[s] + writes_taken[s]),
          .send(sends[s]),
          .send_write(send_write[s]),
          .send_address(send_write[s] ? write_address : read_address),
          .send_bytes(send_write[s] ? write_bytes : read_bytes),
          .send_place(write_place),
          .request(request[s]),
          .write(request_write[s]),
          .address(request_address[s*48+:48]),
          .bytes(request_bytes[s*16+:16]),
          .grant(grant[s]),
          .*
      );
      write_beats #(
          .WIDTH(BUS),
          .SIZE(SIZE)
      ) beats (
          .grant(grant[s] && request_write[s]),
          .bytes(request_bytes[s*16+:16]),
          .beat(write_beat[s]),
          .*
      );
      assign write_data[s*WIDTH*8+:WIDTH*8] = data;
    end
  endgenerate

  // A copy is complete when its writes are answered, and the copies before it are complete.
  logic [31:0] writes_until[dma_pkg::JOBS];  // how many have been sent with its last one
  logic [3:0] oldest;
  always_comb begin
    copies_done = 4'd0;
    oldest = job_done;
    for (int i = 0; i < dma_pkg::JOBS; i = i + 1)
      if (oldest != job_written && writes_answered - writes_until[oldest] < 32'h80000000) begin
        copies_done = copies_done + 4'd1;
        oldest = oldest + 4'd1;
      end
  end
  always_ff @(posedge clk) begin
    job_done <= reset ? 4'd0 : oldest;
    if (write_step) begin
      writes_sent <= writes_sent + 32'd1;
      writes_until[job_written] <= writes_sent + 32'd1;
    end
    if (reset) writes_sent <= 32'd0;
  end
endmodule
