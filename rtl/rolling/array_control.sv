// What the array does in a cycle (RO-1, RO-4, RO-5, RO-6): it waits for a free half of the result buffer, for lines of A and of
// B, and then steps through the round: beats of each computation, a roll behind it, exchanges and corrections.
module array_control #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter M = 1
) (
    input  logic                               clk,
    input  logic                               reset,
    input  logic                               assigned,
    input  logic                               shared_spare,
    input  logic                               job_valid,
    input  logic [rolling_pkg::JOB_BITS-1:0]   job_bits,
    output logic                               job_done,
    input  logic                               a_loaded,      // lines of the next round are in registers
    input  logic                               b_loaded,
    input  logic [1:0]                         half_busy,
    output logic                               round_begins,
    output logic                               round_ends,    // with this cycle
    output logic [7:0]                         round_size,
    output logic [3:0]                         state,
    // Beats.
    output logic                               beat,
    output logic [15:0]                        computation,
    output logic [7:0]                         phase,
    output logic [M-1:0]                       multiply,
    output logic [M*8-1:0]                     group,         // register groups of the beat
    output logic [M*16-1:0]                    place,         // of a group's sums in their lines: the first one of its phase
    output logic [M*16-1:0]                    moving_first,  // number of the first line of the rolling block
    output logic [M*8-1:0]                     turn,          // lines of its ring, over all blocks in whole rolling
    output logic [7:0]                         lines,         // of the longest ring of the stack
    output logic                               half,
    output logic                               stack_begins,  // the half is cleared
    output logic                               stack_ends,    // the beat is the stack's last one
    output logic [rolling_pkg::ROUND_BITS-1:0] round_bits,
    // Rings.
    output logic [GROUPS-1:0]                  roll,
    output logic [GROUPS*8-1:0]                ring,
    output logic [GROUPS-1:0]                  exchange,
    output logic [GROUPS-1:0]                  correct,
    output logic [GROUPS*8-1:0]                from,
    output logic [7:0]                         edge_line
);
  localparam X = R > C ? R : C;

  rolling_pkg::job_t job;
  rolling_pkg::round_t round;
  assign job = job_bits;
  assign round = round_bits;

  round_walk #(
      .R(R),
      .C(C),
      .GROUPS(GROUPS)
  ) walk (
      .clk(clk),
      .reset(reset),
      .job_bits(job_bits),
      .assigned(assigned),
      .step(round_ends),
      .round_bits(round_bits),
      .size(round_size),
      .cuts(cuts)
  );

  localparam [1:0] STEP_BEAT = 2'd0, STEP_WRAP = 2'd1, STEP_EXCHANGE = 2'd2, STEP_CORRECT = 2'd3;

  logic        active;
  logic [1:0]  step, next_step;
  logic [7:0]  scan;         // groups of the computation that have had their beat
  logic [7:0]  wrap;         // cycles of this roll that are over
  logic        runs;
  logic [7:0]  at_phase;
  logic [15:0] at_computation;
  logic [1:0]  at_step;
  logic [7:0]  at_scan;

  logic        a_rolls, down, whole, corrects;
  logic [7:0]  lanes, stride, cuts, fixed, moving, number, partner, picked, members, length, rings, wraps, beat_end;
  logic [15:0] turns, ends_at, whole_ring;
  logic [GROUPS-1:0] full;                // groups with a beat in this computation
  logic [7:0] member_group[0:GROUPS-1];   // of block x cut, in order
  logic [7:0] member_ring[0:GROUPS-1];
  logic [7:0] member_block[0:GROUPS-1];
  logic [7:0] member_cut[0:GROUPS-1];
  logic [GROUPS-1:0] member_used, member_moves, member_rolls;
  logic [7:0] member_turn[0:GROUPS-1];    // of its ring among those that roll
  logic last_of_computation, last_computation, last_phase, waits_for_half;

  always_comb begin
    partner = 8'd0;
    fixed = 8'd0;
    moving = 8'd0;
    length = 8'd0;
    number = 8'd0;
    a_rolls = rolling_pkg::rolls_a(job.rolling.variant);
    down = rolling_pkg::rolls_down(job.rolling.variant);
    whole = job.rolling.scheme == rolling_pkg::SCHEME_WHOLE;
    lanes = rolling_pkg::left_transposed(job.rolling.variant) ? R : C;

    waits_for_half = round.first_cut && job.run.first && half_busy[half];
    runs = active || (job_valid && !waits_for_half && a_loaded && b_loaded);
    round_begins = runs && !active;
    at_phase = active ? phase : 8'd0;
    at_computation = active ? computation : 16'd0;
    at_step = active ? step : STEP_BEAT;
    at_scan = active ? scan : 8'd0;

    // Register groups of the round: block by block, in each cut by cut.
    stride = assigned ? cuts : job.rolling.stacked_cuts;
    members = 8'd0;
    turns = 16'd0;
    member_used = '0;
    member_moves = '0;
    member_rolls = '0;
    full = '0;
    ring = '0;
    from = '0;
    corrects = whole && round.blocks > 8'd1;
    whole_ring = round.blocks * round.block;
    for (int k = 0; k < GROUPS; k = k + 1) begin
      member_group[k] = 8'd0;
      member_ring[k] = 8'd1;
      member_block[k] = 8'd0;
      member_cut[k] = 8'd0;
    end
    for (int b = 0; b < GROUPS; b = b + 1)
      for (int c = 0; c < GROUPS; c = c + 1)
        if (b < round.blocks && c < cuts && members < GROUPS) begin
          partner = rolling_pkg::partner(b, at_phase, round.blocks, down);
          fixed = rolling_pkg::lines_of(a_rolls ? round.kernels : round.rows, round.block, b);
          moving = rolling_pkg::lines_of(a_rolls ? round.rows : round.kernels, round.block, partner);
          length = whole ? round.block : fixed > moving ? fixed : moving;
          member_group[members] = rolling_pkg::group_at(round.base, b * stride + c, GROUPS);
          member_ring[members] = length;
          member_block[members] = b;
          member_cut[members] = c;
          full[members] = fixed != 8'd0 && (whole || moving != 8'd0);
          member_used[members] = 1'b1;
          member_moves[members] = whole || full[members];
          if (full[members] && length > turns[7:0]) turns = length;
          members = members + 8'd1;
        end
    if (whole) turns = whole_ring;
    last_phase = job.rolling.scheme != rolling_pkg::SCHEME_GROUP || at_phase + 8'd1 == round.blocks;
    last_computation = at_computation + 16'd1 == turns;

    // The beat: the next groups with a product, as many as a PE has multipliers.
    beat = runs && at_step == STEP_BEAT;
    multiply = '0;
    group = '0;
    place = '0;
    moving_first = '0;
    turn = '0;
    lines = whole ? round.block : rolling_pkg::lines_of(round.rows > round.kernels ? round.rows : round.kernels, round.block, 8'd0);
    picked = 8'd0;
    beat_end = at_scan;
    for (int k = 0; k < GROUPS; k = k + 1)
      if (k >= at_scan && full[k] && (whole || at_computation < member_ring[k]) && picked < M) begin
        multiply[picked] = beat;
        group[picked*8+:8] = member_group[k];
        place[picked*16+:16] = at_phase * round.block;
        moving_first[picked*16+:16] = whole ? 16'd0 : rolling_pkg::partner(member_block[k], at_phase, round.blocks, down) * round.block;
        turn[picked*8+:8] = whole ? whole_ring[7:0] : member_ring[k];
        picked = picked + 8'd1;
        beat_end = k + 1;
      end
    last_of_computation = 1'b1;
    for (int k = 0; k < GROUPS; k = k + 1)
      if (k >= beat_end && full[k] && (whole || at_computation < member_ring[k])) last_of_computation = 1'b0;

    // Rolls.
    rings = 8'd0;
    for (int k = 0; k < GROUPS; k = k + 1) begin
      member_rolls[k] = member_used[k] && member_moves[k] && (whole || at_computation < member_ring[k]);
      member_turn[k] = rings;
      rings = rings + {7'd0, member_rolls[k]};
    end
    wraps = 8'd0;
    if (job.rolling.wrap_buffer) wraps = rings + rings;
    else if (shared_spare) wraps = rings - 8'd1;

    next_step = at_step;
    roll = '0;
    exchange = '0;
    correct = '0;
    edge_line = down ? 8'd0 : round.block - 8'd1;
    round_ends = 1'b0;
    for (int k = 0; k < GROUPS; k = k + 1)
      if (member_used[k]) begin
        ring[member_group[k]*8+:8] = member_ring[k];
        number = down ? (member_block[k] == 8'd0 ? round.blocks - 8'd1 : member_block[k] - 8'd1)
                      : (member_block[k] + 8'd1 == round.blocks ? 8'd0 : member_block[k] + 8'd1);
        from[member_group[k]*8+:8] = rolling_pkg::group_at(round.base, number * stride + member_cut[k], GROUPS);
      end
    case (at_step)
      STEP_BEAT:
      if (beat && last_of_computation) begin
        if (last_computation && last_phase) round_ends = 1'b1;
        else begin
          if (!job.rolling.wrap_buffer)
            for (int k = 0; k < GROUPS; k = k + 1) if (member_rolls[k] && (!shared_spare || member_turn[k] == 8'd0)) roll[member_group[k]] = 1'b1;
          if (wraps != 8'd0) next_step = STEP_WRAP;
          else if (corrects) next_step = STEP_CORRECT;
          else if (last_computation && !whole) next_step = STEP_EXCHANGE;
        end
      end
      STEP_WRAP: begin
        for (int k = 0; k < GROUPS; k = k + 1)
          if (member_rolls[k]) begin
            if (job.rolling.wrap_buffer ? wrap == 8'd2 * member_turn[k] + 8'd1 : wrap + 8'd1 == member_turn[k]) roll[member_group[k]] = 1'b1;
          end
        if (wrap + 8'd1 == wraps) next_step = corrects ? STEP_CORRECT : last_computation && !whole ? STEP_EXCHANGE : STEP_BEAT;
      end
      STEP_EXCHANGE: begin
        for (int k = 0; k < GROUPS; k = k + 1) if (member_used[k]) exchange[member_group[k]] = 1'b1;
        next_step = STEP_BEAT;
      end
      default: begin
        for (int k = 0; k < GROUPS; k = k + 1) if (member_used[k]) correct[member_group[k]] = 1'b1;
        next_step = STEP_BEAT;
      end
    endcase
    stack_begins = round_begins && round.first_cut && job.run.first;
    stack_ends = round_ends && round.last_cut && job.run.last;
    job_done = round_ends && round.ends_run;

    state = rolling_pkg::STATE_IDLE;
    if (beat) state = rolling_pkg::STATE_BUSY;
    else if (active) state = rolling_pkg::STATE_ROLL;
    else if (job_valid) state = waits_for_half ? rolling_pkg::STATE_OUTPUT_DRAIN : !a_loaded ? rolling_pkg::STATE_INPUT_LOAD : rolling_pkg::STATE_WEIGHT_LOAD;
  end

  logic [7:0]  phase_register, next_phase;
  logic [15:0] computation_register, next_computation;
  assign phase = active ? phase_register : 8'd0;
  assign computation = active ? computation_register : 16'd0;

  always_comb begin
    next_phase = at_phase;
    next_computation = at_computation;
    if (next_step == STEP_BEAT && (at_step != STEP_BEAT || last_of_computation)) begin
      next_computation = at_computation + 16'd1;
      if (at_step == STEP_EXCHANGE) begin
        next_computation = 16'd0;
        next_phase = at_phase + 8'd1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      active <= 1'b0;
      half <= 1'b0;
      step <= STEP_BEAT;
      scan <= 8'd0;
      wrap <= 8'd0;
      phase_register <= 8'd0;
      computation_register <= 16'd0;
    end else if (runs) begin
      active <= !round_ends;
      step <= next_step;
      phase_register <= next_phase;
      computation_register <= next_computation;
      scan <= at_step == STEP_BEAT && !last_of_computation ? beat_end : 8'd0;
      wrap <= at_step == STEP_WRAP && next_step == STEP_WRAP ? wrap + 8'd1 : 8'd0;
      if (stack_ends) half <= !half;
    end
  end
endmodule
