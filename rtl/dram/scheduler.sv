// Which command a channel issues in this clock: FR-FCFS with open pages. The oldest RD or WR to an open row goes first, then the oldest
// ACT or PRE. So many bursts may overtake the oldest one; then it alone is served.
module scheduler #(
    parameter BANKS = 16,
    parameter QUEUE = 64
) (
    input  logic             clk,
    input  logic             reset,
    input  logic [31:0]      option_cap,
    input  logic [31:0]      now,
    input  logic             enable,           // no refresh is due or under way
    input  dram_pkg::burst_t bursts[QUEUE],
    input  logic [15:0]      count,
    input  logic [BANKS-1:0] open,
    input  logic [31:0]      open_rows[BANKS],
    input  logic [BANKS-1:0] can_read,
    input  logic [BANKS-1:0] can_write,
    input  logic [BANKS-1:0] can_activate,
    input  logic [BANKS-1:0] can_precharge,
    output logic [2:0]       command,
    output logic [15:0]      index,            // place of its burst
    output logic             leaves
);
  logic [31:0] overtaken;  // of the oldest burst, by those that have left before it
  logic only_oldest;
  logic [QUEUE-1:0] hit, considered;
  logic [QUEUE-1:0] behind;  // an older burst waits for the same row: bursts of a row keep their order
  logic [BANKS-1:0] wanted;  // open rows that a burst waits for

  always_comb begin
    only_oldest = overtaken >= option_cap;
    wanted = '0;
    for (int j = 0; j < QUEUE; j = j + 1) begin
      hit[j] = j < count && open[bursts[j].bank] && open_rows[bursts[j].bank] == bursts[j].row;
      considered[j] = j == 0 || !only_oldest;
      behind[j] = wanted[bursts[j].bank];
      if (hit[j]) wanted[bursts[j].bank] = 1'b1;
    end
    command = dram_pkg::NONE;
    index = 16'd0;
    leaves = 1'b0;
    if (enable) begin
      for (int j = 0; j < QUEUE; j = j + 1)
        if (command == dram_pkg::NONE && considered[j] && hit[j] && !behind[j]) begin
          index = j;
          if (!bursts[j].write || bursts[j].partial && !bursts[j].read) begin
            if (can_read[bursts[j].bank]) command = dram_pkg::READ;
          end else if (can_write[bursts[j].bank] && (!bursts[j].read || now >= bursts[j].data_at)) command = dram_pkg::WRITE;
        end
      leaves = command == dram_pkg::WRITE || command == dram_pkg::READ && !bursts[index].write;
      for (int j = 0; j < QUEUE; j = j + 1)
        if (command == dram_pkg::NONE && j < count && !hit[j]) begin
          index = j;
          if (!open[bursts[j].bank]) begin
            if (can_activate[bursts[j].bank]) command = dram_pkg::ACTIVATE;
          end else if ((!wanted[bursts[j].bank] || only_oldest && j == 0) && can_precharge[bursts[j].bank]) command = dram_pkg::PRECHARGE;
        end
    end
  end

  always_ff @(posedge clk) begin
    if (leaves) overtaken <= index == 16'd0 ? 32'd0 : overtaken + 32'd1;
    if (reset) overtaken <= 32'd0;
  end
endmodule
