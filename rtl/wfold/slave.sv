// A slave: buffers of map lines and of kernel lines, compute units, third buffer with the sums of two tiles (WF-4, WF-7, WF-8).
// The lines of the first buffer are dealt to the units, a line of the second one goes to all of them.
module slave #(
    parameter NCU = 2,
    parameter M = 16,
    parameter PLACES = 4,        // for map lines
    parameter SLOTS = 5,         // for kernel lines
    parameter KF = 0,            // 1: the first buffer has kernel lines
    parameter WS = 4,
    parameter K = 2,             // beats of a step, at most
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
    input  logic [PLACES-1:0]             mark,
    input  logic                          loads,
    input  logic [7:0]                    loads_slot,
    input  logic [M*9-1:0]                loads_line,
    // Beats.
    input  logic                          beat,
    input  logic                          step_first,
    input  logic                          clears,
    input  logic                          half,
    input  logic [7:0]                    k,
    input  logic [7:0]                    slot,           // of the kernel line, or of the first unit's
    input  logic [7:0]                    kernel_count,   // of the tile
    input  logic [7:0]                    first_place,
    input  logic [7:0]                    shift,
    output logic [(NCU+1)*M*9-1:0]        operands,       // of the units, then the line that they share
    // Results.
    output logic                          write,
    output logic                          write_half,
    output logic [7:0]                    write_k,
    output logic [7:0]                    write_units,    // that have results; others keep theirs
    output logic [3:0]                    write_ws_shift,
    output logic [NCU*WS*32-1:0]          results,
    output logic [NCU*WS*32-1:0]          sums,           // that the third buffer has since the cycle before
    output logic [2*K*NCU*WS*32-1:0]      third
);
  /* verilator no_inline_module */

  localparam UNIT = NCU * WS * 32;

  logic [PLACES*M*9-1:0] maps;
  logic [M*9-1:0] kernels[0:SLOTS-1];
  logic [NCU*M*9-1:0] latched, selected, dealt, window;
  logic [M*9-1:0] shared;
  logic [15:0] source, place;
  logic [UNIT-1:0] out, adds;

  // Selection of map lines: unit u begins u lines behind unit 0, all of them `shift` columns into their line. What the first
  // buffer has is latched for the step.
  always_comb begin
    window = '0;
    for (int u = 0; u < (KF != 0 ? 1 : NCU); u = u + 1)
      for (int i = 0; i < M; i = i + 1) begin
        source = i + (shift << pci_shift);
        place = first_place + u + (source >= M ? 8'd1 : 8'd0);
        if (place >= PLACES) place = place - PLACES;
        if (place >= PLACES) place = place - PLACES;
        window[(u*M+i)*9+:9] = maps[(place*M+source%M)*9+:9];
      end
    selected = window;
    if (KF != 0)
      for (int u = 0; u < NCU; u = u + 1) selected[u*M*9+:M*9] = u < kernel_count ? kernels[slot+u] : latched[u*M*9+:M*9];
    dealt = step_first ? selected : latched;
    shared = KF != 0 ? window[M*9-1:0] : kernels[slot];
    operands = {shared, dealt};
  end

  genvar g;
  generate
    for (g = 0; g < NCU; g = g + 1) begin : unit
      compute_unit #(
          .M(M),
          .WS(WS)
      ) cu (
          .pci_shift(pci_shift),
          .x(dealt[g*M*9+:M*9]),
          .w(shared),
          .result(out[g*WS*32+:WS*32])
      );
    end
  endgenerate

  // The stages of the adder trees behind the first one.
  localparam ENTRY = 1 + 1 + 1 + 8 + 8 + 4 + UNIT;
  logic [STAGES*ENTRY-1:0] stages;  // the youngest beat stands in the lowest place
  logic [ENTRY-1:0] leaving;
  logic write_clears;
  logic [7:0] units;
  assign units = KF != 0 ? kernel_count : NCU;
  assign leaving = option_stages == 4'd1 ? {beat, clears, half, k, units, ws_shift, out} : stages[(option_stages-4'd2)*ENTRY+:ENTRY];
  always_comb begin
    {write, write_clears, write_half, write_k, write_units, write_ws_shift, results} = leaving;
    for (int i = 0; i < NCU * WS; i = i + 1)
      adds[i*32+:32] = (write_clears ? 32'd0 : third[((write_half*K+write_k)*NCU*WS+i)*32+:32]) + results[i*32+:32];
  end

  always_ff @(posedge clk) begin
    for (int p = 0; p < PLACES; p = p + 1) if (mark[p]) maps[p*M*9+:M*9] <= '0;
    if (enter)
      for (int i = 0; i < M; i = i + 1) maps[(enter_slot*M+i)*9+:9] <= {is_signed && enter_line[i*8+7], enter_line[i*8+:8]} - zero_point;
    if (loads) kernels[loads_slot] <= loads_line;
    if (beat) latched <= dealt;
    stages <= {stages[(STAGES-1)*ENTRY-1:0], beat, clears, half, k, units, ws_shift, out};
    if (write) begin
      for (int u = 0; u < NCU; u = u + 1)
        if (u < write_units) begin
          third[((write_half*K+write_k)*NCU+u)*WS*32+:WS*32] <= adds[u*WS*32+:WS*32];
          sums[u*WS*32+:WS*32] <= adds[u*WS*32+:WS*32];
        end
    end
    if (reset) stages <= '0;
  end
endmodule
