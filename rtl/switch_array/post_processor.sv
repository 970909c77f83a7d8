// Post-processing on the drain path: a lane of C sums of every group enters in the cycle in which it leaves the shadow registers,
// and its results go to the output buffer `latency` cycles later. The records are registers, C of them read at a time.
module post_processor #(
    parameter C = 4,
    parameter G = 2,
    parameter SLOTS = 4,
    parameter MAX_LATENCY = 8
) (
    input  logic              clk,
    input  logic              reset,
    input  logic              copied,
    input  logic [15:0]       latency,
    // The parameter loader writes records.
    input  logic              record_write,
    input  logic [31:0]       record_address,
    input  logic [127:0]      record_data,
    // Records of the slot whose sums are copied in this cycle.
    input  logic [15:0]       copy_slot,
    output logic [C*128-1:0]  copy_records,
    // A lane.
    input  logic              enters,
    input  logic [15:0]       lane,
    input  logic              lane_last,
    input  logic [G*C*32-1:0] sums,
    input  switch_array_pkg::drain_t drain,
    input  conv_pkg::setup_t setup,         // these are the registers
    input  conv_pkg::setup_t shadow_setup,
    input  logic [C*128-1:0]  shadow_records,
    // To the output buffer.
    output logic [G-1:0]      write_valid,
    output logic [G*32-1:0]   write_address,
    output logic [15:0]       write_bytes,
    output logic [G*C*32-1:0] write_data,
    output logic              run_written           // the place of a run's last results has come
);

  logic [127:0] records[0:SLOTS*C-1];
  logic [C*128-1:0] record;
  conv_pkg::setup_t used_setup;
  logic [31:0] result[0:G*C-1];
  logic [15:0] size;

  typedef struct packed {
    logic              last;
    logic [G-1:0]      valid;
    logic [G*32-1:0]   address;
    logic [15:0]       bytes;
    logic [G*C*32-1:0] data;
  } results_t;
  results_t entering;

  always_ff @(posedge clk) if (record_write) records[record_address[$clog2(SLOTS*C)-1:0]] <= record_data;

  always_comb begin
    for (int c = 0; c < C; c = c + 1) copy_records[c*128+:128] = records[{16'd0, copy_slot}*C+c];
    record = shadow_records;
    if (!copied) for (int c = 0; c < C; c = c + 1) record[c*128+:128] = records[{16'd0, drain.slot}*C+c];
    used_setup = copied ? shadow_setup : setup;
  end

  genvar g, k;
  generate
    for (g = 0; g < G; g = g + 1) begin : group
      for (k = 0; k < C; k = k + 1) begin : column
        result_unit results (
            .accumulator(sums[(g*C+k)*32+:32]),
            .record(record[k*128+:128]),
            .setup(used_setup),
            .result(result[g*C+k])
        );
      end
    end
  endgenerate

  always_comb begin
    size = used_setup.output_type == conv_pkg::TYPE_INT32 || !used_setup.requantise ? 16'd4 : 16'd1;
    entering = '0;
    entering.last = enters && lane_last && drain.ends_run;
    entering.bytes = drain.kernels * size;
    for (int i = 0; i < G; i = i + 1) begin
      entering.valid[i] = enters && i < {16'd0, drain.rows_left} && lane < drain.columns_left;
      entering.address[i*32+:32] = drain.address + ({16'd0, drain.columns} * i + {16'd0, lane}) * drain.output_stride;
      for (int c = 0; c < C; c = c + 1) begin
        if (size == 16'd1) entering.data[i*C*32+c*8+:8] = result[i*C+c][7:0];
        else entering.data[i*C*32+c*32+:32] = result[i*C+c];
      end
    end
  end

  localparam RESULT_BITS = 1 + G + G * 32 + 16 + G * C * 32;
  logic [MAX_LATENCY*RESULT_BITS-1:0] shifted;  // the youngest results stand in the lowest place
  always_ff @(posedge clk) begin
    if (reset) shifted <= '0;
    else shifted <= {shifted[(MAX_LATENCY-1)*RESULT_BITS-1:0], entering};
  end

  results_t leaving;
  always_comb begin
    leaving = entering;
    if (latency != 16'd0) leaving = shifted[(latency-16'd1)*RESULT_BITS+:RESULT_BITS];
    write_valid = leaving.valid;
    write_address = leaving.address;
    write_bytes = leaving.bytes;
    write_data = leaving.data;
    run_written = leaving.last;
  end
endmodule
