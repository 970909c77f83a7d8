// A top level of one's own: a processor, a memory and a Tilebeat chip on a bus. The processor copies a
// picture from the memory to the chip's DRAM, starts the chip by a register, waits for its interrupt and
// copies the result back into the memory.
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

/// A memory that takes 50 ns an access.
class Memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Memory> socket;
  Bytes bytes;

  Memory(sc_core::sc_module_name name, std::size_t size) : sc_module(name), socket("socket"), bytes(size) {
    socket.register_b_transport(this, &Memory::transport);
  }

 private:
  void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += sc_core::sc_time(50, sc_core::SC_NS);
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    if (length > bytes.size() || address > bytes.size() - length) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    if (payload.is_read()) std::memcpy(payload.get_data_ptr(), &bytes[address], length);
    if (payload.is_write()) std::memcpy(&bytes[address], payload.get_data_ptr(), length);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
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

  /// A picture of `picture_bytes` lies at address 0 of the memory; the result is put behind it.
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

  void run() {
    const Bytes picture = read(0, picture_bytes_);
    write(kChipBase + input_.address(), input_.to_memory(picture));
    std::printf("inputs written at  %s\n", sc_core::sc_time_stamp().to_string().c_str());
    write(kChipBase + static_cast<std::uint64_t>(tilebeat::AcceleratorRegister::kStart), {1, 0, 0, 0});
    while (!interrupt.read()) wait(interrupt.posedge_event());
    std::printf("interrupt at       %s\n", sc_core::sc_time_stamp().to_string().c_str());
    const Bytes stored = read(kChipBase + output_.address(), static_cast<std::size_t>(output_.size_bytes()));
    write(picture_bytes_, output_.from_memory(stored));
    std::printf("outputs read at    %s\n", sc_core::sc_time_stamp().to_string().c_str());
  }

  tilebeat::TensorPlace input_, output_;
  std::size_t picture_bytes_;
};

int sc_main(int argc, char** argv) try {
  if (argc != 3) throw tilebeat::UserError("usage: soc_top HW.json WORKLOAD.json");
  const tilebeat::Hardware hardware = tilebeat::Hardware::load(argv[1]);
  tilebeat::Network network = tilebeat::Network::load(argv[2]);
  const std::string input = network.inputs().at(0), output = network.outputs().at(0);

  tilebeat::Accelerator chip("chip", hardware, tilebeat::plan(hardware, network));
  // The processor brings another picture than the workload's.
  Bytes picture = network.input(input).bytes;
  for (std::uint8_t& byte : picture) byte = static_cast<std::uint8_t>(~byte);
  network.set_input(input, picture);
  const Bytes wanted = network.reference_outputs().at(output).bytes;

  Memory memory("memory", picture.size() + wanted.size());
  std::memcpy(memory.bytes.data(), picture.data(), picture.size());
  Bus bus("bus");
  Cpu cpu("cpu", chip.placement(input), chip.placement(output), picture.size());
  sc_core::sc_signal<bool> interrupt("interrupt");
  cpu.socket.bind(bus.in);
  bus.memory.bind(memory.socket);
  bus.chip.bind(chip.socket);
  cpu.interrupt(interrupt);
  chip.interrupt(interrupt);
  sc_core::sc_start();

  const tilebeat::Result result = chip.result();
  std::printf("the chip ran for   %lld cycles, %.1f %% of its peak\n",
              static_cast<long long>(result.cycles()), 100 * result.utilization());
  const bool equal =
      result.passed() && std::memcmp(&memory.bytes[picture.size()], wanted.data(), wanted.size()) == 0;
  std::printf("outputs            %s the reference\n", equal ? "equal" : "DIFFER from");
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "soc_top: %s\n", error.what());
  return 2;
}
