// A channel: its queue, its banks, the command that it issues in each clock, beats on its data bus.
module dram_channel #(
    parameter CHANNEL = 0,
    parameter BANKS = 16,
    parameter QUEUE = 64,
    parameter LANES = 3,
    parameter MAX_LATENCY = 128
) (
    input  logic               clk,
    input  logic               reset,
    input  logic [15:0]        option_depth,
    input  logic [31:0]        option_cap,
    input  logic               option_refresh,
    input  logic               option_ecc,
    input  dram_pkg::timing_t  timing,
    input  dram_pkg::map_t     map,
    input  logic [31:0]        now,
    input  dram_pkg::request_t requests[LANES],
    output logic [15:0]        fits[LANES],
    input  logic [15:0]        enters[LANES],
    output logic [2:0]         command,
    output logic [5:0]         bank,
    output logic [31:0]        row,
    output logic [15:0]        column,
    output logic [15:0]        waiting,   // bursts in the queue behind this clock's command
    output logic               data,      // a beat
    output logic               served,    // the command is the last one of a burst
    output logic               served_write,
    output logic [dram_pkg::NUMBER-1:0] number  // of its request
);
  dram_pkg::burst_t bursts[QUEUE];
  logic [15:0] count, index;
  logic [BANKS-1:0] open, can_read, can_write, can_activate, can_precharge;
  logic [31:0] open_rows[BANKS];
  logic can_refresh, idle, leaves;
  logic [2:0] refresh_command, scheduled;

  burst_queue #(
      .CHANNEL(CHANNEL),
      .QUEUE(QUEUE),
      .LANES(LANES)
  ) queue (
      .read(command == dram_pkg::READ && !leaves),
      .data_at(now + timing.read_latency + timing.beats),
      .*
  );
  bank_timing #(
      .BANKS(BANKS)
  ) banks (
      .option_groups(map.groups),
      .*
  );
  refresh_control #(
      .BANKS(BANKS)
  ) refresh (
      .command(refresh_command),
      .*
  );
  scheduler #(
      .BANKS(BANKS),
      .QUEUE(QUEUE)
  ) choice (
      .enable(idle),
      .command(scheduled),
      .*
  );

  logic [MAX_LATENCY-1:0] beats, burst;
  always_comb begin
    command = idle ? scheduled : refresh_command;
    bank = bursts[index].bank;
    row = bursts[index].row;
    column = bursts[index].column;
    waiting = leaves ? count - 16'd1 : count;
    served = leaves;
    served_write = bursts[index].write;
    number = bursts[index].number;
    data = beats[0];
    burst = ~({MAX_LATENCY{1'b1}} << timing.beats);
    burst = burst << (command == dram_pkg::WRITE ? timing.write_latency : timing.read_latency);
    if (command != dram_pkg::READ && command != dram_pkg::WRITE) burst = '0;
  end
  always_ff @(posedge clk) beats <= reset ? '0 : (beats | burst) >> 1;
endmodule
