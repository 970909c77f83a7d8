// A compute unit: one line of the map and one kernel line a beat, and a result for every column of the line (WF-4).
module compute_unit #(
    parameter M = 16,
    parameter WS = 4          // columns of a line, at most
) (
    input  logic [2:0]        pci_shift,
    input  logic [M*9-1:0]    x,
    input  logic [M*9-1:0]    w,
    output logic [WS*32-1:0]  result
);
  logic signed [31:0] sums[0:M-1];
  always_comb begin
    for (int i = 0; i < M; i = i + 1) sums[i] = $signed(x[i*9+:9]) * $signed(w[i*9+:9]);
    // Each level adds neighbours; a result is complete at the level of the channel granularity.
    for (int level = 0; level < $clog2(M); level = level + 1)
      if (level < pci_shift)
        for (int i = 0; i < M >> (level + 1); i = i + 1) sums[i] = sums[2*i] + sums[2*i+1];
    result = '0;
    for (int i = 0; i < WS; i = i + 1)
      if (i < M >> pci_shift) result[i*32+:32] = sums[i];
  end
endmodule
