// Where the elements of a beat lie: base of the thread, displacement of the group, offset of the tap; and which taps are on the map (OT-1, OT-5).
module gather_addresses #(
    parameter R = 4
) (
    input  logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    input  logic [offset_pkg::SHAPE_BITS-1:0] shape_bits,
    input  logic [offset_pkg::BEAT_BITS-1:0]  beat_bits,
    input  logic                              computed,
    input  logic [31:0]                       offset,        // out of the table
    input  logic [31:0]                       displacement,
    input  logic [31:0]                       distance,      // of the tap, of kernels beyond 32 x 32
    input  logic [R-1:0]                      active,
    input  logic [R*32-1:0]                   bases,
    input  logic [R*64-1:0]                   masks,
    output logic [R-1:0]                      present,
    output logic [R*48-1:0]                   addresses      // of the first element of each thread
);
  /* verilator no_inline_module */

  offset_pkg::job_t job;
  offset_pkg::shape_t shape;
  offset_pkg::beat_t beat;
  conv_pkg::setup_t conv;
  assign job = job_bits;
  assign shape = shape_bits;
  assign beat = beat_bits;
  assign conv = job.conv;

  logic signed [31:0] along, down, across, place, h, w;
  logic [31:0] channel, plane;

  always_comb begin
    down = $signed({16'd0, beat.kh}) * $signed({1'b0, conv.dilation_h});
    across = $signed({16'd0, beat.kw}) * $signed({1'b0, conv.dilation_w});
    channel = beat.tile.group * shape.group_channels + beat.channel;
    plane = job.map.height * job.map.width;
    place = down * $signed({1'b0, job.map.width}) + across;
    case (job.setup.layout)
      offset_pkg::LAYOUT_NHWC: along = place * $signed({1'b0, job.setup.channels}) + channel;
      offset_pkg::LAYOUT_NCHWC:
      along = ((channel / job.setup.block) * plane + place) * $signed({1'b0, job.setup.block}) + channel % job.setup.block;
      default: along = channel * plane + place;
    endcase
    if (!computed) along = $signed(offset) + $signed(displacement) + $signed({16'd0, beat.in_segment});
    h = 32'sd0;
    w = 32'sd0;
    present = '0;
    for (int t = 0; t < R; t = t + 1) begin
      addresses[t*48+:48] = job.run.map_address + 48'($signed(bases[t*32+:32]) + along);
      if (shape.beyond_masks) begin
        h = $signed(masks[t*64+:16]) + (computed ? down : $signed(distance[15:0]));
        w = $signed(masks[t*64+32+:16]) + (computed ? across : $signed(distance[31:16]));
        present[t] = active[t] && (!shape.masked || (h >= 0 && h < $signed({16'd0, job.map.height}) && w >= 0 && w < $signed({16'd0, job.map.width})));
      end else present[t] = active[t] && masks[t*64+beat.kh] && masks[t*64+32+beat.kw];
    end
  end
endmodule
