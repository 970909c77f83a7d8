// Which beat there is in a cycle (WF-4, WF-8): walks refills, folded kernel columns and the slaves' kernels, waits for lines,
// kernel lines and a drained half of the third buffers, and says which lines no step will read.
module array_control #(
    parameter NS = 4,
    parameter SLOTS = 5,      // for kernel lines
    parameter KF = 0
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              valid,
    input  logic                              fresh,
    input  logic [wfold_pkg::JOB_BITS-1:0]    job_bits,
    input  logic [wfold_pkg::SHAPE_BITS-1:0]  shape_bits,
    input  logic [31:0]                       entered,      // lines of the run, of all groups
    output logic [31:0]                       freed,        // lines of the run that no step will read, of a group
    input  logic                              loads,        // a kernel line, into its slot
    input  logic [7:0]                        loads_slot,
    output logic [SLOTS-1:0]                     slot_busy,
    input  logic                              drains,       // the last results of the oldest tile leave
    output logic [31:0]                       drained,      // tiles whose results have left
    output logic                              beat,
    output logic                              step_first,   // the first beat of a step
    output logic                              clears,       // the sums of its kernel begin
    output logic                              half,
    output logic [7:0]                        k,            // of the step's beats: a kernel of each slave, or a line of columns
    output logic [7:0]                        slot,         // of the kernel line, or the first one of the step's
    output logic [7:0]                        first_place,  // of unit 0's line
    output logic [7:0]                        shift,        // columns into that line
    output logic [15:0]                       kh,
    output logic [15:0]                       kw,
    output logic [15:0]                       block,
    output logic [15:0]                       column,       // of the map
    output logic [15:0]                       refill_number,
    output logic [15:0]                       tile_number,
    output logic                              tile_ends,    // with this beat, and its results leave
    output logic [wfold_pkg::REFILL_BITS-1:0] tile,
    output logic [7:0]                        tile_kernels, // of a slave
    output logic                              kernel_tile_ends,
    output logic                              run_ends,
    output logic [3:0]                        state
);
  /* verilator no_inline_module */

  wfold_pkg::job_t job;
  wfold_pkg::shape_t shape;
  wfold_pkg::refill_t refill, at, following;
  assign job = job_bits;
  assign shape = shape_bits;

  logic [7:0] k_now, sets, beats;
  logic [15:0] tap, at_tap, next_tap, j, at_j, offset, lines, needed, passed, tiles, at_tiles;
  logic [31:0] base, at_base, total, at_total;
  logic [1:0] halves_busy;
  logic lines_there, kernels_there, last_tap, active, tile_first, step_last, refill_last, tile_last;

  always_comb begin
    at = fresh ? wfold_pkg::first_refill(shape) : refill;
    k = fresh ? 8'd0 : k_now;
    at_tap = fresh ? 16'd0 : tap;
    at_j = fresh ? 16'd0 : j;
    at_base = fresh ? 32'd0 : base;
    at_total = fresh ? 32'd0 : total;
    at_tiles = fresh ? 16'd0 : tiles;
    step_first = k == 8'd0;
    active = valid && !at.done;
    tile_kernels = job.run.kernels - at.kernel < shape.tile_kernels ? (job.run.kernels - at.kernel + NS - 16'd1) / NS : shape.tile_kernels / NS;
    sets = SLOTS / tile_kernels;
    slot = (at_j % sets) * tile_kernels + (KF != 0 ? 8'd0 : k);
    beats = KF == 0 ? tile_kernels
            : ((job.run.columns - at.column < shape.tile_columns ? job.run.columns - at.column : shape.tile_columns) + (16'd1 << shape.ws_shift) - 16'd1)
              >> shape.ws_shift;
    kernels_there = 1'b1;
    for (int i = 0; i < tile_kernels; i = i + 1)
      if (KF != 0 ? step_first && !slot_busy[slot+i] : i == 0 && !slot_busy[slot]) kernels_there = 1'b0;
    lines = wfold_pkg::refill_lines(shape, at);
    offset = at_tap - at.tap_first;
    next_tap = wfold_pkg::next_tap(shape, at_tap);
    last_tap = next_tap == 16'd0 || next_tap > at.tap_last;
    needed = (offset + shape.tile_columns - 16'd1) >> shape.ws_shift;
    if (KF != 0) begin
      needed = (offset + (({8'd0, k} + 16'd1) << shape.ws_shift) - 16'd1) >> shape.ws_shift;
      if (last_tap && k + 8'd1 == beats) needed = lines - 16'd1;
    end
    lines_there = (KF == 0 && !step_first) || entered >= at_total + (needed + 16'd1) * shape.groups;
    tile_first = at.number == 16'd0 && at_tap == at.tap_first && step_first;
    beat = 1'b0;
    state = wfold_pkg::STATE_IDLE;
    if (active) begin
      if (tile_first && job.run.begins_sums && halves_busy[half]) state = wfold_pkg::STATE_OUTPUT_DRAIN;
      else if (!lines_there) state = wfold_pkg::STATE_INPUT_LOAD;
      else if (!kernels_there) state = wfold_pkg::STATE_WEIGHT_LOAD;
      else begin
        state = wfold_pkg::STATE_BUSY;
        beat = 1'b1;
      end
    end
    clears = job.run.begins_sums && at.number == 16'd0 && at_tap == at.tap_first;
    first_place = (at_base + (offset >> shape.ws_shift) + (KF != 0 ? {8'd0, k} : 16'd0)) % shape.places;
    shift = offset & ((16'd1 << shape.ws_shift) - 16'd1);
    kh = at.kh;
    kw = at_tap;
    block = at.block;
    column = at.column + at_tap + (KF != 0 ? {8'd0, k} << shape.ws_shift : 16'd0);
    refill_number = at.number;
    tile_number = at_tiles;
    following = wfold_pkg::next_refill(job, shape, at);
    step_last = beat && k + 8'd1 == beats;
    refill_last = step_last && last_tap;
    // Lines of the refill that this beat was the last one to take.
    passed = last_tap ? lines : (next_tap - at.tap_first) >> shape.ws_shift;
    if (KF != 0 && !step_last && (last_tap || (offset >> shape.ws_shift) + {8'd0, k} + 16'd1 < passed))
      passed = (offset >> shape.ws_shift) + {8'd0, k} + 16'd1;
    tile_last = refill_last && (following.done || following.number == 16'd0);
    tile_ends = tile_last && job.run.ends_sums;
    kernel_tile_ends = refill_last && (following.done || following.kernel != at.kernel);
    run_ends = refill_last && following.done;
    tile = at;
  end

  always_ff @(posedge clk) begin
    refill <= at;
    k_now <= k;
    tap <= at_tap;
    j <= at_j;
    base <= at_base;
    total <= at_total;
    tiles <= at_tiles;
    if (fresh) freed <= 32'd0;
    if (beat) begin
      if (KF == 0) slot_busy[slot] <= 1'b0;
      else if (step_first) for (int i = 0; i < SLOTS; i = i + 1) if (i >= slot && i < slot + tile_kernels) slot_busy[i] <= 1'b0;
      k_now <= step_last ? 8'd0 : k + 8'd1;
      if (KF != 0 || step_first) freed <= at_base + passed;
      if (tile_first && job.run.begins_sums) halves_busy[half] <= 1'b1;
    end
    if (step_last) begin
      tap <= next_tap;
      j <= at_j + 16'd1;
    end
    if (refill_last) begin
      refill <= following;
      tap <= following.tap_first;
      base <= at_base + lines;
      total <= at_total + lines * shape.groups;
    end
    if (kernel_tile_ends) j <= 16'd0;
    if (tile_last) tiles <= at_tiles + 16'd1;
    if (tile_ends) half <= !half;
    if (drains) begin
      halves_busy[drained[0]] <= 1'b0;
      drained <= drained + 32'd1;
    end
    if (loads) slot_busy[loads_slot] <= 1'b1;
    if (run_ends) freed <= 32'd0;
    if (reset) begin
      halves_busy <= 2'd0;
      half <= 1'b0;
      drained <= 32'd0;
      slot_busy <= '0;
      freed <= 32'd0;
    end
  end
endmodule
