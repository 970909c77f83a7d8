// Cuts strided runs into bursts: each lies within one run and within a window that is aligned to its longest size.
module run_walk (
    input  logic           clk,
    input  logic           load,       // the next clock begins with the first burst of `runs`
    input  dma_pkg::runs_t runs,
    input  logic [15:0]    option_burst,
    input  logic           step,       // goes to the next burst
    output logic [47:0]    address,
    output logic [15:0]    bytes,
    output logic           last,       // of all runs
    output logic           ends_row
);
  dma_pkg::runs_t walked;
  logic [31:0] row, column;
  logic [47:0] row_address, run_address, offset, left, window;
  logic run_ends;

  always_comb begin
    address = run_address + offset;
    left = walked.run_bytes - offset;
    window = {32'd0, option_burst} - (address & ({32'd0, option_burst} - 48'd1));
    bytes = left < window ? left : window;
    run_ends = left <= window;
    ends_row = run_ends && column + 32'd1 == walked.columns;
    last = ends_row && row + 32'd1 == walked.rows;
  end

  always_ff @(posedge clk) begin
    if (load) begin
      walked <= runs;
      row <= 32'd0;
      column <= 32'd0;
      offset <= 48'd0;
      row_address <= runs.address;
      run_address <= runs.address;
    end else if (step) begin
      offset <= run_ends ? 48'd0 : offset + bytes;
      if (ends_row) begin
        row <= row + 32'd1;
        column <= 32'd0;
        row_address <= row_address + walked.row_stride;
        run_address <= row_address + walked.row_stride;
      end else if (run_ends) begin
        column <= column + 32'd1;
        run_address <= run_address + walked.column_stride;
      end
    end
  end
endmodule
