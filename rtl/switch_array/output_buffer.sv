// The output buffer: bytes, with a write port for each row group and one read port. It stands for byte-wide banks behind a
// rotator, of which neighbouring bytes never share one; a half is written or read, never both, so the ports do not meet.
module output_buffer #(
    parameter G = 2,
    parameter WRITE = 16,   // a write has at most so many bytes
    parameter READ = 16,    // a read has so many bytes
    parameter BYTES = 2048
) (
    input  logic              clk,
    input  logic [G-1:0]      write_valid,
    input  logic [G*32-1:0]   write_address,
    input  logic [15:0]       write_bytes,
    input  logic [G*WRITE*8-1:0] write_data,
    input  logic [31:0]       read_address,
    output logic [READ*8-1:0] read_data
);
  logic [7:0] cells[0:BYTES-1];

  // A beat that is read at the end of the buffer has bytes beyond it, which belong to no burst.
  always_comb begin
    for (int i = 0; i < READ; i = i + 1) read_data[i*8+:8] = cells[read_address+i];
  end

  // Assigned at once: bytes that are written are not read in this clock.
  always @(posedge clk) begin
    for (int g = 0; g < G; g = g + 1) begin
      if (write_valid[g]) begin
        for (int i = 0; i < WRITE; i = i + 1) begin
          if (i < {16'd0, write_bytes}) cells[write_address[g*32+:32]+i] = write_data[(g*WRITE+i)*8+:8];
        end
      end
    end
  end
endmodule
