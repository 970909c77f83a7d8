// The table cache (OT-3): tables are loaded as a whole where they fit; of larger ones displacements and distances of taps stay, and what does
// not fit its share streams through two halves, each requested again when the last beat, or the last group, that needs it is at the tags.
module table_loader #(
    parameter COLUMNS = 4,
    parameter TABLE = 2048,       // bytes, at most
    parameter BUS = 16,
    parameter REQUESTS = 16       // under way
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic                              option_computed,
    input  logic [15:0]                       option_burst_bytes,
    input  logic [15:0]                       option_outstanding,
    // The run.
    input  logic                              valid,
    input  logic                              begins,
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    // The bus.
    output logic                              request,
    output logic [47:0]                       address,
    output logic [31:0]                       bytes,
    input  logic                              grant,
    input  logic                              beat,
    input  logic [7:0]                        beat_request,  // number of the request that it answers, modulo 256
    input  logic [BUS*8-1:0]                  data,
    // The next thread.
    input  logic [31:0]                       thread,
    input  logic [31:0]                       loading_group,
    output logic                              record_there,
    output logic [127:0]                      record,
    // The beat at the tags.
    input  logic [offset_pkg::BEAT_BITS-1:0]  beat_bits,
    input  logic                              segment_ends,
    input  logic                              step,
    output logic                              offset_there,
    output logic [31:0]                       offset,
    output logic [31:0]                       displacement,
    output logic [31:0]                       distance
);
  /* verilator no_inline_module */

  localparam KIND_FIXED = 2'd0;
  localparam KIND_RECORDS = 2'd1;
  localparam KIND_OFFSETS = 2'd2;

  offset_pkg::job_t job;
  offset_pkg::shape_t shape;
  offset_pkg::beat_t now;
  assign job = job_bits;
  assign shape = shape_bits;
  assign now = beat_bits;

  logic [(TABLE+BUS+16)*8-1:0] ram;
  // What the cache holds: the tables of which map, and whether those parts that stay are asked for.
  logic holds;
  logic [47:0] held;
  logic same;

  // Where the parts lie.
  logic [31:0] unit, group_bytes, offsets_base, records_base, offsets_total, offsets_per_half, groups_per_half;
  always_comb begin
    same = holds && held == job.map.tables && shape.whole;
    unit = {14'd0, shape.taps, 2'd0};
    group_bytes = shape.group_threads * shape.record_bytes;
    offsets_base = shape.whole ? 32'd0 : shape.fixed_bytes;
    records_base = shape.whole ? shape.offsets_bytes + shape.fixed_bytes
                               : shape.fixed_bytes + (shape.streams_offsets ? shape.offsets_half << 1 : shape.offsets_bytes);
    offsets_per_half = shape.streams_offsets ? shape.offsets_half / unit : 32'd65535;
    groups_per_half = shape.streams_records ? shape.records_half / group_bytes : 32'hffffffff;
  end

  // What has been asked for, has come, and is not needed any more, in halves.
  logic [31:0] fixed_came, records_asked, records_came, records_freed, offsets_asked, offsets_came, offsets_freed, offsets_used;
  logic [31:0] at_records_asked, at_records_came, at_records_freed, at_offsets_asked, at_offsets_came, at_offsets_freed, at_offsets_used;
  logic fixed_asked, at_fixed_asked, records_pass, offsets_pass;
  logic [31:0] at_fixed_came;
  always_comb begin
    at_fixed_asked = fixed_asked;
    at_fixed_came = fixed_came;
    at_records_asked = records_asked;
    at_records_came = records_came;
    at_records_freed = records_freed + {31'd0, records_pass};
    at_offsets_asked = offsets_asked;
    at_offsets_came = offsets_came;
    at_offsets_freed = offsets_freed + {31'd0, offsets_pass};
    at_offsets_used = offsets_used;
    if (begins && !same) begin
      at_fixed_asked = 1'b0;
      at_fixed_came = 32'd0;
      at_records_asked = 32'd0;
      at_records_came = 32'd0;
      at_records_freed = 32'd0;
      at_offsets_asked = 32'd0;
      at_offsets_came = 32'd0;
      at_offsets_freed = 32'd0;
      at_offsets_used = 32'd0;
    end
  end

  // The product whose offsets are asked for next.
  logic [31:0] ask_thread_group, at_thread_group;
  logic [15:0] ask_kernel, ask_in_group, ask_group, ask_segment, first_group, first_in_group;
  logic [15:0] at_kernel, at_in_group, at_group, at_segment, kernels, segments, chunk;
  logic ask_under_way, ends_tile;
  quotient groups (
      .numerator(job.run.first_kernel),
      .denominator(job.setup.group_kernels),
      .result(first_group),
      .remainder(first_in_group)
  );
  logic begun;
  always_comb begin
    at_thread_group = begins ? 32'd0 : ask_thread_group;
    begun = !begins && ask_under_way;
    at_kernel = begun ? ask_kernel : 16'd0;
    at_in_group = begun ? ask_in_group : first_in_group;
    at_group = begun ? ask_group : first_group;
    at_segment = begins ? 16'd0 : ask_segment;
    kernels = offset_pkg::slice_kernels(job, at_kernel, at_in_group, COLUMNS);
    segments = offset_pkg::run_segments(job, shape, at_group);
    chunk = segments - at_segment < offsets_per_half ? segments - at_segment : offsets_per_half[15:0];
    ends_tile = at_segment + chunk == segments;
  end

  // The next transfer, and the burst at hand.
  logic can_fixed, can_records, can_offsets, moving, at_moving, last_burst;
  logic [1:0] kind, at_kind;
  logic [47:0] source, at_source;
  logic [31:0] target, at_target, left, at_left, window;
  always_comb begin
    can_fixed = valid && !option_computed && !at_fixed_asked;
    can_records = valid && !option_computed && !shape.whole && (shape.streams_records
        ? at_records_asked * groups_per_half < shape.thread_groups && at_records_asked - (begins && !same ? 32'd0 : records_freed) < 32'd2 : at_records_asked == 32'd0);
    can_offsets = valid && !option_computed && !shape.whole && (shape.streams_offsets
        ? at_thread_group < shape.thread_groups && at_offsets_asked - (begins && !same ? 32'd0 : offsets_freed) < 32'd2 : at_offsets_asked == 32'd0);
    at_moving = moving;
    at_kind = kind;
    at_source = source;
    at_target = target;
    at_left = left;
    if (!moving) begin
      if (can_fixed) begin
        at_moving = 1'b1;
        at_kind = KIND_FIXED;
        at_source = job.map.tables + (shape.whole ? 48'd0 : {16'd0, shape.offsets_bytes});
        at_target = 32'd0;
        at_left = shape.whole ? shape.offsets_bytes + shape.fixed_bytes + shape.records_bytes : shape.fixed_bytes;
      end else if (can_records && (!can_offsets || at_records_asked <= at_offsets_asked)) begin
        at_moving = 1'b1;
        at_kind = KIND_RECORDS;
        at_source = job.map.tables + shape.offsets_bytes + shape.fixed_bytes + (shape.streams_records ? at_records_asked * shape.records_half : 32'd0);
        at_target = records_base + (shape.streams_records && at_records_asked[0] ? shape.records_half : 32'd0);
        at_left = shape.records_bytes - (shape.streams_records ? at_records_asked * shape.records_half : 32'd0);
        if (shape.streams_records && at_left > shape.records_half) at_left = shape.records_half;
      end else if (can_offsets) begin
        at_moving = 1'b1;
        at_kind = KIND_OFFSETS;
        at_source = job.map.tables + (shape.streams_offsets ? (offset_pkg::first_segment(job, shape, at_group) + at_segment) * unit : 32'd0);
        at_target = offsets_base + (shape.streams_offsets && at_offsets_asked[0] ? shape.offsets_half : 32'd0);
        at_left = shape.streams_offsets ? chunk * unit : shape.offsets_bytes;
      end
    end
    request = at_moving && {8'd0, 8'(asked - answered)} < option_outstanding;
    address = at_source;
    window = {16'd0, option_burst_bytes} - (at_source[31:0] & ({16'd0, option_burst_bytes} - 32'd1));
    bytes = at_left < window ? at_left : window;
    last_burst = bytes == at_left;
  end

  // Requests under way.
  logic [31:0] targets[0:REQUESTS-1], lefts[0:REQUESTS-1];
  logic [1:0] kinds[0:REQUESTS-1];
  logic [REQUESTS-1:0] lasts, waiting;
  logic [7:0] asked, answered;
  localparam BITS = $clog2(REQUESTS);
  logic [BITS-1:0] answers;
  logic finishes;
  logic [31:0] came_fixed, came_records, came_offsets;
  logic [7:0] next_answered;
  logic open;
  assign answers = beat_request[BITS-1:0];
  assign finishes = beat && lefts[answers] <= BUS;
  // Bytes behind the request's last one leave the cache as it is.
  logic [BUS*8-1:0] merged;
  always_comb begin
    merged = ram[targets[answers]*8+:BUS*8];
    for (int i = 0; i < BUS; i = i + 1) if (i < lefts[answers]) merged[i*8+:8] = data[i*8+:8];
  end
  always_comb begin
    next_answered = answered;
    came_fixed = at_fixed_came;
    came_records = at_records_came;
    came_offsets = at_offsets_came;
    open = 1'b1;
    for (int i = 0; i < REQUESTS; i = i + 1)
      if (open && next_answered != asked && (!waiting[next_answered[BITS-1:0]] || (finishes && next_answered[BITS-1:0] == answers))) begin
        if (lasts[next_answered[BITS-1:0]])
          case (kinds[next_answered[BITS-1:0]])
            KIND_FIXED: came_fixed = came_fixed + 32'd1;
            KIND_RECORDS: came_records = came_records + 32'd1;
            default: came_offsets = came_offsets + 32'd1;
          endcase
        next_answered = next_answered + 8'd1;
      end else open = 1'b0;
  end

  // Halves in use: of the thread that is activated next, of the group at work, of the beat.
  logic [31:0] load_half, load_first, work_first, in_half;
  logic [31:0] at_load_half, at_load_first, at_in_half, at_work_first;
  logic frees_records, frees_offsets;
  logic [31:0] offset_at, displacement_at, distance_at, record_at;
  always_comb begin
    at_load_half = begins ? 32'd0 : load_half;
    at_load_first = begins ? 32'd0 : load_first;
    if (shape.streams_records && loading_group == at_load_first + groups_per_half) begin
      at_load_half = at_load_half + 32'd1;
      at_load_first = loading_group;
    end
    at_in_half = begins ? 32'd0 : in_half;
    at_work_first = begins ? 32'd0 : work_first;
    record_there = at_fixed_came != 32'd0 && (shape.whole || at_records_came > (shape.streams_records ? at_load_half : 32'd0));
    offset_there = at_fixed_came != 32'd0 && (shape.whole || at_offsets_came > (shape.streams_offsets ? at_offsets_used : 32'd0));
    record_at = records_base + (shape.streams_records && at_load_half[0] ? shape.records_half : 32'd0)
                + (thread - at_load_first * shape.group_threads) * shape.record_bytes;
    distance_at = (shape.whole ? shape.offsets_bytes : 32'd0) + {now.tap[29:0], 2'd0};
    displacement_at = (shape.whole ? shape.offsets_bytes : 32'd0) + shape.fixed_bytes - {14'd0, job.setup.groups, 2'd0} + {14'd0, now.tile.group, 2'd0};
    offset_at = offsets_base + (shape.streams_offsets ? (at_offsets_used[0] ? shape.offsets_half : 32'd0) + at_in_half * unit : now.segment * unit)
                + {now.tap[29:0], 2'd0};
    record = ram[record_at*8+:128];
    offset = ram[offset_at*8+:32];
    displacement = ram[displacement_at*8+:32];
    distance = ram[distance_at*8+:32];
  end
  always_comb begin
    frees_offsets = step && shape.streams_offsets && segment_ends && (now.last || at_in_half + 32'd1 == offsets_per_half);
    frees_records = step && shape.streams_records && now.last_of_group && now.tile.thread_group + 32'd1 == at_work_first + groups_per_half;
  end

  always_ff @(posedge clk) begin
    if (begins) begin
      holds <= 1'b1;
      held <= job.map.tables;
    end
    fixed_asked <= at_fixed_asked;
    fixed_came <= came_fixed;
    records_asked <= at_records_asked;
    records_came <= came_records;
    records_freed <= at_records_freed;
    records_pass <= frees_records;
    offsets_asked <= at_offsets_asked;
    offsets_came <= came_offsets;
    offsets_freed <= at_offsets_freed;
    offsets_pass <= frees_offsets;
    offsets_used <= at_offsets_used + {31'd0, frees_offsets};
    load_half <= at_load_half;
    load_first <= at_load_first;
    work_first <= frees_records ? at_work_first + groups_per_half : at_work_first;
    in_half <= at_in_half;
    if (step && segment_ends) in_half <= frees_offsets ? 32'd0 : at_in_half + 32'd1;
    ask_thread_group <= at_thread_group;
    ask_under_way <= begun;
    ask_segment <= at_segment;

    moving <= at_moving && !(grant && last_burst);
    kind <= at_kind;
    source <= at_source;
    target <= at_target;
    left <= at_left;
    answered <= next_answered;
    if (request && grant) begin
      source <= at_source + bytes;
      target <= at_target + bytes;
      left <= at_left - bytes;
      targets[asked[BITS-1:0]] <= at_target;
      lefts[asked[BITS-1:0]] <= bytes;
      kinds[asked[BITS-1:0]] <= at_kind;
      lasts[asked[BITS-1:0]] <= last_burst;
      waiting[asked[BITS-1:0]] <= 1'b1;
      asked <= asked + 8'd1;
      if (last_burst)
        case (at_kind)
          KIND_FIXED: fixed_asked <= 1'b1;
          KIND_RECORDS: records_asked <= at_records_asked + 32'd1;
          default: begin
            offsets_asked <= at_offsets_asked + 32'd1;
            ask_under_way <= 1'b1;
            ask_kernel <= at_kernel;
            ask_in_group <= at_in_group;
            ask_group <= at_group;
            ask_segment <= at_segment + chunk;
            if (ends_tile) begin
              ask_segment <= 16'd0;
              ask_kernel <= at_kernel + kernels;
              ask_in_group <= at_in_group + kernels;
              if (at_in_group + kernels == job.setup.group_kernels) begin
                ask_in_group <= 16'd0;
                ask_group <= at_group + 16'd1;
              end
              if (at_kernel + kernels == job.run.kernels) begin
                ask_under_way <= 1'b0;
                ask_thread_group <= at_thread_group + 32'd1;
              end
            end
          end
        endcase
    end
    if (beat) begin
      ram[targets[answers]*8+:BUS*8] <= merged;
      targets[answers] <= targets[answers] + BUS;
      lefts[answers] <= lefts[answers] - BUS;
      if (finishes) waiting[answers] <= 1'b0;
    end
    if (reset) begin
      holds <= 1'b0;
      fixed_asked <= 1'b0;
      moving <= 1'b0;
      asked <= 8'd0;
      answered <= 8'd0;
      waiting <= '0;
      records_freed <= 32'd0;
      offsets_freed <= 32'd0;
      offsets_used <= 32'd0;
      records_pass <= 1'b0;
      offsets_pass <= 1'b0;
    end
  end
endmodule
