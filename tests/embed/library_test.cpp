// What a program of the user's sees of hardware, networks, plans and results: include/tilebeat (UI-12).
#include "systemc_test.h"
#include "tilebeat/error.h"
#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/result.h"
#include "tilebeat/workload.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

const std::string kCheckout = std::string(TILEBEAT_SOURCE_DIR) + "/";

/// The text of the UserError that `body` throws.
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Library, UI_12_hardware_is_read_from_files_and_texts) {
  const Hardware file = Hardware::load(kCheckout + "configs/cluster4x4.json");
  EXPECT_EQ(file.cores(), 16);
  EXPECT_GT(file.peak_macs_per_cycle(), 0);
  const Hardware copy = Hardware::parse(file.json());
  EXPECT_EQ(copy.name(), file.name());
  EXPECT_EQ(copy.clock_mhz(), file.clock_mhz());
  EXPECT_EQ(copy.json(), file.json());
  EXPECT_THAT(error_of([] { Hardware::load("nothing.json"); }), HasSubstr("nothing.json"));
  EXPECT_THAT(error_of([] { Hardware::parse(R"({"clock_mhz": -1})", "mine"); }),
              HasSubstr("mine: /clock_mhz"));
  EXPECT_THAT(error_of([] { Hardware::parse("{", "mine"); }), HasSubstr("mine"));
}

TEST(Library, UI_12_inputs_of_a_network_are_bytes) {
  Network network = Network::load(kCheckout + "models/small_chain.json");
  const std::string name = network.inputs().at(0);
  TensorData input = network.input(name);
  EXPECT_EQ(input.shape.size(), 4U);
  const auto elements =
      std::accumulate(input.shape.begin(), input.shape.end(), std::int64_t{1}, std::multiplies<>());
  EXPECT_EQ(input.bytes.size(), static_cast<std::size_t>(elements)) << "of int8 or uint8";
  const auto before = network.reference_outputs();
  for (std::uint8_t& byte : input.bytes) byte = static_cast<std::uint8_t>(~byte);
  network.set_input(name, input.bytes);
  EXPECT_EQ(network.input(name).bytes, input.bytes);
  const std::string output = network.outputs().at(0);
  EXPECT_NE(network.reference_outputs().at(output).bytes, before.at(output).bytes);
  EXPECT_THAT(error_of([&] { network.set_input(name, {1}); }), HasSubstr(name));
  EXPECT_THAT(error_of([&] { network.input("nothing"); }), HasSubstr("nothing"));
  EXPECT_THAT(error_of([] { Network::load("net.onnx"); }), HasSubstr("tilebeat import"));
}

TEST(Library, UI_12_a_plan_has_layers_a_text_and_a_mapping_that_can_be_asked_for) {
  const Hardware hardware = Hardware::load(kCheckout + "configs/cluster4.json");
  const Network network = Network::load(kCheckout + "models/small_chain.json");
  const NetworkPlan made = plan(hardware, network);
  ASSERT_FALSE(made.layers().empty());
  for (const NetworkPlan::Layer& layer : made.layers()) {
    EXPECT_GT(layer.estimated_cycles, 0) << layer.name;
    EXPECT_GT(layer.dram_write_bytes, 0) << layer.name;
    EXPECT_THAT(made.text(), HasSubstr("layer " + layer.name + " (" + layer.op));
  }
  EXPECT_GT(made.dram_bytes(), 0U);
  nlohmann::json mapping = nlohmann::json::parse(made.mapping());
  EXPECT_EQ(plan(hardware, network, {made.mapping()}).mapping(), made.mapping());
  ASSERT_FALSE(mapping.at("layers").empty());
  mapping["layers"][0]["layer"] = "nothing";
  EXPECT_THAT(error_of([&] { plan(hardware, network, {mapping.dump()}); }), HasSubstr("nothing"));
  EXPECT_THAT(error_of([&] { plan(hardware, network, {"["}); }), HasSubstr("mapping"));
}

TEST(Library, UI_12_layers_that_run_as_one_are_one_layer_of_plan_and_result) {
  nlohmann::json fusing = nlohmann::json::parse(Hardware::load(kCheckout + "configs/cluster4.json").json());
  fusing["fused"] = true;
  const Hardware hardware = Hardware::parse(fusing.dump());
  const Network network = Network::load(kCheckout + "models/small_chain.json");
  const NetworkPlan made = plan(hardware, network);
  const std::string output = network.outputs().at(0);
  ASSERT_EQ(made.layers().size(), 1U);
  const NetworkPlan::Layer group = made.layers()[0];
  EXPECT_EQ(group.name, output);
  EXPECT_EQ(group.op, "fused");
  EXPECT_EQ(group.layers.size(), 3U);
  strict_systemc();
  const Result result = simulate(hardware, made, {RunOptions::Granularity::kClock});
  EXPECT_TRUE(result.passed()) << result.failures().front();
  ASSERT_EQ(result.layers().size(), 1U);
  EXPECT_EQ(result.layers()[0].layers, group.layers);
  ASSERT_EQ(result.outputs().size(), 1U) << "the other maps stay on the chip";
  EXPECT_EQ(result.outputs().at(output).bytes, network.reference_outputs().at(output).bytes);
}

TEST(Library, UI_12_what_does_not_fit_names_its_layer) {
  std::string text = Hardware::load(kCheckout + "configs/cluster4.json").json();
  nlohmann::json small = nlohmann::json::parse(text);
  small["chip"]["core"]["nram"]["size_bytes"] = 256;
  const Hardware hardware = Hardware::parse(small.dump());
  const Network network = Network::load(kCheckout + "models/small_chain.json");
  EXPECT_THAT(error_of([&] { plan(hardware, network); }), HasSubstr("layer '"));
}

TEST(Library, UI_12_a_result_has_cycles_layers_outputs_and_report) {
  const Hardware hardware = Hardware::load(kCheckout + "configs/cluster4.json");
  const Network network = Network::load(kCheckout + "models/small_chain.json");
  const NetworkPlan made = plan(hardware, network);
  strict_systemc();
  const Result result = simulate(hardware, made);
  EXPECT_TRUE(result.passed()) << result.failures().front();
  const auto report = nlohmann::json::parse(result.report());
  EXPECT_EQ(report.at("total").at("cycles"), result.cycles());
  EXPECT_EQ(report.at("total").at("macs"), result.macs());
  EXPECT_THAT(result.table(), HasSubstr("total"));
  ASSERT_EQ(result.layers().size(), made.layers().size());
  std::int64_t cycles = 0;
  for (std::size_t i = 0; i < result.layers().size(); ++i) {
    const Result::Layer& layer = result.layers()[i];
    cycles += layer.cycles;
    EXPECT_EQ(layer.name, made.layers()[i].name);
    EXPECT_EQ(layer.dram_write_bytes, made.layers()[i].dram_write_bytes);
    EXPECT_GT(layer.utilization, 0) << layer.name;
  }
  EXPECT_EQ(cycles, result.cycles());
  const auto wanted = network.reference_outputs();
  for (const auto& [name, output] : result.outputs()) {
    EXPECT_EQ(output.bytes, wanted.at(name).bytes) << name;
    EXPECT_EQ(output.shape, wanted.at(name).shape) << name;
    EXPECT_EQ(output.type, wanted.at(name).type) << name;
  }
  EXPECT_EQ(result.outputs().count(network.outputs().at(0)), 1U);
  for (const auto& counter : report.at("counters"))
    EXPECT_EQ(result.counter(counter.at("module"), counter.at("name")), counter.at("value")) << counter;
  for (const auto& module : report.at("modules")) {
    EXPECT_EQ(result.module_cycles(module.at("name"), "busy"), module.at("busy")) << module;
    for (const auto& [cause, count] : module.at("stall_cycles").items())
      EXPECT_EQ(result.module_cycles(module.at("name"), cause), count) << module;
  }
  EXPECT_THAT(error_of([&] { result.counter("dram0.ch0", "row_hit"); }),
              HasSubstr("the nearest name is row_hits"));
  EXPECT_THAT(error_of([&] { result.counter("dram0.chh0", "row_hits"); }),
              HasSubstr("the nearest name is dram0.ch0"));
  EXPECT_THAT(error_of([&] { result.module_cycles("host", "bussy"); }),
              HasSubstr("the nearest name is busy"));
  EXPECT_THAT(error_of([&] { result.module_cycles("ghost", "busy"); }),
              HasSubstr("the nearest name is host"));
  EXPECT_THAT(error_of([&] { simulate(hardware, made); }), HasSubstr("once"));
}

}  // namespace
}  // namespace tilebeat::testing
