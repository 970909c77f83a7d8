// What a copy reads, one request a clock, in the order in which its bytes are written: bursts of the source, and stretches of the border
// between them.
module read_side (
    input  logic           clk,
    input  logic           load,         // the next clock begins with the first bytes of `copy`
    input  dma_pkg::copy_t copy,
    input  logic [15:0]    option_burst,
    input  logic           step,
    output logic [47:0]    address,
    output logic [15:0]    bytes,
    output logic           border,
    output logic           last
);
  // Parts of a row of the destination.
  localparam [1:0] BORDER = 2'd0;  // a whole row, or what stands left of the source's runs
  localparam [1:0] SOURCE = 2'd1;
  localparam [1:0] RIGHT = 2'd2;

  dma_pkg::copy_t read;
  dma_pkg::runs_t source;
  logic [47:0] burst_address;
  logic [15:0] burst_bytes;
  logic burst_last, ends_row;

  // Rows of the source stay apart in a copy with a border.
  always_comb begin
    source.address = copy.source;
    source.run_bytes = copy.run_bytes;
    source.columns = copy.inner_count;
    source.rows = copy.outer_count;
    source.column_stride = copy.source_inner_stride;
    source.row_stride = copy.source_outer_stride;
    source = dma_pkg::joined(source);
    if ({copy.pad_top, copy.pad_left, copy.pad_bottom, copy.pad_right} != 32'd0 && source.rows != copy.outer_count) begin
      source.run_bytes = copy.run_bytes * copy.inner_count;
      source.rows = copy.outer_count;
    end
  end
  run_walk bursts (
      .clk(clk),
      .load(load),
      .runs(source),
      .option_burst(option_burst),
      .step(step && !border),
      .address(burst_address),
      .bytes(burst_bytes),
      .last(burst_last),
      .ends_row(ends_row)
  );

  logic [15:0] row, next_row;
  logic [1:0] part, next_part;
  logic [31:0] left, next_left;  // bytes of the part of a border
  logic [31:0] run_left;         // of its run
  logic part_ends, row_ends;

  function automatic logic in_border(input dma_pkg::copy_t of, input [15:0] number);
    in_border = number < of.pad_top || number >= of.pad_top + of.outer_count;
  endfunction
  function automatic logic rows_whole(input dma_pkg::copy_t of);
    rows_whole = of.pad_left + of.pad_right == 9'd0 && (of.inner_count == 16'd1 || of.source_inner_stride == of.run_bytes);
  endfunction
  // The first part of a row.
  function automatic [1:0] first_part(input dma_pkg::copy_t of, input [15:0] number);
    first_part = in_border(of, number) || of.pad_left != 8'd0 ? BORDER : SOURCE;
  endfunction
  function automatic [31:0] first_bytes(input dma_pkg::copy_t of, input [15:0] number);
    first_bytes = of.run_bytes * (in_border(of, number) ? of.pad_left + of.inner_count + of.pad_right : of.pad_left);
  endfunction

  // A stretch of the border lies within a run of the destination, and is no longer than a burst. Where no border stands in rows, and runs
  // of the source touch, a row is one run.
  logic whole_rows;
  assign whole_rows = rows_whole(read);
  always_comb begin
    border = part != SOURCE;
    bytes = burst_bytes;
    if (border) bytes = run_left < option_burst ? run_left : option_burst;
    address = burst_address;
    part_ends = border ? left == bytes : ends_row;
    row_ends = part_ends && (part == RIGHT || part == SOURCE && read.pad_right == 8'd0 || part == BORDER && in_border(read, row));
    next_row = part == SOURCE && burst_last ? read.pad_top + read.outer_count : row + 16'd1;
    last = row_ends && next_row == read.pad_top + read.outer_count + read.pad_bottom;
    next_part = row_ends ? first_part(read, next_row) : part == BORDER ? SOURCE : RIGHT;
    next_left = row_ends ? first_bytes(read, next_row) : read.run_bytes * read.pad_right;
  end
  always_ff @(posedge clk) begin
    if (load) begin
      read <= copy;
      row <= 16'd0;
      part <= first_part(copy, 16'd0);
      left <= first_bytes(copy, 16'd0);
      run_left <= rows_whole(copy) ? first_bytes(copy, 16'd0) : copy.run_bytes;
    end else if (step) begin
      if (part_ends) begin
        part <= next_part;
        left <= next_left;
      end else if (border) left <= left - bytes;
      if (border) run_left <= run_left != bytes ? run_left - bytes : whole_rows ? next_left : read.run_bytes;
      else if (part_ends) run_left <= whole_rows ? next_left : read.run_bytes;
      if (row_ends) row <= next_row;
    end
  end
endmodule
