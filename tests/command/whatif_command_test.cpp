// `tilebeat whatif` (SPEC UI-13): what it measures is what runs with the changes come to, and pages advise
// nothing else.
#include "sweep_files.h"
#include "tilebeat_command.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

std::vector<std::string> whatif(const std::string& config, const std::string& layer,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"whatif", "--config", config, "--layer", layer};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

nlohmann::json table(const CommandFolder& folder, const std::string& out = "tilebeat-whatif") {
  return nlohmann::json::parse(read_bytes(folder.path(out + "/whatif.json")));
}

const nlohmann::json& row_of(const nlohmann::json& whatif, const std::string& step) {
  for (const char* list : {"steps", "pairs"}) {
    for (const nlohmann::json& row : whatif.at(list)) {
      if (row.at("step") == step) return row;
    }
  }
  throw std::runtime_error("no step " + step);
}

// The change of cycles that a page names, by step, in the order of the page.
std::vector<std::pair<std::string, double>> named_on(const std::string& page) {
  std::vector<std::pair<std::string, double>> named;
  const std::regex number(R"re(data-of="0:whatif/([^"]*)/cycles_percent" data-value="([^"]*)")re");
  for (auto match = std::sregex_iterator(page.begin(), page.end(), number); match != std::sregex_iterator();
       ++match)
    named.emplace_back((*match)[1].str(), std::stod((*match)[2].str()));
  return named;
}

// A hardware file with what a step changes in it.
nlohmann::json applied(nlohmann::json hardware, const nlohmann::json& row) {
  for (const auto& [pointer, value] : row.at("set").at("config").items())
    hardware[nlohmann::json::json_pointer(pointer)] = value;
  return hardware;
}

struct Case {
  const char *name, *config, *layer, *knobs;
};

class WhatIf : public ::testing::TestWithParam<Case> {};

TEST_P(WhatIf, UI_13_every_gain_that_a_page_names_is_that_of_a_run_that_applies_it) {
  const CommandFolder folder;
  const std::string config = source_path(GetParam().config), layer = source_path(GetParam().layer);
  ASSERT_EQ(folder.run({"run", "--config", config, "--layer", layer}).status, 0);
  const CommandResult measured = folder.run(whatif(config, layer, {"--knobs", GetParam().knobs}));
  ASSERT_EQ(measured.status, 0) << measured.err;
  const CommandResult made = folder.run({"report", "tilebeat-out/report.json", "--whatif",
                                         "tilebeat-whatif/whatif.json", "--html", "run.html"});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto named = named_on(read_bytes(folder.path("run.html")));
  ASSERT_GE(named.size(), 3U);

  const nlohmann::json whatif = table(folder);
  double best = 0;
  for (const nlohmann::json& row : whatif.at("steps")) {
    if (row.at("result") == "measured") best = std::min(best, row.at("cycles_percent").get<double>());
  }
  EXPECT_NEAR(100 * named.front().second, best, 1e-9) << "the best step is named first";

  const double before = folder.report().at("total").at("cycles").get<double>();
  const nlohmann::json hardware = nlohmann::json::parse(read_bytes(config));
  std::set<std::string> seen;
  for (const auto& [step, change] : named) {
    if (!seen.insert(step).second) continue;
    folder.write("changed.json", applied(hardware, row_of(whatif, step)).dump());
    const CommandResult run =
        folder.run({"run", "--config", "changed.json", "--layer", layer, "--out", "changed"});
    ASSERT_EQ(run.status, 0) << step << ": " << run.err;
    const double after = folder.report("changed").at("total").at("cycles").get<double>();
    EXPECT_NEAR(100 * change, 100 * (after - before) / before, 1) << step;
  }
  const std::string text = measured.out.substr(measured.out.find("What helps most"));
  const std::string first = row_of(whatif, named.front().first).at("knob").get<std::string>();
  EXPECT_LT(text.find(first), text.find('\n', text.find('\n', text.find('\n') + 1) + 1))
      << "it is the first line of the table on the terminal";
}

INSTANTIATE_TEST_SUITE_P(
    Command, WhatIf,
    ::testing::Values(Case{"core1", "configs/core1.json", "models/resnet50_1x1.json",
                           "dram,interconnect,fused"},
                      Case{"wfold", "configs/wfold16x4.json", "models/resnet50_3x3_s2.json",
                           "dram.preset,interconnect.bytes_per_clock,wfold.slaves,wfold.line_bytes"},
                      Case{"offset", "configs/offset16.json", "models/resnet50_1x1.json",
                           "dram.preset,interconnect.bytes_per_clock,offset.cache,chip.cores_per_cluster"}),
    [](const auto& tested) { return tested.param.name; });

TEST(WhatIfCommand, UI_13_a_step_that_is_no_hardware_is_refused_with_its_reason) {
  const CommandFolder folder;
  const std::string config = source_path("configs/core1.json");
  const CommandResult result =
      folder.run(whatif(config, source_path("models/small_chain.json"),
                        {"--knobs", "chip.core.bus.bytes_per_clock,chip.core.nram.size_bytes"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json whatif = table(folder);
  ASSERT_EQ(whatif.at("steps").size(), 4U);
  for (const nlohmann::json& row : whatif.at("steps")) {
    const std::string step = row.at("step").get<std::string>();
    folder.write("changed.json", applied(nlohmann::json::parse(read_bytes(config)), row).dump());
    const CommandResult run =
        folder.run({"run", "--config", "changed.json", "--layer", source_path("models/small_chain.json")});
    EXPECT_EQ(row.at("result") == "refused", run.status == 2) << step << ": " << run.err;
    if (run.status != 2) continue;
    const std::string reason = row.at("reason").get<std::string>();
    EXPECT_NE(run.err.find(reason.substr(reason.find(": /"))), std::string::npos) << reason;
    EXPECT_NE(result.out.find(reason), std::string::npos) << result.out;
  }
}

TEST(WhatIfCommand, UI_13_bytes_do_not_depend_on_the_number_of_processes) {
  const CommandFolder folder;
  std::set<std::string> texts;
  for (const char* jobs : {"1", "3"}) {
    const CommandResult result = folder.run(
        whatif(source_path("configs/core1.json"), source_path("models/small_chain.json"),
               {"--knobs", "interconnect,dram.preset,fused,batch", "--jobs", jobs, "--out", jobs}));
    ASSERT_EQ(result.status, 0) << result.err;
    std::string all;
    for (const char* file : {"whatif.json", "whatif.csv", "whatif.html"})
      all += read_bytes(folder.path(fmt::format("{}/{}", jobs, file)));
    texts.insert(all);
  }
  EXPECT_EQ(texts.size(), 1U);
}

TEST(WhatIfCommand, UI_13_what_the_budget_has_left_out_is_measured_by_the_next_call) {
  const CommandFolder folder;
  const std::vector<std::string> arguments = whatif(
      source_path("configs/core1.json"), source_path("models/small_chain.json"), {"--knobs", "interconnect"});
  std::vector<std::string> hurried = arguments;
  hurried.insert(hurried.end(), {"--budget", "0.001"});
  const CommandResult none = folder.run(hurried);
  ASSERT_EQ(none.status, 0) << none.err;
  nlohmann::json whatif_table = table(folder);
  ASSERT_EQ(whatif_table.at("steps").size(), 4U);
  for (const nlohmann::json& row : whatif_table.at("steps")) EXPECT_EQ(row.at("result"), "not_run") << row;
  EXPECT_NE(none.out.find("steps: 0 measured, 4 not run"), std::string::npos) << none.out;
  ASSERT_EQ(folder.run(arguments).status, 0);
  whatif_table = table(folder);
  ASSERT_EQ(whatif_table.at("steps").size(), 4U);
  for (const nlohmann::json& row : whatif_table.at("steps")) EXPECT_NE(row.at("result"), "not_run") << row;
}

TEST(WhatIfCommand, UI_13_a_batch_is_measured_for_as_many_images_as_before) {
  const CommandFolder folder;
  ASSERT_EQ(folder
                .run(whatif(source_path("configs/core1.json"), source_path("models/small_chain.json"),
                            {"--knobs", "batch"}))
                .status,
            0);
  const nlohmann::json whatif = table(folder);
  const nlohmann::json& row = row_of(whatif, "batch=2");
  ASSERT_EQ(row.at("result"), "measured") << row;
  nlohmann::json two = nlohmann::json::parse(read_bytes(source_path("models/small_chain.json")));
  for (nlohmann::json& input : two.at("inputs")) input["shape"][0] = 2;
  folder.write("two.json", two.dump());
  ASSERT_EQ(folder.run({"run", "--config", source_path("configs/core1.json"), "--layer", "two.json"}).status,
            0);
  EXPECT_EQ(row.at("cycles").get<std::int64_t>(),
            std::llround(folder.report().at("total").at("cycles").get<double>() / 2));
}

TEST(WhatIfCommand, UI_13_wrong_arguments_are_refused_and_nothing_is_written) {
  const CommandFolder folder;
  const std::string config = source_path("configs/core1.json");
  const CommandResult knob =
      folder.run(whatif(config, source_path("models/small_chain.json"), {"--knobs", "interconect"}));
  EXPECT_EQ(knob.status, 2);
  EXPECT_NE(
      knob.err.find("--knobs interconect: is no knob of this hardware, the nearest name is interconnect;"),
      std::string::npos)
      << knob.err;
  EXPECT_EQ(folder.run(whatif(config, config)).status, 2) << "no workload";
  EXPECT_TRUE(folder.files().empty());
}

TEST(WhatIfCommand, UI_13_a_page_takes_no_advice_from_another_run) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/core1.json", "models/small_chain.json").status, 0);
  ASSERT_EQ(folder
                .run(whatif(source_path("configs/core1.json"), source_path("models/resnet50_1x1.json"),
                            {"--knobs", "dram.channels"}))
                .status,
            0);
  const CommandResult page = folder.run({"report", "tilebeat-out/report.json", "--whatif",
                                         "tilebeat-whatif/whatif.json", "--html", "run.html"});
  EXPECT_EQ(page.status, 2);
  EXPECT_NE(page.err.find("which no report is of"), std::string::npos) << page.err;
  ASSERT_EQ(folder.run({"report", "tilebeat-out/report.json", "--html", "run.html"}).status, 0);
  const std::string html = read_bytes(folder.path("run.html"));
  EXPECT_NE(html.find("What would help has not been measured"), std::string::npos);
  EXPECT_EQ(html.find("would help."), std::string::npos) << "no cure without a run";
}

TEST(WhatIfCommand, UI_15_a_step_of_the_array_says_what_it_does_to_buffers) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run(whatif(source_path("configs/core1.json"), source_path("models/worked_dilated.json"),
                        {"--knobs", "switch_array.columns"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json parts = row_of(table(folder), "switch_array.columns=32").at("area_parts_percent");
  EXPECT_DOUBLE_EQ(parts.at("macs").get<double>(), 100);
  EXPECT_GT(parts.at("buffers").get<double>(), 0) << "each column has a bank of kernels";
  EXPECT_FALSE(parts.contains("nram")) << parts;
}

}  // namespace
}  // namespace tilebeat::testing
