// Results on their way out of the third buffers (WF-7): tile by tile, of each column all channels, M bytes of int32 a cycle;
// bias, activation and requantisation.
module result_drain #(
    parameter NS = 4,
    parameter NCU = 2,
    parameter M = 16,
    parameter WS = 4,
    parameter K = 2,
    parameter KF = 0,
    parameter RECORDS = 2,       // of a slave and kernel tile
    parameter LANES = M / 4,
    parameter SETS = 4,          // of records
    parameter STAGES = 8
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [3:0]                        option_stages,
    // A tile whose last beat is in this cycle.
    input  logic                              tile_ends,
    input  logic [wfold_pkg::REFILL_BITS-1:0] tile_bits,
    input  logic                              tile_half,
    input  logic [7:0]                        tile_kernels,
    input  logic                              kernel_tile_ends,
    input  logic                              run_ends,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    // Records.
    input  logic                              record,
    input  logic                              record_first,
    input  logic [7:0]                        record_k,
    input  logic [NS*128-1:0]                 record_data,
    input  logic [NS*2*K*NCU*WS*32-1:0]       third,
    input  logic                              room,          // for requests
    // What leaves.
    output logic                              drain,
    output logic                              last,          // of its tile
    output logic                              all_drained,   // no tile is left behind this cycle
    output logic                              half,
    output logic [15:0]                       column,        // of the tile
    output logic [15:0]                       columns,
    output logic [15:0]                       channel,       // the first one
    output logic [15:0]                       channels,      // of the tile
    output logic                              ends_run,
    output logic [wfold_pkg::JOB_BITS-1:0]    drain_job,
    output logic [wfold_pkg::SHAPE_BITS-1:0]  drain_shape,
    output logic [wfold_pkg::REFILL_BITS-1:0] drain_tile,
    output logic [LANES*32-1:0]               results,
    output logic [NS-1:0]                     read,          // a slave's results are read
    output logic [NS*8-1:0]                   read_k,
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  localparam ENTRY = 1 + 8 + 8 + 1 + wfold_pkg::REFILL_BITS + wfold_pkg::SHAPE_BITS + wfold_pkg::JOB_BITS;

  // Tiles that have ended, and how many of them have their last sums in the third buffers.
  logic [ENTRY-1:0] tiles[0:1], now;
  logic [STAGES-1:0] waits;
  logic arrives;
  logic [1:0] count, ended;
  logic first;
  logic [7:0] write_set, end_set, set, nco;
  wfold_pkg::job_t job, end_job;
  wfold_pkg::shape_t shape;
  wfold_pkg::refill_t tile;
  conv_pkg::setup_t conv;
  logic [127:0] records[0:SETS*RECORDS*NS-1];

  assign end_job = job_bits;
  assign arrives = option_stages == 4'd1 ? tile_ends : waits[option_stages-4'd2];
  assign now = tiles[first];
  assign {ends_run, set, nco, half, drain_tile, drain_shape, drain_job} = now;
  assign job = drain_job;
  assign shape = drain_shape;
  assign tile = drain_tile;
  assign conv = job.conv;

  logic [15:0] place, unit, inner, per_group, in_group, slaves, slave_number, slave_k;
  logic [LANES*32-1:0] sums;
  logic [LANES*128-1:0] lane_records;
  logic [15:0] width;
  always_comb begin
    columns = job.run.columns - tile.column < shape.tile_columns ? job.run.columns - tile.column : shape.tile_columns;
    channels = job.run.kernels - tile.kernel < shape.tile_kernels ? job.run.kernels - tile.kernel : shape.tile_kernels;
    drain = count != 2'd0 && room;
    last = drain && column + 16'd1 == columns && channel + LANES >= channels;
    all_drained = !tile_ends && ended == {1'b0, last};
    slaves = NS / shape.groups;
    per_group = slaves * nco;
    read = '0;
    read_k = '0;
    sums = '0;
    lane_records = '0;
    width = 16'd1 << shape.ws_shift;
    for (int i = 0; i < LANES; i = i + 1)
      if (channel + i < channels) begin
        in_group = (channel + i) % per_group;
        slave_number = ((channel + i) / per_group) * slaves + in_group % slaves;
        slave_k = in_group / slaves;
        if (drain) begin
          read[slave_number] = 1'b1;
          read_k[slave_number*8+:8] = slave_k;
        end
        // With kernels in the first buffers units have kernels, beats have lines of columns.
        unit = KF != 0 ? slave_k : column >> shape.ws_shift;
        inner = KF != 0 ? column >> shape.ws_shift : slave_k;
        place = unit * WS + (column & (width - 16'd1));
        sums[i*32+:32] = third[(((slave_number*2+half)*K+inner)*NCU*WS+place)*32+:32];
        lane_records[i*128+:128] = records[(set*RECORDS+slave_k)*NS+slave_number];
      end
    state = drain ? wfold_pkg::STATE_BUSY : wfold_pkg::STATE_IDLE;
  end

  genvar i;
  generate
    for (i = 0; i < LANES; i = i + 1) begin : lane
      result_unit post (
          .accumulator(sums[i*32+:32]),
          .record(lane_records[i*128+:128]),
          .setup(conv),
          .result(results[i*32+:32])
      );
    end
  endgenerate

  always_ff @(posedge clk) begin
    if (record) begin
      for (int s = 0; s < NS; s = s + 1)
        records[((record_first?(write_set+8'd1)%SETS:write_set)*RECORDS+record_k)*NS+s] <= record_data[s*128+:128];
      if (record_first) write_set <= (write_set + 8'd1) % SETS;
    end
    if (kernel_tile_ends && end_job.conv.post_parameters && end_job.run.ends_sums) end_set <= (end_set + 8'd1) % SETS;
    waits <= {waits[STAGES-2:0], tile_ends};
    if (tile_ends) tiles[first+ended[0]] <= {run_ends, end_set, tile_kernels, tile_half, tile_bits, shape_bits, job_bits};
    ended <= ended + {1'b0, tile_ends} - {1'b0, last};
    count <= count + {1'b0, arrives} - {1'b0, last};
    if (drain) begin
      channel <= channel + LANES >= channels ? 16'd0 : channel + LANES;
      if (channel + LANES >= channels) column <= last ? 16'd0 : column + 16'd1;
    end
    if (last) first <= !first;
    if (reset) begin
      waits <= '0;
      count <= 2'd0;
      ended <= 2'd0;
      first <= 1'b0;
      column <= 16'd0;
      channel <= 16'd0;
      write_set <= 8'd0;
      end_set <= 8'd1;
    end
  end
endmodule
