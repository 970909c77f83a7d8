// Operands of a copy in the order of their encoding (docs/isa.md). The first bit is the lowest bit of a structure, so the last field
// stands first.
package dma_pkg;

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

  // Bytes of a burst that is written, in the buffer: byte n of its block is at position + (n mod rows) * pitch + n div rows. Bytes that are
  // not turned have one row.
  typedef struct packed {
    logic        begins;  // with the first byte of its block; else with the one behind the burst before
    logic [15:0] rows;
    logic [31:0] pitch;
    logic [31:0] position;
  } place_t;

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

  // Where a block that is turned goes: its columns, as runs. How many rows of columns there are only its bytes tell, but whether there is
  // one alone.
  function automatic runs_t columns_of(input copy_t copy, input [47:0] address);
    columns_of.address = address;
    columns_of.run_bytes = copy.inner_count;
    columns_of.columns = copy.transposed_columns;
    columns_of.rows = copy.transposed_columns == copy.run_bytes ? 32'd1 : 32'hffffffff;
    columns_of.column_stride = copy.destination_inner_stride;
    columns_of.row_stride = copy.transposed_stride;
    if (columns_of.columns == 32'd1 || columns_of.column_stride == columns_of.run_bytes) begin
      columns_of.run_bytes = columns_of.run_bytes * columns_of.columns;
      columns_of.columns = 32'd1;
      if (columns_of.rows == 32'd1 || columns_of.row_stride == columns_of.run_bytes) begin
        columns_of.run_bytes = copy.inner_count * copy.run_bytes;
        columns_of.rows = 32'd1;
      end
    end
  endfunction

  // Where a copy goes that is not turned, its border included.
  function automatic runs_t destination_of(input copy_t copy);
    destination_of.address = copy.destination;
    destination_of.run_bytes = copy.run_bytes;
    destination_of.columns = copy.pad_left + copy.inner_count + copy.pad_right;
    destination_of.rows = copy.pad_top + copy.outer_count + copy.pad_bottom;
    destination_of.column_stride = copy.destination_inner_stride;
    destination_of.row_stride = copy.destination_outer_stride;
    destination_of = joined(destination_of);
  endfunction
endpackage
