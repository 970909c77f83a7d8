// The operands of the instructions that the switch array executes, in the order of their encoding (docs/isa.md):
// the first bit of an instruction's operands is the lowest bit of the structure, so the last field stands first.
package switch_array_pkg;

  localparam [7:0] OPCODE_SETUP = 8'h01;
  localparam [7:0] OPCODE_RUN = 8'h02;

  // Bits of the structures below, for ports: yosys takes no structure as an output.
  localparam SETUP_BITS = 384;
  localparam RUN_BITS = 384;
  localparam BEAT_BITS = 119;
  localparam DRAIN_BITS = 145;

  // What the array does in a cycle, as its ledger names it.
  localparam [2:0] STATE_IDLE = 3'd0;  // The cause lies outside of the engine.
  localparam [2:0] STATE_BUSY = 3'd1;
  localparam [2:0] STATE_PIPELINE_FILL = 3'd2;
  localparam [2:0] STATE_BANK_CONFLICT = 3'd3;
  localparam [2:0] STATE_OUTPUT_DRAIN = 3'd4;
  localparam [2:0] STATE_SETUP_WAIT = 3'd5;

  // n div SIZE, a constant, is (n x reciprocal(SIZE)) >> (32 + clog2(SIZE)): exact for every n of 32 bits.
  function automatic [32:0] reciprocal(input integer size);
    reciprocal = ((65'd1 << (32 + $clog2(size))) + size - 1) / size;
  endfunction

  // n div SIZE with per_size = reciprocal(SIZE) and shift = clog2(SIZE), which are constants.
  function automatic [31:0] divided(input [31:0] n, input [32:0] per_size, input integer shift);
    logic [64:0] shifted;
    shifted = ({33'd0, n} * {32'd0, per_size}) >> (32 + shift);
    divided = shifted[31:0];
  endfunction

  typedef struct packed {
    logic [14:0] w_quotient;
    logic [14:0] h_quotient;
    logic [14:0] phase_columns;
    logic [15:0] plane_words;
    logic [15:0] plane_step;
    logic [15:0] blocks;
    logic [31:0] macs_per_pixel;
    logic [31:0] output_stride;
    logic [31:0] output_base;
    logic [31:0] parameter_word;
    logic [15:0] slot;
    logic [15:0] kernels;
    logic [15:0] planes;
    logic [15:0] first_plane;
    logic [15:0] w_offset;
    logic [15:0] h_offset;
    logic [15:0] width;
    logic [15:0] height;
    logic [15:0] columns;
    logic [15:0] rows;
    logic        last;
    logic        first;
    logic        copy;
  } run_t;

  typedef struct packed {
    logic [166:0] unused;
    logic [15:0]  slice;
    logic [7:0]   fill;
    logic [15:0]  stride_w;
    logic [15:0]  stride_h;
    logic [15:0]  channels;
    logic [15:0]  width;
    logic [15:0]  height;
    logic [31:0]  pixel_stride;
    logic [31:0]  row_stride;
    logic [47:0]  address;
    logic         copy;
  } load_input_t;

  typedef struct packed {
    logic [7:0]  fill;
    logic [23:0] taps;
    logic [15:0] block_channels;
    logic [24:0] block_words;
    logic [31:0] first_channel;
    logic [15:0] kernels;
    logic [15:0] first_kernel;
    logic [15:0] group_kernels;
    logic [29:0] group_channels;
    logic [30:0] stream_bytes;
    logic        packed_kernels;
    logic [15:0] post_records;
    logic [7:0]  slot;
    logic [23:0] parameter_word;
    logic [24:0] words;
    logic [47:0] post_address;
    logic [47:0] address;
  } load_kernels_t;

  typedef struct packed {
    logic [175:0] unused;
    logic [15:0]  columns;
    logic [15:0]  rows;
    logic [31:0]  pixel_bytes;
    logic [31:0]  source;
    logic [31:0]  pixel_stride;
    logic [31:0]  row_stride;
    logic [47:0]  address;
  } store_output_t;

  // What travels with a beat through the stages.
  typedef struct packed {
    logic        valid;        // The stage holds a beat.
    logic        conflict;     // The stage holds the bubble of a bank conflict.
    logic        clears;       // The accumulators start from zero.
    logic        ends_cycle;   // It is the last beat of an operation cycle.
    logic        drains;       // The accumulators are copied behind it.
    logic        ends_chunk;   // It is the last beat of a kernel block.
    logic        ends_run;     // It is the run's last beat.
    logic [31:0] parameter_word;
    logic [31:0] beat;
    logic [15:0] row;          // The operation cycle begins with this output row and column.
    logic [15:0] column;
    logic [15:0] block;
  } beat_t;

  // What post-processing must know of the operation cycle whose lanes drain.
  typedef struct packed {
    logic        ends_run;
    logic [31:0] address;      // Output (row, column) of the block's first kernel has this byte.
    logic [31:0] output_stride;
    logic [15:0] columns;      // The run has so many.
    logic [15:0] rows_left;    // So many output rows and columns are left from the operation cycle's first on.
    logic [15:0] columns_left;
    logic [15:0] kernels;
    logic [15:0] slot;
  } drain_t;

endpackage
