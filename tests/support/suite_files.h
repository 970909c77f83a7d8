#pragma once

// Suites of tests.

#include "tilebeat_command.h"
#include "workload/npy.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// A folder with a suite of 20 runs: four workloads on five configurations. `work/copied.json` copies its
/// input `work/x.npy` by a multiplication with one; `hw/own.json` names one knob of the hardware.
class SuiteFolder : public CommandFolder {
 public:
  SuiteFolder() {
    for (const char* folder : {"hw", "work"}) std::filesystem::create_directory(path(folder));
    write_input({1, 2, 3, 4, 5, 6, 7, 8});
    write_npy(path("work/one.npy"), Tensor{{1, 1, 1, 1}, DType::kInt8, {1}});
    write("work/copied.json", R"({
      "inputs": [{"name": "x", "shape": [1, 2, 4, 1], "file": "x.npy"}],
      "layers": [{"name": "copy", "op": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel": [1, 1],
                  "weights": {"file": "one.npy"}, "requant": {"scale": 1}}]})");
    write("hw/own.json", R"({"switch_array": {"post_latency_cycles": 4}})");
    nlohmann::json configs{"hw/own.json"}, layers{"work/copied.json"};
    for (const char* config : {"switch16", "switch8", "switch16_lpddr4", "switch16_table1"})
      configs.push_back(source_path(std::string("configs/") + config + ".json"));
    for (const char* layer : {"worked_dense", "worked_dilated", "worked_scenes"})
      layers.push_back(source_path(std::string("models/") + layer + ".json"));
    write_suite({{"tilebeat_suite", 1},
                 {"name", "twenty"},
                 {"runs", {{{"configs", std::move(configs)}, {"layers", std::move(layers)}}}}});
  }

  void write_input(const std::vector<std::uint8_t>& elements) const {
    write_npy(path("work/x.npy"), Tensor{{1, 2, 4, 1}, DType::kInt8, elements});
  }
  void write_suite(const nlohmann::json& suite) const { write("suite.json", suite.dump(1)); }
  std::string text() const { return read_bytes(path("suite.json")); }
  nlohmann::json suite() const { return nlohmann::json::parse(text()); }

  /// `tilebeat check suite.json MORE...`.
  CommandResult check(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"check", "suite.json"});
    return run(more);
  }
};

}  // namespace tilebeat::testing
