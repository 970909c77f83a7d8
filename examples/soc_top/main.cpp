// A top level of one's own: a processor and a Tilebeat chip behind a bus. The processor writes a picture into
// the chip's DRAM, starts it by a register, waits for its interrupt and reads the result.
//
//   soc_top HW.json WORKLOAD.json

#include <cstdio>
#include <map>
#include <vector>

#include <systemc>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <tilebeat/config/hardware_file.h>
#include <tilebeat/embed/accelerator.h>
#include <tilebeat/error.h>
#include <tilebeat/planner/program/planner.h>
#include <tilebeat/reference/reference.h>

// Where the bus places the chip.
constexpr std::uint64_t kChipBase = std::uint64_t{1} << 46;

/// A bus of one target: it takes 20 ns and turns the processor's addresses into the chip's.
class Bus : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Bus> in;
  tlm_utils::simple_initiator_socket<Bus> out;

  explicit Bus(sc_core::sc_module_name name) : sc_module(name), in("in"), out("out") {
    in.register_b_transport(this, &Bus::forward);
  }

 private:
  void forward(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    delay += sc_core::sc_time(20, sc_core::SC_NS);
    payload.set_address(payload.get_address() - kChipBase);
    out->b_transport(payload, delay);
    payload.set_address(payload.get_address() + kChipBase);
  }
};

/// The processor, with the software that it runs.
class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> socket;
  sc_core::sc_in<bool> interrupt;
  std::map<std::string, tilebeat::Tensor> inputs, outputs;

  Cpu(sc_core::sc_module_name name, const tilebeat::Accelerator& chip) : sc_module(name), chip_(chip) {
    SC_HAS_PROCESS(Cpu);
    SC_THREAD(run);
  }

 private:
  void access(tlm::tlm_command command, std::uint64_t address, std::vector<std::uint8_t>& bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(kChipBase + address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    sc_core::sc_time delay;
    socket->b_transport(payload, delay);
    wait(delay);
    if (payload.is_response_error()) SC_REPORT_FATAL(name(), payload.get_response_string().c_str());
  }

  void run() {
    for (auto& [name, tensor] : inputs) {
      const tilebeat::Placement& place = chip_.placement(name);
      std::vector<std::uint8_t> bytes = tilebeat::to_memory(place, tensor.bytes);
      access(tlm::TLM_WRITE_COMMAND, place.address, bytes);
    }
    std::printf("inputs written at  %s\n", sc_core::sc_time_stamp().to_string().c_str());
    std::vector<std::uint8_t> one{1, 0, 0, 0};
    access(tlm::TLM_WRITE_COMMAND, static_cast<std::uint64_t>(tilebeat::AcceleratorRegister::kStart), one);
    while (!interrupt.read()) wait(interrupt.posedge_event());
    std::printf("interrupt at       %s\n", sc_core::sc_time_stamp().to_string().c_str());
    for (auto& [name, tensor] : outputs) {
      const tilebeat::Placement& place = chip_.placement(name);
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(place.size_bytes()));
      access(tlm::TLM_READ_COMMAND, place.address, bytes);
      tensor = {place.info.shape, place.info.dtype, tilebeat::from_memory(place, bytes)};
    }
    std::printf("outputs read at    %s\n", sc_core::sc_time_stamp().to_string().c_str());
  }

  const tilebeat::Accelerator& chip_;
};

int sc_main(int argc, char** argv) try {
  if (argc != 3) throw tilebeat::UserError("usage: soc_top HW.json WORKLOAD.json");
  const tilebeat::HardwareConfig hardware = tilebeat::load_hardware(argv[1]);
  tilebeat::Workload workload = tilebeat::load_workload(argv[2]);

  tilebeat::Accelerator chip("chip", hardware, tilebeat::make_plan(workload, hardware));
  Bus bus("bus");
  Cpu cpu("cpu", chip);
  sc_core::sc_signal<bool> interrupt("interrupt");
  cpu.socket.bind(bus.in);
  bus.out.bind(chip.socket);
  cpu.interrupt(interrupt);
  chip.interrupt(interrupt);

  // Another picture than the workload's.
  for (auto& [name, tensor] : workload.input_data) {
    for (std::uint8_t& byte : tensor.bytes) byte = static_cast<std::uint8_t>(~byte);
  }
  cpu.inputs = workload.input_data;
  for (const std::string& name : workload.outputs) cpu.outputs[name] = {};
  sc_core::sc_start();

  const tilebeat::RunResult result = chip.result();
  std::printf("the chip ran for   %lld cycles, %.1f %% of its peak\n", static_cast<long long>(result.cycles),
              100 * result.utilization);
  const std::map<std::string, tilebeat::Tensor> reference = tilebeat::run_reference(workload);
  bool equal = result.passed();
  for (const auto& [name, tensor] : cpu.outputs) equal = equal && tensor.bytes == reference.at(name).bytes;
  std::printf("outputs            %s the reference\n", equal ? "equal" : "DIFFER from");
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "soc_top: %s\n", error.what());
  return 2;
}
