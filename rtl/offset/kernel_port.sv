// Kernels of beats, and biases and scales behind those of a slice, in the order in which they are asked for, PORT bytes a cycle (OT-6).
module kernel_port #(
    parameter C = 4,
    parameter V = 4,
    parameter PORT = 16,
    parameter SLOTS = 17,         // of beats
    parameter RECORDS = 64,       // of a run
    parameter MAX_LATENCY = 16
) (
    input  logic                clk,
    input  logic                reset,
    input  logic [7:0]          option_latency,
    input  logic [7:0]          option_bank_shift,
    input  logic [15:0]         option_banks,
    // What is asked for.
    input  logic                push,           // kernels of a beat
    input  logic [47:0]         push_address,
    input  logic [15:0]         push_bytes,
    input  logic [15:0]         push_slot,
    input  logic                push_records,
    input  logic [47:0]         records_address,
    input  logic [15:0]         records_first,  // number in the run
    input  logic [15:0]         records_count,
    input  logic                run_begins,
    input  logic [3:0]          run,
    output logic                idle,           // no request is left behind this cycle
    // The memory's port.
    output logic                request,
    output logic [47:0]         address,
    output logic [15:0]         bytes,
    input  logic [PORT*8-1:0]   data,
    // The beat that is next in the lanes.
    input  logic [15:0]         slot,
    output logic                there,          // its kernels came before this cycle
    output logic [C*V*8-1:0]    kernels,
    // Records.
    input  logic [3:0]          read_run,
    output logic [15:0]         read_count,     // that came before this cycle
    output logic [RECORDS*128-1:0] read_records
);
  /* verilator no_inline_module */

  localparam PLACES = 2 * SLOTS;
  localparam ENTRY = 48 + 16 + 1 + 16;          // address, bytes, records, slot or run and first record
  logic [ENTRY-1:0] entries[0:PLACES-1], head, kernel_entry, record_entry;
  logic [15:0] first, count, position, head_bytes, head_slot;
  logic head_records, last;
  logic [47:0] head_address;
  logic [SLOTS-1:0] complete;
  logic [C*V*8-1:0] buffers[0:SLOTS-1], filled;
  logic [RECORDS*128-1:0] records[0:offset_pkg::JOBS-1], filled_records;
  logic [15:0] records_there[0:offset_pkg::JOBS-1];

  localparam FLIGHT = 1 + 1 + 1 + 16 + 16 + 16;
  logic [MAX_LATENCY*FLIGHT-1:0] flight;
  logic [FLIGHT-1:0] asked, arrives;
  logic arrives_valid, arrives_last, arrives_records;
  logic [15:0] arrives_slot, arrives_position, arrives_bytes;

  always_comb begin
    kernel_entry = {push_address, push_bytes, 1'b0, push_slot};
    record_entry = {records_address, 16'(records_count * 16), 1'b1, run, records_first[11:0]};
    head = count != 16'd0 ? entries[first] : push ? kernel_entry : record_entry;
    {head_address, head_bytes, head_records, head_slot} = head;
    request = count != 16'd0 || push || push_records;
    address = head_address + position;
    bytes = offset_pkg::cut(address, head_bytes - position, PORT, option_bank_shift, option_banks);
    last = position + bytes == head_bytes;
    asked = {request, last, head_records, head_slot, position, bytes};
    arrives = option_latency == 8'd0 ? asked : flight[(option_latency-8'd1)*FLIGHT+:FLIGHT];
    {arrives_valid, arrives_last, arrives_records, arrives_slot, arrives_position, arrives_bytes} = arrives;
    filled = buffers[arrives_slot];
    filled_records = records[arrives_slot[15:12]];
    for (int i = 0; i < PORT; i = i + 1)
      if (i < arrives_bytes) begin
        if (arrives_records) filled_records[(arrives_slot[11:0]*16+arrives_position+i)*8+:8] = data[i*8+:8];
        else filled[(arrives_position+i)*8+:8] = data[i*8+:8];
      end
    idle = count + {15'd0, push} + {15'd0, push_records} == {15'd0, request && last};
    there = complete[slot];
    kernels = buffers[slot];
    read_count = records_there[read_run];
    read_records = records[read_run];
  end

  function automatic [15:0] behind(input [15:0] entry, input [15:0] steps);
    behind = entry + steps >= PLACES ? entry + steps - PLACES : entry + steps;
  endfunction

  always_ff @(posedge clk) begin
    flight <= {flight[(MAX_LATENCY-1)*FLIGHT-1:0], asked};
    if (push) begin
      entries[behind(first, count)] <= kernel_entry;
      complete[push_slot] <= 1'b0;
    end
    if (push_records) entries[behind(first, count+{15'd0, push})] <= record_entry;
    if (run_begins) records_there[run] <= 16'd0;
    if (arrives_valid) begin
      if (arrives_records) records[arrives_slot[15:12]] <= filled_records;
      else buffers[arrives_slot] <= filled;
      if (arrives_records) records_there[arrives_slot[15:12]] <= arrives_slot[11:0] + ((arrives_position + arrives_bytes) >> 4);
      else if (arrives_last) complete[arrives_slot] <= 1'b1;
    end
    if (request) begin
      position <= last ? 16'd0 : position + bytes;
      if (last) first <= behind(first, 16'd1);
    end
    count <= count + {15'd0, push} + {15'd0, push_records} - {15'd0, request && last};
    if (reset) begin
      flight <= '0;
      first <= 16'd0;
      count <= 16'd0;
      position <= 16'd0;
    end
  end
endmodule
