// Operands of wfold.run, wfold.kernels and wfold.align in the order of their encoding (docs/isa.md), what a run's sizes
// come to, and the order of refills and of their lines (docs/wfold.md). The first bit is the lowest bit of a structure,
// so the last field stands first.
package wfold_pkg;

  localparam [7:0] OPCODE_CONV_SETUP = 8'h01;
  localparam [7:0] OPCODE_RUN = 8'h03;
  localparam [7:0] OPCODE_KERNELS = 8'h04;
  localparam [7:0] OPCODE_ALIGN = 8'h0a;

  localparam [1:0] READ_CONTINUOUS = 2'd0;
  localparam [1:0] READ_STRIDED = 2'd1;
  localparam [1:0] READ_TRANSIT = 2'd2;

  localparam COLUMNS = 64;   // folded columns of a kernel, at most
  localparam POSITIONS = 128;  // pixels that a kernel reaches over, at most

  // What the parts do in a cycle, as their ledgers name it; idle: the cause lies outside of the engine.
  localparam [3:0] STATE_IDLE = 4'd0;
  localparam [3:0] STATE_BUSY = 4'd1;
  localparam [3:0] STATE_INPUT_LOAD = 4'd2;
  localparam [3:0] STATE_WEIGHT_LOAD = 4'd3;
  localparam [3:0] STATE_OUTPUT_DRAIN = 4'd4;
  localparam [3:0] STATE_INPUT_RELEASE = 4'd5;
  localparam [3:0] STATE_LINE_LOAD = 4'd6;
  localparam [3:0] STATE_WEIGHT_RELEASE = 4'd7;
  localparam [3:0] STATE_LANDING = 4'd8;

  typedef struct packed {
    logic [8:0]  unused;
    logic        ends_sums;
    logic        begins_sums;
    logic        block_outer;
    logic [1:0]  read_mode;
    logic [8:0]  result_granularity;
    logic [8:0]  granularity;
    logic [15:0] channels;
    logic [15:0] first_channel;
    logic [15:0] pixel_bytes;
    logic [15:0] h_offset;
    logic [15:0] height;
    logic [15:0] kernels;
    logic [15:0] columns;
    logic [15:0] rows;
    logic [31:0] macs_per_output;
    logic [31:0] result_pixel;
    logic [31:0] result;
    logic [31:0] weights;
    logic [31:0] lead_bytes;
    logic [31:0] row_bytes;
    logic [31:0] map_address;
  } run_t;

  typedef struct packed {
    logic [6:0]  slave_groups;
    logic        folded;
    logic [15:0] first_in_group;
    logic [15:0] group_kernels;
    logic [15:0] channels;
  } kernels_t;

  typedef struct packed {
    logic [287:0] unused;
    logic [15:0]  channels;
    logic [15:0]  first_channel;
    logic [15:0]  pixel_bytes;
    logic [15:0]  kernels;
    logic [31:0]  weights;
  } align_t;

  // A run, or kernels that are folded in place, with the registers that it takes along.
  typedef struct packed {
    logic             drained;      // behind a conv.setup: it waits for all results
    logic             aligns;
    logic             as_they_are;  // regions hold the kernels' own bytes, by wfold.kernels
    kernels_t         kernels;
    run_t             run;
    conv_pkg::setup_t conv;
  } job_t;

  // Sizes that follow from a run's operands.
  typedef struct packed {
    logic [POSITIONS-1:0] positions;    // pixels, from the first tap's on, in which a tap lies
    logic [COLUMNS-1:0]   taps;         // folded columns in which a tap lies
    logic [31:0]          kernel_bytes; // in a region, of one kernel
    logic [31:0]          row_bytes;    // of them, of one kernel row
    logic [15:0]          phase_bytes;  // channels of a pixel of the map
    logic [15:0]          blocks;       // of channels
    logic [15:0]          group_step;   // bytes of the folded pixel from the channels of a group of slaves to the next one's
    logic [15:0]          tile_columns;
    logic [15:0]          tile_kernels;
    logic [15:0]          reach;        // folded columns of a part of a kernel, at most
    logic [15:0]          results;      // bytes of a result
    logic [15:0]          groups;       // of slaves
    logic [7:0]           at_once;      // lines of columns of a tile
    logic [7:0]           places;       // for lines
    logic [2:0]           pci_shift;
    logic [3:0]           ws_shift;
    logic                 window_all;   // a window of the transit buffer holds all blocks
    logic                 one_request;  // results of several columns follow one another
    logic [5:0]           column_count; // folded columns with a tap
  } shape_t;

  // A refill: what the first buffers get for one kernel row and one channel block of a tile.
  typedef struct packed {
    logic [15:0] kernel;  // the tile
    logic [15:0] row;
    logic [15:0] column;
    logic [15:0] tap_first;  // the part of the kernel: folded columns
    logic [15:0] tap_last;
    logic [15:0] kh;
    logic [15:0] block;
    logic [14:0] part;
    logic        done;    // there is no further one
    logic [15:0] number;
  } refill_t;

  // Bytes of a row of the map that are fetched: columns [first, last], of each the channels [channel, ...).
  typedef struct packed {
    logic               there;
    logic signed [31:0] row;
    logic signed [31:0] first;
    logic signed [31:0] last;
    logic signed [31:0] begin_byte;  // of the row
    logic signed [31:0] end_byte;
    logic signed [31:0] skip;        // bytes of the first column that the row does not have
    logic signed [31:0] channel;     // byte of the folded pixel
    logic signed [31:0] channel_end;
    logic signed [31:0] bytes;       // all of them
  } fetch_t;

  // A line of the run.
  typedef struct packed {
    refill_t     refill;
    logic [15:0] line;   // of the refill
    logic [31:0] base;   // lines of the refills before, of a group of slaves
    logic [31:0] total;  // lines of all groups before this one
  } line_t;

  // Bits of the structures, for ports: yosys takes no structure as an output.
  localparam JOB_BITS = $bits(job_t);
  localparam SHAPE_BITS = $bits(shape_t);
  localparam REFILL_BITS = $bits(refill_t);
  localparam FETCH_BITS = $bits(fetch_t);

  // The last folded column of the part of a kernel that begins at `first`.
  function automatic [15:0] part_last(input shape_t shape, input [15:0] first);
    /* verilator no_inline_task */
    part_last = first;
    for (int c = 0; c < COLUMNS; c = c + 1)
      if (shape.taps[c] && c > first && c < first + shape.reach) part_last = c;
  endfunction

  // Bytes that the channels of a run have of phase `phase` of a folded pixel, of one kernel.
  function automatic [31:0] phase_part(input job_t job, input [15:0] phase_bytes, input [15:0] phase);
    /* verilator no_inline_task */
    logic [31:0] low, high;
    low = phase * phase_bytes;
    high = low + phase_bytes;
    if (low < job.run.first_channel) low = job.run.first_channel;
    if (high > job.run.first_channel + job.run.channels) high = job.run.first_channel + job.run.channels;
    phase_part = job.kernels.group_kernels != 16'd0 ? job.kernels.channels : high > low ? high - low : 32'd0;
  endfunction

  function automatic shape_t shape_of(input job_t job, input integer slaves, input integer units, input integer line, input integer first_lines,
                                      input integer second_lines, input [31:0] half, input map_second);
    logic [15:0] ws, position, phase, fold;
    logic signed [31:0] span;
    logic [31:0] all_channels;
    shape_of = '0;
    for (int i = 0; i < 9; i = i + 1) begin
      if (job.run.granularity == 9'd1 << i) shape_of.pci_shift = i;
      if (line == job.run.granularity << i) shape_of.ws_shift = i;
    end
    ws = 16'd1 << shape_of.ws_shift;
    shape_of.groups = job.as_they_are && job.kernels.slave_groups > 7'd1 ? {9'd0, job.kernels.slave_groups} : 16'd1;
    shape_of.blocks = (job.run.channels + (16'd1 << shape_of.pci_shift) - 16'd1) >> shape_of.pci_shift;
    shape_of.at_once = map_second ? second_lines / 2 : units;
    shape_of.places = map_second ? second_lines : first_lines;
    shape_of.tile_columns = shape_of.at_once * ws;
    shape_of.tile_kernels = slaves * (map_second ? units : second_lines / 2);
    if (shape_of.groups > 16'd1)
      shape_of.group_step = ((job.run.kernels < shape_of.tile_kernels ? job.run.kernels : shape_of.tile_kernels) / shape_of.groups)
                          / job.kernels.group_kernels * job.kernels.channels;
    all_channels = job.run.channels + (shape_of.groups - 16'd1) * shape_of.group_step;
    shape_of.reach = (shape_of.places - shape_of.at_once) * ws + 16'd1;
    shape_of.phase_bytes = job.run.pixel_bytes / job.conv.stride_w;
    shape_of.results = job.conv.requantise && job.conv.output_type != conv_pkg::TYPE_INT32 ? 16'd1 : 16'd4;
    position = 16'd0;
    for (int k = 0; k < COLUMNS; k = k + 1)
      if (k < job.conv.kernel_w) begin
        shape_of.positions[position[6:0]] = 1'b1;
        position = position + job.conv.dilation_w;
      end
    phase = 16'd0;
    fold = 16'd0;
    for (int q = 0; q < POSITIONS; q = q + 1) begin
      if (shape_of.positions[q]) begin
        if (!shape_of.taps[fold[5:0]]) shape_of.column_count = shape_of.column_count + 6'd1;
        shape_of.taps[fold[5:0]] = 1'b1;
        shape_of.row_bytes = shape_of.row_bytes + phase_part(job, shape_of.phase_bytes, phase);
      end
      phase = phase + 16'd1;
      if (phase == job.conv.stride_w) begin
        phase = 16'd0;
        fold = fold + 16'd1;
      end
    end
    if (!job.as_they_are || job.kernels.folded) shape_of.row_bytes = shape_of.column_count * job.run.channels;
    shape_of.kernel_bytes = shape_of.row_bytes * job.conv.kernel_h;
    span = {16'd0, part_last(shape_of, 16'd0)};
    shape_of.window_all = job.run.read_mode == READ_TRANSIT && (!job.run.block_outer || job.conv.kernel_h == 16'd1)
                        && ((shape_of.at_once + ((span + ws - 1) >> shape_of.ws_shift)) << shape_of.ws_shift) * all_channels <= half;
    shape_of.one_request = job.run.kernels <= shape_of.tile_kernels && job.run.kernels * shape_of.results == job.run.result_pixel
                         && job.run.kernels * shape_of.results <= job.run.result_granularity;
  endfunction

  // The next folded column behind `column` with a tap; 0: there is none.
  function automatic [15:0] next_tap(input shape_t shape, input [15:0] column);
    /* verilator no_inline_task */
    next_tap = 16'd0;
    for (int c = COLUMNS - 1; c > 0; c = c - 1) if (shape.taps[c] && c > column) next_tap = c;
  endfunction

  function automatic refill_t first_refill(input shape_t shape);
    first_refill = '0;
    first_refill.tap_last = part_last(shape, 16'd0);
  endfunction

  // The order: parts outside, then kernel rows and channel blocks, tiles along the row, down, over the channels.
  function automatic refill_t next_refill(input job_t job, input shape_t shape, input refill_t now);
    logic rows_end, blocks_end, inner_ends;
    logic [15:0] next;
    next_refill = now;
    next_refill.number = now.number + 16'd1;
    rows_end = now.kh + 16'd1 == job.conv.kernel_h;
    blocks_end = now.block + 16'd1 == shape.blocks;
    inner_ends = job.run.block_outer ? rows_end : blocks_end;
    if (job.run.block_outer) next_refill.kh = rows_end ? 16'd0 : now.kh + 16'd1;
    else next_refill.block = blocks_end ? 16'd0 : now.block + 16'd1;
    if (inner_ends) begin
      if (job.run.block_outer) next_refill.block = blocks_end ? 16'd0 : now.block + 16'd1;
      else next_refill.kh = rows_end ? 16'd0 : now.kh + 16'd1;
    end
    if (rows_end && blocks_end) begin
      next = next_tap(shape, now.tap_last);
      next_refill.tap_first = next;
      next_refill.tap_last = part_last(shape, next);
      next_refill.part = now.part + 15'd1;
      if (next == 16'd0) begin
        next_refill.part = 15'd0;
        next_refill.number = 16'd0;
        next_refill.column = now.column + shape.tile_columns;
        if (next_refill.column >= job.run.columns) begin
          next_refill.column = 16'd0;
          next_refill.row = now.row + 16'd1;
          if (next_refill.row == job.run.rows) begin
            next_refill.row = 16'd0;
            next_refill.kernel = now.kernel + shape.tile_kernels;
            if (next_refill.kernel >= job.run.kernels) begin
              next_refill.done = 1'b1;
            end
          end
        end
      end
    end
  endfunction

  // Lines of a refill, of one group of slaves.
  function automatic [15:0] refill_lines(input shape_t shape, input refill_t refill);
    /* verilator no_inline_task */
    refill_lines = {8'd0, shape.at_once} + ((refill.tap_last - refill.tap_first + (16'd1 << shape.ws_shift) - 16'd1) >> shape.ws_shift);
  endfunction

  // Which bytes of the map columns [first, last] have, of channels [channel, channel_end).
  function automatic fetch_t fetch_of(input job_t job, input refill_t refill, input signed [31:0] first, input signed [31:0] last,
                                      input signed [31:0] channel, input signed [31:0] channel_end);
    logic signed [31:0] pixel, lead, bytes, ends, start, whole;
    pixel = {16'd0, job.run.pixel_bytes};
    lead = job.run.lead_bytes;
    bytes = job.run.row_bytes;
    fetch_of = '0;
    fetch_of.row = $signed({16'd0, refill.row}) * $signed({16'd0, job.conv.stride_h}) + $signed(job.run.h_offset)
                 + $signed({16'd0, refill.kh}) * $signed({16'd0, job.conv.dilation_h});
    fetch_of.channel = channel;
    fetch_of.channel_end = channel_end;
    fetch_of.first = first;
    if (lead >= channel_end && (lead - channel_end) / pixel + 1 > first) fetch_of.first = (lead - channel_end) / pixel + 1;
    ends = bytes + lead - channel;
    fetch_of.last = last;
    if (ends <= 0) fetch_of.last = -1;
    else if ((ends - 1) / pixel < last) fetch_of.last = (ends - 1) / pixel;
    start = fetch_of.first * pixel - lead + channel;
    fetch_of.begin_byte = start < 0 ? 0 : start;
    fetch_of.skip = fetch_of.begin_byte - start;
    whole = fetch_of.last * pixel - lead + channel_end;
    fetch_of.end_byte = whole > bytes ? bytes : whole;
    if (job.run.read_mode == READ_CONTINUOUS) fetch_of.bytes = fetch_of.end_byte - fetch_of.begin_byte;
    else
      fetch_of.bytes = (fetch_of.last - fetch_of.first + 1) * (channel_end - channel) - fetch_of.skip - (whole - fetch_of.end_byte);
    fetch_of.there = fetch_of.row >= 0 && fetch_of.row < $signed({16'd0, job.run.height}) && fetch_of.first <= fetch_of.last && channel < channel_end;
  endfunction

  // Channels of a block that a group of slaves gets.
  function automatic signed [31:0] block_channel(input job_t job, input shape_t shape, input [15:0] block, input [15:0] group);
    /* verilator no_inline_task */
    block_channel = $signed({16'd0, job.run.first_channel}) + $signed({16'd0, group}) * $signed({16'd0, shape.group_step})
                  + ($signed({16'd0, block}) <<< shape.pci_shift);
  endfunction
  function automatic signed [31:0] block_channel_end(input job_t job, input shape_t shape, input [15:0] block, input [15:0] group);
    /* verilator no_inline_task */
    logic signed [31:0] ends, limit;
    ends = block_channel(job, shape, block, group) + (32'sd1 <<< shape.pci_shift);
    limit = block_channel(job, shape, 16'd0, group) + $signed({16'd0, job.run.channels});
    block_channel_end = ends < limit ? ends : limit;
  endfunction

  // Line `line` of a refill: the (line div groups)-th of group line mod groups.
  function automatic fetch_t line_of(input job_t job, input shape_t shape, input refill_t refill, input [15:0] line);
    logic signed [31:0] first;
    logic [15:0] group, number;
    group = line % shape.groups;
    number = line / shape.groups;
    first = $signed({16'd0, refill.column}) + $signed({16'd0, refill.tap_first}) + ($signed({16'd0, number}) <<< shape.ws_shift);
    line_of = fetch_of(job, refill, first, first + (32'sd1 <<< shape.ws_shift) - 1, block_channel(job, shape, refill.block, group),
                       block_channel_end(job, shape, refill.block, group));
  endfunction

  // The window of the transit buffer that a refill's lines are formed from.
  function automatic fetch_t window_of(input job_t job, input shape_t shape, input refill_t refill);
    logic signed [31:0] first, last, channel, channel_end;
    first = $signed({16'd0, refill.column}) + $signed({16'd0, refill.tap_first});
    last = first + ($signed({16'd0, refill_lines(shape, refill)}) <<< shape.ws_shift) - 1;
    channel = block_channel(job, shape, refill.block, 16'd0);
    channel_end = block_channel_end(job, shape, refill.block, shape.groups - 16'd1);
    if (shape.window_all) begin
      channel = {16'd0, job.run.first_channel};
      channel_end = block_channel(job, shape, 16'd0, shape.groups - 16'd1) + {16'd0, job.run.channels};
    end
    window_of = fetch_of(job, refill, first, last, channel, channel_end);
  endfunction

  // Lines that are formed from the window of a refill.
  function automatic [15:0] window_lines(input job_t job, input shape_t shape, input refill_t refill);
    /* verilator no_inline_task */
    refill_t at;
    fetch_t line;
    at = refill;
    window_lines = 16'd1;
    if (job.run.read_mode == READ_TRANSIT) begin
      window_lines = 16'd0;
      for (int b = 0; b < shape.blocks; b = b + 1)
        if (shape.window_all || b == refill.block) begin
          at.block = b;
          for (int l = 0; l < refill_lines(shape, refill) * shape.groups; l = l + 1) begin
            line = line_of(job, shape, at, l);
            if (line.there) window_lines = window_lines + 16'd1;
          end
        end
    end
  endfunction

  function automatic line_t first_line(input shape_t shape);
    first_line = '0;
    first_line.refill = first_refill(shape);
  endfunction

  function automatic line_t next_line(input job_t job, input shape_t shape, input line_t now);
    logic [15:0] lines;
    lines = refill_lines(shape, now.refill);
    next_line = now;
    next_line.total = now.total + 32'd1;
    next_line.line = now.line + 16'd1;
    if (next_line.line == lines * shape.groups) begin
      next_line.line = 16'd0;
      next_line.base = now.base + {16'd0, lines};
      next_line.refill = next_refill(job, shape, now.refill);
    end
  endfunction

endpackage
