// What the parts of a memory controller tell one another: requests, bursts, times in cycles of the DRAM's clock, parts of an address.
package dram_pkg;

  // Commands, as the port `cmd` numbers them.
  localparam [2:0] NONE = 3'd0;
  localparam [2:0] ACTIVATE = 3'd1;
  localparam [2:0] PRECHARGE = 3'd2;
  localparam [2:0] READ = 3'd3;
  localparam [2:0] WRITE = 3'd4;
  localparam [2:0] REFRESH = 3'd5;
  localparam [2:0] PRECHARGE_ALL = 3'd6;

  // Mappings: the parts of an address, most significant first.
  localparam [1:0] ROW_BANK_COLUMN_GROUP_CHANNEL = 2'd0;
  localparam [1:0] ROW_BANK_COLUMN_CHANNEL = 2'd1;
  localparam [1:0] ROW_COLUMN_BANK_CHANNEL = 2'd2;
  localparam [1:0] CHANNEL_ROW_BANK_COLUMN = 2'd3;

  localparam NUMBERS = 512;  // numbers of requests under way; younger ones go past one that waits for its bank group
  localparam NUMBER = 9;     // bits of a number
  localparam ANSWERS = 128;  // bit n modulo 128 shows the answer to request n

  typedef struct packed {
    logic        valid;
    logic        write;
    logic [47:0] address;
    logic [15:0] bytes;
    logic [NUMBER-1:0] number;
    logic [15:0] entered;  // bursts of it that are in queues
  } request_t;

  typedef struct packed {
    logic        write;
    logic        partial;   // it is read before it is written
    logic        read;      // that has happened
    logic [31:0] data_at;   // when its data have come then
    logic [5:0]  bank;
    logic [31:0] row;
    logic [15:0] column;
    logic [NUMBER-1:0] number;  // of its request
  } burst_t;

  // Bits of the parts of an address.
  typedef struct packed {
    logic [1:0] mapping;
    logic [5:0] burst;
    logic [5:0] channel;
    logic [5:0] groups;  // of the number of bank groups
    logic [5:0] banks;   // of the number of banks
    logic [5:0] column;
    logic [5:0] row;
  } map_t;

  typedef struct packed {
    logic [5:0]  channel;
    logic [5:0]  bank;
    logic [31:0] row;
    logic [15:0] column;
  } place_t;

  typedef struct packed {
    logic [31:0] refresh_interval;
    logic [15:0] refresh_cycles;
    logic [15:0] read_to_precharge;
    logic [15:0] write_to_read_group;  // from the WR
    logic [15:0] write_to_read;
    logic [15:0] write_to_precharge;   // from the WR
    logic [15:0] activate_window;
    logic [15:0] activate_group;
    logic [15:0] activate_any;
    logic [15:0] write_group;
    logic [15:0] read_group;
    logic [15:0] column_any;
    logic [15:0] read_to_write;
    logic [15:0] activate_to_precharge;
    logic [15:0] precharge_to_activate;
    logic [15:0] activate_to_column;
    logic [15:0] write_latency;
    logic [15:0] read_latency;
    logic [15:0] beats;
  } timing_t;

  function automatic [31:0] later(input [31:0] one, input [31:0] other);
    later = one < other ? other : one;
  endfunction

  // The lowest `count` bits of a number.
  function automatic [47:0] low(input [47:0] value, input [5:0] count);
    low = value & ~(~48'd0 << count);
  endfunction

  // Where a burst lies that has this number in the controller's memory.
  function automatic place_t place_of(input map_t map, input [47:0] number);
    logic [47:0] rest;
    logic [5:0] alternating;  // bits of the bank below the column
    rest = number;
    alternating = map.mapping == ROW_BANK_COLUMN_GROUP_CHANNEL && map.groups != 6'd0 ? 6'd1 : 6'd0;
    place_of = '0;
    if (map.mapping != CHANNEL_ROW_BANK_COLUMN) begin
      place_of.channel = low(rest, map.channel);
      rest = rest >> map.channel;
    end
    if (map.mapping == ROW_COLUMN_BANK_CHANNEL) begin
      place_of.bank = low(rest, map.banks);
      rest = rest >> map.banks;
      place_of.column = low(rest, map.column);
      rest = rest >> map.column;
    end else begin
      place_of.bank = low(rest, alternating);
      rest = rest >> alternating;
      place_of.column = low(rest, map.column);
      rest = rest >> map.column;
      place_of.bank = place_of.bank | low(rest, map.banks - alternating) << alternating;
      rest = rest >> (map.banks - alternating);
    end
    place_of.row = low(rest, map.row);
    if (map.mapping == CHANNEL_ROW_BANK_COLUMN) place_of.channel = low(rest >> map.row, map.channel);
  endfunction
endpackage
