// Operands of rolling.setup and rolling.run in the order of their encoding (docs/isa.md), and what the parts of the
// rolling-register unit tell one another. The first bit is the lowest bit of a structure, so the last field stands first.
package rolling_pkg;

  localparam [7:0] OPCODE_CONV_SETUP = 8'h01;
  localparam [7:0] OPCODE_SETUP = 8'h05;
  localparam [7:0] OPCODE_RUN = 8'h06;

  localparam [1:0] SCHEME_PLAIN = 2'd0;
  localparam [1:0] SCHEME_GROUP = 2'd1;
  localparam [1:0] SCHEME_WHOLE = 2'd2;
  localparam [1:0] SCHEME_OUTPUT = 2'd3;

  // Bits of the structures below, for ports: yosys takes no structure as an output.
  localparam JOB_BITS = 1184;
  localparam ROUND_BITS = 189;
  localparam HALF_BITS = 1374;
  localparam LINE_BITS = 78;
  localparam ASK_BITS = 98;
  localparam LOAD_BITS = 97;

  // What the parts do in a cycle, as their ledgers name it; idle: the cause lies outside of the unit.
  localparam [3:0] STATE_IDLE = 4'd0;
  localparam [3:0] STATE_BUSY = 4'd1;
  localparam [3:0] STATE_ROLL = 4'd2;
  localparam [3:0] STATE_OUTPUT_DRAIN = 4'd3;
  localparam [3:0] STATE_INPUT_LOAD = 4'd4;
  localparam [3:0] STATE_WEIGHT_LOAD = 4'd5;
  localparam [3:0] STATE_LINE_LOAD = 4'd6;
  localparam [3:0] STATE_INPUT_RELEASE = 4'd7;
  localparam [3:0] STATE_WEIGHT_RELEASE = 4'd8;
  localparam [3:0] STATE_WRITE_QUEUE = 4'd9;
  localparam [3:0] STATE_STAGING = 4'd10;

  typedef struct packed {
    logic [247:0] unused;
    logic [31:0]  useful_taps;
    logic [15:0]  images;
    logic [15:0]  block_kernels;
    logic [15:0]  group_kernels;
    logic [15:0]  group_channels;
    logic [15:0]  pixel_bytes;
    logic [7:0]   stacked_cuts;
    logic [7:0]   stacked_blocks;
    logic         while_loading;
    logic         wrap_buffer;
    logic         by_tags;
    logic [1:0]   scheme;
    logic [2:0]   variant;
  } setup_t;

  typedef struct packed {
    logic [8:0]  unused;
    logic        transposes;
    logic        last;
    logic        first;
    logic [15:0] channels;
    logic [15:0] first_channel;
    logic [15:0] first_kernel;
    logic [15:0] w_offset;
    logic [15:0] h_offset;
    logic [15:0] width;
    logic [15:0] height;
    logic [15:0] kernels;
    logic [15:0] columns;
    logic [15:0] rows;
    logic [19:0] result_pixel;
    logic [47:0] result;
    logic [47:0] post;
    logic [47:0] weights;
    logic [47:0] map_address;
  } run_t;

  // A run with the registers that it takes along.
  typedef struct packed {
    logic [15:0]      first_group;     // the convolution group of its first kernel
    logic [15:0]      first_in_group;  // that kernel's number there
    logic [383:0]     conv;            // conv_pkg::setup_t: yosys finds no types of another package here
    setup_t           rolling;
    run_t             run;
  } job_t;

  // What lies in register groups at a time: u cuts of a stack of blocks of rows and one of kernels.
  typedef struct packed {
    logic        first_cut;   // the stack's first round
    logic        last_cut;    // the stack's last round
    logic        first_row;   // the first stack of rows of its column
    logic        last_row;    // the last one
    logic        ends_run;
    logic [7:0]  base;        // its first register group
    logic [7:0]  blocks;      // s of this stack: blocks of its longer operand
    logic [7:0]  block;       // lines of a block
    logic [15:0] group;       // convolution group
    logic [31:0] row;         // the stack's first row of the product
    logic [15:0] rows;
    logic [15:0] kernel;      // the stack's first kernel, counted from the run's first one
    logic [15:0] kernels;
    logic [31:0] element;     // n where the round begins
    logic [31:0] elements;    // n
  } round_t;

  // What a half of the result buffer takes along until its last row has drained.
  typedef struct packed {
    round_t   round;
    job_t     job;
    logic        ends_column; // the records are not needed any more
  } half_t;

  // A line on its way into registers, or a record.
  typedef struct packed {
    logic [7:0]  elements;
    logic        record;
    logic [10:0] zero;           // its elements' zero point; bit 10: they are unsigned
    logic [7:0]  group;
    logic [7:0]  line;
    logic [15:0] tag;            // its number in the stack; of a record the kernels of the column
    logic        across;         // it is an element of so many lines
    logic [7:0]  opens;          // it is the first line of its round: so many groups lose their lines
    logic [7:0]  base;           // from this one on
    logic [7:0]  size;           // groups that the round holds
    logic        last_of_round;
  } line_t;

  // A request of an address generator.
  typedef struct packed {
    logic        request;
    logic        access;         // the memory is accessed; 0: all of the line is padding
    logic        first;          // of its line
    logic        last;
    logic [7:0]  lane;           // of its first byte
    logic [7:0]  count;          // bytes
    line_t       line;
  } ask_t;

  // Elements that go into registers in this cycle.
  typedef struct packed {
    logic        writes;
    logic        enters;         // they are the line's first ones
    logic        finishes;       // its last ones
    logic [7:0]  lane;
    logic [7:0]  count;
    line_t       line;
  } load_t;

  function automatic left_transposed(input [2:0] variant);
    left_transposed = variant[2];
  endfunction
  function automatic rolls_a(input [2:0] variant);
    rolls_a = variant[2] ^ variant[1];
  endfunction
  function automatic rolls_down(input [2:0] variant);
    rolls_down = variant[0];
  endfunction

  // The register group `number` groups behind `base`.
  function automatic [7:0] group_at(input [7:0] base, input [7:0] number, input integer groups);
    group_at = base + number >= groups ? base + number - groups : base + number;
  endfunction

  // Lines of block `number`, where an operand has so many lines in blocks of `size`.
  function automatic [7:0] lines_of(input [15:0] lines, input [7:0] size, input [7:0] number);
    logic [15:0] skipped;
    begin
      skipped = size * number;
      lines_of = lines <= skipped ? 8'd0 : lines - skipped < {8'd0, size} ? lines[7:0] - skipped[7:0] : size;
    end
  endfunction

  // The rolling block that meets stationary block `number` in a phase of group rolling.
  function automatic [7:0] partner(input [7:0] number, input [7:0] phase, input [7:0] blocks, input down);
    partner = down ? (number >= phase ? number - phase : number + blocks - phase)
                   : (number + phase >= blocks ? number + phase - blocks : number + phase);
  endfunction

endpackage
