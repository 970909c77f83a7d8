// One result: bias, clamp, rescaling by one of four rules, zero point, saturation (NU-2, NU-6; docs/arithmetic.md).
// Functions of the real value (leaky_relu and those behind it) are not here.
module result_unit #(
    parameter WHOLE = 0  // 1: only single_rounding and double_rounding are built
) (
    input  logic [31:0]  accumulator,
    input  logic [127:0] record,       // bits 0-63 are scale or multiplier, 64-95 the bias, 96-127 the shift
    input  conv_pkg::setup_t setup,
    output logic [31:0]  result
);
  /* verilator no_inline_module */

  logic signed [31:0] sum, shift;
  logic signed [32:0] biased;
  logic negative;
  logic [31:0] magnitude;
  logic [52:0] mantissa;
  logic [10:0] exponent;

  // Rounds a value to `width` significant bits, half to even; its place stays.
  function automatic [95:0] significant(input [95:0] value, input integer width);
    integer top;
    logic [95:0] unit, rest;
    begin
      top = -1;
      for (int i = 0; i < 96; i = i + 1) if (value[i]) top = i;
      significant = value;
      if (top >= width) begin
        unit = 96'd1 << (top - width + 1);
        rest = value & (unit - 96'd1);
        significant = value - rest;
        if (rest > (unit >> 1) || (rest == (unit >> 1) && (value & unit) != 96'd0)) significant = significant + unit;
      end
    end
  endfunction

  // value * 2^place as a whole number, half to even, at most 2^34.
  function automatic [34:0] whole(input [95:0] value, input integer place);
    logic [95:0] quotient, rest, half;
    begin
      if (value == 96'd0) quotient = 96'd0;
      else if (!place[31]) quotient = 96'd1 << 34;  // a product has the 53 bits of its scale
      else if (place < -95) quotient = 96'd0;
      else begin
        quotient = value >> (-place);
        rest = value - (quotient << (-place));
        half = 96'd1 << (-place - 1);
        if (rest > half || (rest == half && quotient[0])) quotient = quotient + 96'd1;
        if (quotient > (96'd1 << 34)) quotient = 96'd1 << 34;
      end
      whole = quotient[34:0];
    end
  endfunction

  logic [95:0] product, rounded_sum;
  logic [34:0] real_whole;
  logic signed [35:0] real_value;

  // Whole-number rules.
  logic [31:0] multiplier;
  logic signed [63:0] single_product, single_value;
  logic signed [31:0] shifted, high;
  logic signed [63:0] double_product;
  logic signed [31:0] double_value;
  logic [31:0] mask, rest_bits, threshold;

  logic signed [35:0] scaled;
  logic signed [36:0] placed, low_bound, high_bound;

  always_comb begin
    biased = $signed(accumulator) + (setup.post_parameters ? $signed(record[95:64]) : 33'sd0);
    sum = biased[31:0];
    if (setup.clamp) begin
      if (sum < $signed(setup.clamp_low)) sum = setup.clamp_low;
      if (sum > $signed(setup.clamp_high)) sum = setup.clamp_high;
    end
    shift = record[127:96];
    exponent = record[62:52] == 11'd0 ? 11'd1 : record[62:52];
    mantissa = {record[62:52] != 11'd0, record[51:0]};

    // real64, real32: magnitude * mantissa * 2^(exponent - 1075).
    negative = sum[31] ^ record[63];
    magnitude = sum[31] ? -sum : sum;
    rounded_sum = setup.rescale == 2'd1 ? significant({64'd0, magnitude}, 24) : {64'd0, magnitude};
    product = significant(rounded_sum * {43'd0, mantissa}, setup.rescale == 2'd1 ? 24 : 53);
    real_whole = whole(product, {21'd0, exponent} - 1075);
    real_value = negative ? -{1'b0, real_whole} : {1'b0, real_whole};

    // single_rounding, double_rounding: the multiplier is a whole number, held as a double.
    multiplier = mantissa >> (32'd1075 - {21'd0, exponent});
    single_product = $signed(sum) * $signed({1'b0, multiplier}) + (64'sd1 <<< (32'sd30 - shift));
    single_value = single_product >>> (32'sd31 - shift);
    shifted = shift > 0 ? sum <<< shift : sum;
    double_product = $signed(shifted) * $signed({1'b0, multiplier}) + 64'sd1073741824;
    double_product = double_product >>> 31;
    high = double_product > 64'sd2147483647 ? 32'sh7fffffff : double_product[31:0];
    mask = shift < 0 ? (32'd1 << (-shift)) - 32'd1 : 32'd0;
    rest_bits = high & mask;
    threshold = (mask >> 1) + {31'd0, high[31]};
    double_value = (shift < 0 ? high >>> (-shift) : high) + (rest_bits > threshold ? 32'sd1 : 32'sd0);

    case (setup.rescale)
      2'd2: scaled = single_value > 64'sd8589934592 ? 36'sd8589934592 : single_value < -64'sd8589934592 ? -36'sd8589934592 : single_value[35:0];
      2'd3: scaled = {{4{double_value[31]}}, double_value};
      default: scaled = WHOLE != 0 ? 36'sd0 : real_value;
    endcase
    placed = scaled + $signed(setup.output_zero_point);
    case (setup.output_type)
      conv_pkg::TYPE_INT8: begin
        low_bound = -37'sd128;
        high_bound = 37'sd127;
      end
      conv_pkg::TYPE_UINT8: begin
        low_bound = 37'sd0;
        high_bound = 37'sd255;
      end
      default: begin
        low_bound = -37'sd2147483648;
        high_bound = 37'sd2147483647;
      end
    endcase
    low_bound = low_bound + $signed({21'd0, setup.floor});
    high_bound = high_bound - $signed({21'd0, setup.ceiling});
    if (placed < low_bound) placed = low_bound;
    if (placed > high_bound) placed = high_bound;
    result = setup.requantise ? placed[31:0] : sum;
  end
endmodule
