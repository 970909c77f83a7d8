// What limits a run, as reports name it (SPEC UI-13): the busiest port, stores behind loads, unused cores,
// the units of layers without multiply-accumulates.
#include "tilebeat_command.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

// A row of 2048 elements times 1000 kernels: every byte of a kernel comes from DRAM and is used once.
std::string fully_connected(const CommandFolder& folder) {
  return folder.write("fc.json", R"({
    "name": "fc",
    "inputs": [{"name": "x", "shape": [1, 1, 1, 2048], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [{"name": "fc", "op": "fully_connected", "inputs": ["x"], "out_features": 1000,
      "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}}, "requant": {"scale": 0.0005}}],
    "outputs": ["fc"]})");
}

nlohmann::json hardware_of(const std::string& config) {
  return nlohmann::json::parse(read_bytes(source_path(config)));
}

std::int64_t counted(const nlohmann::json& report, const std::string& module, const std::string& name) {
  for (const nlohmann::json& counter : report.at("counters")) {
    if (counter.at("module") == module && counter.at("name") == name)
      return counter.at("value").get<std::int64_t>();
  }
  throw std::runtime_error("no counter " + module);
}

std::int64_t stall(const nlohmann::json& of, const std::string& cause) {
  return of.at("stall_cycles").value(cause, std::int64_t{0});
}

TEST(Limits, UI_13_the_bytes_through_the_busiest_port_are_a_bound_of_their_own) {
  const CommandFolder folder;
  const std::string layer = fully_connected(folder);
  for (const int width : {8, 16, 32}) {
    nlohmann::json hardware = hardware_of("configs/wfold16x4.json");
    hardware["interconnect"]["bytes_per_clock"] = width;
    folder.write("hw.json", hardware.dump());
    const CommandResult run = folder.run({"run", "--config", "hw.json", "--layer", layer});
    ASSERT_EQ(run.status, 0) << run.err;
    const nlohmann::json report = folder.report();
    const nlohmann::json& ran = report.at("layers").at(0);
    const std::string port = "noc.cluster0.core0.iodma";
    const auto bound = ran.at("bound_cycles").at("port").get<std::int64_t>();
    // Every burst takes whole beats.
    const std::int64_t bytes = counted(report, port, "read"), bursts = counted(report, port, "read_bursts");
    EXPECT_GE(bound, bytes / width);
    EXPECT_LE(bound, bytes / width + bursts);
    const auto cycles = ran.at("cycles").get<std::int64_t>();
    EXPECT_LE(bound, cycles);
    if (width > 16) continue;  // there DRAM is the limit
    EXPECT_EQ(ran.at("busiest_port"), port + ".read");
    EXPECT_GT(static_cast<double>(bound), 0.98 * static_cast<double>(cycles));
    EXPECT_NE(run.out.find(" port "), std::string::npos) << run.out;
    EXPECT_EQ(ran.at("busiest").at("module"), port + ".read");
    ASSERT_EQ(folder.run({"report", "tilebeat-out/report.json", "--html", "run.html"}).status, 0);
    EXPECT_NE(read_bytes(folder.path("run.html")).find("<b>The port " + port + ".read limits it.</b>"),
              std::string::npos);
  }
}

TEST(Limits, UI_13_no_layer_takes_fewer_cycles_than_its_busiest_port) {
  const CommandFolder folder;
  for (const char* config :
       {"core1", "offset16", "rolling16", "switch16", "wfold_cluster4x4", "cluster4x4"}) {
    for (const char* layer : {"small_chain", "resnet50_1x1", "encoder_block"}) {
      const CommandResult run =
          folder.run_layer(fmt::format("configs/{}.json", config), fmt::format("models/{}.json", layer));
      if (run.status == 2) continue;  // not every layer runs on a system on chip
      ASSERT_EQ(run.status, 0) << config << " " << layer << ": " << run.err;
      const nlohmann::json report = folder.report();
      for (const nlohmann::json& ran : report.at("layers"))
        EXPECT_LE(ran.at("bound_cycles").at("port").get<std::int64_t>(), ran.at("cycles").get<std::int64_t>())
            << config << " " << layer << " " << ran.at("name");
    }
  }
}

TEST(Limits, UI_13_a_store_behind_loads_is_named_and_a_dma_engine_for_stores_ends_that) {
  const CommandFolder folder;
  const std::string layer = fully_connected(folder);
  nlohmann::json hardware = hardware_of("configs/wfold16x4.json");
  std::map<std::string, nlohmann::json> reports;
  for (const char* stores : {"behind_loads", "between_bursts"}) {
    hardware["chip"]["core"]["stores"] = stores;
    folder.write("hw.json", hardware.dump());
    ASSERT_EQ(folder.run({"run", "--config", "hw.json", "--layer", layer, "--out", stores}).status, 0);
    reports[stores] = folder.report(stores);
    EXPECT_EQ(reports[stores].at("layers").at(0).at("check"), "passed");
  }
  ASSERT_EQ(folder.run({"run", "--config", source_path("configs/wfold16x4.json"), "--layer", layer}).status,
            0);
  EXPECT_EQ(folder.report().at("total"), reports.at("behind_loads").at("total")) << "it is the default";
  const nlohmann::json &behind = reports.at("behind_loads").at("layers").at(0),
                       &between = reports.at("between_bursts").at("layers").at(0);
  EXPECT_GT(2 * stall(behind, "store_queue"), behind.at("cycles").get<std::int64_t>());
  EXPECT_LT(20 * stall(behind, "output_space"), stall(behind, "store_queue"))
      << "a store under way takes a few cycles";
  EXPECT_EQ(stall(between, "store_queue"), 0);
  EXPECT_LE(between.at("cycles").get<std::int64_t>(), behind.at("cycles").get<std::int64_t>());
  EXPECT_EQ(folder.tensors("behind_loads"), folder.tensors("between_bursts"));
  EXPECT_EQ(counted(reports.at("between_bursts"), "noc.cluster0.core0.iostore", "written"), 1000);
}

TEST(Limits, UI_13_a_dma_engine_for_stores_gives_the_same_report_in_both_granularities) {
  const CommandFolder folder;
  for (const char* config : {"core1", "cluster4", "wfold16x4", "offset16"}) {
    nlohmann::json hardware = hardware_of(fmt::format("configs/{}.json", config));
    hardware["chip"]["core"]["stores"] = "between_bursts";
    folder.write("hw.json", hardware.dump());
    for (const char* granularity : {"tile", "clock"}) {
      ASSERT_EQ(folder
                    .run({"run", "--config", "hw.json", "--layer", source_path("models/small_chain.json"),
                          "--granularity", granularity, "--out", granularity})
                    .status,
                0);
    }
    EXPECT_EQ(folder.results("tile"), folder.results("clock")) << config;
  }
}

TEST(Limits, UI_13_cores_that_the_plan_leaves_out_are_unused) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/cluster4x4.json", "models/small_chain.json").status, 0);
  const nlohmann::json report = folder.report();
  int unused = 0, used = 0;
  for (const nlohmann::json& module : report.at("modules")) {
    const std::string name = module.at("name").get<std::string>();
    if (name.find(".engine.array") == std::string::npos) continue;
    const std::int64_t left_out = stall(module, "unused");
    if (left_out == 0) {
      ++used;
      EXPECT_GT(module.at("busy").get<std::int64_t>(), 0) << name;
      continue;
    }
    ++unused;
    EXPECT_EQ(left_out, report.at("total").at("cycles").get<std::int64_t>()) << name;
    EXPECT_EQ(stall(module, "host"), 0) << name;
  }
  EXPECT_EQ(unused + used, 16);
  EXPECT_GT(unused, 8);
  EXPECT_GT(used, 0);
}

TEST(Limits, UI_13_layers_without_products_are_explained_by_the_units_that_work) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/core1.json", "models/encoder_block.json").status, 0);
  int explained = 0;
  const nlohmann::json report = folder.report();
  for (const nlohmann::json& layer : report.at("layers")) {
    EXPECT_EQ(layer.contains("helpers"), layer.at("beats") == 0) << layer.at("name");
    if (!layer.contains("helpers")) continue;
    const nlohmann::json& vector = layer.at("helpers").at("vector");
    std::int64_t all = vector.at("busy").get<std::int64_t>();
    for (const auto& [cause, cycles] : vector.at("stall_cycles").items()) all += cycles.get<std::int64_t>();
    EXPECT_EQ(all, layer.at("cycles").get<std::int64_t>()) << "of the one vector unit";
    explained += vector.at("busy") > 0 ? 1 : 0;
  }
  EXPECT_GT(explained, 0);
  ASSERT_EQ(folder.run({"report", "tilebeat-out/report.json", "--html", "run.html"}).status, 0);
  EXPECT_NE(read_bytes(folder.path("run.html")).find("vector busy <span"), std::string::npos);
}

TEST(Limits, UI_13_a_search_never_ends_with_a_slower_plan) {
  const CommandFolder folder;
  for (const char* config : {"core1", "cluster4", "wfold_cluster4x4"}) {
    nlohmann::json hardware = hardware_of(fmt::format("configs/{}.json", config));
    std::vector<std::int64_t> cycles;
    for (const int search : {0, 3}) {
      hardware["planner"]["search"] = search;
      folder.write("hw.json", hardware.dump());
      ASSERT_EQ(folder
                    .run({"run", "--config", "hw.json", "--layer", source_path("models/resnet18_block.json"),
                          "--check", "off"})
                    .status,
                0);
      cycles.push_back(folder.report().at("total").at("cycles").get<std::int64_t>());
    }
    EXPECT_LE(cycles[1], cycles[0]) << config;
  }
}

}  // namespace
}  // namespace tilebeat::testing
