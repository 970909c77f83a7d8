// The beats of a run in their order (OT-1, OT-6): groups of threads; for each the slices of kernels; for each the segments of neighbouring
// channels, parts of them as long as a line, the taps of a part, `vector` channels of the part at a time.
module beat_walk #(
    parameter COLUMNS = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [3:0]                        number,
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    input  logic                              step,
    output logic [offset_pkg::BEAT_BITS-1:0]  beat_bits,
    output logic                              segment_ends  // with this beat
);
  /* verilator no_inline_module */

  offset_pkg::job_t job;
  offset_pkg::shape_t shape;
  conv_pkg::setup_t conv;
  offset_pkg::beat_t beat;
  assign job = job_bits;
  assign shape = shape_bits;
  assign conv = job.conv;
  assign beat_bits = beat;

  // Where the walk stands, and what follows from it.
  logic [31:0] thread_group;
  logic [15:0] slice, kernel, in_group, group;
  logic [15:0] segment, in_segment, part_begin, kh, kw, channel;
  logic [47:0] weights;
  logic begun;   // 0: the first beat of a group of threads
  logic under_way;  // 0: the first beat of the run

  logic [15:0] at_kernel, at_in_group, at_group, at_channel, at_part, at_in_segment, first_group, first_in_group;
  logic [31:0] left_threads;
  logic [15:0] run_end, segment_begin, segment_end, part_end, kernels, in_block;
  logic more_vectors, more_taps, more_parts, more_segments, more_kernels;
  logic [47:0] beat_bytes;

  quotient groups (
      .numerator(job.run.first_kernel),
      .denominator(job.setup.group_kernels),
      .result(first_group),
      .remainder(first_in_group)
  );

  always_comb begin
    at_kernel = begun ? kernel : 16'd0;
    at_in_group = begun ? in_group : first_in_group;
    at_group = begun ? group : first_group;
    kernels = offset_pkg::slice_kernels(job, at_kernel, at_in_group, COLUMNS);

    run_end = job.run.first_channel + job.run.channels;
    at_channel = under_way ? channel : job.run.first_channel;
    at_part = under_way ? part_begin : job.run.first_channel;
    in_block = shape.by_group ? (at_group * shape.group_channels) % job.setup.block : 16'd0;
    // Channels of the segment at hand, counted in the convolution group.
    case (job.setup.layout)
      offset_pkg::LAYOUT_NHWC: begin
        segment_begin = 16'd0;
        segment_end = shape.group_channels;
      end
      offset_pkg::LAYOUT_NCHWC: begin
        segment_begin = (at_channel + in_block) / job.setup.block * job.setup.block;
        segment_end = segment_begin + job.setup.block - in_block;
        segment_begin = segment_begin < in_block ? 16'd0 : segment_begin - in_block;
      end
      default: begin
        segment_begin = at_channel;
        segment_end = at_channel + 16'd1;
      end
    endcase
    if (segment_end > run_end) segment_end = run_end;
    part_end = at_part + job.setup.part < segment_end ? at_part + job.setup.part : segment_end;

    beat.count = part_end - at_channel < {8'd0, job.setup.vector} ? part_end - at_channel : job.setup.vector;
    beat.kh = kh;
    beat.kw = kw;
    beat.tap = kh * conv.kernel_w + kw;
    beat.channel = at_channel;
    beat.segment = offset_pkg::first_segment(job, shape, at_group) + segment;
    beat.in_segment = at_channel - segment_begin;
    beat.weights = begun ? weights : job.run.weights;

    more_vectors = at_channel + beat.count < part_end;
    more_taps = kw + 16'd1 < conv.kernel_w || kh + 16'd1 < conv.kernel_h;
    more_parts = part_end < segment_end;
    more_segments = segment_end < run_end;
    more_kernels = at_kernel + kernels < job.run.kernels;
    left_threads = shape.threads - thread_group * shape.group_threads;

    beat.first = at_channel == job.run.first_channel && kh == 16'd0 && kw == 16'd0;
    beat.last = !more_vectors && !more_taps && !more_parts && !more_segments;
    beat.last_of_group = beat.last && !more_kernels;
    beat.last_of_run = beat.last_of_group && thread_group + 32'd1 == shape.thread_groups;
    beat.first_group = thread_group == 32'd0;
    beat.tile.last_of_run = thread_group + 32'd1 == shape.thread_groups && !more_kernels;
    beat.tile.begins = job.run.first;
    beat.tile.drains = job.run.last;
    beat.tile.job = number;
    beat.tile.thread_group = thread_group;
    beat.tile.threads = left_threads < {16'd0, shape.group_threads} ? left_threads[15:0] : shape.group_threads;
    beat.tile.slice = slice;
    beat.tile.kernel = at_kernel;
    beat.tile.kernels = kernels;
    beat.tile.group = at_group;
    segment_ends = !more_vectors && !more_taps && !more_parts;
    beat_bytes = kernels * beat.count;
  end

  logic [15:0] next_channel;
  always_comb
    next_channel = more_vectors ? at_channel + beat.count : more_taps ? at_part : more_parts ? part_end : more_segments ? segment_end : job.run.first_channel;

  always_ff @(posedge clk) begin
    if (step) begin
      begun <= !beat.last_of_group;
      under_way <= !beat.last_of_run;
      weights <= beat.weights + beat_bytes;
      kernel <= at_kernel;
      in_group <= at_in_group;
      group <= at_group;
      channel <= next_channel;
      part_begin <= !more_vectors && !more_taps ? next_channel : at_part;
      if (!more_vectors) begin
        kw <= kw + 16'd1 == conv.kernel_w ? 16'd0 : kw + 16'd1;
        if (kw + 16'd1 == conv.kernel_w) kh <= more_taps ? kh + 16'd1 : 16'd0;
      end
      if (segment_ends) segment <= more_segments ? segment + 16'd1 : 16'd0;
      if (beat.last) begin
        slice <= more_kernels ? slice + 16'd1 : 16'd0;
        kernel <= at_kernel + kernels;
        in_group <= at_in_group + kernels;
        if (at_in_group + kernels == job.setup.group_kernels) begin
          in_group <= 16'd0;
          group <= at_group + 16'd1;
        end
        if (!more_kernels) thread_group <= beat.last_of_run ? 32'd0 : thread_group + 32'd1;
      end
    end
    if (reset) begin
      begun <= 1'b0;
      under_way <= 1'b0;
      thread_group <= 32'd0;
      slice <= 16'd0;
      segment <= 16'd0;
      kh <= 16'd0;
      kw <= 16'd0;
    end
  end
endmodule
