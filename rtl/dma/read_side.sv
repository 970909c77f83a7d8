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
  dma_pkg::copy_t read;
  dma_pkg::runs_t source;
  logic [47:0] burst_address, left, stretch, side_bytes;
  logic [15:0] burst_bytes;
  logic burst_last, ends_row;

  // A row of the source is a run of its own where a border stands between rows.
  always_comb begin
    source.address = copy.source;
    source.run_bytes = copy.run_bytes;
    source.columns = copy.inner_count;
    source.rows = copy.outer_count;
    source.column_stride = copy.source_inner_stride;
    source.row_stride = copy.source_outer_stride;
    source = dma_pkg::joined(source);
    if (copy.pad_left + copy.pad_right != 9'd0 && source.rows != copy.outer_count) begin
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

  // Bytes of the border that are still to come before the next burst.
  logic [47:0] above, below;
  logic [15:0] row;
  logic all_read;
  logic [47:0] pads, row_bytes;
  always_comb begin
    row_bytes = copy.run_bytes * (copy.pad_left + copy.inner_count + copy.pad_right);
    above = row_bytes * copy.pad_top + copy.run_bytes * copy.pad_left;
    pads = read.run_bytes * (read.pad_left + read.pad_right);
    below = read.run_bytes * (read.pad_left + read.inner_count + read.pad_right) * read.pad_bottom + read.run_bytes * read.pad_right;
    border = left != 48'd0;
    stretch = left;
    bytes = border ? stretch : burst_bytes;
    address = burst_address;
    last = border ? all_read : burst_last && below == 48'd0;
  end
  always_ff @(posedge clk) begin
    if (load) begin
      read <= copy;
      left <= copy.outer_count == 16'd0 ? row_bytes * (copy.pad_top + copy.pad_bottom) : above;
      all_read <= copy.outer_count == 16'd0;
    end else if (step) begin
      left <= 48'd0;
      if (!border && burst_last) begin
        left <= below;
        all_read <= 1'b1;
      end else if (!border && ends_row) left <= pads;
    end
  end
endmodule
