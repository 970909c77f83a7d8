// The W-fold engine of a core (WF-1 to WF-9): the master reads lines of the map and broadcasts them, the regions' ports bring
// kernel lines, the slaves multiply in lockstep, and results leave through post-processing.
module wfold_unit #(
    parameter NS = 4,             // slaves
    parameter NCU = 2,            // compute units of a slave
    parameter M = 16,             // bytes of a line
    parameter L1 = 4,
    parameter L2 = 5,
    parameter PORT = 16,          // bytes of a region's port
    parameter BUS = 16,
    parameter KF = 0,             // 1: kernels are in the first buffers, maps in the second ones
    parameter MAX_LATENCY = 16,
    parameter WS = M / 4,         // columns of a line, at most
    parameter K = L2 / 2,         // beats of a step, at most: kernels of a slave, or lines of columns
    parameter RECORDS = KF ? NCU : K,
    parameter PLACES = KF ? L2 : L1,  // for lines of the map
    parameter SLOTS = KF ? L1 : L2    // for kernel lines
) (
    input  logic                         clk,
    input  logic                         reset,
    // What a test changes from run to run.
    input  logic [15:0]                  option_line_queue,
    input  logic [31:0]                  option_half,
    input  logic [15:0]                  option_write_queue,
    input  logic [7:0]                   option_post_latency,
    input  logic [3:0]                   option_stages,
    input  logic [15:0]                  option_outstanding,
    // Instructions.
    input  logic                         instruction_valid,
    input  logic [511:0]                 instruction,
    output logic [1:0]                   run_done,
    // The map's memory.
    output logic                         lines_request,
    output logic [31:0]                  lines_address,
    output logic [31:0]                  lines_bytes,
    input  logic                         lines_grant,
    input  logic                         lines_beat,
    input  logic [7:0]                   lines_beat_request,
    input  logic [BUS*8-1:0]             lines_data,
    output logic                         results_request,
    output logic [31:0]                  results_address,
    output logic [15:0]                  results_bytes,
    input  logic                         results_grant,
    input  logic                         results_answered,
    output logic                         write,
    output logic [M*8-1:0]               write_data,
    // The regions.
    output logic                         weights,
    output logic [NS-1:0]                region_enable,
    output logic [NS*32-1:0]             region_address,
    input  logic [NS*PORT*8-1:0]         region_data,
    output logic                         region_write,   // of kernels that are folded in place
    output logic [7:0]                   region_write_bytes,
    output logic [NS*PORT*8-1:0]         region_write_data,
    // What lock step looks at.
    output logic                         broadcast,
    output logic [7:0]                   line_group,
    output logic [7:0]                   line_slot,
    output logic [M*8-1:0]               line,
    output logic                         window_there,
    output logic [15:0]                  windows,
    output logic [31:0]                  window_arrived,
    output logic [31:0]                  window_begin,
    output logic [31:0]                  window_end,
    output logic [15:0]                  window_row,
    output logic [15:0]                  window_lines,
    output logic                         beat,
    output logic [15:0]                  refill,
    output logic [15:0]                  tile,
    output logic [15:0]                  kh,
    output logic [15:0]                  kw,
    output logic [15:0]                  block,
    output logic [15:0]                  k,
    output logic [7:0]                   kernel_slot,
    output logic [15:0]                  column,
    output logic [15:0]                  width,          // columns of a line
    output logic [NS*(NCU+1)*M*9-1:0]    operands,       // of each slave those of the units, then the line that they share
    output logic                         third_write,
    output logic                         third_write_half,
    output logic [7:0]                   third_write_k,
    output logic [7:0]                   third_write_units,
    output logic [15:0]                  third_write_width,  // columns of a line
    output logic [NS*NCU*WS*32-1:0]      results,
    output logic [NS*NCU*WS*32-1:0]      sums,
    output logic [NS*2*K*NCU*WS*32-1:0]  third,
    output logic                         drain,
    output logic [15:0]                  drain_channel,
    output logic [15:0]                  drain_column,
    output logic                         drain_half,
    output logic [NS-1:0]                third_read,
    output logic [NS*8-1:0]              third_read_k,
    output logic [3:0]                   array_state,
    output logic [3:0]                   broadcast_state,
    output logic [3:0]                   read_state,
    output logic [3:0]                   weights_state,
    output logic [3:0]                   drain_state,
    output logic [3:0]                   write_state
);
  localparam LANES = M / 4;

  logic valid, aligns, align_ends, delays, all_drained, setup_waits, fresh, run_ends, tile_ends, kernel_tile_ends;
  logic [wfold_pkg::JOB_BITS-1:0] job_bits, drain_job;
  logic [wfold_pkg::SHAPE_BITS-1:0] shape_bits, drain_shape;
  logic [wfold_pkg::REFILL_BITS-1:0] tile_bits, drain_tile, fetch_refill;
  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  assign job = job_bits;
  assign shape = shape_bits;

  run_queue #(
      .NS(NS),
      .NCU(NCU),
      .M(M),
      .L1(L1),
      .L2(L2),
      .KF(KF)
  ) runs (
      .clk(clk),
      .reset(reset),
      .option_half(option_half),
      .instruction_valid(instruction_valid),
      .instruction(instruction),
      .done(run_ends || align_ends),
      .valid(valid),
      .aligns(aligns),
      .drained(all_drained),
      .setup_waits(setup_waits),
      .delays(delays),
      .fresh(fresh),
      .job(job_bits),
      .shape(shape_bits)
  );

  // The master.
  logic [7:0] lines_answered;
  logic lines_send, fetch_begins, window_leaves, line_there, line_first;
  logic [wfold_pkg::FETCH_BITS-1:0] fetch, line_fetch, line_window;
  logic signed [31:0] line_column;
  logic [NS*PLACES-1:0] mark;
  logic [31:0] entered, freed;

  line_reader reader (
      .clk(clk),
      .reset(reset),
      .option_queue(option_line_queue),
      .option_outstanding(option_outstanding),
      .valid(valid),
      .fresh(fresh),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .windows(windows),
      .leaves(window_leaves),
      .grant(lines_grant),
      .answered(lines_answered),
      .request(lines_request),
      .address(lines_address),
      .bytes(lines_bytes),
      .send(lines_send),
      .begins(fetch_begins),
      .fetch(fetch),
      .fetch_refill(fetch_refill),
      .state(read_state)
  );

  line_store #(
      .M(M),
      .BUS(BUS)
  ) store (
      .clk(clk),
      .reset(reset),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .send(lines_send),
      .send_bytes(lines_bytes),
      .begins(fetch_begins),
      .fetch_bits(fetch),
      .fetch_refill(fetch_refill),
      .beat(lines_beat),
      .beat_request(lines_beat_request),
      .data(lines_data),
      .answered(lines_answered),
      .line_bits(line_fetch),
      .line_column(line_column),
      .window_bits(line_window),
      .there(line_there),
      .line(line),
      .take(broadcast),
      .leaves(window_leaves),
      .windows(windows),
      .arrived(window_arrived),
      .head_begin(window_begin),
      .head_end(window_end),
      .head_row(window_row),
      .head_lines(window_lines)
  );
  assign window_there = line_there && line_first;

  line_entry #(
      .NS(NS),
      .PLACES(PLACES)
  ) entry (
      .clk(clk),
      .valid(valid),
      .fresh(fresh),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .freed(freed),
      .line_bits(line_fetch),
      .line_column(line_column),
      .window_bits(line_window),
      .there(line_there),
      .first(line_first),
      .enter(broadcast),
      .group(line_group),
      .slot(line_slot),
      .mark(mark),
      .entered(entered),
      .state(entry_state)
  );

  // The regions' ports.
  logic loads, record, record_first, drains;
  logic [7:0] loads_slot, record_k, array_k, tile_kernels, first_place, shift;
  logic [NS*M*9-1:0] loads_line;
  logic [NS*128-1:0] record_data;
  logic [SLOTS-1:0] slot_busy;
  logic [31:0] drained;

  kernel_port #(
      .NS(NS),
      .M(M),
      .SLOTS(SLOTS),
      .PORT(PORT)
  ) ports (
      .clk(clk),
      .reset(reset),
      .valid(valid),
      .fresh(fresh),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .drained(drained),
      .slot_busy(slot_busy),
      .access(weights),
      .enable(port_enable),
      .address(port_address),
      .data(region_data),
      .loads(loads),
      .slot(loads_slot),
      .line(loads_line),
      .record(record),
      .record_first(record_first),
      .record_k(record_k),
      .record_data(record_data),
      .state(port_state)
  );

  logic [NS-1:0] port_enable, align_enable;
  logic [NS*32-1:0] port_address, align_address;
  logic [3:0] port_state, entry_state, control_state;

  kernel_align #(
      .NS(NS),
      .PORT(PORT)
  ) in_place (
      .clk(clk),
      .reset(reset),
      .valid(aligns),
      .delays(delays),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .enable(align_enable),
      .write(region_write),
      .address(align_address),
      .write_data(region_write_data),
      .write_bytes(region_write_bytes),
      .data(region_data),
      .done(align_ends)
  );
  assign region_enable = aligns ? align_enable : port_enable;
  assign region_address = aligns ? align_address : port_address;
  assign weights_state = aligns ? wfold_pkg::STATE_BUSY : setup_waits ? wfold_pkg::STATE_OUTPUT_DRAIN : port_state;
  assign broadcast_state = aligns ? wfold_pkg::STATE_WEIGHT_LOAD : setup_waits ? wfold_pkg::STATE_OUTPUT_DRAIN : entry_state;
  assign array_state = aligns ? wfold_pkg::STATE_WEIGHT_LOAD : setup_waits ? wfold_pkg::STATE_OUTPUT_DRAIN : control_state;

  // Beats.
  logic step_first, clears, half;
  assign k = {8'd0, array_k};
  assign width = 16'd1 << shape.ws_shift;

  array_control #(
      .NS(NS),
      .SLOTS(SLOTS),
      .KF(KF)
  ) control (
      .clk(clk),
      .reset(reset),
      .valid(valid),
      .fresh(fresh),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .entered(entered),
      .freed(freed),
      .loads(loads),
      .loads_slot(loads_slot),
      .slot_busy(slot_busy),
      .drains(drains),
      .drained(drained),
      .beat(beat),
      .step_first(step_first),
      .clears(clears),
      .half(half),
      .k(array_k),
      .slot(kernel_slot),
      .first_place(first_place),
      .shift(shift),
      .kh(kh),
      .kw(kw),
      .block(block),
      .column(column),
      .refill_number(refill),
      .tile_number(tile),
      .tile_ends(tile_ends),
      .tile(tile_bits),
      .tile_kernels(tile_kernels),
      .kernel_tile_ends(kernel_tile_ends),
      .run_ends(run_ends),
      .state(control_state)
  );

  logic [NS-1:0] write_all, half_all;
  logic [NS*8-1:0] k_all, units_all;
  logic [NS*4-1:0] shift_all;
  genvar s;
  generate
    for (s = 0; s < NS; s = s + 1) begin : sl
      slave #(
          .NCU(NCU),
          .M(M),
          .PLACES(PLACES),
          .SLOTS(SLOTS),
          .KF(KF),
          .WS(WS),
          .K(K)
      ) one (
          .clk(clk),
          .reset(reset),
          .option_stages(option_stages),
          .pci_shift(shape.pci_shift),
          .ws_shift(shape.ws_shift),
          .is_signed(job.conv.input_type == conv_pkg::TYPE_INT8),
          .zero_point(job.conv.input_zero_point[8:0]),
          .enter(broadcast && line_group == s / (NS / shape.groups)),
          .enter_slot(line_slot),
          .enter_line(line),
          .mark(mark[(s/(NS/shape.groups))*PLACES+:PLACES]),
          .loads(loads),
          .loads_slot(loads_slot),
          .loads_line(loads_line[s*M*9+:M*9]),
          .beat(beat),
          .step_first(step_first),
          .clears(clears),
          .half(half),
          .k(array_k),
          .slot(kernel_slot),
          .kernel_count(tile_kernels),
          .first_place(first_place),
          .shift(shift),
          .operands(operands[s*(NCU+1)*M*9+:(NCU+1)*M*9]),
          .write(write_all[s]),
          .write_half(half_all[s]),
          .write_k(k_all[s*8+:8]),
          .write_units(units_all[s*8+:8]),
          .write_ws_shift(shift_all[s*4+:4]),
          .results(results[s*NCU*WS*32+:NCU*WS*32]),
          .sums(sums[s*NCU*WS*32+:NCU*WS*32]),
          .third(third[s*2*K*NCU*WS*32+:2*K*NCU*WS*32])
      );
    end
  endgenerate
  assign third_write = write_all[0];
  assign third_write_half = half_all[0];
  assign third_write_k = k_all[7:0];
  assign third_write_units = units_all[7:0];
  assign third_write_width = 16'd1 << shift_all[3:0];

  // Results.
  logic room, drain_ends_run, run_written;
  logic [15:0] drain_columns, drain_channels;
  logic [LANES*32-1:0] drain_results;

  result_drain #(
      .NS(NS),
      .NCU(NCU),
      .M(M),
      .WS(WS),
      .K(K),
      .KF(KF),
      .RECORDS(RECORDS)
  ) drains_results (
      .clk(clk),
      .reset(reset),
      .option_stages(option_stages),
      .tile_ends(tile_ends),
      .all_drained(all_drained),
      .tile_bits(tile_bits),
      .tile_half(half),
      .tile_kernels(tile_kernels),
      .kernel_tile_ends(kernel_tile_ends),
      .run_ends(run_ends),
      .job_bits(job_bits),
      .shape_bits(shape_bits),
      .record(record),
      .record_first(record_first),
      .record_k(record_k),
      .record_data(record_data),
      .third(third),
      .room(room),
      .drain(drain),
      .last(drains),
      .half(drain_half),
      .column(drain_column),
      .columns(drain_columns),
      .channel(drain_channel),
      .channels(drain_channels),
      .ends_run(drain_ends_run),
      .drain_job(drain_job),
      .drain_shape(drain_shape),
      .drain_tile(drain_tile),
      .results(drain_results),
      .read(third_read),
      .read_k(third_read_k),
      .state(drain_state)
  );

  result_writer #(
      .NS(NS),
      .M(M),
      .K(RECORDS),
      .MAX_LATENCY(MAX_LATENCY)
  ) writer (
      .clk(clk),
      .reset(reset),
      .option_queue(option_write_queue),
      .option_outstanding(option_outstanding),
      .option_latency(option_post_latency),
      .drain(drain),
      .last(drains),
      .ends_run(drain_ends_run),
      .column(drain_column),
      .columns(drain_columns),
      .channel(drain_channel),
      .channels(drain_channels),
      .job_bits(drain_job),
      .shape_bits(drain_shape),
      .tile_bits(drain_tile),
      .results(drain_results),
      .room(room),
      .grant(results_grant),
      .answered(results_answered),
      .request(results_request),
      .send(write),
      .address(results_address),
      .bytes(results_bytes),
      .data(write_data),
      .run_written(run_written),
      .state(write_state)
  );

  always_ff @(posedge clk) begin
    run_done <= {1'b0, run_written} + {1'b0, run_ends && !job.run.ends_sums};
    if (reset) run_done <= 2'd0;
  end
endmodule
