// R x C processing elements: a lane's operand goes along its row, a column's weights go down the column. An element multiplies P
// pairs of nine-bit operands and adds the products up in STAGES stages, the last of which adds to its accumulator.
module pe_array #(
    parameter R = 8,
    parameter C = 4,
    parameter P = 4,
    parameter STAGES = 1
) (
    input  logic             clk,
    input  logic             enable,
    input  logic             accumulates,  // the last stage holds a beat
    input  logic             clears,       // which is the first one of its sums
    input  conv_pkg::setup_t setup,
    input  logic [R*P*8-1:0] operand,
    input  logic [C*P*8-1:0] weight,
    output logic [R*C*32-1:0] sum,
    output logic [R*C*32-1:0] accumulator  // it includes this beat
);
  // The STAGES-th root of P, rounded up: the operands that one stage adds.
  function automatic integer root(input integer operands, input integer stages);
    integer k, power;
    begin
      root = operands;
      for (k = operands; k >= 1; k = k - 1) begin
        power = 1;
        for (int i = 0; i < stages; i = i + 1) power = power * k;
        if (power >= operands) root = k;
      end
    end
  endfunction
  localparam FAN = root(P, STAGES);
  localparam N = R * C * P;

  logic signed [9:0] x[0:R*P-1];
  logic signed [9:0] w[0:C*P-1];
  logic signed [31:0] terms[0:N-1];            // an element has P products, and in its first places the sums of the stages
  logic [STAGES*N*32-1:0] kept, kept_next;     // these are the registers behind the stages but the last one
  logic [R*C*32-1:0] total;
  logic signed [31:0] part;

  always_comb begin
    for (int i = 0; i < R * P; i = i + 1)
      x[i] = $signed({setup.input_type == conv_pkg::TYPE_UINT8 ? 2'b00 : {2{operand[i*8+7]}}, operand[i*8+:8]}) - $signed(setup.input_zero_point[9:0]);
    for (int i = 0; i < C * P; i = i + 1)
      w[i] = $signed({setup.weight_type == conv_pkg::TYPE_UINT8 ? 2'b00 : {2{weight[i*8+7]}}, weight[i*8+:8]}) - $signed(setup.weight_zero_point[9:0]);
    kept_next = {STAGES * N * 32{1'b0}};
    for (int e = 0; e < R * C; e = e + 1)
      for (int p = 0; p < P; p = p + 1) terms[e*P+p] = x[e/C*P+p] * w[e%C*P+p];
    for (int s = 0; s < STAGES; s = s + 1) begin
      for (int e = 0; e < R * C; e = e + 1) begin
        for (int p = 0; p < P; p = p + 1) begin
          part = 32'sd0;
          for (int k = 0; k < FAN; k = k + 1)
            if (p * FAN + k < P) part = part + (s == 0 ? terms[e*P+p*FAN+k] : $signed(kept[(((s-1)*N+e*P+p*FAN+k)*32)+:32]));
          kept_next[(s*N+e*P+p)*32+:32] = part;
        end
      end
    end
    for (int e = 0; e < R * C; e = e + 1) begin
      sum[e*32+:32] = kept_next[((STAGES-1)*N+e*P)*32+:32];
      accumulator[e*32+:32] = (clears ? 32'd0 : total[e*32+:32]) + sum[e*32+:32];
    end
  end

  always_ff @(posedge clk) begin
    if (enable) begin
      kept <= kept_next;
      if (accumulates) total <= accumulator;
    end
  end
endmodule
