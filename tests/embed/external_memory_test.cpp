// A chip before somebody else's main memory, and several runs in one process: docs/embedding.md (AP-3).
#include "tilebeat/accelerator.h"
#include "tilebeat/error.h"
#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/result.h"
#include "tilebeat/workload.h"
#include "top_level.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tlm_utils/simple_target_socket.h>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr RunOptions kExternal{RunOptions::Granularity::kTile, RunOptions::Dram::kExternal};

/// Somebody's memory: it takes `latency` an access, and may grant direct access.
class UsersMemory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<UsersMemory> socket;
  sc_core::sc_time latency;
  bool grants = false;
  std::uint64_t granted_bytes = ~std::uint64_t{0};  ///< from address 0 on; what lies behind them is elsewhere
  std::uint64_t wrong_from = ~std::uint64_t{0};  ///< accesses from this address on are answered with an error
  int transports = 0, under_way = 0, most = 0;
  int across = 0;  ///< accesses that begin inside of what is granted and end behind it
  std::map<std::uint64_t, std::uint32_t> sizes;  ///< number of accesses by their bytes

  UsersMemory(const sc_core::sc_module_name& name, std::size_t bytes, sc_core::sc_time an_access)
      : sc_module(name), socket("socket"), latency(an_access), bytes_(bytes) {
    socket.register_b_transport(this, &UsersMemory::transport);
    socket.register_transport_dbg(this, &UsersMemory::debug);
    socket.register_get_direct_mem_ptr(this, &UsersMemory::direct);
  }
  void take_back() {
    grants = false;
    socket->invalidate_direct_mem_ptr(0, bytes_.size() - 1);
  }

 private:
  static constexpr std::uint64_t kGap = 4096;

  unsigned debug(tlm::tlm_generic_payload& payload) {
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    if (address + length + kGap > bytes_.size()) return 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      std::uint8_t& cell = bytes_[address + i + (address + i < granted_bytes ? 0 : kGap)];
      std::uint8_t& byte = payload.get_data_ptr()[i];
      payload.is_read() ? byte = cell : cell = byte;
    }
    return static_cast<unsigned>(length);
  }
  void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    ++transports, ++sizes[payload.get_data_length()];
    const std::uint64_t first = payload.get_address(), end = first + payload.get_data_length();
    if (first < granted_bytes && granted_bytes < end) ++across;
    most = std::max(most, ++under_way);
    sc_core::wait(latency);
    --under_way;
    payload.set_dmi_allowed(grants);
    const bool right = payload.get_address() < wrong_from && debug(payload) == payload.get_data_length();
    payload.set_response_status(right ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
  bool direct(tlm::tlm_generic_payload&, tlm::tlm_dmi& granted) {
    granted.set_start_address(0),
        granted.set_end_address(std::min<std::uint64_t>(granted_bytes, bytes_.size() - kGap) - 1);
    granted.set_dmi_ptr(bytes_.data());
    granted.allow_read_write();
    granted.set_read_latency(latency), granted.set_write_latency(latency);
    return grants;
  }

  std::vector<std::uint8_t> bytes_;  // with a gap behind those that are granted
};

/// A top level of a processor, a chip and a memory.
struct ExternalTop : Top {
  UsersMemory memory;
  explicit ExternalTop(const Hardware& hardware, const std::string& layer = "models/small_chain.json",
                       double latency_ns = 60)
      : Top(hardware, layer, kExternal),
        memory("users_memory", 1 << 24, sc_core::sc_time(latency_ns, sc_core::SC_NS)) {
    chip.memory.bind(memory.socket);
  }
  explicit ExternalTop(const std::string& config, const std::string& layer = "models/small_chain.json",
                       double latency_ns = 60)
      : ExternalTop(Hardware::load(kFolder + config), layer, latency_ns) {}
};

/// Hardware of a file with other values of some keys.
Hardware with(const std::string& config, const std::string& from, const std::string& to) {
  std::string text = Hardware::load(kFolder + config).json();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error(config + " has no " + from);
  return Hardware::parse(text.replace(at, from.size(), to));
}

/// The network with other elements of all inputs.
Network with_inputs(Network network, int seed) {
  for (const std::string& name : network.inputs()) {
    std::vector<std::uint8_t> bytes = network.input(name).bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(bytes[i] + 7 * seed + static_cast<int>(i));
    network.set_input(name, std::move(bytes));
  }
  return network;
}

void write_inputs(Cpu& cpu, const Accelerator& chip, const Network& network) {
  for (const std::string& name : network.inputs()) {
    const TensorPlace place = chip.placement(name);
    cpu.write(place.address(), place.to_memory(network.input(name).bytes));
  }
}

void expect_outputs(Cpu& cpu, const Accelerator& chip, const Network& network) {
  const std::map<std::string, TensorData> wanted = network.reference_outputs();
  for (const std::string& name : network.outputs()) {
    const TensorPlace place = chip.placement(name);
    EXPECT_EQ(place.from_memory(cpu.read(place.address(), place.size_bytes())), wanted.at(name).bytes)
        << name;
  }
}

/// Runs `network`'s inputs from the start to the interrupt.
void run_once(Cpu& cpu, const Accelerator& chip, const Network& network) {
  write_inputs(cpu, chip, network);
  cpu.start();
  cpu.until_interrupt();
  expect_outputs(cpu, chip, network);
}

/// Simulates to the end, which the processor's software must reach.
void simulate_software(Top& top, const std::function<void(Cpu&)>& software) {
  bool ended = false;
  top.cpu.software = [&](Cpu& cpu) {
    software(cpu);
    ended = true;
  };
  sc_core::sc_start();
  EXPECT_TRUE(ended) << top.chip.describe_state();
}

void run_own_inputs(ExternalTop& top) {
  simulate_software(top, [&](Cpu& cpu) { run_once(cpu, top.chip, with_inputs(top.network, 1)); });
  const Result result = top.chip.result();
  EXPECT_TRUE(result.passed()) << result.failures().front();
}

TEST(ExternalMemory, AP_3_a_board_has_programs_weights_and_results_there) {
  ExternalTop top("configs/switch16.json", "models/worked_dilated.json");
  run_own_inputs(top);
  EXPECT_GT(top.memory.transports, 0);
  EXPECT_EQ(top.chip.result().counter("dram", "direct"), 0);
  EXPECT_LE(top.memory.sizes.rbegin()->first, 4096U);
}

TEST(ExternalMemory, AP_3_all_controllers_of_a_chip_share_the_socket) {
  ExternalTop top("configs/cluster4x4.json");
  run_own_inputs(top);
  std::int64_t requests = 0;
  for (const char* const controller : {"dram0", "dram1"}) {
    requests += top.chip.counter(controller, "requests");
    EXPECT_GT(top.chip.counter(controller, "requests"), 0) << controller;
  }
  EXPECT_EQ(requests, top.memory.transports);
  EXPECT_THROW(top.chip.counter("dram2", "requests"), UserError);
}

TEST(ExternalMemory, AP_3_cycles_are_those_of_its_latency) {
  const auto cycles = [](double latency_ns) {
    return std::stoll(in_child([&] {
      ExternalTop top("configs/switch16.json", "models/worked_dilated.json", latency_ns);
      run_own_inputs(top);
      return std::to_string(top.chip.result().cycles());
    }));
  };
  // At least the first instruction, the map behind it and the result are waited for.
  EXPECT_GE(cycles(1060), cycles(60) + 3 * 1000);
}

TEST(ExternalMemory, AP_3_direct_access_takes_the_granted_latency_and_can_be_withdrawn) {
  const auto run = [](bool grants) {
    return in_child([&] {
      ExternalTop top("configs/cluster4.json");
      top.memory.grants = grants;
      int before = 0;
      simulate_software(top, [&](Cpu& cpu) {
        run_once(cpu, top.chip, with_inputs(top.network, 1));
        before = top.memory.transports;
        top.memory.take_back();
        cpu.read(0, 64);
      });
      if (top.memory.transports == before) throw std::runtime_error("a withdrawn grant was used");
      const std::int64_t direct = top.chip.result().counter("dram0", "direct");
      if ((direct > 0) != grants) throw std::runtime_error("direct accesses: " + std::to_string(direct));
      return std::to_string(top.chip.result().cycles());
    });
  };
  EXPECT_EQ(run(true), run(false)) << "the latency is the same by either way";
}

TEST(ExternalMemory, AP_3_direct_access_is_kept_where_another_region_is_withdrawn) {
  ExternalTop top("configs/switch16.json", "models/worked_dilated.json");
  top.memory.grants = true, top.memory.granted_bytes = 1 << 20;
  simulate_software(top, [&](Cpu& cpu) {
    cpu.read(0, 64);
    const int before = top.memory.transports;
    cpu.read(0, 64);
    EXPECT_EQ(top.memory.transports, before) << "it was granted";
    top.memory.socket->invalidate_direct_mem_ptr(1 << 21, (1 << 22) - 1);
    cpu.read(0, 64);
    EXPECT_EQ(top.memory.transports, before);
  });
}

// What is granted ends inside of bursts of programs, weights and maps, which are sent then.
TEST(ExternalMemory, AP_3_direct_access_is_used_inside_of_what_was_granted) {
  for (const std::uint64_t end : {29000, 41000}) {
    const std::string across = in_child([&] {
      ExternalTop top("configs/cluster4.json");
      top.memory.grants = true, top.memory.granted_bytes = end;
      run_own_inputs(top);
      if (top.chip.result().counter("dram0", "direct") == 0) throw std::runtime_error("no direct access");
      return std::to_string(top.memory.across);
    });
    EXPECT_NE(across, "0") << end;
  }
}

// Both controllers fill their queues, and none sends more.
TEST(ExternalMemory, AP_3_requests_under_way_are_those_of_the_queue) {
  for (const int depth : {1, 3}) {
    const std::string most = in_child([&] {
      ExternalTop top(with("configs/cluster4.json", R"("queue_depth": 64)",
                           R"("queue_depth": )" + std::to_string(depth)));
      run_own_inputs(top);
      return std::to_string(top.memory.most);
    });
    EXPECT_EQ(most, std::to_string(2 * depth));
  }
}

TEST(ExternalMemory, AP_3_an_answer_that_is_an_error_ends_the_simulation) {
  ExternalTop top("configs/switch16.json", "models/worked_dilated.json");
  top.memory.wrong_from = 0;
  top.cpu.software = [](Cpu& cpu) { cpu.start(); };
  try {
    sc_core::sc_start();
    FAIL() << "the error is not told";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("TLM_ADDRESS_ERROR_RESPONSE to a read of"), std::string::npos)
        << error.what();
  }
}

TEST(ExternalMemory, AP_3_option_and_binding_must_agree) {
  const auto error_of = [](const RunOptions& options, bool binds) {
    return in_child([&] {
      Top top(Hardware::load(kFolder + "configs/switch16.json"), "models/worked_dilated.json", options);
      std::optional<UsersMemory> memory;
      if (binds) top.chip.memory.bind(memory.emplace("users_memory", 1 << 20, sc_core::SC_ZERO_TIME).socket);
      try {
        sc_core::sc_start();
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string();
    });
  };
  EXPECT_NE(error_of(kExternal, false).find("is not bound"), std::string::npos);
  EXPECT_NE(error_of({}, true).find("a memory is bound"), std::string::npos);
  EXPECT_THROW(simulate(Hardware::load(kFolder + "configs/switch16.json"),
                        plan(Hardware::load(kFolder + "configs/switch16.json"),
                             Network::load(kFolder + "models/worked_dilated.json")),
                        kExternal),
               UserError);
}

TEST(Reset, AP_3_the_same_programs_run_again_on_other_inputs) {
  Top top("configs/cluster4.json", "models/small_chain.json");
  std::vector<Result> results;
  simulate_software(top, [&](Cpu& cpu) {
    for (const int seed : {1, 2, 3}) {
      run_once(cpu, top.chip, with_inputs(top.network, seed));
      EXPECT_EQ(cpu.status(), 2U);
      results.push_back(top.chip.result());
      cpu.reset();
      sc_core::wait(1, sc_core::SC_NS);
      EXPECT_EQ(cpu.status(), 0U);
      EXPECT_FALSE(top.interrupt.read());
    }
  });
  EXPECT_THROW(top.chip.result(), UserError) << "the last run was reset";
  ASSERT_EQ(results.size(), 3U);
  for (const Result& result : results) {
    EXPECT_TRUE(result.passed()) << result.failures().front();
    EXPECT_EQ(result.macs(), results.front().macs());
    EXPECT_EQ(result.layers().size(), results.front().layers().size());
    const auto first = static_cast<double>(results.front().cycles());
    EXPECT_NEAR(static_cast<double>(result.cycles()), first, 0.02 * first + 30);
    // Counters are those of the run: the processor's own accesses are made before and after it.
    for (const char* const port : {"noc.cluster0.core0.iodma", "noc.cluster0.core0.fetch"})
      EXPECT_EQ(result.counter(port, "read"), results.front().counter(port, "read")) << port;
  }
}

TEST(Reset, AP_3_another_plan_is_loaded_and_memories_are_kept_or_cleared) {
  Top top("configs/offset_cluster4x4.json", "models/small_chain.json");
  const Hardware hardware = Hardware::load(kFolder + "configs/offset_cluster4x4.json");
  const Network other = Network::load(kFolder + "models/worked_dense.json");
  const NetworkPlan first = plan(hardware, top.network), second = plan(hardware, other);
  const std::uint64_t mark = std::uint64_t{1} << 26;
  simulate_software(top, [&](Cpu& cpu) {
    run_once(cpu, top.chip, with_inputs(top.network, 1));
    cpu.write(mark, {1, 2, 3, 4});
    top.chip.load(second);
    run_once(cpu, top.chip, with_inputs(other, 2));
    EXPECT_TRUE(top.chip.result().passed()) << top.chip.result().failures().front();
    EXPECT_EQ(top.chip.result().layers().size(), second.layers().size());
    EXPECT_EQ(cpu.peek(mark, 4), (std::vector<std::uint8_t>{1, 2, 3, 4}));
    top.chip.load(first, Accelerator::Memories::kCleared);
    EXPECT_EQ(cpu.peek(mark, 4), (std::vector<std::uint8_t>{0, 0, 0, 0}));
    run_once(cpu, top.chip, with_inputs(top.network, 3));
    EXPECT_TRUE(top.chip.result().passed()) << top.chip.result().failures().front();
  });
}

// The tables of both networks lie at the same address, and a unit that has read some keeps them.
TEST(Reset, AP_3_tables_that_a_unit_holds_are_read_again_for_another_plan) {
  const Hardware hardware = Hardware::load(kFolder + "configs/offset16.json");
  Top top(hardware, "models/worked_dense.json", {});
  const Network other = Network::load(kFolder + "models/worked_dilated.json");
  const NetworkPlan second = plan(hardware, other);
  simulate_software(top, [&](Cpu& cpu) {
    run_once(cpu, top.chip, top.network);
    top.chip.load(second);
    run_once(cpu, top.chip, other);
  });
}

TEST(Reset, AP_3_what_runs_is_not_reset) {
  Top top("configs/switch16.json", "models/worked_dilated.json");
  const Hardware hardware = Hardware::load(kFolder + "configs/switch16.json");
  const NetworkPlan same = plan(hardware, top.network);
  const Hardware bigger = Hardware::load(kFolder + "configs/cluster4.json");
  const NetworkPlan wrong = plan(bigger, Network::load(kFolder + "models/small_chain.json"));
  simulate_software(top, [&](Cpu& cpu) {
    write_inputs(cpu, top.chip, top.network);
    cpu.start();
    std::vector<std::uint8_t> one{1, 0, 0, 0};
    EXPECT_EQ(cpu.access(tlm::TLM_WRITE_COMMAND, static_cast<std::uint64_t>(AcceleratorRegister::kReset),
                         one.data(), one.size()),
              tlm::TLM_GENERIC_ERROR_RESPONSE);
    EXPECT_THROW(top.chip.reset(), UserError);
    EXPECT_THROW(top.chip.load(same), UserError);
    cpu.until_interrupt();
    EXPECT_THROW(top.chip.load(wrong), UserError);
    expect_outputs(cpu, top.chip, top.network);
  });
}

}  // namespace
}  // namespace tilebeat::testing
