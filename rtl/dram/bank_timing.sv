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
  logic [31:0] read_from, write_from, activate_from, window_from[4];
  logic [BANKS-1:0] precharged;

  always_ff @(posedge clk) begin
    case (command)
      dram_pkg::ACTIVATE: begin
        activate_from <= now + timing.activate_any;
        window_from[0] <= now + timing.activate_window;
        window_from[1] <= window_from[0];
        window_from[2] <= window_from[1];
        window_from[3] <= window_from[2];
      end
      dram_pkg::READ: begin
        read_from <= now + timing.column_any;
        write_from <= dram_pkg::later(write_from, now + timing.read_to_write);
      end
      dram_pkg::WRITE: begin
        write_from <= now + timing.column_any;
        read_from <= dram_pkg::later(read_from, now + timing.write_to_read);
      end
      default: ;
    endcase
    if (reset) begin
      read_from <= 32'd0;
      write_from <= 32'd0;
      activate_from <= 32'd0;
      window_from[0] <= 32'd0;
      window_from[1] <= 32'd0;
      window_from[2] <= 32'd0;
      window_from[3] <= 32'd0;
    end
  end
  assign can_refresh = precharged == {BANKS{1'b1}};

  genvar b;
  generate
    for (b = 0; b < BANKS; b = b + 1) begin : each
      logic [31:0] column_from, precharge_from, bank_activate_from;
      logic [31:0] read_group_from, write_group_from, activate_group_from;  // of its group
      logic addressed, in_group;
      always_comb begin
        addressed = bank == b;
        in_group = ((bank ^ b) & ~(6'h3f << option_groups)) == 6'd0;
        can_read[b] = now >= column_from && now >= read_from && now >= read_group_from;
        can_write[b] = now >= column_from && now >= write_from && now >= write_group_from;
        can_activate[b] = now >= bank_activate_from && now >= activate_from && now >= activate_group_from && now >= window_from[3];
        can_precharge[b] = now >= precharge_from;
        precharged[b] = now >= bank_activate_from;
      end
      always_ff @(posedge clk) begin
        if (command == dram_pkg::ACTIVATE && addressed) begin
          open[b] <= 1'b1;
          open_rows[b] <= row;
          column_from <= now + timing.activate_to_column;
          precharge_from <= now + timing.activate_to_precharge;
        end
        if (command == dram_pkg::PRECHARGE && addressed || command == dram_pkg::PRECHARGE_ALL && open[b]) begin
          open[b] <= 1'b0;
          bank_activate_from <= now + timing.precharge_to_activate;
        end
        if (command == dram_pkg::READ && addressed) precharge_from <= dram_pkg::later(precharge_from, now + timing.read_to_precharge);
        if (command == dram_pkg::WRITE && addressed) precharge_from <= dram_pkg::later(precharge_from, now + timing.write_to_precharge);
        if (command == dram_pkg::ACTIVATE && in_group) activate_group_from <= now + timing.activate_group;
        if (command == dram_pkg::READ && in_group) read_group_from <= now + timing.read_group;
        if (command == dram_pkg::WRITE && in_group) begin
          write_group_from <= now + timing.write_group;
          read_group_from <= dram_pkg::later(read_group_from, now + timing.write_to_read_group);
        end
        if (reset) begin
          open[b] <= 1'b0;
          column_from <= 32'd0;
          precharge_from <= 32'd0;
          bank_activate_from <= 32'd0;
          read_group_from <= 32'd0;
          write_group_from <= 32'd0;
          activate_group_from <= 32'd0;
        end
      end
    end
  endgenerate
endmodule
