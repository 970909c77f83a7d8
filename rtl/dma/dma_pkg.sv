// Operands of a copy in the order of their encoding (docs/isa.md). The first bit is the lowest bit of a structure, so the last field
// stands first.
package dma_pkg;

  localparam SIDES = 2;  // ports: the outer one, then that at the memories of the inner side
  localparam JOBS = 16;   // copies whose writes are not all answered
  localparam READS = 64;  // reads and stretches of a border under way
  localparam WRITES = 64;  // writes under way

  typedef struct packed {
    logic [7:0]  unused;
    logic [31:0] transposed_stride;
    logic [15:0] transposed_columns;
    logic [7:0]  fill;
    logic [7:0]  pad_right;
    logic [7:0]  pad_bottom;
    logic [7:0]  pad_left;
    logic [7:0]  pad_top;
    logic [31:0] destination_outer_stride;
    logic [31:0] destination_inner_stride;
    logic [31:0] source_outer_stride;
    logic [31:0] source_inner_stride;
    logic [15:0] outer_count;
    logic [15:0] inner_count;
    logic [31:0] run_bytes;
    logic [47:0] destination;
    logic [47:0] source;
  } copy_t;

  // Runs of bytes, `rows` times `columns` of them.
  typedef struct packed {
    logic [47:0] address;
    logic [47:0] run_bytes;
    logic [31:0] columns;
    logic [31:0] rows;
    logic [47:0] column_stride;
    logic [47:0] row_stride;
  } runs_t;

  // The same bytes in as few runs as there are: runs that touch are one.
  function automatic runs_t joined(input runs_t runs);
    joined = runs;
    if (runs.columns == 32'd1 || runs.column_stride == runs.run_bytes) begin
      joined.run_bytes = runs.run_bytes * runs.columns;
      joined.columns = 32'd1;
      if (runs.rows == 32'd1 || runs.row_stride == joined.run_bytes) begin
        joined.run_bytes = joined.run_bytes * runs.rows;
        joined.rows = 32'd1;
      end
    end
  endfunction
endpackage
