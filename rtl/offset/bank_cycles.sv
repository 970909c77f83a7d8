// Cycles of a beat in the lines (OT-6): each bank serves one word a cycle; a word that several threads need is read once.
module bank_cycles #(
    parameter R = 4,
    parameter V = 4,
    parameter LINE = 16,
    parameter BANKS = 4
) (
    input  logic [R-1:0]    present,
    input  logic [R*48-1:0] addresses,
    input  logic [7:0]      count,
    input  logic [4:0]      shift,   // by which part of a line's number its banks are turned
    output logic [15:0]     cycles
);
  localparam W = (V + 2) / 4 + 1;    // words of a thread, at most

  logic [R*W-1:0] needed;
  logic [R*W*48-1:0] words;
  logic [R*W*8-1:0] banks;
  logic [47:0] word;
  logic [15:0] served;

  always_comb begin
    needed = '0;
    words = '0;
    banks = '0;
    word = 48'd0;
    for (int i = 0; i < R * W; i = i + 1) begin
      word = (addresses[(i/W)*48+:48] >> 2) + (i % W);
      words[i*48+:48] = word;
      banks[i*8+:8] = (word % (LINE / 4) + ((word / (LINE / 4)) >> shift)) % BANKS;
      needed[i] = present[i/W] && word <= ((addresses[(i/W)*48+:48] + count - 48'd1) >> 2);
      for (int j = 0; j < i; j = j + 1) if (needed[j] && words[j*48+:48] == word) needed[i] = 1'b0;
    end
    cycles = 16'd1;
    served = 16'd0;
    for (int b = 0; b < BANKS; b = b + 1) begin
      served = 16'd0;
      for (int i = 0; i < R * W; i = i + 1) if (needed[i] && banks[i*8+:8] == b) served = served + 16'd1;
      if (served > cycles) cycles = served;
    end
  end
endmodule
