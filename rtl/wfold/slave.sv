// A slave: first buffer of map lines, second buffer of kernel lines, compute units, third buffer with the sums of two tiles
// (WF-4, WF-7, WF-8).
module slave #(
    parameter NCU = 2,
    parameter M = 16,
    parameter L1 = 4,
    parameter L2 = 5,
    parameter WS = 4,
    parameter K = 2,             // kernels of a tile, at most
    parameter STAGES = 8
) (
    input  logic                          clk,
    input  logic                          reset,
    input  logic [3:0]                    option_stages,
    input  logic [2:0]                    pci_shift,
    input  logic [3:0]                    ws_shift,
    input  logic                          is_signed,      // the map's bytes
    input  logic [8:0]                    zero_point,
    // Lines.
    input  logic                          enter,
    input  logic [7:0]                    enter_slot,
    input  logic [M*8-1:0]                enter_line,
    input  logic [L1-1:0]                 mark,
    input  logic                          loads,
    input  logic [7:0]                    loads_slot,
    input  logic [M*9-1:0]                loads_line,
    // Beats.
    input  logic                          beat,
    input  logic                          step_first,
    input  logic                          clears,
    input  logic                          half,
    input  logic [7:0]                    k,
    input  logic [7:0]                    slot,
    input  logic [7:0]                    first_place,
    input  logic [7:0]                    shift,
    output logic [NCU*M*9-1:0]            operands,
    output logic [M*9-1:0]                kernel,
    // Results.
    output logic                          write,
    output logic                          write_half,
    output logic [7:0]                    write_k,
    output logic [NCU*WS*32-1:0]          results,
    output logic [NCU*WS*32-1:0]          sums,           // that the third buffer has since the cycle before
    output logic [2*K*NCU*WS*32-1:0]      third
);
  /* verilator no_inline_module */

  localparam UNIT = NCU * WS * 32;

  logic [L1*M*9-1:0] first;
  logic [M*9-1:0] second[0:L2-1];
  logic [NCU*M*9-1:0] latched, selected;
  logic [15:0] source, place;
  logic [UNIT-1:0] out, adds;

  // Selection: unit u begins u lines behind unit 0, all of them `shift` columns into their line.
  always_comb begin
    selected = '0;
    for (int u = 0; u < NCU; u = u + 1)
      for (int i = 0; i < M; i = i + 1) begin
        source = i + (shift << pci_shift);
        place = first_place + u + (source >= M ? 8'd1 : 8'd0);
        if (place >= L1) place = place - L1;
        if (place >= L1) place = place - L1;
        selected[(u*M+i)*9+:9] = first[(place*M+source%M)*9+:9];
      end
    operands = step_first ? selected : latched;
    kernel = second[slot];
  end

  genvar g;
  generate
    for (g = 0; g < NCU; g = g + 1) begin : unit
      compute_unit #(
          .M(M),
          .WS(WS)
      ) cu (
          .pci_shift(pci_shift),
          .x(operands[g*M*9+:M*9]),
          .w(kernel),
          .result(out[g*WS*32+:WS*32])
      );
    end
  endgenerate

  // The stages of the adder trees behind the first one.
  localparam ENTRY = 1 + 1 + 1 + 8 + UNIT;
  logic [STAGES*ENTRY-1:0] stages;  // the youngest beat stands in the lowest place
  logic [ENTRY-1:0] leaving;
  logic write_clears;
  assign leaving = option_stages == 4'd1 ? {beat, clears, half, k, out} : stages[(option_stages-4'd2)*ENTRY+:ENTRY];
  always_comb begin
    {write, write_clears, write_half, write_k, results} = leaving;
    for (int i = 0; i < NCU * WS; i = i + 1)
      adds[i*32+:32] = (write_clears ? 32'd0 : third[((write_half*K+write_k)*NCU*WS+i)*32+:32]) + results[i*32+:32];
  end

  always_ff @(posedge clk) begin
    for (int p = 0; p < L1; p = p + 1) if (mark[p]) first[p*M*9+:M*9] <= '0;
    if (enter)
      for (int i = 0; i < M; i = i + 1) first[(enter_slot*M+i)*9+:9] <= {is_signed && enter_line[i*8+7], enter_line[i*8+:8]} - zero_point;
    if (loads) second[loads_slot] <= loads_line;
    if (beat) latched <= operands;
    stages <= {stages[(STAGES-1)*ENTRY-1:0], beat, clears, half, k, out};
    if (write) begin
      third[(write_half*K+write_k)*UNIT+:UNIT] <= adds;
      sums <= adds;
    end
    if (reset) stages <= '0;
  end
endmodule
