// Transposes kernels in their place in WRAM before the first run that uses them (RO-7): cut by cut through B's port. A cut is read
// into registers, element by element of all kernels of its block, and written back kernel by kernel, an access a cycle each.
module kernel_transposer #(
    parameter R = 4,
    parameter C = 4,
    parameter PORT = 4,
    parameter KERNELS = 4,      // of a block in memory, at most
    parameter MAX_LATENCY = 16
) (
    input  logic                             clk,
    input  logic                             reset,
    input  logic [7:0]                       option_latency,
    input  logic [7:0]                       option_bank_shift,
    input  logic [15:0]                      option_banks,
    input  logic                             job_valid,
    input  logic [rolling_pkg::JOB_BITS-1:0] job_bits,
    input  logic                             job_ends,     // the run's lines are in registers
    output logic                             active,
    output logic                             request,
    output logic                             write,
    output logic [47:0]                      address,
    output logic [8*PORT-1:0]                write_data,
    input  logic [8*PORT-1:0]                data
);
  localparam X = R > C ? R : C;
  localparam BYTES = X * KERNELS;

  rolling_pkg::job_t job;
  conv_pkg::setup_t conv;
  assign job = job_bits;
  assign conv = job.conv;

  localparam [1:0] READ = 2'd0, WAIT = 2'd1, WRITE = 2'd2;
  logic [1:0]         step;
  logic               transposed;           // the run at hand
  logic [15:0]        begin_kernel;         // the block's first one
  logic [31:0]        element;              // the cut's first one
  logic [15:0]        position;             // in the cut
  logic [7:0]         waited;
  logic [15:0]        kernel, in_kernel;    // of the byte that is written next
  logic [BYTES*8-1:0] cut;

  logic [31:0] n;
  logic [7:0]  lanes, length, count;
  logic [15:0] kernels, size, at_kernel, at_element;
  logic [47:0] base, words;
  logic        more, last, last_cut, last_block;

  // Where bytes go that are on their way.
  localparam FLIGHT = 1 + 16 + 8;
  logic [MAX_LATENCY*FLIGHT-1:0] flight;
  logic [FLIGHT-1:0] asked, arrives;
  logic arrives_valid;
  logic [15:0] arrives_at;
  logic [7:0] arrives_count;

  always_comb begin
    active = job_valid && job.run.transposes && !transposed;
    lanes = rolling_pkg::left_transposed(job.rolling.variant) ? R : C;
    n = job.run.channels * conv.kernel_h * conv.kernel_w;
    length = n - element < {24'd0, lanes} ? n[7:0] - element[7:0] : lanes;
    kernels = job.run.kernels - begin_kernel < job.rolling.block_kernels ? job.run.kernels - begin_kernel : job.rolling.block_kernels;
    size = kernels * length;
    base = job.run.weights + {32'd0, begin_kernel} * n + {16'd0, element} * kernels;
    request = active && step != WAIT;
    write = step == WRITE;
    address = base + position;
    more = 1'b1;
    words = 48'd0;
    count = 8'd0;
    write_data = '0;
    at_kernel = kernel;
    at_element = in_kernel;
    for (int i = 0; i < PORT; i = i + 1) begin
      words = ((address + i) >> option_bank_shift) - (address >> option_bank_shift);
      if (more && position + i < size && words < option_banks) begin
        count = i + 1;
        write_data[i*8+:8] = cut[(at_element*kernels+at_kernel)*8+:8];
        at_element = at_element + 16'd1;
        if (at_element == length) begin
          at_element = 16'd0;
          at_kernel = at_kernel + 16'd1;
        end
      end else more = 1'b0;
    end
    last = position + count == size;
    last_cut = element + lanes >= n;
    last_block = begin_kernel + kernels >= job.run.kernels;
    asked = {request && !write, position, count};
    arrives = option_latency == 8'd0 ? asked : flight[(option_latency-8'd1)*FLIGHT+:FLIGHT];
    {arrives_valid, arrives_at, arrives_count} = arrives;
  end

  always_ff @(posedge clk) begin
    flight <= {flight[(MAX_LATENCY-1)*FLIGHT-1:0], asked};
    for (int i = 0; i < BYTES; i = i + 1)
      if (arrives_valid && i >= arrives_at && i < arrives_at + arrives_count) cut[i*8+:8] <= data[(i-arrives_at)*8+:8];
    if (active) begin
      position <= step == WAIT || last ? 16'd0 : position + count;
      waited <= step == WAIT ? waited + 8'd1 : 8'd0;
      if (step == READ && last) step <= option_latency == 8'd0 ? WRITE : WAIT;
      if (step == WAIT && waited + 8'd1 == option_latency) step <= WRITE;
      if (step == WRITE) begin
        kernel <= last ? 16'd0 : at_kernel;
        in_kernel <= last ? 16'd0 : at_element;
        if (last) begin
          step <= READ;
          element <= last_cut ? 32'd0 : element + lanes;
          if (last_cut) begin_kernel <= last_block ? 16'd0 : begin_kernel + kernels;
          if (last_cut && last_block) transposed <= 1'b1;
        end
      end
    end
    if (job_ends) transposed <= 1'b0;
    if (reset) begin
      flight <= '0;
      step <= READ;
      transposed <= 1'b0;
      begin_kernel <= 16'd0;
      element <= 32'd0;
      position <= 16'd0;
      waited <= 8'd0;
      kernel <= 16'd0;
      in_kernel <= 16'd0;
    end
  end
endmodule
