// Quotient and remainder of two numbers of 16 bits by 16 subtractions, one behind the other, without a clock.
module quotient (
    input  logic [15:0] numerator,
    input  logic [15:0] denominator,  // it is not 0
    output logic [15:0] result,
    output logic [15:0] remainder
);
  logic [16:0] rest;

  always_comb begin
    result = 16'd0;
    rest = 17'd0;
    for (int i = 15; i >= 0; i = i - 1) begin
      rest = {rest[15:0], numerator[i]};
      if (rest >= {1'b0, denominator}) begin
        rest = rest - {1'b0, denominator};
        result[i] = 1'b1;
      end
    end
    remainder = rest[15:0];
  end
endmodule
