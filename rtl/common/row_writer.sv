// Bias, activation, requantisation of the sums that leave, and the requests to write rows of results: a row's bytes are asked for
// `post_latency` cycles behind its last sums, PORT bytes a cycle (RO-6, OT-6, NU-2).
module row_writer #(
    parameter LINES = 4,
    parameter SUMS = 4,
    parameter PORT = 4,
    parameter WRITES = 16,
    parameter MAX_LATENCY = 8
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [7:0]                        option_latency,
    input  logic [7:0]                        option_bank_shift,
    input  logic [15:0]                       option_banks,
    input  logic                              drain,
    input  logic [47:0]                       row_address,  // of its first result
    input  logic [15:0]                       column,
    input  logic [15:0]                       columns,
    input  logic                              row_ends,
    input  logic                              run_ends,   // with this row
    input  logic [383:0]                      conv_bits,    // conv_pkg::setup_t
    input  logic [SUMS*32-1:0]                sums,
    input  logic [SUMS*128-1:0]               records,
    output logic [15:0]                       waiting,    // requests whose first bytes have not left
    output logic                              write,
    output logic [47:0]                       address,
    output logic [7:0]                        count,
    output logic [PORT*8-1:0]                 data,
    output logic                              row_written,  // the row's last bytes leave
    output logic                              run_written
);
  localparam BYTES = LINES * 4;
  localparam ENTRY = 1 + 1 + 48 + 16 + BYTES * 8;
  localparam PLACES = WRITES + MAX_LATENCY + 2;

  conv_pkg::setup_t conv;
  assign conv = conv_bits;
  logic [SUMS*32-1:0] results;
  genvar i;
  generate
    for (i = 0; i < SUMS; i = i + 1) begin : lane
      result_unit unit (
          .accumulator(sums[i*32+:32]),
          .record(records[i*128+:128]),
          .setup(conv),
          .result(results[i*32+:32])
      );
    end
  endgenerate

  // The row so far.
  logic [BYTES*8-1:0] gathered, gathering;
  logic [15:0] size;
  logic [ENTRY-1:0] entry, leaving;
  logic [MAX_LATENCY*ENTRY-1:0] under_way;  // the youngest row stands in the lowest place

  always_comb begin
    size = conv.requantise && conv.output_type != conv_pkg::TYPE_INT32 ? 16'd1 : 16'd4;
    gathering = column == 16'd0 ? '0 : gathered;
    for (int k = 0; k < SUMS; k = k + 1)
      if (column + k < columns) begin
        if (size == 16'd1) gathering[(column+k)*8+:8] = results[k*32+:8];
        else gathering[(column+k)*32+:32] = results[k*32+:32];
      end
    entry = {drain && row_ends, run_ends, row_address, columns * size, gathering};
    leaving = option_latency == 8'd0 ? entry : under_way[(option_latency-8'd1)*ENTRY+:ENTRY];
  end

  // Rows that wait for the port.
  logic [ENTRY-1:0] places[0:PLACES-1];
  logic [15:0] head, tail, rows, position;
  logic [ENTRY-1:0] oldest;
  logic oldest_valid, oldest_ends, more;
  logic [47:0] begin_address, words;
  logic [15:0] bytes;
  logic [BYTES*8-1:0] contents;

  always_comb begin
    oldest = places[head];
    {oldest_valid, oldest_ends, begin_address, bytes, contents} = oldest;
    write = rows != 16'd0;
    address = begin_address + position;
    more = 1'b1;
    count = 8'd0;
    data = '0;
    for (int k = 0; k < PORT; k = k + 1) begin
      words = ((address + k) >> option_bank_shift) - (address >> option_bank_shift);
      if (more && position + k < bytes && words < option_banks) begin
        count = k + 1;
        data[k*8+:8] = contents[(position+k)*8+:8];
      end else more = 1'b0;
    end
    row_written = write && position + count == bytes;
    run_written = row_written && oldest_ends;
  end

  always_ff @(posedge clk) begin
    if (drain) gathered <= gathering;
    under_way <= {under_way[(MAX_LATENCY-1)*ENTRY-1:0], entry};
    if (leaving[ENTRY-1]) begin
      places[tail] <= leaving;
      tail <= tail == PLACES - 1 ? 16'd0 : tail + 16'd1;
    end
    if (write) begin
      position <= position + count;
      if (row_written) begin
        position <= 16'd0;
        head <= head == PLACES - 1 ? 16'd0 : head + 16'd1;
      end
    end
    rows <= rows + {15'd0, leaving[ENTRY-1]} - {15'd0, row_written};
    waiting <= waiting + {15'd0, entry[ENTRY-1]} - {15'd0, write && position == 16'd0};
    if (reset) begin
      under_way <= '0;
      head <= 16'd0;
      tail <= 16'd0;
      rows <= 16'd0;
      waiting <= 16'd0;
        position <= 16'd0;
    end
  end
endmodule
