// A bank of words with one read and one write port. A read sees what is written in its own cycle. The word is there in the
// cycle that follows, and stays until the next read.
module word_bank #(
    parameter WORDS = 1024,
    parameter DATA = 32
) (
    input  logic            clk,
    input  logic            write_valid,
    input  logic [31:0]     write_address,
    input  logic [DATA-1:0] write_data,
    input  logic            read_valid,
    input  logic [31:0]     read_address,
    output logic [DATA-1:0] read_data
);
  logic [DATA-1:0] cells[0:WORDS-1];

  always_ff @(posedge clk) begin
    if (write_valid) cells[write_address[$clog2(WORDS)-1:0]] <= write_data;
    if (read_valid) begin
      if (write_valid && write_address == read_address) read_data <= write_data;
      else read_data <= cells[read_address[$clog2(WORDS)-1:0]];
    end
  end
endmodule
