// What a sweep file may say (SPEC UI-9), and what is refused with file, JSON path, value and range (UI-2).
#include "sweep_files.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace tilebeat::testing {
namespace {

nlohmann::json two_rows() {
  nlohmann::json sweep = small_sweep();
  sweep["axes"] = {config_axis("rows", "/switch_array/rows", {8, 16})};
  return sweep;
}

struct Mistake {
  const char* pointer;  ///< of two_rows()
  const char* value;    ///< null: the place is removed
  const char* wanted;   ///< in the message, behind the file's name
};

TEST(SweepFiles, UI_2_UI_9_mistakes_are_named_and_nothing_is_written) {
  const Mistake mistakes[] = {
      {"/tilebeat_sweep", "2", "/tilebeat_sweep: 2 is not allowed, allowed is a whole number from 1 to 1"},
      {"/config", nullptr, "/config: is missing"},
      {"/axis", "[]", "/axis: unknown key \"axis\", the nearest known name is \"axes\""},
      {"/axes", "[]", "/: no point"},
      {"/points", "[]", "/: 2 of the keys"},
      {"/check", "\"maybe\"",
       "/check: \"maybe\" is not allowed, allowed is one of \"default\", \"on\", \"off\""},
      {"/limits", "[]", "/limits: [] is not allowed, allowed is an object"},
      {"/limits", R"({"cycle": 5})",
       "/limits/cycle: unknown key \"cycle\", the nearest known name is \"cycles\""},
      {"/limits", R"({"cycles": -1})", "/limits/cycles: -1 is not allowed, allowed is a number from 0 to"},
      {"/axes/0/name", "\"cycles\"", "/axes/0/name: 'cycles' is a column of the results"},
      {"/axes/0/target", "\"chip\"", "/axes/0/target: \"chip\" is not allowed, allowed is one of"},
      {"/axes/0/target", nullptr, "/axes/0: target is missing"},
      {"/axes/0/pointer", "\"rows\"", "/axes/0/pointer: \"rows\" is not allowed, allowed is a JSON pointer"},
      {"/axes/0/values", "[8, 8]", "/axes/0/values/1: the label '8' stands there twice"},
      {"/axes/0/values", "[]", "/axes/0/values: at least one entry is expected"},
      {"/axes/0/values", "[[1]]", "/axes/0/values/0: [1] is not allowed"},
      {"/axes/0/values", "[\"a/b\"]", "/axes/0/values/0: \"a/b\" is not allowed"},
      {"/axes/0/values", "[8, 0]", "/axes/0/values/1: every point with it has a wrong hardware file: "},
      {"/axes/0/pointer", "\"/switch_array/row\"", "/axes/0/values/0: every point with it has a wrong"},
      {"/axes/0/pointer", "\"/name/x\"", "/axes/0/values/0: leads to \"switch16\" in "},
      {"/axes/1", R"({"name": "rows", "choices": [{"label": "a"}]})",
       "/axes/1/name: 'rows' stands there twice"},
      {"/axes/1", R"({"name": "w", "choices": [{"label": "a", "set": {"layer": {"/layers/7/kernel": 1}}}]})",
       "/axes/1/choices/0: \"7\" is not allowed, allowed is an index from 0 to 0"},
      {"/axes/1", R"({"name": "w", "choices": [{"label": "a", "set": {"work": {}}}]})",
       "/axes/1/choices/0/set/work: unknown key \"work\""},
      {"/axes/1", R"({"name": "w", "target": "config", "pointer": "/switch_array/rows", "values": [4]})",
       "/axes/1: axis 'w' changes /switch_array/rows of the config as axis 'rows' does"},
      {"/axes/1", R"({"name": "w", "choices": []})", "/axes/1/choices: at least one entry"},
  };
  for (const Mistake& mistake : mistakes) {
    const CommandFolder folder;
    nlohmann::json sweep = two_rows();
    const nlohmann::json::json_pointer pointer(mistake.pointer);
    if (mistake.value == nullptr) {
      sweep[pointer.parent_pointer()].erase(pointer.back());
    } else {
      sweep[pointer] = nlohmann::json::parse(mistake.value);
    }
    folder.write("sweep.json", sweep.dump());
    const CommandResult result = folder.run({"sweep", "sweep.json"});
    EXPECT_EQ(result.status, 2) << mistake.pointer << ": " << result.err;
    EXPECT_EQ(result.err.rfind(std::string("tilebeat: sweep.json: ") + mistake.wanted, 0), 0U)
        << mistake.wanted << " is expected: " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
    EXPECT_EQ(folder.files().size(), 1U) << "nothing is written";
  }
}

TEST(SweepFiles, UI_9_wrong_options_are_refused) {
  const CommandFolder folder;
  folder.write("sweep.json", two_rows().dump());
  for (const auto& [option, value, wanted] :
       {std::array<const char*, 3>{"--pareto", "cycles", "two of cycles, "},
        {"--pareto", "cycles,cycles", "two different columns"},
        {"--pareto", "cycles,largest_stall", "two of cycles, "},
        {"--jobs", "0", "--jobs"},
        {"--snakemake", "sweep.json", "--snakemake sweep.json: is read by this command"}}) {
    const CommandResult result = folder.run({"sweep", "sweep.json", option, value});
    EXPECT_EQ(result.status, 2) << option << ' ' << value;
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_EQ(folder.files().size(), 1U);
  }
  const CommandResult kind = folder.run({"run", "--config", "sweep.json", "--layer", "sweep.json"});
  EXPECT_NE(kind.err.find("is a sweep, a hardware file is expected here; `tilebeat sweep` runs it"),
            std::string::npos)
      << kind.err;
}

TEST(SweepFiles, UI_9_files_where_the_sweep_writes_are_no_inputs) {
  const CommandFolder folder;
  nlohmann::json sweep = two_rows();
  ASSERT_EQ(folder.run({"sweep", folder.write("sweep.json", sweep.dump()), "--out", "out"}).status, 0);
  sweep["config"] = "out/points/rows=8/config.json";
  const auto before = folder.files();
  folder.write("sweep.json", sweep.dump());
  const CommandResult result = folder.run({"sweep", "sweep.json", "--out", "out"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("out/points/rows=8/config.json: lies in out/points, where the sweep writes"),
            std::string::npos)
      << result.err;
  auto after = folder.files();
  after["sweep.json"] = before.at("sweep.json");
  EXPECT_EQ(after, before);
}

// Names of axes and labels may hold every character that a name of a point joins them with but '=' and '+'.
// Neither by name, nor through a link, nor by a second name.
TEST(SweepFiles, UI_5_UI_9_a_sweep_writes_over_none_of_its_files) {
  const auto refused = [](const CommandFolder& folder, const std::string& sweep, const std::string& path) {
    const auto before = folder.files();
    const CommandResult result = folder.run({"sweep", sweep, "--out", "o"});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "tilebeat: --out " + path + ": is read by this command, it cannot be written\n");
    for (const auto& [name, bytes] : before) EXPECT_EQ(folder.files().at(name), bytes) << name;
  };
  const CommandFolder own, hardware, link;
  std::filesystem::create_directory(own.path("o"));
  own.write("o/sweep.csv", two_rows().dump());
  refused(own, "o/sweep.csv", "o/sweep.csv");

  std::filesystem::create_directory(hardware.path("o"));
  hardware.write("o/sweep.html", read_bytes(source_path("configs/switch16.json")));
  nlohmann::json sweep = two_rows();
  sweep["config"] = "o/sweep.html";
  hardware.write("s.json", sweep.dump());
  refused(hardware, "s.json", "o/sweep.html");

  std::filesystem::create_directory(link.path("o"));
  link.write("s.json", two_rows().dump());
  std::filesystem::create_symlink("../s.json", link.path("o/sweep.csv"));
  refused(link, "s.json", "o/sweep.csv");
}

TEST(SweepFiles, UI_9_points_of_a_product_never_share_a_name) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  const auto choice = [](const char* label) { return nlohmann::json{{"label", label}}; };
  sweep["axes"] = {{{"name", "a"}, {"choices", {choice("x"), choice("x_y"), choice("x-b.y")}}},
                   {{"name", "b"}, {"choices", {choice("y_z"), choice("z"), choice("b.y")}}}};
  const CommandResult result = folder.run({"sweep", folder.write("sweep.json", sweep.dump())});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto csv = csv_cells(read_bytes(folder.path("tilebeat-sweep/sweep.csv")));
  std::set<std::string> names;
  for (const auto& line : csv) names.insert(line[0]);
  EXPECT_EQ(names.size(), 1U + 9U);
  EXPECT_EQ(cell_of(csv, "a=x_y+b=z", "a"), "x_y");
  EXPECT_EQ(cell_of(csv, "a=x+b=y_z", "b"), "y_z");
  sweep["axes"][1]["choices"][0]["label"] = std::string(128, 'l');
  sweep["axes"][0]["choices"][0]["label"] = std::string(128, 'm');
  const CommandResult longer = folder.run({"sweep", folder.write("sweep.json", sweep.dump())});
  EXPECT_EQ(longer.status, 2);
  EXPECT_NE(longer.err.find("characters, allowed are 200"), std::string::npos) << longer.err;
}

TEST(SweepFiles, UI_9_mappings_are_swept) {
  const CommandFolder folder;
  nlohmann::json sweep = small_sweep();
  sweep["config"] = source_path("configs/cluster4.json");
  sweep["layer"] = source_path("models/small_chain.json");
  const std::string name =
      nlohmann::json::parse(read_bytes(source_path("models/small_chain.json")), nullptr, true, true)
          .at("layers")
          .at(0)
          .at("name");
  sweep["points"] = {
      {{"label", "planned"}},
      {{"label", "two_parts"}, {"set", {{"mapping", {{"/layers", {{{"layer", name}, {"row_parts", 2}}}}}}}}}};
  const CommandResult result = folder.run({"sweep", folder.write("sweep.json", sweep.dump())});
  ASSERT_EQ(result.status, 0) << result.err << read_bytes(folder.path("tilebeat-sweep/sweep.csv"));
  const auto csv = csv_cells(read_bytes(folder.path("tilebeat-sweep/sweep.csv")));
  ASSERT_EQ(folder.run_layer("configs/cluster4.json", "models/small_chain.json").status, 0);
  EXPECT_EQ(cell_of(csv, "planned", "cycles"), folder.report().at("total").at("cycles").dump());
  EXPECT_NE(cell_of(csv, "two_parts", "cycles"), cell_of(csv, "planned", "cycles"));
}

TEST(SweepFiles, UI_2_UI_9_the_schema_takes_what_the_loader_takes) {
  const CommandFolder folder;
  const CommandResult printed = folder.run({"schema", "sweep"});
  ASSERT_EQ(printed.status, 0) << printed.err;
  const nlohmann::json schema = nlohmann::json::parse(printed.out);
  valijson::Schema checked;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), checked);
  const auto accepts = [&checked](const nlohmann::json& report) {
    const valijson::adapters::NlohmannJsonAdapter target(report);
    return valijson::Validator().validate(checked, target, nullptr);
  };
  nlohmann::json list = small_sweep();
  list["points"] = {{{"label", "a"}, {"config", "b.json"}, {"set", {{"layer", {{"/name", "x"}}}}}}};
  EXPECT_TRUE(accepts(two_rows()));
  EXPECT_TRUE(accepts(list));
  for (const auto& [pointer, value] :
       {std::pair<const char*, nlohmann::json>{"/points", nlohmann::json::array()},
        {"/axes/0/target", "chip"},
        {"/axes/0/values", {{1}}},
        {"/axes/0/choices", {{{"label", "a"}}}},
        {"/check", 1},
        {"/other", 1}}) {
    nlohmann::json wrong = two_rows();
    wrong[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_FALSE(accepts(wrong)) << pointer;
  }
  EXPECT_NE(folder.run({"schema", "sweep", "--markdown"}).out.find("| `/axes/N/pointer` |"),
            std::string::npos);
}

}  // namespace
}  // namespace tilebeat::testing
