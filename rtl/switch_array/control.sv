// Instructions of the array, one behind the other: the registers of conv.setup, and the beats of conv.run with the place of the
// pixel that each lane reads. A run reads in the first cycle in which the array sees it (SW-8); no cycle is taken to set it up.
module control #(
    parameter R = 8,
    parameter G = 2
) (
    input  logic         clk,
    input  logic         reset,
    input  logic         table1,
    input  logic [31:0]  bank_words,       // one copy of a bank has so many
    input  logic         copied,
    // The dispatcher: an instruction that is dispatched in a cycle is seen by the array in the next one.
    input  logic         instruction_valid,
    output logic         instruction_ready,
    input  logic [511:0] instruction,
    // The pipeline.
    input  logic         enable,           // no stage stands still
    input  logic         chunk_ends,       // the last multiply-accumulate of a kernel block, of the run takes place
    input  logic         run_ends,
    input  logic         drain_active,     // lanes drain
    input  logic         drain_free,       // no lane drains, or the last one is in its last cycle
    output logic [switch_array_pkg::SETUP_BITS-1:0] setup_out,
    output logic [switch_array_pkg::RUN_BITS-1:0] run_out,
    output logic         running,          // a run is in the array in this cycle
    output logic         setup_waits,
    output logic         setup_done,       // a conv.setup is complete
    output logic         reads,            // the lanes of a beat read, or those of them that are left
    output logic         reads_all,        // these are the last ones of the beat
    output logic [switch_array_pkg::BEAT_BITS-1:0] beat_out,
    output logic [R-1:0]    pixel,
    output logic [R-1:0]    selected,      // the lanes that read in this cycle
    output logic [R*8-1:0]  bank,
    output logic [R*16-1:0] h,
    output logic [R*16-1:0] w,
    output logic [R-1:0]    read_valid,    // a bit belongs to a bank
    output logic [R*32-1:0] read_address,
    output logic         started           // it is a run's first cycle
);
  localparam L = R / G;

  conv_pkg::setup_t setup;
  switch_array_pkg::run_t run;
  switch_array_pkg::beat_t beat;
  assign setup_out = setup;
  assign run_out = run;
  assign beat_out = beat;

  // Two instructions are held.
  logic [511:0] queue0, queue1;
  logic [1:0] held;
  logic is_run, is_setup, pop, loads_setup;

  // Where the run is.
  typedef struct packed {
    logic [15:0] block;
    logic [15:0] row;
    logic [15:0] column;
    logic [15:0] plane;
    logic [15:0] tap_row;
    logic [15:0] tap_column;
    logic [31:0] beat;
    logic [31:0] parameter_word;        // this beat reads it
    logic [31:0] block_parameter_word;  // the kernel block's first beat reads it
    logic [31:0] base;                  // the channel block begins there
    logic [31:0] block_base;
    logic signed [31:0] h_tap;
    logic signed [31:0] w_tap;
    logic signed [31:0] h_quotient;
    logic signed [31:0] w_quotient;
    logic [15:0] h_remainder;
    logic [15:0] w_remainder;
  } place_t;

  place_t begun, kept, now, next;
  logic active, reads_done;
  logic [R-1:0] served, waiting;
  logic [R*32-1:0] address;
  logic ends_tap_row, ends_plane, ends_cycle, ends_columns, ends_rows, ends_blocks;

  // Set when conv.setup is executed.
  logic [15:0] dilation_h_quotient, dilation_h_remainder, dilation_w_quotient, dilation_w_remainder;
  conv_pkg::setup_t head_setup;
  logic [15:0] stride_h, stride_w;

  assign run = queue0[511:128];
  assign head_setup = queue0[511:128];
  assign is_run = held != 2'd0 && queue0[7:0] == switch_array_pkg::OPCODE_RUN;
  assign is_setup = held != 2'd0 && queue0[7:0] == switch_array_pkg::OPCODE_SETUP;
  assign instruction_ready = held != 2'd2;
  assign started = is_run && !active;
  assign running = is_run;
  assign reads = is_run && !reads_done && enable;
  assign loads_setup = is_setup && (copied || drain_free);
  assign setup_waits = is_setup && !copied && drain_active;
  // The registers are loaded at the end of the last lane's last cycle; what waited for the lanes is complete in the next one.
  logic setup_late;
  assign setup_done = setup_late || (loads_setup && (copied || !drain_active));
  always_ff @(posedge clk) setup_late <= !reset && loads_setup && !copied && drain_active;
  assign pop = loads_setup || (is_run && run_ends);
  logic [15:0] h_step_quotient, h_step_remainder, w_step_quotient, w_step_remainder;
  quotient h_step (
      .numerator(head_setup.dilation_h),
      .denominator(table1 ? 16'd1 : head_setup.stride_h),
      .result(h_step_quotient),
      .remainder(h_step_remainder)
  );
  quotient w_step (
      .numerator(head_setup.dilation_w),
      .denominator(table1 ? 16'd1 : head_setup.stride_w),
      .result(w_step_quotient),
      .remainder(w_step_remainder)
  );
  assign stride_h = table1 ? 16'd1 : setup.stride_h;
  assign stride_w = table1 ? 16'd1 : setup.stride_w;

  // The first beat of a run.
  always_comb begin
    begun = '0;
    begun.parameter_word = run.parameter_word;
    begun.block_parameter_word = run.parameter_word;
    begun.block_base = {16'd0, run.first_plane} * {16'd0, run.plane_words} + (run.copy ? bank_words : 32'd0);
    begun.base = begun.block_base;
    begun.h_tap = {{16{run.h_offset[15]}}, run.h_offset};
    begun.w_tap = {{16{run.w_offset[15]}}, run.w_offset};
    begun.h_quotient = stride_h == 16'd1 ? begun.h_tap : {{17{run.h_quotient[14]}}, run.h_quotient};
    begun.w_quotient = stride_w == 16'd1 ? begun.w_tap : {{17{run.w_quotient[14]}}, run.w_quotient};
    begun.h_remainder = begun.h_tap[15:0] - begun.h_quotient[15:0] * stride_h;
    begun.w_remainder = begun.w_tap[15:0] - begun.w_quotient[15:0] * stride_w;
    now = started ? begun : kept;
  end

  // The next beat.
  always_comb begin
    next = now;
    ends_tap_row = now.tap_column + 16'd1 == setup.kernel_w;
    ends_plane = ends_tap_row && now.tap_row + 16'd1 == setup.kernel_h;
    ends_cycle = ends_plane && now.plane + 16'd1 == run.planes;
    ends_columns = ends_cycle && {16'd0, now.column} + L >= {16'd0, run.columns};
    ends_rows = ends_columns && {16'd0, now.row} + G >= {16'd0, run.rows};
    ends_blocks = ends_rows && now.block + 16'd1 == run.blocks;
    next.beat = now.beat + 32'd1;
    next.parameter_word = now.parameter_word + 32'd1;
    if (!ends_tap_row) begin
      next.tap_column = now.tap_column + 16'd1;
      next.w_tap = now.w_tap + {16'd0, setup.dilation_w};
      next.w_quotient = now.w_quotient + {16'd0, dilation_w_quotient};
      next.w_remainder = now.w_remainder + dilation_w_remainder;
      if ({1'b0, now.w_remainder} + {1'b0, dilation_w_remainder} >= {1'b0, stride_w}) begin
        next.w_remainder = now.w_remainder + dilation_w_remainder - stride_w;
        next.w_quotient = now.w_quotient + {16'd0, dilation_w_quotient} + 32'sd1;
      end
    end else begin
      next.tap_column = 16'd0;
      next.w_tap = begun.w_tap;
      next.w_quotient = begun.w_quotient;
      next.w_remainder = begun.w_remainder;
      if (!ends_plane) begin
        next.tap_row = now.tap_row + 16'd1;
        next.h_tap = now.h_tap + {16'd0, setup.dilation_h};
        next.h_quotient = now.h_quotient + {16'd0, dilation_h_quotient};
        next.h_remainder = now.h_remainder + dilation_h_remainder;
        if ({1'b0, now.h_remainder} + {1'b0, dilation_h_remainder} >= {1'b0, stride_h}) begin
          next.h_remainder = now.h_remainder + dilation_h_remainder - stride_h;
          next.h_quotient = now.h_quotient + {16'd0, dilation_h_quotient} + 32'sd1;
        end
      end else begin
        next.tap_row = 16'd0;
        next.h_tap = begun.h_tap;
        next.h_quotient = begun.h_quotient;
        next.h_remainder = begun.h_remainder;
        next.plane = now.plane + 16'd1;
        next.base = now.base + {16'd0, run.plane_words};
        if (ends_cycle) begin
          next.plane = 16'd0;
          next.beat = 32'd0;
          next.base = now.block_base;
          next.parameter_word = now.block_parameter_word;
          next.column = now.column + L;
          if (ends_columns) begin
            next.column = 16'd0;
            next.row = now.row + G;
            if (ends_rows) begin
              next.row = 16'd0;
              next.block = now.block + 16'd1;
              next.block_base = now.block_base + {16'd0, run.plane_step} * {16'd0, run.plane_words};
              next.base = next.block_base;
              next.parameter_word = now.parameter_word + 32'd1;
              next.block_parameter_word = next.parameter_word;
            end
          end
        end
      end
    end
  end

  lane_addresses #(
      .R(R),
      .G(G)
  ) addresses (
      .table1(table1),
      .setup(setup),
      .run(run),
      .row(now.row),
      .column(now.column),
      .base(now.base),
      .h_tap(now.h_tap),
      .w_tap(now.w_tap),
      .h_quotient(now.h_quotient),
      .h_remainder(now.h_remainder),
      .w_quotient(now.w_quotient),
      .w_remainder(now.w_remainder),
      .pixel(pixel),
      .bank(bank),
      .address(address),
      .h(h),
      .w(w)
  );

  // A bank serves one lane a cycle, the lowest one first (SW-5).
  always_comb begin
    waiting = (started ? pixel : pixel & ~served);
    selected = {R{1'b0}};
    read_valid = {R{1'b0}};
    read_address = {R * 32{1'b0}};
    for (int i = 0; i < R; i = i + 1) begin
      if (reads && waiting[i] && !read_valid[bank[i*8+:8]]) begin
        selected[i] = 1'b1;
        read_valid[bank[i*8+:8]] = 1'b1;
        read_address[bank[i*8+:8]*32+:32] = address[i*32+:32];
      end
    end
    reads_all = reads && selected == waiting;

    beat = '0;
    beat.valid = reads_all;
    beat.conflict = reads && !reads_all;
    beat.clears = now.beat == 32'd0 && run.first;
    beat.ends_cycle = ends_cycle;
    beat.drains = ends_cycle && run.last;
    beat.ends_chunk = ends_rows;
    beat.ends_run = ends_blocks;
    beat.parameter_word = now.parameter_word;
    beat.beat = now.beat;
    beat.row = now.row;
    beat.column = now.column;
    beat.block = now.block;
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      held <= 2'd0;
      active <= 1'b0;
      reads_done <= 1'b0;
      served <= {R{1'b0}};
    end else begin
      held <= held + {1'b0, instruction_valid} - {1'b0, pop};
      if (pop) begin
        active <= 1'b0;
        reads_done <= 1'b0;
      end else if (is_run) begin
        active <= 1'b1;
        // A kernel block is a chunk: the next one's first read waits for its last multiply-accumulate.
        if (reads_all && ends_rows) reads_done <= 1'b1;
        else if (chunk_ends) reads_done <= 1'b0;
      end
      if (reads) served <= reads_all ? {R{1'b0}} : (started ? selected : served | selected);
    end
    if (reads_all) kept <= next;
    else if (started) kept <= begun;
    if (pop) queue0 <= held == 2'd2 ? queue1 : instruction;
    else if (held == 2'd0) queue0 <= instruction;
    if (held == 2'd1) queue1 <= instruction;  // none is dispatched while two are held
    if (loads_setup) begin
      setup <= head_setup;
      dilation_h_quotient <= h_step_quotient;
      dilation_w_quotient <= w_step_quotient;
      dilation_h_remainder <= h_step_remainder;
      dilation_w_remainder <= w_step_remainder;
    end
  end
endmodule
