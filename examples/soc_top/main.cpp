// A top level of one's own: a processor, a memory and a Tilebeat chip on a bus, and the chip's main memory
// behind it. The processor copies a picture from the memory to the chip's, starts the chip by a register,
// waits for its interrupt and copies the result back into the memory; then it resets the chip and runs it on
// a second picture.
//
//   soc_top HW.json WORKLOAD.json

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <tilebeat/accelerator.h>
#include <tilebeat/error.h>
#include <tilebeat/hardware.h>
#include <tilebeat/plan.h>
#include <tilebeat/result.h>
#include <tilebeat/workload.h>

using Bytes = std::vector<std::uint8_t>;

// The bus places the memory at address 0 and the chip here.
constexpr std::uint64_t kChipBase = std::uint64_t{1} << 46;
constexpr std::uint64_t kPictures = 2;

/// A memory that takes 50 ns an access, and grants direct access that takes as long.
class Memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Memory> socket;
  Bytes bytes;

  Memory(sc_core::sc_module_name name, std::size_t size) : sc_module(name), socket("socket"), bytes(size) {
    socket.register_b_transport(this, &Memory::transport);
    socket.register_transport_dbg(this, &Memory::debug);
    socket.register_get_direct_mem_ptr(this, &Memory::grant);
  }

 private:
  const sc_core::sc_time kLatency{50, sc_core::SC_NS};

  void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += kLatency;
    payload.set_dmi_allowed(true);
    payload.set_response_status(
        debug(payload) == payload.get_data_length() ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  unsigned debug(tlm::tlm_generic_payload& payload) {
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    if (length > bytes.size() || address > bytes.size() - length) return 0;
    if (payload.is_read()) std::memcpy(payload.get_data_ptr(), &bytes[address], length);
    if (payload.is_write()) std::memcpy(&bytes[address], payload.get_data_ptr(), length);
    return static_cast<unsigned>(length);
  }
  bool grant(tlm::tlm_generic_payload&, tlm::tlm_dmi& granted) {
    granted.set_start_address(0);
    granted.set_end_address(bytes.size() - 1);
    granted.set_dmi_ptr(bytes.data());
    granted.allow_read_write();
    granted.set_read_latency(kLatency);
    granted.set_write_latency(kLatency);
    return true;
  }
};

/// A bus that takes 20 ns an access, and turns addresses of the processor into those of memory and chip.
class Bus : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Bus> in;
  tlm_utils::simple_initiator_socket<Bus> memory, chip;

  Bus(sc_core::sc_module_name name) : sc_module(name), in("in"), memory("memory"), chip("chip") {
    in.register_b_transport(this, &Bus::forward);
  }

 private:
  void forward(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += sc_core::sc_time(20, sc_core::SC_NS);
    const std::uint64_t address = payload.get_address();
    payload.set_address(address % kChipBase);
    (address < kChipBase ? memory : chip)->b_transport(payload, delay);
    payload.set_address(address);
  }
};

/// The processor, with the software that it runs.
class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> socket;
  sc_core::sc_in<bool> interrupt;

  /// Pictures of `picture_bytes` lie from address 0 of the memory on; the results are put behind them.
  Cpu(sc_core::sc_module_name name, tilebeat::TensorPlace input, tilebeat::TensorPlace output,
      std::size_t picture_bytes)
      : sc_module(name), socket("socket"), input_(input), output_(output), picture_bytes_(picture_bytes) {
    SC_HAS_PROCESS(Cpu);
    SC_THREAD(run);
  }

 private:
  void access(tlm::tlm_command command, std::uint64_t address, Bytes& bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    sc_core::sc_time delay;
    socket->b_transport(payload, delay);
    wait(delay);
    if (payload.is_response_error()) SC_REPORT_FATAL(name(), payload.get_response_string().c_str());
  }
  Bytes read(std::uint64_t address, std::size_t size) {
    Bytes bytes(size);
    access(tlm::TLM_READ_COMMAND, address, bytes);
    return bytes;
  }
  void write(std::uint64_t address, Bytes bytes) { access(tlm::TLM_WRITE_COMMAND, address, bytes); }

  void command(tilebeat::AcceleratorRegister number) {
    write(kChipBase + static_cast<std::uint64_t>(number), {1, 0, 0, 0});
  }

  void run() {
    std::uint64_t result = kPictures * picture_bytes_;
    for (std::uint64_t i = 0; i < kPictures; ++i) {
      const Bytes picture = read(i * picture_bytes_, picture_bytes_);
      write(kChipBase + input_.address(), input_.to_memory(picture));
      std::printf("inputs written at  %s\n", sc_core::sc_time_stamp().to_string().c_str());
      command(tilebeat::AcceleratorRegister::kStart);
      while (!interrupt.read()) wait(interrupt.posedge_event());
      std::printf("interrupt at       %s\n", sc_core::sc_time_stamp().to_string().c_str());
      const Bytes stored =
          read(kChipBase + output_.address(), static_cast<std::size_t>(output_.size_bytes()));
      const Bytes elements = output_.from_memory(stored);
      write(result, elements);
      result += elements.size();
      std::printf("outputs read at    %s\n", sc_core::sc_time_stamp().to_string().c_str());
      if (i + 1 < kPictures) command(tilebeat::AcceleratorRegister::kReset);
    }
  }

  tilebeat::TensorPlace input_, output_;
  std::size_t picture_bytes_;
};

int sc_main(int argc, char** argv) try {
  if (argc != 3) throw tilebeat::UserError("usage: soc_top HW.json WORKLOAD.json");
  const tilebeat::Hardware hardware = tilebeat::Hardware::load(argv[1]);
  tilebeat::Network network = tilebeat::Network::load(argv[2]);
  const std::string input = network.inputs().at(0), output = network.outputs().at(0);

  tilebeat::RunOptions options;
  options.dram = tilebeat::RunOptions::Dram::kExternal;
  tilebeat::Accelerator chip("chip", hardware, tilebeat::plan(hardware, network), options);
  // The processor brings other pictures than the workload's.
  Bytes picture = network.input(input).bytes, pictures, wanted;
  for (std::uint64_t i = 0; i < kPictures; ++i) {
    for (std::uint8_t& byte : picture) byte = static_cast<std::uint8_t>(byte + 101);
    network.set_input(input, picture);
    const Bytes results = network.reference_outputs().at(output).bytes;
    pictures.insert(pictures.end(), picture.begin(), picture.end());
    wanted.insert(wanted.end(), results.begin(), results.end());
  }

  Memory memory("memory", pictures.size() + wanted.size()), chip_memory("chip_memory", std::size_t{1} << 28);
  std::memcpy(memory.bytes.data(), pictures.data(), pictures.size());
  Bus bus("bus");
  Cpu cpu("cpu", chip.placement(input), chip.placement(output), picture.size());
  sc_core::sc_signal<bool> interrupt("interrupt");
  cpu.socket.bind(bus.in);
  bus.memory.bind(memory.socket);
  bus.chip.bind(chip.socket);
  chip.memory.bind(chip_memory.socket);
  cpu.interrupt(interrupt);
  chip.interrupt(interrupt);
  sc_core::sc_start();

  const tilebeat::Result result = chip.result();
  std::printf("the chip ran for   %lld cycles, %.1f %% of its peak\n",
              static_cast<long long>(result.cycles()), 100 * result.utilization());
  const bool equal =
      result.passed() && std::memcmp(&memory.bytes[pictures.size()], wanted.data(), wanted.size()) == 0;
  std::printf("outputs            %s the reference\n", equal ? "equal" : "DIFFER from");
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "soc_top: %s\n", error.what());
  return 2;
}
