// The banks of a channel: their open rows, and which commands the times between commands allow in this clock.
module bank_timing #(
    parameter BANKS = 16
) (
    input  logic              clk,
    input  logic              reset,
    input  dram_pkg::timing_t timing,
    input  logic [5:0]        option_groups,  // bits of the number of bank groups
    input  logic [31:0]       now,
    input  logic [2:0]        command,
    input  logic [5:0]        bank,
    input  logic [31:0]       row,
    output logic [BANKS-1:0]  open,
    output logic [31:0]       open_rows[BANKS],
    output logic [BANKS-1:0]  can_read,
    output logic [BANKS-1:0]  can_write,
    output logic [BANKS-1:0]  can_activate,
    output logic [BANKS-1:0]  can_precharge,
    output logic              can_refresh
);
  // From when on a command is allowed.
  logic [31:0] column_from[BANKS], precharge_from[BANKS], activate_from[BANKS];
  logic [31:0] read_group_from[BANKS], write_group_from[BANKS], activate_group_from[BANKS];
  logic [31:0] read_from, write_from, activate_any_from, window_from[4];

  function automatic [5:0] group_of(input [5:0] of_bank);
    group_of = of_bank & ~(6'h3f << option_groups);
  endfunction

  logic [5:0] g;
  always_comb begin
    can_refresh = 1'b1;
    for (int b = 0; b < BANKS; b = b + 1) begin
      g = group_of(b);
      can_read[b] = now >= column_from[b] && now >= read_from && now >= read_group_from[g];
      can_write[b] = now >= column_from[b] && now >= write_from && now >= write_group_from[g];
      can_activate[b] = now >= activate_from[b] && now >= activate_any_from && now >= activate_group_from[g] && now >= window_from[3];
      can_precharge[b] = now >= precharge_from[b];
      if (now < activate_from[b]) can_refresh = 1'b0;
    end
  end

  logic [5:0] group;
  assign group = group_of(bank);
  always_ff @(posedge clk) begin
    case (command)
      dram_pkg::ACTIVATE: begin
        open[bank] <= 1'b1;
        open_rows[bank] <= row;
        column_from[bank] <= now + timing.activate_to_column;
        precharge_from[bank] <= now + timing.activate_to_precharge;
        activate_any_from <= now + timing.activate_any;
        activate_group_from[group] <= now + timing.activate_group;
        window_from[0] <= now + timing.activate_window;
        for (int i = 1; i < 4; i = i + 1) window_from[i] <= window_from[i-1];
      end
      dram_pkg::PRECHARGE: begin
        open[bank] <= 1'b0;
        activate_from[bank] <= now + timing.precharge_to_activate;
      end
      dram_pkg::PRECHARGE_ALL: begin
        open <= '0;
        for (int b = 0; b < BANKS; b = b + 1) if (open[b]) activate_from[b] <= now + timing.precharge_to_activate;
      end
      dram_pkg::READ: begin
        read_from <= now + timing.column_any;
        read_group_from[group] <= now + timing.read_group;
        write_from <= now + timing.read_to_write;
        if (precharge_from[bank] < now + timing.read_to_precharge) precharge_from[bank] <= now + timing.read_to_precharge;
      end
      dram_pkg::WRITE: begin
        write_from <= now + timing.column_any;
        write_group_from[group] <= now + timing.write_group;
        read_from <= now + timing.write_to_read;
        read_group_from[group] <= now + timing.write_to_read_group;
        if (precharge_from[bank] < now + timing.write_to_precharge) precharge_from[bank] <= now + timing.write_to_precharge;
      end
      default: ;
    endcase
    if (reset) begin
      open <= '0;
      read_from <= 32'd0;
      write_from <= 32'd0;
      activate_any_from <= 32'd0;
      for (int i = 0; i < 4; i = i + 1) window_from[i] <= 32'd0;
      for (int b = 0; b < BANKS; b = b + 1) begin
        column_from[b] <= 32'd0;
        precharge_from[b] <= 32'd0;
        activate_from[b] <= 32'd0;
        read_group_from[b] <= 32'd0;
        write_group_from[b] <= 32'd0;
        activate_group_from[b] <= 32'd0;
      end
    end
  end
endmodule
