// Writes under way: they are answered in any order, and their answers are taken in the order of the requests, whatever their side.
module write_answers #(
    parameter SIDES = 2
) (
    input  logic        clk,
    input  logic        reset,
    input  logic        send,
    input  logic [1:0]  send_side,
    output logic [5:0]  tag,           // of the next one
    input  logic [SIDES-1:0] done,
    input  logic [SIDES*6-1:0] done_tags,
    output logic [15:0] taken[SIDES],
    output logic [31:0] total          // taken since reset, those of this clock included
);
  localparam WRITES = dma_pkg::WRITES;
  logic [WRITES-1:0] answered;
  logic [1:0] sides[WRITES];
  logic [5:0] head;
  logic [6:0] count, left;
  logic [31:0] total_before;

  always_comb begin
    left = count;
    total = total_before;
    for (int s = 0; s < SIDES; s = s + 1) taken[s] = 16'd0;
    for (int i = 0; i < WRITES; i = i + 1)
      if (left != 7'd0 && left + i == count && answered[(head+i)%WRITES]) begin
        taken[sides[(head+i)%WRITES]] = taken[sides[(head+i)%WRITES]] + 16'd1;
        total = total + 32'd1;
        left = left - 7'd1;
      end
    tag = head + count[5:0];
  end
  always_ff @(posedge clk) begin
    head <= head + count[5:0] - left[5:0];
    count <= left + {6'd0, send};
    total_before <= total;
    if (send) begin
      answered[tag] <= 1'b0;
      sides[tag] <= send_side;
    end
    for (int s = 0; s < SIDES; s = s + 1) if (done[s]) answered[done_tags[s*6+:6]] <= 1'b1;
    if (reset) begin
      head <= 6'd0;
      count <= 7'd0;
      total_before <= 32'd0;
    end
  end
endmodule
