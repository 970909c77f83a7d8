// Complete halves of the result buffer, one at a time: realignment, then rows of C, `SUMS` sums a cycle (RO-2, RO-6). A row waits
// for the records of its column and for a place in the queue of requests to write.
module result_drain #(
    parameter X = 4,
    parameter LINES = 4,
    parameter SUMS = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [15:0]                       option_writes,
    // The array tells what a half holds with the last beat of a stack; its last sums come later.
    input  logic                              ends,
    input  logic                              ends_half,
    input  logic [rolling_pkg::HALF_BITS-1:0] ends_with,
    input  logic                              complete,
    input  logic                              complete_half,
    output logic [1:0]                        free,         // the half's last row leaves in this cycle
    // Records.
    input  logic                              records_there,
    output logic                              column_ends,
    // The result buffer.
    output logic                              realign,
    output logic                              half,
    output logic [7:0]                        step,
    output logic                              down,
    output logic [7:0]                        block,
    output logic [LINES*8-1:0]                turns,
    output logic [LINES*LINES*8-1:0]          ring,
    output logic [SUMS-1:0]                   read_valid,
    output logic [SUMS*16-1:0]                read_line,
    output logic [SUMS*16-1:0]                read_index,
    // The rows.
    output logic                              drain,
    output logic [15:0]                       row,
    output logic [15:0]                       column,       // of the first sum
    output logic [15:0]                       columns,
    output logic                              row_ends,
    output logic [rolling_pkg::HALF_BITS-1:0] drains,       // what the half takes along
    input  logic [15:0]                       waiting,      // requests to write
    output logic [3:0]                        state
);
  rolling_pkg::half_t now;
  conv_pkg::setup_t conv;
  assign conv = now.job.conv;
  logic [rolling_pkg::HALF_BITS-1:0] held[0:1];
  logic [1:0]  full;
  logic [7:0]  shifted;
  assign drains = held[half];
  assign now = held[half];

  logic        present, aligned, whole, b_stationary, waits_records, waits_queue;
  logic [7:0]  number, partner, fixed, moving, length, inner, span;
  logic [15:0] fixed_place, moving_place, base, at;

  always_comb begin
    partner = 8'd0;
    inner = 8'd0;
    fixed_place = 16'd0;
    moving_place = 16'd0;
    at = 16'd0;
    base = 16'd0;
    present = full[half];
    whole = now.job.rolling.scheme == rolling_pkg::SCHEME_WHOLE;
    down = rolling_pkg::rolls_down(now.job.rolling.variant);
    b_stationary = rolling_pkg::rolls_a(now.job.rolling.variant);
    block = whole ? LINES : now.round.block;
    step = shifted;
    fixed = rolling_pkg::lines_of(now.round.rows, now.round.block, 8'd0);
    moving = rolling_pkg::lines_of(now.round.kernels, now.round.block, 8'd0);
    span = whole ? now.round.blocks * now.round.block : fixed > moving ? fixed : moving;
    aligned = now.job.rolling.by_tags || shifted + 8'd1 >= span;
    realign = present && !aligned;

    // Rings of the half: whole rolling has one, group rolling one for each block of lines and phase.
    turns = '0;
    ring = '0;
    for (int p = 0; p < LINES; p = p + 1) begin
      number = 8'd0;
      for (int i = 1; i < LINES; i = i + 1) if (p >= now.round.block * i) number = i;
      inner = p - number * now.round.block;
      turns[p*8+:8] = p >= (b_stationary ? now.round.kernels : now.round.rows) ? 8'd0 : whole ? p : inner;
      fixed = rolling_pkg::lines_of(b_stationary ? now.round.kernels : now.round.rows, now.round.block, number);
      for (int t = 0; t < LINES; t = t + 1) begin
        length = 8'd0;
        for (int i = 0; i < LINES; i = i + 1)
          if (i < now.round.blocks && number < now.round.blocks && t >= now.round.block * i && t < now.round.block * (i + 1)) begin
            partner = rolling_pkg::partner(number, i, now.round.blocks, down);
            moving = rolling_pkg::lines_of(b_stationary ? now.round.rows : now.round.kernels, now.round.block, partner);
            length = fixed > moving ? fixed : moving;
          end
        if (whole) length = now.round.blocks * now.round.block;
        ring[(p*LINES+t)*8+:8] = length;
      end
    end

    columns = now.round.kernels;
    waits_records = conv.post_parameters && !records_there;
    waits_queue = column == 16'd0 && waiting >= option_writes;
    drain = present && aligned && !waits_records && !waits_queue;
    row_ends = drain && column + SUMS >= columns;
    free = '0;
    free[half] = row_ends && row + 16'd1 == now.round.rows;
    column_ends = free != 2'd0 && now.ends_column && conv.post_parameters;

    // Where sum (row, column) lies.
    read_valid = '0;
    read_line = '0;
    read_index = '0;
    for (int i = 0; i < SUMS; i = i + 1)
      if (column + i < columns) begin
        fixed_place = b_stationary ? column + i : row;
        moving_place = b_stationary ? row : column + i;
        at = moving_place;
        begin
          number = 8'd0;
          partner = 8'd0;
          for (int k = 1; k < LINES; k = k + 1) begin
            if (fixed_place >= now.round.block * k) number = k;
            if (moving_place >= now.round.block * k) partner = k;
          end
          // In this phase the rolling block meets the stationary one.
          inner = down ? (number >= partner ? number - partner : number + now.round.blocks - partner)
                        : (partner >= number ? partner - number : partner + now.round.blocks - number);
          base = whole ? 16'd0 : inner * now.round.block;
          fixed = rolling_pkg::lines_of(b_stationary ? now.round.kernels : now.round.rows, now.round.block, number);
          moving = rolling_pkg::lines_of(b_stationary ? now.round.rows : now.round.kernels, now.round.block, partner);
          length = whole ? now.round.blocks * now.round.block : fixed > moving ? fixed : moving;
          at = whole ? moving_place : moving_place - partner * now.round.block;
          if (down && at != 16'd0) at = length - at;
          at = base + at;
        end
        read_valid[i] = 1'b1;
        read_line[i*16+:16] = fixed_place;
        read_index[i*16+:16] = at;
      end

    state = rolling_pkg::STATE_IDLE;
    if (realign || drain) state = rolling_pkg::STATE_BUSY;
    else if (present) state = waits_records ? rolling_pkg::STATE_WEIGHT_LOAD : rolling_pkg::STATE_WRITE_QUEUE;
  end

  always_ff @(posedge clk) begin
    if (ends) held[ends_half] <= ends_with;
    if (complete) full[complete_half] <= 1'b1;
    if (realign) shifted <= shifted + 8'd1;
    if (drain) begin
      column <= column + SUMS;
      if (row_ends) begin
        column <= 16'd0;
        row <= row + 16'd1;
        if (free != 2'd0) begin
          row <= 16'd0;
          full[half] <= 1'b0;
          shifted <= 8'd0;
          half <= !half;
        end
      end
    end
    if (reset) begin
      full <= 2'd0;
      shifted <= 8'd0;
      row <= 16'd0;
      column <= 16'd0;
      half <= 1'b0;
    end
  end
endmodule
