// The switch-array engine: streams of maps and kernels in, instructions in, results out (SW-1 to SW-9).
module switch_array #(
    parameter R = 8,
    parameter C = 8,
    parameter G = 2,
    parameter P = 4,
    parameter ADDER_STAGES = 1,
    parameter BUS = 16,
    parameter BANK_WORDS = 512,        // one copy of a bank has at most so many
    parameter PARAMETER_WORDS = 512,
    parameter SLOTS = 4,
    parameter OUTPUT_BYTES = 2048,
    parameter QUEUE = 64,              // the queues in front of write ports are at most so deep
    parameter MAX_LATENCY = 8
) (
    input  logic             clk,
    input  logic             reset,
    // What the hardware description chooses; taken over in reset.
    input  logic             option_table1,
    input  logic             option_copied,
    input  logic [15:0]      option_queue_words,
    input  logic [15:0]      option_drain_clocks,
    input  logic [15:0]      option_post_latency,
    input  logic [31:0]      option_bank_words,  // one copy of a bank has so many
    input  logic [31:0]      option_burst_bytes,
    input  logic [31:0]      option_buffer_bytes,
    input  logic [15:0]      option_outstanding,
    // Instructions.
    input  logic             instruction_valid,
    output logic             instruction_ready,
    input  logic [511:0]     instruction,
    output logic             run_released,   // the operands of the run are needed no longer
    output logic [1:0]       run_done,       // a run is complete behind its last lane, or without a drain; both may be in one clock
    output logic             setup_done,     // a conv.setup is complete
    // The stream of maps, and its instruction's operands.
    input  logic             load_valid,
    output logic             load_ready,
    input  logic             load_first,
    input  logic [15:0]      load_bytes,
    input  logic [BUS*8-1:0] load_data,
    input  logic [383:0]     load_operands,
    // The stream of kernels and records.
    input  logic             parameter_valid,
    output logic             parameter_ready,
    input  logic             parameter_first,
    input  logic             parameter_records,
    input  logic             parameter_first_records,
    input  logic [15:0]      parameter_bytes,
    input  logic [BUS*8-1:0] parameter_data,
    input  logic [383:0]     parameter_operands,
    // The store channel: instructions as above, and its port of the bus.
    input  logic             store_valid,
    input  logic [511:0]     store_instruction,
    output logic             store_reads,
    output logic             store_request,
    output logic [47:0]      store_request_address,
    output logic [31:0]      store_request_bytes,
    input  logic             store_granted,
    input  logic [7:0]       store_answered,
    output logic             store_beat_valid,
    output logic [BUS*8-1:0] store_beat,
    // What lock step watches.
    output logic [R-1:0]     bank_write_valid,
    output logic [R*32-1:0]  bank_write_address,
    output logic [R*P*8-1:0] bank_write_data,
    output logic [R-1:0]     bank_read_valid,
    output logic [R*32-1:0]  bank_read_address,
    output logic [R*P*8-1:0] bank_read_data,     // the word comes a cycle after the address
    output logic [C-1:0]     kernel_write_valid,
    output logic [C*32-1:0]  kernel_write_address,
    output logic [C*P*8-1:0] kernel_write_data,
    output logic             kernel_read_valid,
    output logic [31:0]      kernel_read_address,
    output logic [C*P*8-1:0] kernel_read_data,   // the word comes a cycle after the address
    output logic             record_write,
    output logic [31:0]      record_address,
    output logic [127:0]     record_data,
    output logic             switch_valid,
    output logic [R-1:0]     switch_pixel,
    output logic [R*P*8-1:0] switch_word,
    output logic [R*16-1:0]  switch_h,
    output logic [R*16-1:0]  switch_w,
    output logic [31:0]      switch_beat,
    output logic [15:0]      switch_row,         // the operation cycle begins with this output row and column
    output logic [15:0]      switch_column,
    output logic             pe_valid,
    output logic [R*C*32-1:0] pe_sum,
    output logic [R*C*32-1:0] pe_accumulator,
    output logic [G-1:0]     out_valid,
    output logic [G*32-1:0]  out_address,
    output logic [15:0]      out_bytes,
    output logic [G*C*32-1:0] out_data,
    output logic [2:0]       state
);
  localparam L = R / G;

  conv_pkg::setup_t setup, shadow_setup;
  switch_array_pkg::run_t run;
  switch_array_pkg::drain_t drain_now, draining;
  switch_array_pkg::beat_t beat, switch_beat_now, mac;
  logic [ADDER_STAGES*switch_array_pkg::BEAT_BITS-1:0] adding;  // these are the beats behind the switch stage; the youngest one stands in the lowest place

  logic enable, chunk_ends, run_ends, copy, drain_active, drain_free, drain_leaves;
  logic running, setup_waits, reads, reads_all, started;
  logic [15:0] drain_lane;
  logic [R-1:0] pixel, selected;
  logic [R*8-1:0] bank;
  logic [R*16-1:0] h, w;
  logic record_valid, record_hold;
  logic [15:0] record_slot;

  logic table1, copied;
  logic [15:0] queue_words, drain_clocks, post_latency;
  logic [31:0] bank_words, burst_bytes, buffer_bytes;
  logic [15:0] outstanding;
  always_ff @(posedge clk) begin
    if (reset) begin
      table1 <= option_table1;
      copied <= option_copied;
      queue_words <= option_queue_words;
      drain_clocks <= option_drain_clocks;
      post_latency <= option_post_latency;
      bank_words <= option_bank_words;
      burst_bytes <= option_burst_bytes;
      buffer_bytes <= option_buffer_bytes;
      outstanding <= option_outstanding;
    end
  end

  // Every stage stands still while the last beat of an operation cycle waits for the shadow registers (SW-8).
  assign mac = adding[(ADDER_STAGES-1)*switch_array_pkg::BEAT_BITS+:switch_array_pkg::BEAT_BITS];
  assign enable = !(mac.valid && mac.drains && !drain_free);
  assign pe_valid = mac.valid && enable;
  assign copy = pe_valid && mac.drains;
  assign chunk_ends = pe_valid && mac.ends_chunk;
  assign run_ends = pe_valid && mac.ends_run;
  assign run_released = run_ends;

  input_arrangement #(
      .R(R), .G(G), .P(P), .BUS(BUS), .QUEUE(QUEUE)
  ) arrangement (
      .clk(clk),
      .reset(reset),
      .table1(table1),
      .bank_words(bank_words),
      .queue_words(queue_words),
      .beat_valid(load_valid),
      .beat_ready(load_ready),
      .beat_first(load_first),
      .beat_bytes(load_bytes),
      .beat_data(load_data),
      .op(load_operands),
      .write_valid(bank_write_valid),
      .write_address(bank_write_address),
      .write_data(bank_write_data)
  );

  parameter_loader #(
      .C(C), .P(P), .BUS(BUS), .QUEUE(QUEUE)
  ) loader (
      .clk(clk),
      .reset(reset),
      .queue_words(queue_words),
      .beat_valid(parameter_valid),
      .beat_ready(parameter_ready),
      .beat_first(parameter_first),
      .beat_records(parameter_records),
      .beat_first_records(parameter_first_records),
      .beat_bytes(parameter_bytes),
      .beat_data(parameter_data),
      .op(parameter_operands),
      .write_valid(kernel_write_valid),
      .write_address(kernel_write_address),
      .write_data(kernel_write_data),
      .record_valid(record_valid),
      .record_slot(record_slot),
      .record_address(record_address),
      .record_data(record_data),
      .record_hold(record_hold)
  );
  assign record_hold = !copied && drain_active && draining.slot == record_slot;
  assign record_write = record_valid && !record_hold;

  control #(
      .R(R), .G(G)
  ) controller (
      .clk(clk),
      .reset(reset),
      .table1(table1),
      .bank_words(bank_words),
      .copied(copied),
      .instruction_valid(instruction_valid),
      .instruction_ready(instruction_ready),
      .instruction(instruction),
      .enable(enable),
      .chunk_ends(chunk_ends),
      .run_ends(run_ends),
      .drain_active(drain_active),
      .drain_free(drain_free),
      .setup_out(setup),
      .run_out(run),
      .running(running),
      .setup_waits(setup_waits),
      .setup_done(setup_done),
      .reads(reads),
      .reads_all(reads_all),
      .beat_out(beat),
      .pixel(pixel),
      .selected(selected),
      .bank(bank),
      .h(h),
      .w(w),
      .read_valid(bank_read_valid),
      .read_address(bank_read_address),
      .started(started)
  );

  genvar i;
  generate
    for (i = 0; i < R; i = i + 1) begin : banks
      word_bank #(
          .WORDS(2 * BANK_WORDS),
          .DATA (P * 8)
      ) store (
          .clk(clk),
          .write_valid(bank_write_valid[i]),
          .write_address(bank_write_address[i*32+:32]),
          .write_data(bank_write_data[i*P*8+:P*8]),
          .read_valid(bank_read_valid[i]),
          .read_address(bank_read_address[i*32+:32]),
          .read_data(bank_read_data[i*P*8+:P*8])
      );
    end
    for (i = 0; i < C; i = i + 1) begin : kernels
      word_bank #(
          .WORDS(PARAMETER_WORDS),
          .DATA (P * 8)
      ) store (
          .clk(clk),
          .write_valid(kernel_write_valid[i]),
          .write_address(kernel_write_address[i*32+:32]),
          .write_data(kernel_write_data[i*P*8+:P*8]),
          .read_valid(kernel_read_valid),
          .read_address(kernel_read_address),
          .read_data(kernel_read_data[i*P*8+:P*8])
      );
    end
  endgenerate

  // The switch stage.
  logic [R-1:0] stage_pixel, stage_selected;
  logic [R*8-1:0] stage_bank;
  logic [R*16-1:0] stage_h, stage_w;
  logic [R*P*8-1:0] operand;

  always_ff @(posedge clk) begin
    if (reset) begin
      switch_beat_now <= '0;
      stage_selected <= {R{1'b0}};
    end else if (enable) begin
      switch_beat_now <= beat;
      stage_selected <= selected;
      stage_pixel <= pixel;
      stage_bank <= bank;
      stage_h <= h;
      stage_w <= w;
    end
  end

  switch_network #(
      .R(R), .P(P)
  ) network (
      .clk(clk),
      .enable(enable),
      .last(switch_beat_now.valid),
      .selected(stage_selected),
      .pixel(stage_pixel),
      .bank(stage_bank),
      .bank_data(bank_read_data),
      .zero_point(setup.input_zero_point[7:0]),
      .word(switch_word),
      .operand(operand)
  );

  assign switch_valid = switch_beat_now.valid && enable;
  assign switch_pixel = switch_valid ? stage_pixel : {R{1'b0}};
  assign switch_h = stage_h;
  assign switch_w = stage_w;
  assign switch_beat = switch_beat_now.beat;
  assign switch_row = switch_beat_now.row;
  assign switch_column = switch_beat_now.column;
  assign kernel_read_valid = switch_valid;
  assign kernel_read_address = switch_beat_now.parameter_word;

  // Multiplication and addition.
  always_ff @(posedge clk) begin
    if (reset) adding <= '0;
    else if (enable) adding <= {adding, switch_beat_now};
  end

  pe_array #(
      .R(R), .C(C), .P(P), .STAGES(ADDER_STAGES)
  ) array (
      .clk(clk),
      .enable(enable),
      .accumulates(mac.valid),
      .clears(mac.clears),
      .setup(setup),
      .operand(operand),
      .weight(kernel_read_data),
      .sum(pe_sum),
      .accumulator(pe_accumulator)
  );

  // Drain and post-processing.
  logic [G*C*32-1:0] lane_sums;
  logic [C*128-1:0] copy_records, shadow_records;
  logic [31:0] element, store_address;
  logic [BUS*8-1:0] store_data;
  logic run_written, ends_without_drain;

  always_comb begin
    element = setup.output_type == conv_pkg::TYPE_INT32 || !setup.requantise ? 32'd4 : 32'd1;
    drain_now = '0;
    drain_now.ends_run = mac.ends_run;
    drain_now.address = run.output_base + {16'd0, mac.block} * C * element
        + ({16'd0, mac.row} * {16'd0, run.columns} + {16'd0, mac.column}) * run.output_stride;
    drain_now.output_stride = run.output_stride;
    drain_now.columns = run.columns;
    drain_now.rows_left = run.rows - mac.row;
    drain_now.columns_left = run.columns - mac.column;
    drain_now.kernels = run.kernels;
    drain_now.slot = run.slot + mac.block;
  end

  shadow_registers #(
      .R(R), .C(C), .G(G)
  ) shadows (
      .clk(clk),
      .copy(copy),
      .accumulator(pe_accumulator),
      .drain_in(drain_now),
      .setup_in(setup),
      .records_in(copy_records),
      .lane(drain_lane),
      .sums(lane_sums),
      .drain(draining),
      .setup(shadow_setup),
      .records(shadow_records)
  );

  drain #(
      .L(L)
  ) lanes (
      .clk(clk),
      .reset(reset),
      .clocks_per_lane(drain_clocks),
      .copy(copy),
      .active(drain_active),
      .lane(drain_lane),
      .leaves(drain_leaves),
      .free(drain_free)
  );

  post_processor #(
      .C(C), .G(G), .SLOTS(SLOTS), .MAX_LATENCY(MAX_LATENCY)
  ) post (
      .clk(clk),
      .reset(reset),
      .copied(copied),
      .latency(post_latency),
      .record_write(record_write),
      .record_address(record_address),
      .record_data(record_data),
      .copy_slot(drain_now.slot),
      .copy_records(copy_records),
      .enters(drain_leaves),
      .lane(drain_lane),
      .lane_last(drain_lane == L - 1),
      .sums(lane_sums),
      .drain(draining),
      .setup(setup),
      .shadow_setup(shadow_setup),
      .shadow_records(shadow_records),
      .write_valid(out_valid),
      .write_address(out_address),
      .write_bytes(out_bytes),
      .write_data(out_data),
      .run_written(run_written)
  );

  output_buffer #(
      .G(G), .WRITE(C * 4), .READ(BUS), .BYTES(OUTPUT_BYTES)
  ) buffer (
      .clk(clk),
      .write_valid(out_valid),
      .write_address(out_address),
      .write_bytes(out_bytes),
      .write_data(out_data),
      .read_address(store_address),
      .read_data(store_data)
  );

  store #(
      .BUS(BUS)
  ) storing (
      .clk(clk),
      .reset(reset),
      .burst_bytes(burst_bytes),
      .buffer_bytes(buffer_bytes),
      .outstanding(outstanding),
      .instruction_valid(store_valid),
      .instruction(store_instruction),
      .reads(store_reads),
      .read_address(store_address),
      .read_data(store_data),
      .request_valid(store_request),
      .request_address(store_request_address),
      .request_bytes(store_request_bytes),
      .granted(store_granted),
      .answered(store_answered),
      .beat_valid(store_beat_valid),
      .beat_data(store_beat)
  );

  // A run is complete in the cycle after the place of its last lane's write, whether that lane has a pixel or not, or, where nothing is drained, after its last multiply-accumulate.
  assign ends_without_drain = run_ends && !mac.drains;
  always_ff @(posedge clk) run_done <= reset ? 2'd0 : {ends_without_drain, run_written};

  always_comb begin
    if (mac.valid && !enable) state = switch_array_pkg::STATE_OUTPUT_DRAIN;
    else if (mac.valid) state = switch_array_pkg::STATE_BUSY;
    else if (mac.conflict) state = switch_array_pkg::STATE_BANK_CONFLICT;
    else if (running) state = switch_array_pkg::STATE_PIPELINE_FILL;
    else if (setup_waits) state = switch_array_pkg::STATE_SETUP_WAIT;
    else state = switch_array_pkg::STATE_IDLE;
  end
endmodule
