// Instructions in their order. A run is the gather's from the cycle on in which it is the oldest instruction until its last operand is
// requested; it takes the registers along that hold then. Set-ups behind it wait for that, too.
module run_queue #(
    parameter THREADS = 4,
    parameter PLACES = 4
) (
    input  logic                              clk,
    input  logic                              reset,
    input  logic [31:0]                       option_table_bytes,
    input  logic                              instruction_valid,
    input  logic [511:0]                      instruction,
    input  logic                              done,      // the run's last operand is requested
    output logic                              valid,     // a run is under way
    output logic                              begins,    // its first cycle
    output logic [3:0]                        number,    // of the run
    output logic [offset_pkg::JOB_BITS-1:0]   job_bits,
    output logic [offset_pkg::SHAPE_BITS-1:0] shape_bits
);
  /* verilator no_inline_module */

  logic [383:0] conv, setup, map_registers;
  logic [511:0] held[0:PLACES-1], head;
  logic [1:0] first;
  logic [2:0] count;
  logic pops, fresh;
  offset_pkg::job_t job;

  assign head = held[first];
  assign job_bits = job;
  assign shape_bits = offset_pkg::shape_of(job, THREADS, option_table_bytes);
  assign begins = valid && fresh;

  always_comb begin
    job.conv = conv;
    job.setup = setup;
    job.map = map_registers;
    job.run = head[128+:384];
    valid = count != 3'd0 && head[7:0] == offset_pkg::OPCODE_RUN;
    pops = count != 3'd0 && (head[7:0] != offset_pkg::OPCODE_RUN || done);
  end

  always_ff @(posedge clk) begin
    if (instruction_valid) held[2'(first+count)] <= instruction;
    if (pops) begin
      first <= first + 2'd1;
      case (head[7:0])
        offset_pkg::OPCODE_CONV_SETUP: conv <= head[128+:384];
        offset_pkg::OPCODE_SETUP: setup <= head[128+:384];
        offset_pkg::OPCODE_MAP: map_registers <= head[128+:384];
        default: number <= number + 4'd1;
      endcase
    end
    count <= count + {2'd0, instruction_valid} - {2'd0, pops};
    fresh <= !valid || done;
    if (reset) begin
      first <= 2'd0;
      count <= 3'd0;
      fresh <= 1'b1;
      number <= 4'd0;
    end
  end
endmodule
