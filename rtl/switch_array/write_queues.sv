// The queues in front of the write ports of a set of banks. A beat puts all of its words into them at once, or none;
// the bank writes one word a cycle, from the cycle on that follows the word's arrival.
module write_queues #(
    parameter BANKS = 8,
    parameter PUSH = 16,   // a beat has at most so many words for a bank
    parameter DEPTH = 64,  // it is a power of two, at least the depth that is configured
    parameter DATA = 32
) (
    input  logic                       clk,
    input  logic                       reset,
    input  logic [15:0]                queue_words,  // a queue takes so many words
    input  logic                       push,
    output logic                       room,         // the words that are shown fit
    input  logic [BANKS*8-1:0]         counts,       // the beat has so many words for each bank
    input  logic [BANKS*PUSH*32-1:0]   word_address,
    input  logic [BANKS*PUSH*DATA-1:0] word_data,
    output logic [BANKS-1:0]           write_valid,
    output logic [BANKS*32-1:0]        write_address,
    output logic [BANKS*DATA-1:0]      write_data
);
  localparam INDEX = $clog2(DEPTH);
  logic [BANKS-1:0] fits;

  assign room = &fits;

  genvar b;
  generate
    for (b = 0; b < BANKS; b = b + 1) begin : queue
      logic [32+DATA-1:0] waiting[0:DEPTH-1];
      logic [15:0] used;
      logic [INDEX-1:0] head;
      logic [15:0] arriving;

      assign arriving = {8'd0, counts[b*8+:8]};
      assign write_valid[b] = used != 16'd0;
      assign write_address[b*32+:32] = waiting[head][DATA+:32];
      assign write_data[b*DATA+:DATA] = waiting[head][0+:DATA];
      assign fits[b] = arriving == 16'd0 || used - {15'd0, write_valid[b]} + arriving <= queue_words;

      always_ff @(posedge clk) begin
        if (reset) begin
          used <= 16'd0;
          head <= {INDEX{1'b0}};
        end else begin
          used <= used - {15'd0, write_valid[b]} + (push ? arriving : 16'd0);
          if (write_valid[b]) head <= head + 1'b1;
        end
      end

      // Assigned at once: no place that is written here is read in this clock, and compilers of models need no copy of the queue.
      always @(posedge clk) begin
        if (push) begin
          for (int i = 0; i < PUSH; i = i + 1) begin
            if (i < {16'd0, arriving})
              waiting[(head+used[INDEX-1:0]+i)&(DEPTH-1)] = {word_address[(b*PUSH+i)*32+:32], word_data[(b*PUSH+i)*DATA+:DATA]};
          end
        end
      end
    end
  endgenerate
endmodule
