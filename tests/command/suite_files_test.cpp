// What a suite file may say, and what is refused with file, JSON path, value and range (SPEC UI-2, UI-14).
#include "suite_files.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace tilebeat::testing {
namespace {

struct WrongSuite {
  const char* pointer;
  const char* value;   ///< null: the place is removed
  const char* wanted;  ///< in the message, behind "tilebeat: "
};

const WrongSuite kWrongSuites[] = {
    {"/tilebeat_suite", "2",
     "suite.json: /tilebeat_suite: 2 is not allowed, allowed is a whole number from 1 to 1"},
    {"/name", nullptr, "suite.json: /name: is missing"},
    {"/run", "[]", "suite.json: /run: unknown key \"run\", the nearest known name is \"runs\""},
    {"/runs", "[]", "suite.json: /runs: "},
    {"/runs/0/configs", nullptr, "suite.json: /runs/0/configs: is missing"},
    {"/runs/0/configs/0", "7", "suite.json: /runs/0/configs/0: 7 is not allowed"},
    {"/runs/0/configs/0", "\"a b.json\"", "suite.json: /runs/0/configs/0: \"a b\" is no name for runs"},
    {"/runs/0/configs/0", R"({"name": "a", "file": "b", "path": "c"})",
     "suite.json: /runs/0/configs/0/path: unknown key"},
    {"/runs/0/configs/1", "\"other/own.json\"",
     "suite.json: /runs/0/configs/1: the name 'own' stands there twice"},
    {"/runs/0/configs/0", "\"nowhere.json\"", "nowhere.json: cannot be opened"},
    {"/runs/0/configs/0", "\"work/copied.json\"",
     "work/copied.json: is a workload, a hardware file is expected"},
    {"/runs/0/layers/0", "\"hw/own.json\"", "hw/own.json: is a hardware file, a workload is expected"},
    {"/runs/0/options", R"([{"label": "a", "granularity": "beat"}])",
     "suite.json: /runs/0/options/0/granularity: \"beat\" is not allowed, allowed is one of \"tile\", "
     "\"clock\""},
    {"/runs/0/options", R"([{"label": "a", "set": {"config": {"/fuse": true}}}])",
     "suite.json: /runs/0/options/0: every point with it has a wrong hardware file: "},
    {"/runs/0/options", R"([{"label": "a"}, {"label": "a"}])",
     "suite.json: /runs/0: the run 'own/copied/a' stands"},
    {"/tolerances", R"({"cycles": -1})",
     "suite.json: /tolerances/cycles: -1 is not allowed, allowed is a number from 0 to 1000"},
    {"/tolerances", R"({"bytes": 1})", "suite.json: /tolerances/bytes: unknown key"},
    {"/results", R"({"a/b": {"cycles": 1}})", "suite.json: /results/a~1b/dram_bytes: is missing"},
    {"/results/own~1copied/outputs/copy", "\"abc\"",
     "suite.json: /results/own~1copied/outputs/copy: \"abc\" is not allowed, allowed is a SHA-256"},
    {"/results/own~1copied/cycles", "-1", "suite.json: /results/own~1copied/cycles: -1 is not allowed"},
};

TEST(SuiteFiles, UI_2_UI_14_mistakes_are_named_and_nothing_is_written) {
  const SuiteFolder folder;
  ASSERT_EQ(folder.check({"--update"}).status, 0);
  const nlohmann::json good = folder.suite();
  for (const WrongSuite& mistake : kWrongSuites) {
    nlohmann::json suite = good;
    const nlohmann::json::json_pointer pointer(mistake.pointer);
    if (mistake.value == nullptr) {
      suite[pointer.parent_pointer()].erase(pointer.back());
    } else {
      suite[pointer] = nlohmann::json::parse(mistake.value);
    }
    folder.write_suite(suite);
    const auto before = folder.files();
    for (const char* option : {"--update", "--junit=junit.xml"}) {
      const CommandResult result = folder.check({option});
      EXPECT_EQ(result.status, 2) << mistake.pointer << ": " << result.out << result.err;
      EXPECT_EQ(result.err.rfind(std::string("tilebeat: ") + mistake.wanted, 0), 0U)
          << mistake.wanted << " is expected: " << result.err;
      std::istringstream lines(result.err);
      for (std::string line; std::getline(lines, line);)
        EXPECT_EQ(line.rfind("tilebeat: ", 0), 0U) << "a line for each error: " << result.err;
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(folder.files(), before) << "nothing is written";
    }
  }
}

TEST(SuiteFiles, UI_2_UI_14_a_wrong_workload_is_no_result_of_a_run) {
  const SuiteFolder folder;
  folder.write("work/copied.json", R"({"inputs": [], "layers": []})");
  const CommandResult result = folder.check();
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err.rfind("tilebeat: work/copied.json: /inputs: ", 0), 0U) << result.err;
}

// A suite whose only option has the mapping file map.json.
void write_mapped_suite(const SuiteFolder& folder) {
  nlohmann::json suite = folder.suite();
  suite["runs"][0]["options"] = {{{"label", "mapped"}, {"mapping", "map.json"}}};
  folder.write_suite(suite);
}

TEST(SuiteFiles, UI_2_UI_14_a_wrong_mapping_is_no_result_of_a_run) {
  const SuiteFolder folder;
  folder.write("map.json", R"({"tilebeat_mapping": 1, "units": []})");
  write_mapped_suite(folder);
  const CommandResult result = folder.check();
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "tilebeat: map.json: /units: is called \"groups\" now\n");
}

TEST(SuiteFiles, UI_5_UI_14_no_file_of_a_run_is_overwritten) {
  const SuiteFolder folder;
  folder.write("map.json", R"({"tilebeat_mapping": 1})");
  write_mapped_suite(folder);
  std::filesystem::create_symlink(folder.path("work/x.npy"), folder.path("link.xml"));
  const auto before = folder.files();
  for (const char* junit : {"map.json", "work/x.npy", "work/one.npy", "link.xml"}) {
    const CommandResult result = folder.check({"--junit", junit});
    EXPECT_EQ(result.status, 2) << junit;
    EXPECT_EQ(result.err, std::string("tilebeat: --junit ") + junit +
                              ": is read by this command, it cannot be written\n");
    EXPECT_EQ(folder.files(), before);
  }
}

TEST(SuiteFiles, UI_5_UI_14_what_cannot_be_written_is_found_before_anything_runs) {
  const SuiteFolder folder;
  const auto before = folder.files();
  for (const auto& [junit, wanted] :
       {std::pair("nowhere/junit.xml", "nowhere/junit.xml: cannot be written"),
        {"suite.json", "--junit suite.json: is read by this command"},
        {"./hw/../hw/own.json", "--junit ./hw/../hw/own.json: is read by this command"},
        {"work", "work"}}) {
    const CommandResult result = folder.check({"--junit", junit});
    EXPECT_EQ(result.status, 2) << junit;
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(folder.files(), before);
  }
  EXPECT_EQ(folder.check({"--update", "--junit", "junit.xml"}).status, 2);
  EXPECT_EQ(folder.check({"--jobs", "0"}).status, 2);
  EXPECT_EQ(folder.run({"check", "nowhere.json"}).status, 2);
  EXPECT_EQ(folder.run({"check", "hw/own.json"}).status, 2);
  EXPECT_EQ(folder.run({"check"}).status, 2);
}

TEST(SuiteFiles, UI_14_an_update_keeps_comments_that_are_fields_and_refuses_others) {
  const SuiteFolder folder;
  nlohmann::json suite = folder.suite();
  suite["comment"] = {"why", "these"}, suite["runs"][0]["comment"] = "small ones";
  folder.write_suite(suite);
  ASSERT_EQ(folder.check({"--update"}).status, 0);
  EXPECT_EQ(folder.suite().at("comment"), suite.at("comment"));
  EXPECT_EQ(folder.suite().at("runs"), suite.at("runs"));
  const std::string with_comment = "// mine\n" + folder.text();
  folder.write("suite.json", with_comment);
  EXPECT_EQ(folder.check().status, 0);
  const CommandResult result = folder.check({"--update"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err.rfind("tilebeat: suite.json: has // comments, which --update would lose", 0), 0U)
      << result.err;
  EXPECT_EQ(folder.text(), with_comment);
}

TEST(SuiteFiles, UI_14_paths_start_at_the_suite) {
  const SuiteFolder folder;
  ASSERT_EQ(folder.check({"--update"}).status, 0);
  std::filesystem::create_directory(folder.path("elsewhere"));
  std::filesystem::copy_file(folder.path("suite.json"), folder.path("elsewhere/suite.json"));
  EXPECT_EQ(folder.run({"check", "elsewhere/suite.json"}).status, 2);
  EXPECT_EQ(folder.run({"check", "elsewhere/../suite.json"}).status, 0);
  EXPECT_EQ(folder.run({"check", folder.path("suite.json")}).status, 0);
}

TEST(SuiteFiles, UI_14_the_schema_agrees) {
  const SuiteFolder folder;
  ASSERT_EQ(folder.check({"--update"}).status, 0);
  const CommandResult printed = folder.run({"schema", "suite"});
  ASSERT_EQ(printed.status, 0);
  valijson::Schema schema;
  const nlohmann::json text = nlohmann::json::parse(printed.out);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  const auto accepts = [&](const nlohmann::json& document) {
    return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
  };
  const nlohmann::json good = folder.suite();
  EXPECT_TRUE(accepts(good));
  for (const WrongSuite& mistake : kWrongSuites) {
    nlohmann::json suite = good;
    const nlohmann::json::json_pointer pointer(mistake.pointer);
    if (mistake.value == nullptr) {
      suite[pointer.parent_pointer()].erase(pointer.back());
    } else {
      suite[pointer] = nlohmann::json::parse(mistake.value);
    }
    const std::string wanted = mistake.wanted;
    for (const char* single : {"is not allowed", "is missing", "unknown key"}) {
      if (wanted.find(single) == std::string::npos) continue;
      EXPECT_FALSE(accepts(suite)) << wanted;
    }
  }
  const CommandResult table = folder.run({"schema", "suite", "--markdown"});
  EXPECT_NE(table.out.find("| `/tolerances/cycles` | number 0.0 to 1000.0 | `0.0` |"), std::string::npos)
      << table.out;
}

}  // namespace
}  // namespace tilebeat::testing
