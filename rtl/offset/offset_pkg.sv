// Operands of offset.setup, offset.map and offset.run in the order of their encoding (docs/isa.md), and what the parts of the offset-table
// engine tell one another. The first bit is the lowest bit of a structure, so the last field stands first.
package offset_pkg;

  localparam [7:0] OPCODE_CONV_SETUP = 8'h01;
  localparam [7:0] OPCODE_SETUP = 8'h07;
  localparam [7:0] OPCODE_MAP = 8'h08;
  localparam [7:0] OPCODE_RUN = 8'h09;

  localparam [1:0] LAYOUT_NCHW = 2'd0;
  localparam [1:0] LAYOUT_CNHW = 2'd1;
  localparam [1:0] LAYOUT_NHWC = 2'd2;
  localparam [1:0] LAYOUT_NCHWC = 2'd3;

  // What the lanes do in a cycle, as their ledger names it; idle: the cause lies outside of the engine.
  localparam [3:0] STATE_IDLE = 4'd0;
  localparam [3:0] STATE_BUSY = 4'd1;
  localparam [3:0] STATE_BANK_CONFLICT = 4'd2;
  localparam [3:0] STATE_OUTPUT_DRAIN = 4'd3;
  localparam [3:0] STATE_TABLE_LOAD = 4'd4;
  localparam [3:0] STATE_ADDRESS = 4'd5;
  localparam [3:0] STATE_INPUT_LOAD = 4'd6;
  localparam [3:0] STATE_WEIGHT_LOAD = 4'd7;

  // Runs that are under way at a time, each with its registers and records.
  localparam JOBS = 16;

  typedef struct packed {
    logic [239:0] unused;
    logic [31:0]  useful_taps;
    logic [15:0]  part;
    logic [4:0]   bank_shift;
    logic [7:0]   vector;
    logic [15:0]  block_kernels;
    logic [15:0]  group_kernels;
    logic [15:0]  groups;
    logic [15:0]  channels;
    logic [15:0]  block;
    logic         in_blocks;     // threads
    logic [1:0]   layout;
  } setup_t;

  typedef struct packed {
    logic [239:0] unused;
    logic [15:0]  w_offset;
    logic [15:0]  h_offset;
    logic [15:0]  width;
    logic [15:0]  height;
    logic [15:0]  columns;
    logic [15:0]  rows;
    logic [47:0]  tables;
  } map_t;

  typedef struct packed {
    logic [92:0] unused;
    logic        same_map;
    logic        last;
    logic        first;
    logic [15:0] channels;
    logic [15:0] first_channel;
    logic [15:0] first_kernel;
    logic [15:0] kernels;
    logic [31:0] result_pixel;
    logic [47:0] result;
    logic [47:0] post;
    logic [47:0] weights;
    logic [47:0] map_address;
  } run_t;

  // A run with the registers that it takes along.
  typedef struct packed {
    logic [383:0] conv;          // conv_pkg::setup_t: yosys finds no types of another package here
    setup_t       setup;
    map_t         map;
    run_t         run;
  } job_t;

  // Sizes that follow from a job.
  typedef struct packed {
    logic        beyond_masks;          // kernels beyond 32 x 32: coordinates in place of masks
    logic        masked;         // some tap of some thread is padding
    logic        by_group;       // offsets are stored by group
    logic [15:0] taps;
    logic [15:0] group_channels;
    logic [31:0] threads;
    logic [31:0] thread_groups;
    logic [15:0] group_threads;  // of a thread group, at most
    logic [15:0] row_bytes;      // of a mask
    logic [15:0] column_bytes;
    logic [15:0] record_bytes;   // of a thread
    logic [15:0] segments;       // of a convolution group
    logic [31:0] offsets_bytes;
    logic [31:0] fixed_bytes;    // of distances of taps and displacements: they stay
    logic [31:0] records_bytes;
    // Where parts lie in the cache. A part that streams has two halves, one behind the other.
    logic        streams_offsets;
    logic        streams_records;
    logic [31:0] offsets_half;   // bytes
    logic [31:0] records_half;
    logic        whole;
  } shape_t;

  // A product of all threads of a group and all kernels of a slice.
  typedef struct packed {
    logic        last_of_run;
    logic        begins;         // the sums
    logic        drains;
    logic [3:0]  job;
    logic [31:0] thread_group;
    logic [15:0] threads;
    logic [15:0] slice;
    logic [15:0] kernel;         // its first one, counted from the run's
    logic [15:0] kernels;
    logic [15:0] group;          // convolution group
  } tile_t;

  typedef struct packed {
    tile_t       tile;
    logic        first;          // of its tile
    logic        last;
    logic        last_of_group;  // of threads
    logic        last_of_run;
    logic        first_group;    // of threads
    logic [15:0] kh;
    logic [15:0] kw;
    logic [15:0] channel;        // in the convolution group
    logic [7:0]  count;          // elements of a thread
    logic [15:0] segment;        // counted from the table's first one
    logic [15:0] in_segment;     // channels before it in its segment
    logic [31:0] tap;
    logic [47:0] weights;        // address of its kernels
  } beat_t;

  // Bits of the structures, for ports: yosys takes no structure as an output.
  localparam JOB_BITS = $bits(job_t);
  localparam SHAPE_BITS = $bits(shape_t);
  localparam TILE_BITS = $bits(tile_t);
  localparam BEAT_BITS = $bits(beat_t);

  // Bytes of an access at `address`: at most `port`, in words that lie in different banks.
  function automatic [15:0] cut(input [47:0] address, input [31:0] left, input [15:0] port, input [7:0] shift, input [15:0] banks);
    logic [31:0] room;
    begin
      room = ({16'd0, banks} << shift) - (address[31:0] & ((32'd1 << shift) - 32'd1));
      cut = left < {16'd0, port} ? left[15:0] : port;
      if (room < {16'd0, cut}) cut = room[15:0];
    end
  endfunction

  // The output behind (row, column) in the order of threads: both coordinates, the row in the upper half.
  function automatic [31:0] next_output(input [15:0] row, input [15:0] column, input [15:0] rows, input [15:0] columns, input in_blocks);
    logic [15:0] right, bottom;
    begin
      right = in_blocks && {column[15:2], 2'd0} + 16'd4 < columns ? {column[15:2], 2'd0} + 16'd4 : columns;
      bottom = !in_blocks ? row + 16'd1 : {row[15:2], 2'd0} + 16'd4 < rows ? {row[15:2], 2'd0} + 16'd4 : rows;
      if (column + 16'd1 < right) next_output = {row, column + 16'd1};
      else if (row + 16'd1 < bottom) next_output = {row + 16'd1, in_blocks ? {column[15:2], 2'd0} : 16'd0};
      else if (right < columns) next_output = {row[15:2], 2'd0, right};
      else next_output = {bottom, 16'd0};
    end
  endfunction

  // Kernels of a slice: of one convolution group and one block in memory, at most `columns`. `kernel` is counted from the run's first one,
  // which begins a block, `in_group` in its group.
  function automatic [15:0] slice_kernels(input job_t job, input [15:0] kernel, input [15:0] in_group, input integer columns);
    begin
      slice_kernels = job.setup.group_kernels - in_group;
      if (slice_kernels > job.run.kernels - kernel) slice_kernels = job.run.kernels - kernel;
      if (slice_kernels > job.setup.block_kernels - kernel % job.setup.block_kernels) slice_kernels = job.setup.block_kernels - kernel % job.setup.block_kernels;
      if (slice_kernels > columns) slice_kernels = columns;
    end
  endfunction

  // Segments of a convolution group whose channels begin at `first`, where blocks of `block` channels end them.
  function automatic [15:0] segments_of(input [15:0] first, input [15:0] channels, input [15:0] block);
    segments_of = (first + channels - 16'd1) / block - first / block + 16'd1;
  endfunction

  // Segments that each group has in a table by group: those of the group that has most.
  function automatic [15:0] most_segments(input [15:0] groups, input [15:0] channels, input [15:0] block);
    most_segments = 16'd1;
    for (int g = 0; g < 64; g = g + 1)
      if (g < groups && segments_of(g * channels, channels, block) > most_segments) most_segments = segments_of(g * channels, channels, block);
  endfunction

  function automatic shape_t shape_of(input job_t job, input integer threads, input [31:0] table_bytes);
    conv_pkg::setup_t conv;
    logic signed [31:0] top, left, bottom, right;
    logic [31:0] rest, unit, total_segments;
    begin
      conv = job.conv;
      shape_of = '0;
      shape_of.taps = conv.kernel_h * conv.kernel_w;
      shape_of.group_channels = job.setup.channels / job.setup.groups;
      shape_of.threads = job.map.rows * job.map.columns;
      shape_of.group_threads = threads;
      shape_of.thread_groups = (shape_of.threads + threads - 1) / threads;
      shape_of.beyond_masks = conv.kernel_h > 16'd32 || conv.kernel_w > 16'd32;
      top = $signed(job.map.h_offset);
      left = $signed(job.map.w_offset);
      bottom = top + (job.map.rows - 1) * conv.stride_h + (conv.kernel_h - 1) * conv.dilation_h;
      right = left + (job.map.columns - 1) * conv.stride_w + (conv.kernel_w - 1) * conv.dilation_w;
      shape_of.masked = top < 0 || left < 0 || bottom >= $signed({16'd0, job.map.height}) || right >= $signed({16'd0, job.map.width});
      shape_of.row_bytes = (conv.kernel_h + 16'd7) >> 3;
      shape_of.column_bytes = (conv.kernel_w + 16'd7) >> 3;
      shape_of.record_bytes = !shape_of.masked ? 16'd4 : shape_of.beyond_masks ? 16'd8 : 16'd4 + shape_of.row_bytes + shape_of.column_bytes;
      shape_of.by_group = job.setup.layout == LAYOUT_NCHWC && job.setup.groups != 16'd1 && shape_of.group_channels != 16'd1
                          && shape_of.group_channels % job.setup.block != 16'd0;
      case (job.setup.layout)
        LAYOUT_NHWC: shape_of.segments = 16'd1;
        LAYOUT_NCHWC: shape_of.segments = (shape_of.group_channels + job.setup.block - 16'd1) / job.setup.block;
        default: shape_of.segments = shape_of.group_channels;
      endcase
      if (shape_of.by_group) shape_of.segments = most_segments(job.setup.groups, shape_of.group_channels, job.setup.block);
      total_segments = shape_of.by_group ? shape_of.segments * job.setup.groups : {16'd0, shape_of.segments};
      unit = {14'd0, shape_of.taps, 2'd0};
      shape_of.offsets_bytes = total_segments * unit;
      shape_of.fixed_bytes = (shape_of.beyond_masks && shape_of.masked ? unit : 32'd0) + {14'd0, job.setup.groups, 2'd0};
      shape_of.records_bytes = shape_of.threads * shape_of.record_bytes;
      shape_of.whole = shape_of.offsets_bytes + shape_of.fixed_bytes + shape_of.records_bytes <= table_bytes;
      if (!shape_of.whole) begin
        rest = table_bytes - shape_of.fixed_bytes;
        shape_of.streams_offsets = shape_of.offsets_bytes > (rest >> 1);
        shape_of.streams_records = shape_of.records_bytes > (rest >> 1);
        shape_of.offsets_half = (shape_of.streams_records ? rest >> 2 : (rest - shape_of.records_bytes) >> 1) / unit * unit;
        unit = threads * shape_of.record_bytes;
        shape_of.records_half = (shape_of.streams_offsets ? rest >> 2 : (rest - shape_of.offsets_bytes) >> 1) / unit * unit;
      end
    end
  endfunction

  // The segment of the table in which the channels of a run begin, for a convolution group.
  function automatic [15:0] first_segment(input job_t job, input shape_t shape, input [15:0] group);
    logic [31:0] first;
    begin
      first = group * shape.group_channels;
      if (shape.by_group)
        first_segment = group * shape.segments + (first + job.run.first_channel) / job.setup.block - first / job.setup.block;
      else
        case (job.setup.layout)
          LAYOUT_NHWC: first_segment = 16'd0;
          LAYOUT_NCHWC: first_segment = job.run.first_channel / job.setup.block;
          default: first_segment = job.run.first_channel;
        endcase
    end
  endfunction

  // Segments that the channels of a run touch, for a convolution group.
  function automatic [15:0] run_segments(input job_t job, input shape_t shape, input [15:0] group);
    case (job.setup.layout)
      LAYOUT_NHWC: run_segments = 16'd1;
      LAYOUT_NCHWC: run_segments = segments_of((shape.by_group ? group * shape.group_channels : 16'd0) + job.run.first_channel, job.run.channels, job.setup.block);
      default: run_segments = job.run.channels;
    endcase
  endfunction

endpackage
