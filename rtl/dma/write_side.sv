// What a copy writes, one request a clock: bursts of its runs, or of the columns of its blocks, which are turned.
module write_side (
    input  logic             clk,
    input  logic             load,      // the next clock begins with the first bytes of `copy`
    input  dma_pkg::copy_t   copy,
    input  logic [15:0]      option_burst,
    input  logic             step,
    input  logic [31:0]      position,  // of the next byte in the stream
    output logic [47:0]      address,
    output logic [15:0]      bytes,
    output logic [31:0]      needed,    // so many bytes of the stream must have arrived: a block is there as a whole
    output dma_pkg::place_t  place,
    output logic             last
);
  dma_pkg::copy_t written;
  dma_pkg::runs_t runs;
  logic [15:0] block;
  logic [47:0] block_address;
  logic [31:0] block_left, block_bytes;
  logic turned, block_ends, walk_last;

  always_comb begin
    turned = written.transposed_columns != 16'd0;
    block_bytes = written.run_bytes * written.inner_count;
    block_ends = turned && block_left == bytes;
    last = turned ? block_ends && block + 16'd1 == written.outer_count : walk_last;
    needed = turned ? block_left : bytes;
    place.begins = !turned || block_left == block_bytes;
    place.rows = turned ? written.inner_count : 16'd1;
    place.pitch = written.run_bytes;
    place.position = position;
    runs = dma_pkg::columns_of(written, block_address + written.destination_outer_stride);
    if (load) runs = copy.transposed_columns != 16'd0 ? dma_pkg::columns_of(copy, copy.destination) : dma_pkg::destination_of(copy);
  end
  run_walk walk (
      .clk(clk),
      .load(load || step && block_ends),
      .runs(runs),
      .option_burst(option_burst),
      .step(step),
      .address(address),
      .bytes(bytes),
      .last(walk_last),
      .ends_row()
  );
  always_ff @(posedge clk) begin
    if (load) begin
      written <= copy;
      block <= 16'd0;
      block_address <= copy.destination;
      block_left <= copy.run_bytes * copy.inner_count;
    end else if (step) begin
      block_left <= block_ends ? block_bytes : block_left - bytes;
      if (block_ends) begin
        block <= block + 16'd1;
        block_address <= block_address + written.destination_outer_stride;
      end
    end
  end
endmodule
