// That a matrix engine is one folder and one line: a program linked with an engine more, of which the product
// knows nothing, plans, simulates, reports and explains it as it does its own (docs/adding_an_engine.md).
#include "engines/dot/config.h"
#include "engines/dot/operations.h"
#include "random_wfold.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "tilebeat/error.h"
#include "tilebeat_command.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

HardwareConfig dot_chip(int cores, int lanes) {
  HardwareConfig hardware;
  hardware.dataflow = dot::kDataflow;
  hardware.engine<dot::DotConfig>().lanes = lanes;
  hardware.chip.emplace();
  hardware.chip->cores_per_cluster = cores;
  check_hardware(hardware, "chip of dot-product engines");
  return hardware;
}

/// 3 x 3 kernels with everything that a convolution can have.
ConvShape rich_layer() {
  ConvShape shape;
  shape.height = 9, shape.width = 11, shape.channels = 6, shape.out_channels = 8, shape.groups = 2;
  shape.kernel = {3, 3}, shape.stride = {2, 1}, shape.dilation = {1, 2}, shape.pads = {1, 2, 1, 2};
  shape.input_zero_point = 3, shape.weight_zero_point = -2;
  shape.bias = true;
  shape.requant = Requant{{0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008}, -5, DType::kInt8};
  return shape;
}

// ---- one line ----

std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream text(read_bytes(source_path(file)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(ToyEngine, the_list_of_engines_differs_from_the_products_in_one_line) {
  const std::vector<std::string> product = lines_of("src/engines/list.h");
  const std::vector<std::string> toy = lines_of("tests/toy_engine/src/engines/list.h");
  ASSERT_EQ(toy.size(), product.size() + 1);
  const auto differs = std::mismatch(product.begin(), product.end(), toy.begin());
  EXPECT_THAT(*differs.second, HasSubstr("ENGINE(dot)"));
  EXPECT_TRUE(std::equal(differs.first, product.end(), std::next(differs.second))) << "a second line";
}

TEST(ToyEngine, nothing_of_the_product_names_it) {
  for (const char* folder : {"include", "src"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read_bytes(entry.path().string());
      EXPECT_EQ(text.find("engines/dot"), std::string::npos) << entry.path();
      EXPECT_EQ(text.find("dot::"), std::string::npos) << entry.path();
    }
  }
}

/// Without what indents it.
std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

TEST(ToyEngine, the_guide_quotes_its_code) {
  std::set<std::string> code;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path("tests/toy_engine"))) {
    if (!entry.is_regular_file()) continue;
    for (const std::string& line :
         lines_of(std::filesystem::relative(entry.path(), source_path("")).string()))
      code.insert(trimmed(line));
  }
  bool quoting = false;
  int quoted = 0;
  for (const std::string& line : lines_of("docs/adding_an_engine.md")) {
    if (line.rfind("```", 0) == 0) {
      quoting = line == "```cpp";
    } else if (quoting && trimmed(line) != "...") {
      EXPECT_EQ(code.count(trimmed(line)), 1U) << line;
      ++quoted;
    }
  }
  EXPECT_GT(quoted, 80);
}

// ---- layers ----

/// Plans and runs in both granularities, outputs against the reference operators; returns a run.
SimulatedRun check_layer(const Workload& workload, const HardwareConfig& hardware) {
  const Plan plan = make_plan(workload, hardware);
  SimulationOptions options;
  options.granularity = Granularity::kTile;
  SimulatedRun tile = simulate_in_child(hardware, plan, options);
  options.granularity = Granularity::kClock;
  options.jitter_seed = 7, options.build_order_seed = 7;
  const SimulatedRun clock = simulate_in_child(hardware, plan, options);
  EXPECT_EQ(tile.failures, std::vector<std::string>{});
  EXPECT_EQ(tile.report_text, clock.report_text);
  const auto expected = run_reference(workload);
  for (const std::string& name : workload.outputs) {
    EXPECT_FALSE(first_mismatch(name, expected.at(name), tile.outputs.at(name)).has_value()) << name;
    EXPECT_EQ(tile.outputs.at(name).bytes, clock.outputs.at(name).bytes) << name;
  }
  return tile;
}

TEST(ToyEngine, HI_2_layers_are_right_on_one_core_and_on_four) {
  const Workload workload = conv_workload(rich_layer());
  for (const int lanes : {1, 2, 4}) {
    SCOPED_TRACE(lanes);
    const SimulatedRun one = check_layer(workload, dot_chip(1, lanes));
    const SimulatedRun four = check_layer(workload, dot_chip(4, lanes));
    // 5 x 11 outputs of 8 kernels, 9 taps each over the 3 channels of a group.
    const std::int64_t beats = 5 * 11 * 8 * 9 * ((3 + lanes - 1) / lanes);
    EXPECT_EQ(one.layer().at("beats"), beats);
    EXPECT_EQ(four.layer().at("beats"), beats) << "cores share the outputs";
    EXPECT_LT(2 * four.cycles(), one.cycles());
    EXPECT_EQ(one.counter("cluster0.core0.dot", "useful_macs"), 5 * 11 * 8 * 9 * 3);
    EXPECT_EQ(one.module("cluster0.core0.dot").at("busy"), beats);
  }
}

TEST(ToyEngine, NU_2_sums_leave_as_they_are_without_requantisation) {
  ConvShape shape = rich_layer();
  shape.requant.reset();
  shape.input_type = DType::kUint8;
  check_layer(conv_workload(shape), dot_chip(4, 8));
}

TEST(ToyEngine, CY_3_a_corrupted_byte_of_nram_is_noticed) {
  const Workload workload = conv_workload(rich_layer());
  const HardwareConfig hardware = dot_chip(1, 4);
  SimulationOptions options;
  for (int bank = 0; bank < hardware.matrix_engine().fault_space(hardware).banks; ++bank)
    options.faults.push_back({FaultPlace::kEngine, 0, 0, "", {bank, 0, 0x40}});
  const SimulatedRun run = simulate_in_child(hardware, make_plan(workload, hardware), options);
  EXPECT_NE(run.outputs.at("conv").bytes, run_reference(workload).at("conv").bytes);
}

TEST(ToyEngine, HI_1_HI_4_CY_3_random_layers_on_random_chips) {
  int refused = 0;
  check_cases(40, [&] {
    HardwareConfig hardware = random_chip();
    hardware.dataflow = dot::kDataflow;
    auto& config = hardware.engine<dot::DotConfig>();
    config.lanes = skewed(16);
    config.kernel_bytes = config.lanes * number(64, 512);
    const ConvShape shape = random_wfold_layer(20'000);
    RC_LOG() << to_text(shape) << "\n" << hardware_to_json(hardware).dump() << "\n";
    const Workload workload = conv_workload(shape);
    Plan plan;
    try {
      plan = make_plan(workload, hardware);
    } catch (const UserError& error) {
      RC_ASSERT(std::string(error.what()).find("cannot fit") != std::string::npos);
      ++refused;
      return;
    }
    SimulationOptions options;
    const SimulatedRun tile = simulate_in_child(hardware, plan, options, 30);
    options.granularity = Granularity::kClock;
    options.jitter_seed = static_cast<std::uint32_t>(number(1, 1000));
    const SimulatedRun clock = simulate_in_child(hardware, plan, options, 30);
    RC_ASSERT(tile.failures == std::vector<std::string>{});
    RC_ASSERT(tile.outputs.at("conv").bytes == run_reference(workload).at("conv").bytes);
    RC_ASSERT(tile.report_text == clock.report_text);
  });
  EXPECT_LE(refused, 20) << "layers that cannot fit are the exception";
}

TEST(ToyEngine, UI_5_a_layer_that_cannot_fit_names_what_is_too_small) {
  HardwareConfig hardware = dot_chip(1, 4);
  hardware.engine<dot::DotConfig>().kernel_bytes = 24;
  try {
    make_plan(conv_workload(rich_layer()), hardware);
    FAIL() << "27 bytes do not fit into 24";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a kernel takes 27 bytes, dot.kernel_bytes is 24"));
  }
}

// ---- what comes for free ----

TEST(ToyEngine, its_instruction_is_encoded_and_assembles_back) {
  const Plan plan = make_plan(conv_workload(rich_layer()), dot_chip(4, 4));
  int runs = 0;
  for (const ProgramImage& program : plan.programs) {
    for (const Instruction& instruction : program.instructions) {
      const std::string text = disassemble(instruction);
      EXPECT_EQ(encode(assemble(text)), encode(instruction)) << text;
      EXPECT_EQ(disassemble(decode(encode(instruction))), text);
      if (!instruction.operation.is<dot::DotRun>()) continue;
      EXPECT_EQ(text.rfind("dot.run ", 0), 0U) << text;
      EXPECT_THAT(text, HasSubstr(" map=0x4"));
      ++runs;
    }
  }
  EXPECT_GE(runs, 4) << "every core has its own";
}

std::string refusal_of(const char* text) {
  try {
    parse_hardware(nlohmann::json::parse(text), "hw.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(ToyEngine, UI_2_its_configuration_is_read_and_checked) {
  EXPECT_EQ(refusal_of(R"({"dataflow": "dot", "chip": {}, "dot": {"lanes": 8}})"), "");
  const std::string range = refusal_of(R"({"dot": {"lanes": 65}})");
  EXPECT_THAT(range, HasSubstr("/dot/lanes"));
  EXPECT_THAT(range, HasSubstr("1 to 64"));
  const std::string rule = refusal_of(R"({"dot": {"lanes": 3}})");
  EXPECT_THAT(rule, HasSubstr("/dot/kernel_bytes: 4096 is not allowed"));
  EXPECT_THAT(rule, HasSubstr("a multiple of lanes (3)"));
  EXPECT_THAT(refusal_of(R"({"dataflow": "dot"})"), HasSubstr("a file with `chip`"));
  EXPECT_THAT(refusal_of(R"({"dataflow": "dots"})"),
              HasSubstr(R"("dilated", "wfold", "rolling", "offset", "dot")"));
}

// ---- a whole binary ----

constexpr const char* kHardware = R"({"name": "dot1", "dataflow": "dot", "dot": {"lanes": 8},
                                      "chip": {"cores_per_cluster": 1}})";

TEST(ToyBinary, UI_1_the_command_line_knows_the_engine) {
  const CommandFolder folder;
  const std::string hardware = folder.write("hw.json", kHardware);
  const std::string workload = source_path("models/worked_dense.json");

  const CommandResult plan = folder.run({"plan", "--config", hardware, "--layer", workload, "--disassemble"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("dot.run"));
  EXPECT_THAT(plan.out, HasSubstr("dot product")) << "what the engine explains";

  const CommandResult schema = folder.run({"schema", "hardware"});
  EXPECT_EQ(schema.status, 0) << schema.err;
  const nlohmann::json properties = nlohmann::json::parse(schema.out).at("properties");
  EXPECT_EQ(properties.at("dot").at("properties").at("lanes").at("maximum"), 64);

  for (const std::string granularity : {"tile", "clock"}) {
    const CommandResult run = folder.run({"run", "--config", hardware, "--layer", workload, "--check", "on",
                                          "--granularity", granularity, "--timeline", "t.json"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(folder.report().at("layers").at(0).at("dataflow"), "dot");
    EXPECT_THAT(read_bytes(folder.path("t.json")), HasSubstr("dot.run"));
  }
}

}  // namespace
}  // namespace tilebeat::testing
