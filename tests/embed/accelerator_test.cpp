// A chip as a module of somebody else's top level: docs/embedding.md (UI-12).
#include "tilebeat/accelerator.h"

#include "tilebeat/error.h"
#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/result.h"
#include "tilebeat/workload.h"
#include "top_level.h"

#include <array>
#include <random>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr RunOptions kClockByClock{RunOptions::Granularity::kClock};

struct RunTotals {
  std::int64_t cycles = 0, macs = 0;
};

/// The processor of `top` writes other inputs than the network's, and reads the results back.
void expect_results_of_own_inputs(Top& top) {
  Network changed = top.network;
  std::mt19937 random(77);
  for (const std::string& name : changed.inputs()) {
    TensorData input = changed.input(name);
    for (std::uint8_t& byte : input.bytes) byte = static_cast<std::uint8_t>(random());
    changed.set_input(name, std::move(input.bytes));
    EXPECT_NE(changed.input(name).bytes, top.network.input(name).bytes) << "the copy alone has changed";
  }
  const std::map<std::string, TensorData> wanted = changed.reference_outputs();
  bool ended = false;
  top.cpu.software = [&](Cpu& cpu) {
    EXPECT_EQ(cpu.status(), 0U);
    for (const std::string& name : changed.inputs()) {
      const TensorPlace place = top.chip.placement(name);
      cpu.write(place.address(), place.to_memory(changed.input(name).bytes));
    }
    sc_core::wait(3, sc_core::SC_US);  // the cycles of a run do not depend on when it begins
    EXPECT_FALSE(top.interrupt.read());
    cpu.start();
    EXPECT_EQ(cpu.status(), 1U);
    cpu.until_interrupt();
    EXPECT_EQ(cpu.status(), 2U);
    for (const std::string& name : top.network.outputs()) {
      const TensorPlace place = top.chip.placement(name);
      EXPECT_EQ(place.shape(), wanted.at(name).shape);
      EXPECT_EQ(place.type(), wanted.at(name).type);
      const std::vector<std::uint8_t> stored = cpu.read(place.address(), place.size_bytes());
      EXPECT_EQ(stored, cpu.peek(place.address(), place.size_bytes()));
      EXPECT_EQ(place.from_memory(stored), wanted.at(name).bytes);
    }
    ended = true;
  };
  sc_core::sc_start();
  EXPECT_TRUE(ended) << top.chip.describe_state();
}

/// A run that begins by itself.
RunTotals alone(const std::string& config, const std::string& layer, const RunOptions& options = {}) {
  std::istringstream text(in_child([&] {
    strict_systemc();
    const Hardware hardware = Hardware::load(kFolder + config);
    const Result result = simulate(hardware, plan(hardware, Network::load(kFolder + layer)), options);
    if (!result.passed()) throw std::runtime_error(result.failures().front());
    return std::to_string(result.cycles()) + " " + std::to_string(result.macs());
  }));
  RunTotals totals;
  text >> totals.cycles >> totals.macs;
  return totals;
}

/// The cycles are the same but for where in its refreshes and rows DRAM stands.
void expect_totals(Top& top, const RunTotals& wanted) {
  const Result result = top.chip.result();
  EXPECT_TRUE(result.passed()) << result.failures().front();
  const auto cycles = static_cast<double>(wanted.cycles);
  EXPECT_NEAR(static_cast<double>(result.cycles()), cycles, 0.02 * cycles + 30);
  EXPECT_EQ(result.macs(), wanted.macs);
}

TEST(Accelerator, UI_12_an_engine_computes_what_a_master_outside_wrote) {
  const RunTotals wanted = alone("configs/switch16.json", "models/worked_dilated.json");
  Top top("configs/switch16.json", "models/worked_dilated.json");
  expect_results_of_own_inputs(top);
  expect_totals(top, wanted);
}

TEST(Accelerator, UI_12_a_chip_of_clusters_in_clock_granularity) {
  const RunTotals wanted = alone("configs/cluster4.json", "models/small_chain.json", kClockByClock);
  Top top("configs/cluster4.json", "models/small_chain.json", kClockByClock);
  expect_results_of_own_inputs(top);
  expect_totals(top, wanted);
}

/// The hardware of a file with `from` replaced by `to` in its effective configuration.
Hardware changed_hardware(const std::string& config, const std::string& from, const std::string& to) {
  std::string text = Hardware::load(kFolder + config).json();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error(config + " has no " + from);
  return Hardware::parse(text.replace(at, from.size(), to));
}

TEST(Accelerator, UI_12_a_chip_with_a_start_unit_has_both_ports) {
  const Hardware hardware =
      changed_hardware("configs/cluster4x4.json", R"("start": "each")", R"("start": "table")");
  Top top(hardware, "models/small_chain.json", {});
  expect_results_of_own_inputs(top);
}

TEST(Accelerator, UI_12_maps_may_lie_in_another_order_in_memory) {
  const Hardware hardware =
      changed_hardware("configs/cluster4.json", R"("map_layout": "nhwc")", R"("map_layout": "nchw")");
  Top top(hardware, "models/small_chain.json", {});
  const std::string name = top.network.inputs().front();
  const TensorPlace place = top.chip.placement(name);
  const std::vector<std::uint8_t> elements = top.network.input(name).bytes;
  EXPECT_NE(place.to_memory(elements), elements);
  EXPECT_EQ(place.from_memory(place.to_memory(elements)), elements);
  EXPECT_THROW(place.to_memory({1}), UserError);
  EXPECT_THROW(place.from_memory({1}), UserError);
  expect_results_of_own_inputs(top);
}

TEST(Accelerator, UI_12_wrong_accesses_are_answered_with_errors_and_change_nothing) {
  Top top("configs/switch16.json", "models/worked_dilated.json");
  const std::uint64_t end = top.chip.memory_bytes();
  const auto start = static_cast<std::uint64_t>(AcceleratorRegister::kStart);
  const auto status = static_cast<std::uint64_t>(AcceleratorRegister::kStatus);
  const auto reset = static_cast<std::uint64_t>(AcceleratorRegister::kReset);
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
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, start + 24, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_READ_COMMAND, reset, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, start, 2), tlm::TLM_BURST_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_READ_COMMAND, start, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_WRITE_COMMAND, status, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(answer(tlm::TLM_IGNORE_COMMAND, 0, 4), tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(cpu.status(), 0U);
  };
  sc_core::sc_start();
  EXPECT_EQ(checked, 9);
  EXPECT_THROW(top.chip.result(), UserError) << "nothing has run";
  EXPECT_THROW(top.chip.placement("nothing"), UserError);
}

// What a master moves while the programs run costs time and changes no result.
TEST(Accelerator, UI_12_a_master_that_reads_beside_the_run_competes_with_it) {
  const RunTotals undisturbed = alone("configs/switch16.json", "models/worked_dilated.json");
  Top top("configs/switch16.json", "models/worked_dilated.json");
  const std::map<std::string, TensorData> wanted = top.network.reference_outputs();
  int accesses = 0;
  top.cpu.software = [&](Cpu& cpu) {
    cpu.start();
    while (!top.interrupt.read()) {
      cpu.read(std::uint64_t{1} << 24, 4096);
      ++accesses;
    }
  };
  sc_core::sc_start();
  EXPECT_GT(accesses, 1);
  const Result result = top.chip.result();
  EXPECT_TRUE(result.passed()) << result.failures().front();
  EXPECT_GT(result.cycles(), undisturbed.cycles);
  for (const std::string& name : top.network.outputs())
    EXPECT_EQ(result.outputs().at(name).bytes, wanted.at(name).bytes);
}

TEST(Accelerator, UI_12_a_plan_for_other_hardware_is_refused) {
  const Hardware planned = Hardware::load(kFolder + "configs/cluster4.json");
  const NetworkPlan made = plan(planned, Network::load(kFolder + "models/small_chain.json"));
  EXPECT_THROW(Accelerator("chip", Hardware::load(kFolder + "configs/cluster4x4.json"), made), UserError);
  const Accelerator same("same", Hardware::load(kFolder + "configs/cluster4.json"), made);
  EXPECT_EQ(same.status(), AcceleratorStatus::kIdle) << "the same file again is the same hardware";
}

}  // namespace
}  // namespace tilebeat::testing
