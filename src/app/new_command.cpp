#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/provenance.h"
#include "tilebeat/error.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

constexpr const char* kHardware = R"({
  "comment": [
    "A chip: each cluster has cores, and each core the engine that `dataflow` names: dilated, wfold, rolling or offset.",
    "What is not here has its default: `tilebeat schema hardware --markdown` lists all fields, units and ranges."
  ],
  "name": "mine",
  "clock_mhz": 1000,
  "dataflow": "dilated",
  "fused": false,
  "switch_array": {
    "comment": "The engine of \"dilated\": rows x columns PEs of port_channels multipliers. The other engines have objects of their own.",
    "rows": 16,
    "columns": 16,
    "groups": 2,
    "port_channels": 4
  },
  "dram": {
    "comment": "ddr4_2400, ddr4_3200, ddr5_4800, lpddr4_3200, lpddr5_6400 or hbm2_2000; single times may be given, too (tRCD_ps).",
    "preset": "ddr4_2400",
    "channels": 1
  },
  "chip": {
    "clusters": 1,
    "cores_per_cluster": 1,
    "memory_controllers": 1,
    "core": {
      "comment": "NRAM holds maps, WRAM kernels; the vector unit computes what is no convolution or product.",
      "nram": {"size_bytes": 524288, "banks": 16, "bank_bytes": 16},
      "wram": {"size_bytes": 1048576, "banks": 16, "bank_bytes": 16},
      "bus": {"bytes_per_clock": 64},
      "vector": {"lanes": 64}
    },
    "sram": {
      "comment": "Of each cluster; fusion groups keep maps there (\"fused\": true).",
      "size_bytes": 2097152
    },
    "cluster_bus": {"bytes_per_clock": 64}
  }
}
)";

constexpr const char* kWorkload = R"({
  "comment": [
    "Two layers on a map of 28 x 28 pixels. Layers read inputs or other layers by name.",
    "\"random\" draws elements; \"file\": \"x.npy\" in its place reads them. `tilebeat import` makes such a file of an ONNX or TensorFlow Lite model.",
    "`tilebeat schema workload --markdown` lists all operators with their fields."
  ],
  "name": "mine",
  "inputs": [
    {"comment": "N, H, W, C", "name": "x", "shape": [1, 28, 28, 32], "dtype": "int8", "random": {"seed": 1}}
  ],
  "layers": [
    {
      "comment": "requant.scale turns sums of 32 bits into int8: input scale x weight scale / output scale.",
      "name": "conv",
      "op": "conv2d",
      "inputs": ["x"],
      "out_channels": 64,
      "kernel": [3, 3],
      "stride": [1, 1],
      "pads": [1, 1, 1, 1],
      "weights": {"random": {"seed": 2}},
      "bias": {"random": {"seed": 3}},
      "activation": "relu",
      "requant": {"scale": 0.0006}
    },
    {"name": "pool", "op": "max_pool", "inputs": ["conv"], "kernel": [2, 2], "stride": [2, 2]}
  ],
  "outputs": ["pool"]
}
)";

constexpr const char* kSuite = R"({
  "comment": [
    "Every layer runs on every configuration, once for each option. Paths start at this file.",
    "`tilebeat check suite.json --update` stores what the runs come to; without --update it compares."
  ],
  "tilebeat_suite": 1,
  "name": "mine",
  "runs": [
    {
      "configs": ["hardware.json"],
      "layers": ["workload.json"],
      "options": [
        {"label": "alone"},
        {"label": "fused", "set": {"config": {"/fused": true}}}
      ]
    }
  ]
}
)";

constexpr const char* kSweep = R"({
  "comment": [
    "All combinations of the values of the axes, which are places (JSON pointers) of the hardware, or of the workload with \"target\": \"layer\".",
    "`tilebeat sweep sweep.json` runs them and writes a table and a page. Paths start at this file."
  ],
  "tilebeat_sweep": 1,
  "name": "mine",
  "config": "hardware.json",
  "layer": "workload.json",
  "axes": [
    {"name": "rows", "target": "config", "pointer": "/switch_array/rows", "values": [8, 16]},
    {"name": "dram", "target": "config", "pointer": "/dram/preset", "values": ["lpddr4_3200", "ddr5_4800"]}
  ]
}
)";

// The schema of a kind that lies beside the program, for editors: installed, or in the folder of the build.
// Empty: there is none.
std::string schema_of(const std::string& kind) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(own_path()).parent_path();
  for (const char* place : {"../share/tilebeat/schemas", "schemas"}) {
    const fs::path file = (folder / place / (kind + ".schema.json")).lexically_normal();
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return "";
}

std::string beginning_of(const std::string& kind) {
  std::string text = kind == "hardware"   ? kHardware
                     : kind == "workload" ? kWorkload
                     : kind == "suite"    ? kSuite
                                          : kSweep;
  if (const std::string schema = schema_of(kind); !schema.empty())
    text.insert(text.find('\n') + 1, fmt::format("  \"$schema\": {},\n", nlohmann::json(schema).dump()));
  return text;
}

}  // namespace

void define_new(CLI::App& app, NewCommand& c) {
  app.add_option("kind", c.kind, "hardware, workload, suite or sweep")
      ->required()
      ->check(CLI::IsMember({"hardware", "workload", "suite", "sweep"}));
  app.add_option("--out", c.out, "write it there, where no file may be (default: print it)")
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.footer(R"(Examples:
  tilebeat new hardware --out hardware.json
  tilebeat new workload --out workload.json
  tilebeat run --config hardware.json --layer workload.json)");
}

int begin_file(const NewCommand& command) {
  const std::string text = beginning_of(command.kind);
  if (command.out.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::error_code ignored;
  if (std::filesystem::symlink_status(command.out, ignored).type() != std::filesystem::file_type::not_found)
    throw UserError(fmt::format("--out {}: is there already", command.out));
  OutputFiles files;
  files.write(command.out, text);
  files.commit_new();
  return 0;
}

}  // namespace tilebeat
