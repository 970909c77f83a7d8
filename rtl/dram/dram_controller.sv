// A memory controller: requests are cut into bursts, each channel serves its own (HI-6).
module dram_controller #(
    parameter CHANNELS = 1,
    parameter BANKS = 16,
    parameter QUEUE = 64,
    parameter INPUTS = 2  // requests that may arrive in a clock
) (
    input  logic                         clk,
    input  logic                         reset,
    // What a file says, in cycles of the clock and in bits; it is taken over in reset.
    input  logic [319:0]                 option_timing,
    input  logic [37:0]                  option_map,
    input  logic [15:0]                  option_depth,
    input  logic [31:0]                  option_cap,
    input  logic                         option_refresh,
    input  logic                         option_ecc,
    input  logic [15:0]                  option_controllers,
    // Requests in their order; they can be scheduled from the next clock on.
    input  logic [INPUTS-1:0]            request_valid,
    input  logic [INPUTS-1:0]            request_write,
    input  logic [INPUTS*48-1:0]         request_address,
    input  logic [INPUTS*16-1:0]         request_bytes,
    output logic                         held,            // a request has not entered as a whole: there may be no other
    // Channels.
    output logic [CHANNELS*3-1:0]        command,
    output logic [CHANNELS*6-1:0]        bank,
    output logic [CHANNELS*32-1:0]       row,
    output logic [CHANNELS*16-1:0]       column,
    output logic [CHANNELS*16-1:0]       waiting,
    output logic [CHANNELS-1:0]          data,
    output logic [dram_pkg::ANSWERS-1:0] answered
);
  localparam LANES = INPUTS + 1;  // the one that is held comes first

  dram_pkg::timing_t timing;
  dram_pkg::map_t map;
  logic [15:0] depth, controllers;
  logic [31:0] cap, now;
  logic refreshes, ecc;
  always_ff @(posedge clk) begin
    now <= reset ? 32'd0 : now + 32'd1;
    if (reset) begin
      timing <= option_timing;
      map <= option_map;
      depth <= option_depth;
      cap <= option_cap;
      refreshes <= option_refresh;
      ecc <= option_ecc;
      controllers <= option_controllers;
    end
  end

  dram_pkg::request_t requests[LANES], waits;
  logic [LANES-1:0] arrives;
  logic [15:0] fits[CHANNELS][LANES], lengths[LANES], enters[LANES];
  logic [dram_pkg::NUMBER-1:0] numbers;
  logic [47:0] page;
  logic whole;

  // Consecutive 4096 bytes lie in consecutive controllers.
  always_comb begin
    requests[0] = waits;
    arrives = '0;
    for (int l = 1; l < LANES; l = l + 1) begin
      page = request_address[(l-1)*48+:48] >> 12;
      arrives[l] = request_valid[l-1];
      requests[l].valid = request_valid[l-1];
      requests[l].write = request_write[l-1];
      requests[l].address = {page / controllers, request_address[(l-1)*48+:12]};
      requests[l].bytes = request_bytes[(l-1)*16+:16];
      requests[l].number = numbers + l - 1;
      requests[l].entered = 16'd0;
    end
    for (int l = 0; l < LANES; l = l + 1) begin
      lengths[l] = 16'd0;
      if (requests[l].valid) lengths[l] = ((requests[l].address + requests[l].bytes - 48'd1) >> map.burst) - (requests[l].address >> map.burst) + 48'd1;
    end
  end

  // Bursts enter in order: one without a place holds up those behind it.
  always_comb begin
    whole = 1'b1;
    for (int l = 0; l < LANES; l = l + 1) begin
      enters[l] = lengths[l];
      for (int c = 0; c < CHANNELS; c = c + 1) if (fits[c][l] < enters[l]) enters[l] = fits[c][l];
      if (!whole) enters[l] = requests[l].entered;
      if (enters[l] != lengths[l]) whole = 1'b0;
    end
  end
  assign held = waits.valid;

  always_ff @(posedge clk) begin
    waits.valid <= 1'b0;
    for (int l = LANES - 1; l >= 0; l = l - 1)
      if (enters[l] != lengths[l]) begin
        waits <= requests[l];
        waits.entered <= enters[l];
      end
    for (int l = 1; l < LANES; l = l + 1) if (arrives[l]) numbers <= numbers + l;
    if (reset) begin
      waits <= '0;
      numbers <= '0;
    end
  end

  logic [CHANNELS-1:0] served, served_write;
  logic [CHANNELS*dram_pkg::NUMBER-1:0] served_numbers;
  genvar c;
  generate
    for (c = 0; c < CHANNELS; c = c + 1) begin : channel
      dram_channel #(
          .CHANNEL(c),
          .BANKS(BANKS),
          .QUEUE(QUEUE),
          .LANES(LANES)
      ) channel (
          .option_depth(depth),
          .option_cap(cap),
          .option_refresh(refreshes),
          .option_ecc(ecc),
          .fits(fits[c]),
          .command(command[c*3+:3]),
          .bank(bank[c*6+:6]),
          .row(row[c*32+:32]),
          .column(column[c*16+:16]),
          .waiting(waiting[c*16+:16]),
          .data(data[c]),
          .served(served[c]),
          .served_write(served_write[c]),
          .number(served_numbers[c*dram_pkg::NUMBER+:dram_pkg::NUMBER]),
          .*
      );
    end
  endgenerate
  answers #(
      .CHANNELS(CHANNELS),
      .LANES(LANES)
  ) completion (
      .numbers(served_numbers),
      .*
  );
endmodule
