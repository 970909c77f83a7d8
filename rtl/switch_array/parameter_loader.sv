// Brings kernels and post-parameter records from the bus to the parameter buffer and to the records of the post-processor.
// Words are ordered by kernel block, channel block, tap and column; only bytes of kernels come from memory, the others are
// filled up. A word is complete with its last byte, and a word without bytes together with the word before it.
module parameter_loader #(
    parameter C = 4,
    parameter P = 4,
    parameter BUS = 16,
    parameter QUEUE = 64
) (
    input  logic             clk,
    input  logic             reset,
    input  logic [15:0]      queue_words,
    input  logic             beat_valid,
    output logic             beat_ready,
    input  logic             beat_first,    // it is the first beat of an instruction
    input  logic             beat_records,  // the beat brings records
    input  logic             beat_first_records,
    input  logic [15:0]      beat_bytes,
    input  logic [BUS*8-1:0] beat_data,
    input  switch_array_pkg::load_kernels_t op,
    output logic [C-1:0]     write_valid,
    output logic [C*32-1:0]  write_address,
    output logic [C*P*8-1:0] write_data,
    // Records: the place is slot x C + column.
    output logic             record_valid,
    output logic [15:0]      record_slot,
    output logic [31:0]      record_address,
    output logic [127:0]     record_data,
    input  logic             record_hold    // the record's slot is needed by lanes that drain
);
  localparam PUSH = BUS + 1;             // a beat has at most so many words for a column
  localparam WORDS = PUSH * C;
  localparam RECORDS = (BUS + 15) / 16;

  typedef struct packed {
    logic [31:0] words;          // so many words a column are complete
    logic [31:0] block_word;     // so many of them belong to the kernel block
    logic [23:0] tap;
    logic [15:0] column;
    logic [15:0] kernel;         // so many kernels stand before those of the block
    logic [31:0] block_channel;  // the block and its channel block begin so many channels behind first_channel
    logic [31:0] channel;
    logic [15:0] block_in_group; // the block's first kernel has this number in its group, which begins with that channel
    logic [31:0] block_group;
    logic [15:0] in_group;       // the column's kernel has likewise
    logic [31:0] group;
    logic [15:0] bytes;          // so many of the word that is being filled have come
    logic [P*8-1:0] word;
  } place_t;

  place_t now, next;
  // The words of a beat, by column and by their order.
  logic [C*8-1:0] counts;
  logic [WORDS*32-1:0] word_address;
  logic [WORDS*P*8-1:0] word_data;
  logic room;

  logic [15:0] used;             // so many bytes of the beat are used
  logic signed [32:0] low, high; // bytes [low, high) of the word come from memory
  logic complete, going;
  logic [31:0] index;

  always_comb begin
    counts = {C * 8{1'b0}};
    index = 32'd0;
    word_address = {WORDS * 32{1'b0}};
    word_data = {WORDS * P * 8{1'b0}};
    next = now;
    used = 16'd0;
    low = 33'sd0;
    high = 33'sd0;
    complete = 1'b0;
    going = 1'b0;
    if (beat_valid && !beat_records) begin
      if (beat_first) begin
        next = '0;
        next.word = {P{op.fill}};
        next.block_in_group = op.first_kernel;
        next.in_group = op.first_kernel;
      end
      going = 1'b1;
      for (int i = 0; i < WORDS; i = i + 1) begin
        if (going && next.words != {7'd0, op.words}) begin
          if (op.group_channels == 30'd0) begin
            low = 33'sd0;
            high = P;
          end else if (next.kernel + next.column >= op.kernels) begin
            low = 33'sd0;
            high = 33'sd0;
          end else begin
            low = $signed({1'b0, next.group}) - $signed({op.first_channel[31], op.first_channel}) - $signed({1'b0, next.block_channel}) - $signed({1'b0, next.channel});
            high = low + $signed({3'd0, op.group_channels});
            if (low < 0) low = 33'sd0;
            if (high > P) high = P;
            if (high < low) high = low;
          end
          for (int k = 0; k < P; k = k + 1) begin
            if (used < beat_bytes && $signed({17'd0, next.bytes}) < high - low) begin
              next.word[(low[15:0]+next.bytes)*8+:8] = beat_data[used*8+:8];
              next.bytes = next.bytes + 16'd1;
              used = used + 16'd1;
            end
          end
          complete = $signed({17'd0, next.bytes}) == high - low;
          if (complete) begin
            index = {16'd0, next.column} * PUSH + {24'd0, counts[next.column*8+:8]};
            word_address[index*32+:32] = {8'd0, op.parameter_word} + next.words;
            word_data[index*P*8+:P*8] = next.word;
            counts[next.column*8+:8] = counts[next.column*8+:8] + 8'd1;
            next.bytes = 16'd0;
            next.word = {P{op.fill}};
            next.column = next.column + 16'd1;
            next.in_group = next.in_group + 16'd1;
            if (next.in_group == op.group_kernels) begin
              next.in_group = 16'd0;
              next.group = next.group + {2'd0, op.group_channels};
            end
            if (next.column == C) begin
              next.column = 16'd0;
              next.words = next.words + 32'd1;
              next.block_word = next.block_word + 32'd1;
              next.tap = next.tap + 24'd1;
              if (next.tap == op.taps) begin
                next.tap = 24'd0;
                next.channel = next.channel + P;
              end
              if (next.block_word == {7'd0, op.block_words}) begin
                next.block_word = 32'd0;
                next.tap = 24'd0;
                next.channel = 32'd0;
                next.kernel = next.kernel + C;
                next.block_channel = next.block_channel + {16'd0, op.block_channels};
                next.block_in_group = next.in_group;
                next.block_group = next.group;
              end else begin
                next.in_group = next.block_in_group;
                next.group = next.block_group;
              end
            end
          end else begin
            going = 1'b0;
          end
        end
      end
    end
  end

  // Records.
  localparam RINDEX = $clog2(QUEUE);
  logic [127:0] records[0:QUEUE-1];
  logic [15:0] record_places[0:QUEUE-1];
  logic [15:0] record_slots[0:QUEUE-1];
  logic [RINDEX-1:0] record_head;
  logic [15:0] record_used;
  logic [15:0] record_number, record_first;  // the next record has this number
  logic [15:0] record_in, record_in_next;    // it belongs to this slot, of which it is so far from the first one
  logic [15:0] record_column, record_column_next;
  logic [RECORDS*16-1:0] complete_slots;
  logic [127:0] part, part_next;             // this record is being filled
  logic [15:0] part_bytes, part_bytes_next;
  logic [RECORDS*128-1:0] complete_records;
  logic [15:0] complete_count;
  logic record_room, record_write;

  always_comb begin
    part_next = part;
    part_bytes_next = beat_first_records ? 16'd0 : part_bytes;
    complete_records = {RECORDS * 128{1'b0}};
    complete_count = 16'd0;
    complete_slots = {RECORDS * 16{1'b0}};
    record_in_next = beat_first_records ? {8'd0, op.slot} : record_in;
    record_column_next = beat_first_records ? 16'd0 : record_column;
    for (int i = 0; i < BUS; i = i + 1) begin
      if (beat_valid && beat_records && i < {16'd0, beat_bytes}) begin
        part_next[part_bytes_next*8+:8] = beat_data[i*8+:8];
        part_bytes_next = part_bytes_next + 16'd1;
        if (part_bytes_next == 16'd16) begin
          complete_records[complete_count*128+:128] = part_next;
          complete_slots[complete_count*16+:16] = record_in_next;
          record_column_next = record_column_next + 16'd1;
          if (record_column_next == C) begin
            record_column_next = 16'd0;
            record_in_next = record_in_next + 16'd1;
          end
          complete_count = complete_count + 16'd1;
          part_bytes_next = 16'd0;
        end
      end
    end
    record_valid = record_used != 16'd0;
    record_data = records[record_head];
    record_address = {16'd0, record_places[record_head]};
    record_slot = record_slots[record_head];
    record_write = record_valid && !record_hold;
    record_room = record_used - {15'd0, record_write} + complete_count <= queue_words;
    beat_ready = beat_records ? record_room : room;
    record_first = beat_first_records ? {8'd0, op.slot} * C : record_number;
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      now <= '0;
      record_head <= '0;
      record_used <= 16'd0;
      record_number <= 16'd0;
      part_bytes <= 16'd0;
      part <= 128'd0;
    end else begin
      if (beat_valid && beat_ready && !beat_records) now <= next;
      if (record_write) record_head <= record_head + 1'b1;
      record_used <= record_used - {15'd0, record_write};
      if (beat_valid && beat_ready && beat_records) begin
        record_used <= record_used - {15'd0, record_write} + complete_count;
        record_number <= record_first + complete_count;
        record_in <= record_in_next;
        record_column <= record_column_next;
        part <= part_next;
        part_bytes <= part_bytes_next;
      end
    end
    if (beat_valid && beat_ready && beat_records) begin
      for (int i = 0; i < RECORDS; i = i + 1) begin
        if (i < {16'd0, complete_count}) begin
          records[(record_head+record_used+i)&(QUEUE-1)] <= complete_records[i*128+:128];
          record_places[(record_head+record_used+i)&(QUEUE-1)] <= record_first + i;
          record_slots[(record_head+record_used+i)&(QUEUE-1)] <= complete_slots[i*16+:16];
        end
      end
    end
  end

  write_queues #(
      .BANKS(C),
      .PUSH(PUSH),
      .DEPTH(QUEUE),
      .DATA (P * 8)
  ) queues (
      .clk(clk),
      .reset(reset),
      .queue_words(queue_words),
      .push(beat_valid && beat_ready && !beat_records),
      .room(room),
      .counts(counts),
      .word_address(word_address),
      .word_data(word_data),
      .write_valid(write_valid),
      .write_address(write_address),
      .write_data(write_data)
  );
endmodule
