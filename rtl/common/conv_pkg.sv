// What the engines share: types of elements, and the operands of conv.setup in the order of their encoding (docs/isa.md).
// The first bit of an instruction's operands is the lowest bit of the structure, so the last field stands first.
package conv_pkg;

  localparam [2:0] TYPE_INT8 = 3'd0;
  localparam [2:0] TYPE_UINT8 = 3'd1;
  localparam [2:0] TYPE_INT32 = 3'd2;

  typedef struct packed {
    logic [4:0]  unused;
    logic [15:0] ceiling;
    logic [15:0] floor;
    logic [2:0]  rescale;
    logic [63:0] slope;
    logic [63:0] output_scale;
    logic [2:0]  func;
    logic [2:0]  weight_type;
    logic [8:0]  output_zero_point;
    logic [31:0] clamp_high;
    logic [31:0] clamp_low;
    logic        post_parameters;
    logic        clamp;
    logic        requantise;
    logic [2:0]  output_type;
    logic [2:0]  input_type;
    logic [15:0] weight_zero_point;
    logic [15:0] input_zero_point;
    logic [15:0] dilation_w;
    logic [15:0] dilation_h;
    logic [15:0] stride_w;
    logic [15:0] stride_h;
    logic [15:0] kernel_w;
    logic [15:0] kernel_h;
  } setup_t;

endpackage
