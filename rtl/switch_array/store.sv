// The store channel: reads blocks of the output buffer, a bus beat a cycle, and asks the bus to write them in bursts. Bytes that lie
// back to back in memory form one run; a burst stays within a window of `burst_bytes`. A burst is requested in the cycle
// after its last beat was read, while fewer than `outstanding` bursts are under way; its beats are on the bus from the cycle after the grant on.
module store #(
    parameter BUS = 16,
    parameter BURSTS = 1024,  // so many bursts may be read and not granted
    parameter BEATS = 4096    // so many beats may be read and not sent
) (
    input  logic             clk,
    input  logic             reset,
    input  logic [31:0]      burst_bytes,
    input  logic [31:0]      buffer_bytes,
    input  logic [15:0]      outstanding,
    // Instructions: one that is dispatched in a cycle is seen in the next one.
    input  logic             instruction_valid,
    input  logic [511:0]     instruction,
    // The output buffer.
    output logic             reads,
    output logic [31:0]      read_address,
    input  logic [BUS*8-1:0] read_data,
    // The bus.
    output logic             request_valid,
    output logic [47:0]      request_address,
    output logic [31:0]      request_bytes,
    input  logic             granted,
    input  logic [7:0]       answered,  // so many bursts are under way no longer; answers count in the order of the requests
    output logic             beat_valid,
    output logic [BUS*8-1:0] beat_data
);
  localparam BURST_INDEX = $clog2(BURSTS);
  localparam BEAT_INDEX = $clog2(BEATS);

  // Instructions that are held.
  logic [383:0] held[0:1];
  logic [1:0] count;
  switch_array_pkg::store_output_t op;
  assign op = held[0];

  // Where reading is.
  logic in_burst;
  logic [15:0] row, column;
  logic [31:0] source;
  logic [31:0] run_done;      // so many bytes of the run were read
  logic [31:0] burst_read;    // so many bytes of the burst were read
  logic [31:0] burst_size;

  logic joined_pixels, joined_rows, begins, ends_burst, ends_run, ends_all;
  logic [31:0] run_bytes, left_window, size, bytes;
  logic [47:0] run_address, address;

  logic [31:0] used;          // bursts that are read, or being read, and not granted have so many bytes
  logic [15:0] under_way;

  logic [79:0] bursts[0:BURSTS-1];
  logic [BURST_INDEX:0] burst_count;
  logic [BURST_INDEX-1:0] burst_head;
  logic [BUS*8-1:0] beats[0:BEATS-1];
  logic [BEAT_INDEX-1:0] beat_head, beat_tail;
  logic [31:0] to_send;

  always_comb begin
    joined_pixels = op.pixel_stride == op.pixel_bytes || op.columns == 16'd1;
    joined_rows = joined_pixels && (op.row_stride == op.pixel_bytes * {16'd0, op.columns} || op.rows == 16'd1);
    run_bytes = joined_rows ? op.pixel_bytes * {16'd0, op.columns} * {16'd0, op.rows} : joined_pixels ? op.pixel_bytes * {16'd0, op.columns} : op.pixel_bytes;
    run_address = op.address + {32'd0, row} * {16'd0, op.row_stride} + {32'd0, column} * {16'd0, op.pixel_stride};
    address = run_address + {16'd0, run_done};
    left_window = burst_bytes - (address[31:0] & (burst_bytes - 32'd1));
    size = run_bytes - run_done < left_window ? run_bytes - run_done : left_window;
    if (in_burst) size = burst_size;
    begins = !in_burst && count != 2'd0 && used + size <= buffer_bytes;
    reads = begins || in_burst;
    bytes = size - (in_burst ? burst_read : 32'd0);
    if (bytes > BUS) bytes = BUS;
    ends_burst = reads && (in_burst ? burst_read : 32'd0) + bytes == size;
    ends_run = ends_burst && run_done + size == run_bytes;
    ends_all = ends_run && (joined_rows || ((joined_pixels || column + 16'd1 == op.columns) && row + 16'd1 == op.rows));
    read_address = op.source + source;

    request_valid = burst_count != 0 && under_way < outstanding;
    {request_address, request_bytes} = bursts[burst_head];
    beat_valid = to_send != 32'd0;
    beat_data = beats[beat_head];
  end

  logic [BUS*8-1:0] mask;
  always_comb begin
    for (int i = 0; i < BUS; i = i + 1) mask[i*8+:8] = i < bytes ? 8'hff : 8'h00;
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      count <= 2'd0;
      in_burst <= 1'b0;
      row <= 16'd0;
      column <= 16'd0;
      source <= 32'd0;
      run_done <= 32'd0;
      burst_read <= 32'd0;
      used <= 32'd0;
      under_way <= 16'd0;
      burst_count <= '0;
      burst_head <= '0;
      beat_head <= '0;
      beat_tail <= '0;
      to_send <= 32'd0;
    end else begin
      count <= count + {1'b0, instruction_valid} - {1'b0, ends_all};
      if (reads) begin
        in_burst <= !ends_burst;
        burst_size <= size;
        burst_read <= ends_burst ? 32'd0 : (in_burst ? burst_read : 32'd0) + bytes;
        source <= ends_all ? 32'd0 : source + bytes;
        beats[beat_tail] <= read_data & mask;
        beat_tail <= beat_tail + 1'b1;
        if (ends_burst) run_done <= ends_run ? 32'd0 : run_done + size;
        if (ends_run) begin
          if (ends_all) begin
            row <= 16'd0;
            column <= 16'd0;
          end else if (joined_pixels || column + 16'd1 == op.columns) begin
            column <= 16'd0;
            row <= row + 16'd1;
          end else begin
            column <= column + 16'd1;
          end
        end
      end
      if (ends_burst) bursts[(burst_head+burst_count[BURST_INDEX-1:0])&(BURSTS-1)] <= {address, size};
      burst_count <= burst_count + (ends_burst ? 1 : 0) - (granted ? 1 : 0);
      if (granted) burst_head <= burst_head + 1'b1;
      used <= used + (begins ? size : 32'd0) - (granted ? request_bytes : 32'd0);
      under_way <= under_way + (granted ? 16'd1 : 16'd0) - {8'd0, answered};
      to_send <= to_send + (granted ? (request_bytes + BUS - 1) >> $clog2(BUS) : 32'd0) - (beat_valid ? 32'd1 : 32'd0);
      if (beat_valid) beat_head <= beat_head + 1'b1;
    end
    if (ends_all) held[0] <= count == 2'd2 ? held[1] : instruction[511:128];
    else if (count == 2'd0) held[0] <= instruction[511:128];
    if (count == 2'd1) held[1] <= instruction[511:128];  // none is dispatched while two are held
  end
endmodule
