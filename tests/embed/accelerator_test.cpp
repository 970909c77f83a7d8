// A chip as a module of somebody else's top level: docs/embedding.md (UI-12).
#include "embed/accelerator.h"

#include "config/hardware_file.h"
#include "planner/program/planner.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "tilebeat/error.h"
#include "workload/tensor_source.h"

#include <cstring>
#include <functional>
#include <utility>

#include <tlm_utils/simple_initiator_socket.h>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

const std::string kFolder = std::string(TILEBEAT_SOURCE_DIR) + "/";

/// Somebody's processor: a thread that makes blocking accesses.
class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> socket;
  sc_core::sc_in<bool> interrupt;
  std::function<void(Cpu&)> software;

  explicit Cpu(const sc_core::sc_module_name& name) : sc_module(name), socket("socket"), interrupt("irq") {
    SC_HAS_PROCESS(Cpu);
    SC_THREAD(run);
  }
  tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address, void* data,
                                  std::size_t bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char*>(data));
    payload.set_data_length(static_cast<unsigned>(bytes));
    payload.set_streaming_width(static_cast<unsigned>(bytes));
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    wait(delay);
    return payload.get_response_status();
  }
  void write(std::uint64_t address, std::vector<std::uint8_t> bytes) {
    ASSERT_EQ(access(tlm::TLM_WRITE_COMMAND, address, bytes.data(), bytes.size()), tlm::TLM_OK_RESPONSE);
  }
  std::vector<std::uint8_t> read(std::uint64_t address, std::int64_t size) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    EXPECT_EQ(access(tlm::TLM_READ_COMMAND, address, bytes.data(), bytes.size()), tlm::TLM_OK_RESPONSE);
    return bytes;
  }
  void start() { write(static_cast<std::uint64_t>(AcceleratorRegister::kStart), {1, 0, 0, 0}); }
  std::uint32_t status() {
    std::uint32_t value = 99;
    const auto bytes = read(static_cast<std::uint64_t>(AcceleratorRegister::kStatus), 4);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  void until_interrupt() {
    while (!interrupt.read()) wait(interrupt.posedge_event());
  }

 private:
  void run() {
    if (software) software(*this);
  }
};

struct RunTotals {
  Cycle cycles = 0;
  std::int64_t macs = 0;
};

/// A top level of a processor and a chip.
struct Top {
  HardwareConfig hardware;
  Workload workload;
  Accelerator chip;
  Cpu cpu{"cpu"};
  sc_core::sc_signal<bool> interrupt{"interrupt"};

  Top(const std::string& config, const std::string& layer, Granularity granularity = Granularity::kTile)
      : Top(load_hardware(kFolder + config), layer, granularity) {}
  Top(HardwareConfig configured, const std::string& layer, Granularity granularity)
      : hardware(std::move(configured)),
        workload(load_workload(kFolder + layer)),
        chip("chip", hardware, make_plan(workload, hardware), granularity) {
    strict_systemc();
    cpu.socket.bind(chip.socket);
    chip.interrupt(interrupt);
    cpu.interrupt(interrupt);
  }
};

/// The processor of `top` writes other inputs than the workload's, and reads the results back.
void expect_results_of_own_inputs(Top& top) {
  Workload changed = top.workload;
  std::uint64_t seed = 77;
  for (auto& [name, tensor] : changed.input_data)
    tensor =
        random_tensor(tensor.shape, tensor.dtype, seed++, dtype_min(tensor.dtype), dtype_max(tensor.dtype));
  const std::map<std::string, Tensor> wanted = run_reference(changed);
  bool ended = false;
  top.cpu.software = [&](Cpu& cpu) {
    EXPECT_EQ(cpu.status(), 0U);
    for (const auto& [name, tensor] : changed.input_data) {
      const Placement& place = top.chip.placement(name);
      cpu.write(place.address, to_memory(place, tensor.bytes));
    }
    sc_core::wait(3, sc_core::SC_US);  // the cycles of a run do not depend on when it begins
    EXPECT_FALSE(top.interrupt.read());
    cpu.start();
    EXPECT_EQ(cpu.status(), 1U);
    cpu.until_interrupt();
    EXPECT_EQ(cpu.status(), 2U);
    for (const std::string& name : top.workload.outputs) {
      const Placement& place = top.chip.placement(name);
      EXPECT_EQ(from_memory(place, cpu.read(place.address, place.size_bytes())), wanted.at(name).bytes);
    }
    ended = true;
  };
  sc_core::sc_start();
  EXPECT_TRUE(ended) << top.chip.describe_state();
}

/// A run that begins by itself.
RunTotals alone(const std::string& config, const std::string& layer, Granularity granularity) {
  const auto report =
      simulate_in_child(load_workload(kFolder + layer), load_hardware(kFolder + config), granularity).report;
  return {report["total"]["cycles"].get<Cycle>(), report["total"]["macs"].get<std::int64_t>()};
}

/// The cycles are the same but for where in its refreshes and rows DRAM stands.
void expect_totals(Top& top, const RunTotals& wanted) {
  const RunResult result = top.chip.result();
  EXPECT_TRUE(result.passed()) << result.failures.front();
  const auto cycles = static_cast<double>(wanted.cycles);
  EXPECT_NEAR(static_cast<double>(result.cycles), cycles, 0.02 * cycles + 30);
  EXPECT_EQ(result.macs, wanted.macs);
}

TEST(Accelerator, UI_12_an_engine_computes_what_a_master_outside_wrote) {
  const RunTotals wanted = alone("configs/switch16.json", "models/worked_dilated.json", Granularity::kTile);
  Top top("configs/switch16.json", "models/worked_dilated.json");
  expect_results_of_own_inputs(top);
  expect_totals(top, wanted);
}

TEST(Accelerator, UI_12_a_chip_of_clusters_in_clock_granularity) {
  const RunTotals wanted = alone("configs/cluster4.json", "models/small_chain.json", Granularity::kClock);
  Top top("configs/cluster4.json", "models/small_chain.json", Granularity::kClock);
  expect_results_of_own_inputs(top);
  expect_totals(top, wanted);
}

TEST(Accelerator, UI_12_a_chip_with_a_start_unit_has_both_ports) {
  HardwareConfig hardware = load_hardware(kFolder + "configs/cluster4x4.json");
  hardware.host.start = HostStart::kTable;
  Top top(hardware, "models/small_chain.json", Granularity::kTile);
  expect_results_of_own_inputs(top);
}

TEST(Accelerator, UI_12_wrong_accesses_are_answered_with_errors_and_change_nothing) {
  Top top("configs/switch16.json", "models/worked_dilated.json");
  const std::uint64_t end = top.chip.memory_bytes();
  const auto start = static_cast<std::uint64_t>(AcceleratorRegister::kStart);
  const auto status = static_cast<std::uint64_t>(AcceleratorRegister::kStatus);
  int checked = 0;
  top.cpu.software = [&](Cpu& cpu) {
    std::array<std::uint8_t, 8> data{};
    const auto answer = [&](tlm::tlm_command command, std::uint64_t address, std::size_t bytes) {
      ++checked;
      return cpu.access(command, address, data.data(), bytes);
    };
    EXPECT_EQ(answer(tlm::TLM_READ_COMMAND, end - 8, 8), tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_READ_COMMAND, end - 7, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, end, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, start + 16, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, start, 2), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_READ_COMMAND, start, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, status, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_IGNORE_COMMAND, 0, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(cpu.status(), 0U);
  };
  sc_core::sc_start();
  EXPECT_EQ(checked, 8);
  EXPECT_THROW(top.chip.result(), UserError) << "nothing has run";
  EXPECT_THROW(top.chip.placement("nothing"), UserError);
}

// What a master moves while the programs run costs time and changes no result.
TEST(Accelerator, UI_12_a_master_that_reads_beside_the_run_competes_with_it) {
  const RunTotals undisturbed =
      alone("configs/switch16.json", "models/worked_dilated.json", Granularity::kTile);
  Top top("configs/switch16.json", "models/worked_dilated.json");
  const std::map<std::string, Tensor> wanted = run_reference(top.workload);
  Cycle accesses = 0;
  top.cpu.software = [&](Cpu& cpu) {
    cpu.start();
    while (!top.interrupt.read()) {
      cpu.read(std::uint64_t{1} << 24, 4096);
      ++accesses;
    }
  };
  sc_core::sc_start();
  EXPECT_GT(accesses, 1);
  const RunResult result = top.chip.result();
  EXPECT_TRUE(result.passed()) << result.failures.front();
  EXPECT_GT(result.cycles, undisturbed.cycles);
  for (const std::string& name : top.workload.outputs)
    EXPECT_EQ(result.outputs.at(name).bytes, wanted.at(name).bytes);
}

}  // namespace
}  // namespace tilebeat::testing
