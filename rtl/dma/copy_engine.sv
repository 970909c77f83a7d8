// A DMA engine (HI-2, HI-3): IODMA, MVDMA, GDMA or CDMA. Copies are executed in their order; one is read while the one before is written.
module copy_engine #(
    parameter WIDTH0 = 16,  // bytes of the bus of the outer side
    parameter WIDTH1 = 64,  // of the inner one
    parameter SIZE = 4096   // bytes of the buffer, those included that wait for their beats
) (
    input  logic                clk,
    input  logic                reset,
    // What a file says; it is taken over in reset.
    input  logic [15:0]         option_burst,
    input  logic [15:0]         option_outstanding,
    input  logic [31:0]         option_buffer,
    input  logic [47:0]         option_inner_begin,  // addresses of the inner side
    input  logic [47:0]         option_inner_end,
    // Instructions.
    input  logic                instruction_valid,
    input  logic [511:0]        instruction,
    // The ports.
    output logic [1:0]          request,
    output logic [1:0]          request_write,
    output logic [95:0]         request_address,
    output logic [31:0]         request_bytes,
    output logic [1:0]          sends,       // a request is new
    output logic [5:0]          read_tag,    // of a new read
    output logic [5:0]          write_tag,   // of a new write
    input  logic [1:0]          grant,
    input  logic [1:0]          read_beat,
    input  logic [11:0]         read_beat_tag,
    input  logic [1:0]          read_done,   // with the last beat
    input  logic [WIDTH0*8-1:0] read_data0,
    input  logic [WIDTH1*8-1:0] read_data1,
    output logic [1:0]          write_beat,
    output logic [WIDTH0*8-1:0] write_data0,
    output logic [WIDTH1*8-1:0] write_data1,
    input  logic [1:0]          write_done,
    input  logic [11:0]         write_done_tag,
    // What is seen of it.
    output logic                reads,       // a read, or a stretch of the border
    output logic                writes,
    output logic [31:0]         reserved,    // bytes of the buffer
    output logic [3:0]          copies_done
);
  logic [15:0] burst, outstanding;
  logic [31:0] buffer_bytes;
  logic [47:0] inner_begin, inner_end;
  always_ff @(posedge clk)
    if (reset) begin
      burst <= option_burst;
      outstanding <= option_outstanding;
      buffer_bytes <= option_buffer;
      inner_begin <= option_inner_begin;
      inner_end <= option_inner_end;
    end

  // Copies: the next one to come, that is read, that is written, that is not complete.
  dma_pkg::copy_t jobs[dma_pkg::JOBS], read_job, write_job;
  logic [3:0] next_job, job_read, job_written, job_arrived, job_done;
  logic [4:0] jobs_unread, jobs_unwritten;
  logic read_loaded, write_loaded;

  function automatic logic inner(input [47:0] address);
    inner = address >= inner_begin && address < inner_end;
  endfunction

  logic [47:0] read_address, write_address;
  logic [15:0] read_bytes, write_bytes;
  logic read_border, read_last, write_last, read_side_of, write_side_of;
  logic read_load, write_load, read_step, write_step;
  dma_pkg::runs_t destination;

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
  run_walk write_walk (
      .clk(clk),
      .load(write_load),
      .runs(dma_pkg::joined(destination)),
      .option_burst(burst),
      .step(write_step),
      .address(write_address),
      .bytes(write_bytes),
      .last(write_last),
      .ends_row()
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
    destination.address = next_written.destination;
    destination.run_bytes = next_written.run_bytes;
    destination.columns = next_written.pad_left + next_written.inner_count + next_written.pad_right;
    destination.rows = next_written.pad_top + next_written.outer_count + next_written.pad_bottom;
    destination.column_stride = next_written.destination_inner_stride;
    destination.row_stride = next_written.destination_outer_stride;
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
  logic [1:0] free, send_read, send_write;
  logic [15:0] reads_taken[dma_pkg::SIDES], writes_taken[dma_pkg::SIDES];
  logic [31:0] writes_sent, writes_answered;
  logic ahead;  // the bytes of the copy before the last one have not arrived
  always_comb begin
    read_side_of = inner(read_job.source);
    write_side_of = inner(write_job.destination);
    write_step = write_loaded && free[write_side_of] && arrived - write_position >= write_bytes && arrived - write_position < 32'h80000000;
    reserved = reserved_before - (write_step ? write_bytes : 32'd0);
    ahead = job_read - job_arrived >= 4'd2;
    read_step = read_loaded && !ahead && (read_border || free[read_side_of] && !(write_step && write_side_of == read_side_of))
                && reserved + read_bytes <= buffer_bytes;
    if (read_step) reserved = reserved + read_bytes;
    send_read = 2'b0;
    send_write = 2'b0;
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
      .WIDTH0(WIDTH0),
      .WIDTH1(WIDTH1),
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
      .data0(read_data0),
      .data1(read_data1),
      .done(read_done),
      .taken(reads_taken),
      .*
  );

  logic [31:0] positions[dma_pkg::SIDES];
  write_answers answers (
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
    for (s = 0; s < dma_pkg::SIDES; s = s + 1) begin : side
      request_port port (
          .option_outstanding(outstanding),
          .free(free[s]),
          .taken(reads_taken[s] + writes_taken[s]),
          .send(sends[s]),
          .send_write(send_write[s]),
          .send_address(send_write[s] ? write_address : read_address),
          .send_bytes(send_write[s] ? write_bytes : read_bytes),
          .send_position(write_position),
          .request(request[s]),
          .write(request_write[s]),
          .address(request_address[s*48+:48]),
          .bytes(request_bytes[s*16+:16]),
          .position(positions[s]),
          .grant(grant[s]),
          .*
      );
    end
  endgenerate
  write_beats #(
      .WIDTH(WIDTH0),
      .SIZE(SIZE)
  ) outer_beats (
      .grant(grant[0] && request_write[0]),
      .position(positions[0]),
      .bytes(request_bytes[15:0]),
      .beat(write_beat[0]),
      .data(write_data0),
      .*
  );
  write_beats #(
      .WIDTH(WIDTH1),
      .SIZE(SIZE)
  ) inner_beats (
      .grant(grant[1] && request_write[1]),
      .position(positions[1]),
      .bytes(request_bytes[31:16]),
      .beat(write_beat[1]),
      .data(write_data1),
      .*
  );

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
