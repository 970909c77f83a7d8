// When requests are answered: in the clock behind the last data beat of their last burst.
module answers #(
    parameter CHANNELS = 1,
    parameter LANES = 3
) (
    input  logic               clk,
    input  logic               reset,
    input  dram_pkg::timing_t  timing,
    input  logic [31:0]        now,
    input  dram_pkg::request_t requests[LANES],
    input  logic [15:0]        lengths[LANES],   // bursts of those that are new
    input  logic [LANES-1:0]   arrives,
    input  logic [CHANNELS-1:0] served,
    input  logic [CHANNELS-1:0] served_write,
    input  logic [CHANNELS*dram_pkg::NUMBER-1:0] numbers,
    output logic [dram_pkg::ANSWERS-1:0] answered
);
  logic [15:0] left[dram_pkg::NUMBERS], next[dram_pkg::NUMBERS];
  logic [31:0] due[dram_pkg::NUMBERS], next_due[dram_pkg::NUMBERS];
  logic [dram_pkg::NUMBERS-1:0] under_way, next_under_way, ends;
  logic [dram_pkg::NUMBER-1:0] number;

  always_comb begin
    next = left;
    next_due = due;
    number = '0;
    answered = '0;
    for (int n = 0; n < dram_pkg::NUMBERS; n = n + 1) begin
      ends[n] = under_way[n] && left[n] == 16'd0 && now == due[n];
      if (ends[n]) answered[n%dram_pkg::ANSWERS] = 1'b1;
    end
    next_under_way = under_way & ~ends;
    for (int l = 0; l < LANES; l = l + 1)
      if (arrives[l]) begin
        next[requests[l].number] = lengths[l];
        next_under_way[requests[l].number] = 1'b1;
      end
    for (int c = 0; c < CHANNELS; c = c + 1)
      if (served[c]) begin
        number = numbers[c*dram_pkg::NUMBER+:dram_pkg::NUMBER];
        next[number] = next[number] - 16'd1;
        next_due[number] = now + timing.beats + (served_write[c] ? timing.write_latency : timing.read_latency);
      end
  end
  always_ff @(posedge clk) begin
    left <= next;
    due <= next_due;
    under_way <= reset ? '0 : next_under_way;
  end
endmodule
