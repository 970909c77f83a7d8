// The bursts of a channel that wait, the oldest one in place 0. Bursts of requests enter in the order of their addresses as long as there
// is a place; one that leaves in this clock has made place for them.
module burst_queue #(
    parameter CHANNEL = 0,
    parameter QUEUE = 64,
    parameter LANES = 3
) (
    input  logic             clk,
    input  logic             reset,
    input  logic [15:0]      option_depth,
    input  logic             option_ecc,
    input  dram_pkg::map_t   map,
    input  dram_pkg::request_t requests[LANES],  // in their order
    output logic [15:0]      fits[LANES],        // the number of the first burst of a request that has no place here, if those before it enter
    input  logic [15:0]      enters[LANES],      // up to which burst a request enters
    input  logic             read,               // the burst in place `index` is read, but stays
    input  logic             leaves,             // or leaves
    input  logic [15:0]      index,
    input  logic [31:0]      data_at,
    output dram_pkg::burst_t bursts[QUEUE],
    output logic [15:0]      count
);
  dram_pkg::burst_t next[QUEUE];
  logic [15:0] next_count, used;
  dram_pkg::place_t place;
  logic [47:0] first, last, end_address;
  logic stops;

  // Number of the last burst of a request, counted from its first one, and one more.
  function automatic [15:0] length(input dram_pkg::request_t request);
    length = request.valid ? ((request.address + request.bytes - 48'd1) >> map.burst) - (request.address >> map.burst) + 48'd1 : 48'd0;
  endfunction

  always_comb begin
    used = leaves ? count - 16'd1 : count;
    for (int l = 0; l < LANES; l = l + 1) begin
      fits[l] = length(requests[l]);
      stops = 1'b0;
      for (int i = requests[l].entered; i < length(requests[l]); i = i + 1) begin
        place = dram_pkg::place_of(map, (requests[l].address >> map.burst) + i);
        if (!stops && place.channel == CHANNEL) begin
          if (used == option_depth) begin
            stops = 1'b1;
            fits[l] = i;
          end else used = used + 16'd1;
        end
      end
    end
  end

  dram_pkg::place_t entering;
  always_comb begin
    next = bursts;
    next_count = count;
    if (read) begin
      next[index].read = 1'b1;
      next[index].data_at = data_at;
    end
    if (leaves) begin
      for (int j = 0; j < QUEUE - 1; j = j + 1) if (j >= index) next[j] = bursts[j+1];
      next_count = count - 16'd1;
    end
    for (int l = 0; l < LANES; l = l + 1)
      for (int i = requests[l].entered; i < enters[l]; i = i + 1) begin
        first = (requests[l].address >> map.burst) + i;
        entering = dram_pkg::place_of(map, first);
        if (entering.channel == CHANNEL) begin
          end_address = requests[l].address + requests[l].bytes;
          next[next_count] = '0;
          next[next_count].write = requests[l].write;
          next[next_count].partial =
              option_ecc && requests[l].write && (requests[l].address > first << map.burst || end_address < (first + 48'd1) << map.burst);
          next[next_count].bank = entering.bank;
          next[next_count].row = entering.row;
          next[next_count].column = entering.column;
          next[next_count].number = requests[l].number;
          next_count = next_count + 16'd1;
        end
      end
  end

  always_ff @(posedge clk) begin
    bursts <= next;
    count <= reset ? 16'd0 : next_count;
  end
endmodule
