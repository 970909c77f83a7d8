// R sub-switches, a full crossbar. The lanes of a beat read in one or more cycles; a word that comes before the beat's last one
// waits in its lane, and all lanes are handed on together. Lanes without a pixel get the zero point.
module switch_network #(
    parameter R = 8,
    parameter P = 4
) (
    input  logic             clk,
    input  logic             enable,
    input  logic             last,       // the words that come in this cycle are the beat's last ones
    input  logic [R-1:0]     selected,   // the words of these lanes come from the banks in this cycle
    input  logic [R-1:0]     pixel,
    input  logic [R*8-1:0]   bank,
    input  logic [R*P*8-1:0] bank_data,
    input  logic [7:0]       zero_point,
    output logic [R*P*8-1:0] word,
    output logic [R*P*8-1:0] operand     // it is the register behind it, which feeds the multipliers
);
  logic [R*P*8-1:0] kept;

  always_comb begin
    for (int i = 0; i < R; i = i + 1) begin
      if (selected[i]) word[i*P*8+:P*8] = bank_data[bank[i*8+:8]*P*8+:P*8];
      else if (pixel[i]) word[i*P*8+:P*8] = kept[i*P*8+:P*8];
      else word[i*P*8+:P*8] = {P{zero_point}};
    end
  end

  always_ff @(posedge clk) begin
    if (enable) begin
      for (int i = 0; i < R; i = i + 1) if (selected[i]) kept[i*P*8+:P*8] <= word[i*P*8+:P*8];
      if (last) operand <= word;
    end
  end
endmodule
