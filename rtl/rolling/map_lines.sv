// Address generator of A (RO-5, RO-6): the elements of a row of A are found in the map while they are loaded. n runs over blocks
// of channels, four lines each, in each over the taps, in each over the block's channels. One access a cycle of neighbouring
// bytes of one line whose words lie in different banks; what lies on padding is no access.
module map_lines #(
    parameter R = 4,
    parameter C = 4,
    parameter GROUPS = 4,
    parameter PORT = 4
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic [7:0]                       option_bank_shift,  // log2 of the bytes of a bank's word
    input  logic [15:0]                      option_banks,
    input  logic                             assigned,
    input  logic                             job_valid,
    input  logic [rolling_pkg::JOB_BITS-1:0] job_bits,
    output logic                             job_done,
    input  logic                             room,
    output logic                             reads,              // the memory is accessed
    output logic [47:0]                      address,
    output logic [rolling_pkg::ASK_BITS-1:0] ask_bits
);
  localparam X = R > C ? R : C;

  rolling_pkg::job_t job;
  conv_pkg::setup_t conv;
  assign conv = job.conv;
  rolling_pkg::round_t round;
  logic [rolling_pkg::ROUND_BITS-1:0] round_bits;
  logic step;
  logic request, access, first, last, last_of_round;
  logic [7:0] count, lane, elements, group, line, opens, base, round_size;
  logic [15:0] tag;
  logic [7:0] round_cuts;
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
      .step(step),
      .round_bits(round_bits),
      .size(round_size),
      .cuts(round_cuts)
  );

  // The line at hand: row of the stack, block and line in it, cut; the next element to ask for.
  logic [15:0] row;
  logic [7:0]  block, in_block, cut, position;
  // The pixel of this row, and that of the stack's first one.
  logic [15:0] image, oh, ow, first_image, first_oh, first_ow;
  // Where n stands: of the line, and of the round.
  logic [15:0] channel_block, tap_h, tap_w, channel, round_channel_block, round_tap_h, round_tap_w, round_channel;

  logic [7:0]  lanes;
  logic [31:0] cut_element, left;
  logic [15:0] block_channels, at_block, at_h, at_w, at_channel;
  logic signed [31:0] h, w;
  logic [X-1:0] pad;
  logic [X*48-1:0] addresses;
  logic [7:0]  begin_at, end_at;
  logic        found, more, line_done, last_cut, last_row, done;
  logic [47:0] words;

  always_comb begin
    lanes = rolling_pkg::left_transposed(job.rolling.variant) ? R : C;
    cut_element = round.element + lanes * cut;
    left = round.elements - cut_element;
    elements = left < {24'd0, lanes} ? left[7:0] : lanes;

    // All elements of the line.
    h = 32'sd0;
    w = 32'sd0;
    block_channels = 16'd0;
    words = 48'd0;
    at_block = channel_block;
    at_h = tap_h;
    at_w = tap_w;
    at_channel = channel;
    pad = '0;
    addresses = '0;
    for (int i = 0; i < X; i = i + 1)
      if (i < elements) begin
        h = $signed({16'd0, oh}) * $signed({1'b0, conv.stride_h}) + $signed(job.run.h_offset) + $signed({16'd0, at_h}) * $signed({1'b0, conv.dilation_h});
        w = $signed({16'd0, ow}) * $signed({1'b0, conv.stride_w}) + $signed(job.run.w_offset) + $signed({16'd0, at_w}) * $signed({1'b0, conv.dilation_w});
        pad[i] = h < 0 || h >= $signed({16'd0, job.run.height}) || w < 0 || w >= $signed({16'd0, job.run.width});
        addresses[i*48+:48] = job.run.map_address + (({32'd0, image} * job.run.height + {16'd0, h}) * job.run.width + {16'd0, w}) * job.rolling.pixel_bytes
                              + round.group * job.rolling.group_channels + job.run.first_channel + at_block + at_channel;
        block_channels = job.run.channels - at_block < lanes * 4 ? job.run.channels - at_block : lanes * 4;
        at_channel = at_channel + 16'd1;
        if (at_channel == block_channels) begin
          at_channel = 16'd0;
          at_w = at_w + 16'd1;
          if (at_w == conv.kernel_w) begin
            at_w = 16'd0;
            at_h = at_h + 16'd1;
            if (at_h == conv.kernel_h) begin
              at_h = 16'd0;
              at_block = at_block + lanes * 4;
            end
          end
        end
      end

    // The next access.
    begin_at = position;
    found = 1'b0;
    for (int i = 0; i < X; i = i + 1)
      if (!found && i >= position && i < elements && !pad[i]) begin
        found = 1'b1;
        begin_at = i;
      end
    address = addresses[begin_at*48+:48];
    end_at = begin_at;
    more = found;
    for (int i = 0; i < X; i = i + 1)
      if (i >= begin_at && more) begin
        words = ((address + (i - begin_at)) >> option_bank_shift) - (address >> option_bank_shift);
        if (i < elements && i - begin_at < PORT && !pad[i] && addresses[i*48+:48] == address + (i - begin_at) && words < option_banks) end_at = i + 1;
        else more = 1'b0;
      end
    count = end_at - begin_at;
    line_done = 1'b1;
    for (int i = 0; i < X; i = i + 1) if (i >= end_at && i < elements && !pad[i] && found) line_done = 1'b0;

    first = position == 8'd0;
    request = job_valid && (room || !first);
    access = found;
    last = line_done;
    lane = begin_at;
    group = rolling_pkg::group_at(round.base, block * (assigned ? round_cuts : job.rolling.stacked_cuts) + cut, GROUPS);
    line = in_block;
    tag = row;
    base = round.base;
    opens = row == 16'd0 && cut == 8'd0 ? (assigned ? round_size : round.blocks * job.rolling.stacked_cuts) : 8'd0;
    last_cut = cut + 8'd1 == job.rolling.stacked_cuts || left <= {24'd0, lanes};
    last_row = row + 16'd1 == round.rows;
    done = request && line_done;
    last_of_round = last_cut && last_row;
    step = done && last_of_round;
    job_done = step && round.ends_run;
  end

  rolling_pkg::ask_t ask;
  assign ask_bits = ask;
  assign reads = request && access;
  always_comb begin
    ask = '0;
    ask.request = request;
    ask.access = access;
    ask.first = first;
    ask.last = last;
    ask.lane = lane;
    ask.count = count;
    ask.line.elements = elements;
    ask.line.zero = {conv.input_type == conv_pkg::TYPE_UINT8, conv.input_zero_point[9:0]};
    ask.line.group = group;
    ask.line.line = line;
    ask.line.tag = tag;
    ask.line.opens = opens;
    ask.line.base = base;
    ask.line.size = round_size;
    ask.line.last_of_round = last_of_round;
  end

  logic [15:0] next_image, next_oh, next_ow;
  always_comb begin
    next_image = image;
    next_oh = oh;
    next_ow = ow + 16'd1;
    if (next_ow == job.run.columns) begin
      next_ow = 16'd0;
      next_oh = oh + 16'd1;
      if (next_oh == job.run.rows) begin
        next_oh = 16'd0;
        next_image = image + 16'd1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (request) position <= line_done ? 8'd0 : end_at;
    if (done) begin
      cut <= cut + 8'd1;
      {channel_block, tap_h, tap_w, channel} <= {at_block, at_h, at_w, at_channel};
      if (last_cut) begin
        cut <= 8'd0;
        {channel_block, tap_h, tap_w, channel} <= {round_channel_block, round_tap_h, round_tap_w, round_channel};
        row <= row + 16'd1;
        {image, oh, ow} <= {next_image, next_oh, next_ow};
        in_block <= in_block + 8'd1;
        if (in_block + 8'd1 == round.block) begin
          in_block <= 8'd0;
          block <= block + 8'd1;
        end
        if (last_row) begin
          row <= 16'd0;
          block <= 8'd0;
          in_block <= 8'd0;
          if (round.last_cut) begin
            {channel_block, tap_h, tap_w, channel} <= '0;
            {round_channel_block, round_tap_h, round_tap_w, round_channel} <= '0;
            if (round.last_row) {image, oh, ow} <= '0;
            {first_image, first_oh, first_ow} <= round.last_row ? 48'd0 : {next_image, next_oh, next_ow};
          end else begin
            {channel_block, tap_h, tap_w, channel} <= {at_block, at_h, at_w, at_channel};
            {round_channel_block, round_tap_h, round_tap_w, round_channel} <= {at_block, at_h, at_w, at_channel};
            {image, oh, ow} <= {first_image, first_oh, first_ow};
          end
        end
      end
    end
    if (reset) begin
      position <= 8'd0;
      row <= 16'd0;
      block <= 8'd0;
      in_block <= 8'd0;
      cut <= 8'd0;
      {image, oh, ow} <= '0;
      {first_image, first_oh, first_ow} <= '0;
      {channel_block, tap_h, tap_w, channel} <= '0;
      {round_channel_block, round_tap_h, round_tap_w, round_channel} <= '0;
    end
  end
endmodule
