// The last beat of an operation cycle copies the accumulators here, with the place of their results; with `copied` also the
// records and the set-up that post-processing needs (SW-9). A lane of each group is read while it drains.
module shadow_registers #(
    parameter R = 8,
    parameter C = 4,
    parameter G = 2
) (
    input  logic              clk,
    input  logic              copy,
    input  logic [R*C*32-1:0] accumulator,
    input  switch_array_pkg::drain_t drain_in,
    input  conv_pkg::setup_t setup_in,
    input  logic [C*128-1:0]  records_in,
    input  logic [15:0]       lane,
    output logic [G*C*32-1:0] sums,       // every group gives those of the lane
    output logic [switch_array_pkg::DRAIN_BITS-1:0] drain,
    output logic [switch_array_pkg::SETUP_BITS-1:0] setup,
    output logic [C*128-1:0]  records
);
  localparam L = R / G;
  logic [R*C*32-1:0] shadow;

  always_comb begin
    for (int g = 0; g < G; g = g + 1) sums[g*C*32+:C*32] = shadow[(g*L+{16'd0, lane})*C*32+:C*32];
  end

  always_ff @(posedge clk) begin
    if (copy) begin
      shadow <= accumulator;
      drain <= drain_in;
      setup <= setup_in;
      records <= records_in;
    end
  end
endmodule
