// Records of bias and scale, in slots for columns of stacks (RO-7): filled behind the lines of a column's first stack, kept until
// the last block of the column has drained.
module record_slots #(
    parameter LINES = 4,
    parameter SLOTS = 6,
    parameter SUMS = 4
) (
    input  logic                clk,
    input  logic                reset,
    input  logic [15:0]         option_slots,
    input  logic                begins,       // a record enters
    input  logic                write,        // it is complete
    input  logic [127:0]        record,
    input  logic [15:0]         columns,      // records of the slot that is being filled
    output logic                free,         // a record may enter
    output logic                there,        // the oldest slot is filled
    input  logic                ends,         // it is not needed any more
    input  logic [15:0]         column,
    output logic [SUMS*128-1:0] read
);
  logic [127:0] records[0:SLOTS*LINES-1];
  logic [15:0] filling, reading, used, filled, number;

  always_comb begin
    free = number != 16'd0 || used < option_slots;
    there = filled != 16'd0;
    read = '0;
    for (int i = 0; i < SUMS; i = i + 1)
      if (column + i < LINES) read[i*128+:128] = records[{16'd0, reading}*LINES+column+i];
  end

  logic opens, closes;
  assign opens = begins && number == 16'd0;
  assign closes = write && number + 16'd1 == columns;

  always_ff @(posedge clk) begin
    if (write) begin
      records[{16'd0, filling}*LINES+number] <= record;
      number <= closes ? 16'd0 : number + 16'd1;
      if (closes) filling <= filling == SLOTS - 1 ? 16'd0 : filling + 16'd1;
    end
    if (ends) reading <= reading == SLOTS - 1 ? 16'd0 : reading + 16'd1;
    used <= used + {15'd0, opens} - {15'd0, ends};
    filled <= filled + {15'd0, closes} - {15'd0, ends};
    if (reset) begin
      filling <= 16'd0;
      reading <= 16'd0;
      used <= 16'd0;
      filled <= 16'd0;
      number <= 16'd0;
    end
  end
endmodule
