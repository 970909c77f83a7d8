// Cuts the bytes of a tile's pixels into words of P channels as they arrive and sends each to its bank (SW-1, SW-5).
// The bytes of an instruction come in the order slice, row, column, channel. A beat is taken whole or not at all.
module input_arrangement #(
    parameter R = 8,
    parameter G = 2,
    parameter P = 4,
    parameter BUS = 16,  // a beat has so many bytes
    parameter QUEUE = 64
) (
    input  logic             clk,
    input  logic             reset,
    input  logic             table1,
    input  logic [31:0]      bank_words,  // one copy has so many
    input  logic [15:0]      queue_words,
    input  logic             beat_valid,
    output logic             beat_ready,
    input  logic             beat_first,  // it is the first beat of an instruction
    input  logic [15:0]      beat_bytes,
    input  logic [BUS*8-1:0] beat_data,
    input  switch_array_pkg::load_input_t op,
    output logic [R-1:0]     write_valid,
    output logic [R*32-1:0]  write_address,
    output logic [R*P*8-1:0] write_data
);
  localparam L = R / G;

  // Where the next byte belongs.
  typedef struct packed {
    logic [15:0] h_phase;    // three numbers say the row: h mod sh, (h div sh) mod G, its number in its half less h mod sh
    logic [15:0] half;
    logic [15:0] half_row;
    logic [15:0] h;
    logic [15:0] w;
    logic [15:0] w_phase;    // two numbers say the column: w mod sw, w div sw
    logic [15:0] w_quotient;
    logic [15:0] channel;    // it counts within the slice
    logic [15:0] slice_begin;
    logic [31:0] slice_base; // the slice's first channel block begins there
    logic [31:0] base;       // the channel block begins there
    logic [15:0] bytes;      // the word that is being filled has so many
    logic [P*8-1:0] word;
  } place_t;

  place_t now, next;
  logic [15:0] stride_h, stride_w, phase_columns, odd_columns, slice_channels;
  logic [31:0] plane_words, full_rows, rest_rows;
  logic [31:0] n, line;
  logic [15:0] column;

  // The words of a beat, by bank and by their order.
  logic [R*8-1:0] counts;
  logic [R*BUS*32-1:0] word_address;
  logic [R*BUS*P*8-1:0] word_data;
  logic [31:0] bank, index;
  logic room;

  assign beat_ready = room;

  // These quotients are constant for the instruction and known with it, long before its first beat.
  logic [15:0] row_strides, unused_rows, whole_columns, odd;
  assign stride_h = table1 ? 16'd1 : op.stride_h;
  assign stride_w = table1 ? 16'd1 : op.stride_w;
  quotient columns (
      .numerator(op.width),
      .denominator(stride_w),
      .result(whole_columns),
      .remainder(odd)
  );
  quotient rows (
      .numerator(op.height),
      .denominator(stride_h),
      .result(row_strides),
      .remainder(unused_rows)
  );

  localparam [32:0] PER_GROUP = switch_array_pkg::reciprocal(G);
  localparam [32:0] PER_LANE = switch_array_pkg::reciprocal(L);

  always_comb begin
    phase_columns = 16'd0;
    odd_columns = 16'd0;
    plane_words = 32'd0;
    full_rows = 32'd0;
    rest_rows = 32'd0;
    n = 32'd0;
    line = 32'd0;
    column = 16'd0;
    slice_channels = 16'd0;
    counts = {R * 8{1'b0}};
    word_address = {R * BUS * 32{1'b0}};
    word_data = {R * BUS * P * 8{1'b0}};
    bank = 32'd0;
    index = 32'd0;
    next = now;
    if (beat_valid) begin
      phase_columns = whole_columns;
      odd_columns = odd;
      full_rows = switch_array_pkg::divided({16'd0, row_strides}, PER_GROUP, $clog2(G));
      rest_rows = {16'd0, op.height} - full_rows * {16'd0, stride_h} * G;
      if (rest_rows > {16'd0, stride_h}) rest_rows = {16'd0, stride_h};
      plane_words = switch_array_pkg::divided((full_rows * {16'd0, stride_h} + rest_rows) * {16'd0, op.width} + (L - 1), PER_LANE, $clog2(L));
      if (beat_first) begin
        next = '0;
        next.slice_base = op.copy ? bank_words : 32'd0;
        next.base = next.slice_base;
        next.word = {P{op.fill}};
      end
      for (int i = 0; i < BUS; i = i + 1) begin
        if (i < {16'd0, beat_bytes}) begin
          slice_channels = op.channels - next.slice_begin;
          if (op.slice != 16'd0 && op.slice < slice_channels) slice_channels = op.slice;
          next.word[next.bytes*8+:8] = beat_data[i*8+:8];
          next.bytes = next.bytes + 16'd1;
          next.channel = next.channel + 16'd1;
          if (next.bytes == P || next.channel == slice_channels) begin
            column = next.w_quotient;
            if (stride_w != 16'd1)
              column = next.w_quotient + next.w_phase * phase_columns + (next.w_phase < odd_columns ? next.w_phase : odd_columns);
            n = ({16'd0, next.half_row} + {16'd0, next.h_phase}) * {16'd0, op.width} + {16'd0, column};
            line = switch_array_pkg::divided(n, PER_LANE, $clog2(L));
            bank = {16'd0, next.half} * L + (n - line * L);
            index = bank * BUS + {24'd0, counts[bank*8+:8]};
            word_address[index*32+:32] = next.base + line;
            word_data[index*P*8+:P*8] = next.word;
            counts[bank*8+:8] = counts[bank*8+:8] + 8'd1;
            next.bytes = 16'd0;
            next.word = {P{op.fill}};
            next.base = next.base + plane_words;
          end
          if (next.channel == slice_channels) begin
            next.channel = 16'd0;
            if (next.w + 16'd1 != op.width) begin
              next.base = next.slice_base;
              next.w = next.w + 16'd1;
              next.w_phase = next.w_phase + 16'd1;
              if (next.w_phase == stride_w) begin
                next.w_phase = 16'd0;
                next.w_quotient = next.w_quotient + 16'd1;
              end
            end else begin
              next.w = 16'd0;
              next.w_phase = 16'd0;
              next.w_quotient = 16'd0;
              next.h = next.h + 16'd1;
              next.h_phase = next.h_phase + 16'd1;
              if (next.h_phase == stride_h) begin
                next.h_phase = 16'd0;
                next.half = next.half + 16'd1;
                if (next.half == G) begin
                  next.half = 16'd0;
                  next.half_row = next.half_row + stride_h;
                end
              end
              if (next.h == op.height) begin
                next.h = 16'd0;
                next.h_phase = 16'd0;
                next.half = 16'd0;
                next.half_row = 16'd0;
                next.slice_begin = next.slice_begin + slice_channels;
                next.slice_base = next.base;
              end else begin
                next.base = next.slice_base;
              end
            end
          end
        end
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reset) now <= '0;
    else if (beat_valid && beat_ready) now <= next;
  end

  write_queues #(
      .BANKS(R),
      .PUSH(BUS),
      .DEPTH(QUEUE),
      .DATA (P * 8)
  ) queues (
      .clk(clk),
      .reset(reset),
      .queue_words(queue_words),
      .push(beat_valid && beat_ready),
      .room(room),
      .counts(counts),
      .word_address(word_address),
      .word_data(word_data),
      .write_valid(write_valid),
      .write_address(write_address),
      .write_data(write_data)
  );
endmodule
