// Refreshes of a channel: when one is due all banks are precharged, and nothing else is issued until it is over.
module refresh_control #(
    parameter BANKS = 16
) (
    input  logic              clk,
    input  logic              reset,
    input  logic              option_refresh,
    input  dram_pkg::timing_t timing,
    input  logic [31:0]       now,
    input  logic [BANKS-1:0]  open,
    input  logic [BANKS-1:0]  can_precharge,
    input  logic              can_refresh,
    output logic              idle,
    output logic [2:0]        command
);
  logic [31:0] due_at, over_at;
  logic under_way;

  assign under_way = now < over_at;
  always_comb begin
    idle = !under_way && !(option_refresh && now >= due_at);
    command = dram_pkg::NONE;
    if (!idle && !under_way) begin
      if (open != '0) begin
        if ((open & ~can_precharge) == '0) command = dram_pkg::PRECHARGE_ALL;
      end else if (can_refresh) command = dram_pkg::REFRESH;
    end
  end

  always_ff @(posedge clk) begin
    if (command == dram_pkg::REFRESH) begin
      due_at <= due_at + timing.refresh_interval;
      over_at <= now + timing.refresh_cycles;
    end
    if (reset) begin
      due_at <= timing.refresh_interval;
      over_at <= 32'd0;
    end
  end
endmodule
