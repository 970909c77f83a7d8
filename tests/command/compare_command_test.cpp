// `tilebeat compare`: two reports side by side, and reports that are none (SPEC UI-1, UI-2).
#include "report/text_table.h"
#include "tilebeat_command.h"

#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

constexpr const char* kConfig = "configs/switch16.json";
constexpr const char* kDilated = "models/worked_dilated.json";

TEST(CompareCommand, UI_1_shows_both_reports) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  ASSERT_EQ(folder.run_layer("configs/switch16_zero_inserted.json", kDilated, {"--out", "b"}).status, 0);
  const CommandResult result = folder.run({"compare", "a/report.json", "b/report.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* out : {"a", "b"}) {
    const auto cycles = std::to_string(folder.report(out).at("total").at("cycles").get<int>());
    EXPECT_NE(result.out.find(cycles), std::string::npos) << "cycles of " << out << ": " << result.out;
  }
}

TEST(CompareCommand, UI_15_peaks_and_the_parts_of_energy_and_area_stand_beside_each_other) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/core1.json", kDilated, {"--out", "a"}).status, 0);
  ASSERT_EQ(folder.run_layer("configs/wfold16x4.json", kDilated, {"--out", "b"}).status, 0);
  const CommandResult result =
      folder.run({"compare", "a/report.json", "b/report.json", "--format", "csv", "--layers"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto has = [&](const std::string& line) { return result.out.find("\n" + line) != std::string::npos; };
  EXPECT_TRUE(has(",peak MACs a cycle,1024,4096,4.000")) << result.out;
  const nlohmann::json a = folder.report("a"), b = folder.report("b");
  const auto expect_row = [&](const std::string& row, const std::string& pointer) {
    const nlohmann::json::json_pointer at(pointer);
    const std::string values = fmt::format("{},{},", a.at(at).get<double>(), b.at(at).get<double>());
    EXPECT_TRUE(has(row + "," + values)) << row << "\n" << result.out;
  };
  for (const char* part : {"macs", "buffers", "nram", "wram", "sram", "bus", "dram", "leakage"}) {
    if (a["energy"]["pj"][part] != 0 || b["energy"]["pj"][part] != 0)
      expect_row(",\"energy pJ, " + std::string(part) + "\"", "/energy/pj/" + std::string(part));
  }
  for (const char* part : {"macs", "results", "lanes", "nram", "wram", "sram"})
    expect_row(",\"area mm2, " + std::string(part) + "\"", "/energy/area_mm2/" + std::string(part));
  expect_row(a["layers"][0]["name"].get<std::string>() + ",energy pJ", "/layers/0/energy_pj/total");
}

/// The line of `text` that begins with `what`, without repeated blanks.
std::string line_of(const std::string& text, const std::string& what) {
  const std::size_t begin = text.find("  " + what);
  if (begin == std::string::npos) return "";
  std::string line;
  for (const char c : text.substr(begin, text.find('\n', begin) - begin)) {
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  }
  return line;
}

TEST(CompareCommand, UI_1_layers_of_one_report_alone_are_shown) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated).status, 0);
  nlohmann::json left = folder.report(), right = left;
  left["layers"][0]["name"] = "only_left", left["layers"][0]["cycles"] = 123;
  right["layers"][0]["name"] = "only_right", right["layers"][0]["cycles"] = 4567;
  folder.write("l.json", left.dump());
  folder.write("r.json", right.dump());
  const CommandResult result = folder.run({"compare", "l.json", "r.json", "--layers"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(line_of(result.out, "only_left: cycles"), "only_left: cycles 123 no layer");
  EXPECT_EQ(line_of(result.out, "only_right: cycles"), "only_right: cycles no layer 4,567");
}

// Neither a terminal nor a page obeys what stands in a report: an escape sequence, a change of direction.
TEST(CompareCommand, UI_1_UI_2_control_characters_of_a_report_are_blanks) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated).status, 0);
  nlohmann::json left = folder.report(), right = left;
  left["layers"][0]["name"] = "a\x1b[31m\u202eb\u009bc";
  folder.write("l.json", left.dump());
  folder.write("r.json", right.dump());
  const CommandResult result = folder.run({"compare", "l.json", "r.json", "--layers"});
  EXPECT_EQ(line_of(result.out, "a [31m b c: cycles").rfind("a [31m b c: cycles", 0), 0U) << result.out;
  ASSERT_EQ(folder.run({"report", "l.json", "--html", "l.html"}).status, 0);
  for (const std::string& text : {result.out, read_bytes(folder.path("l.html"))}) {
    for (const char* control : {"\x1b", "\u202e", "\u009b"}) EXPECT_EQ(text.find(control), std::string::npos);
  }
}

TEST(CompareCommand, FU_9_UI_1_a_fused_unit_stands_beside_its_layers) {
  const CommandFolder folder;
  const std::string units = folder.write("units.json", R"({"tilebeat_mapping": 1, "groups": [
      {"layers": ["conv1", "pool1", "conv2"]}]})");
  const char *config = "configs/cluster4.json", *network = "models/alexnet_small.json";
  ASSERT_EQ(folder.run_layer(config, network, {"--out", "alone"}).status, 0);
  const CommandResult run = folder.run_layer(config, network, {"--out", "fused", "--mapping", units});
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json alone = folder.report("alone").at("layers"),
                       fused = folder.report("fused").at("layers");
  ASSERT_EQ(fused.at(0).at("layers"), nlohmann::json({"conv1", "pool1", "conv2"}));
  EXPECT_TRUE(alone.at(0).at("layers").empty());
  const auto sum = [&](const char* key) {
    return alone.at(0).at(key).get<int>() + alone.at(1).at(key).get<int>() + alone.at(2).at(key).get<int>();
  };
  for (const bool swapped : {false, true}) {
    const CommandResult result =
        swapped ? folder.run({"compare", "fused/report.json", "alone/report.json", "--layers"})
                : folder.run({"compare", "alone/report.json", "fused/report.json", "--layers"});
    EXPECT_EQ(result.status, 0) << result.err;
    const std::string macs = line_of(result.out, "conv1 to conv2: macs");
    EXPECT_NE(macs.find("conv1 to conv2: macs " + grouped(sum("macs"))), std::string::npos) << macs;
    EXPECT_EQ(result.out.find("no layer"), std::string::npos) << result.out;
    const std::string cycles = line_of(result.out, "conv1 to conv2: cycles");
    for (const int value : {sum("cycles"), fused.at(0).at("cycles").get<int>()})
      EXPECT_NE(cycles.find(" " + grouped(value)), std::string::npos) << cycles;
    EXPECT_NE(line_of(result.out, "fc6: cycles"), "");
  }
}

// Three runs in the same places of all formats, each with its ratio to the first one.
TEST(CompareCommand, UI_1_any_number_of_reports_totals_first_and_layers_on_demand) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  ASSERT_EQ(folder.run_layer("configs/switch16_zero_inserted.json", kDilated, {"--out", "b"}).status, 0);
  ASSERT_EQ(folder.run_layer("configs/switch8.json", kDilated, {"--out", "c"}).status, 0);
  const auto compare = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compare", "a/report.json", "b/report.json", "c/report.json"});
    const CommandResult result = folder.run(more);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  const auto totals = [&](const char* key) {
    std::vector<double> values;
    for (const char* out : {"a", "b", "c"}) values.push_back(folder.report(out).at("total").at(key));
    return values;
  };
  const std::vector<double> cycles = totals("cycles");
  const std::string text = compare({});
  EXPECT_EQ(line_of(text, "total cycles"),
            fmt::format("total cycles {} {} {} {:.3f} {:.3f}", grouped(static_cast<std::int64_t>(cycles[0])),
                        grouped(static_cast<std::int64_t>(cycles[1])),
                        grouped(static_cast<std::int64_t>(cycles[2])), cycles[1] / cycles[0],
                        cycles[2] / cycles[0]));
  // 1000 MHz: a cycle is a nanosecond.
  EXPECT_NE(text.find(fmt::format("{:.3f}", cycles[2] / 1000)), std::string::npos) << text;
  EXPECT_EQ(text.find("conv1"), std::string::npos) << "layers only when they are asked for";
  EXPECT_NE(compare({"--layers"}).find("conv1: beats"), std::string::npos);

  const std::string csv = compare({"--format", "csv"});
  EXPECT_EQ(csv.rfind("layer,quantity,a/report.json,b/report.json,c/report.json,ratio 2,ratio 3\n", 0), 0U);
  EXPECT_NE(csv.find(fmt::format("\n,DRAM read bytes,{},{},{},", totals("dram_read_bytes")[0],
                                 totals("dram_read_bytes")[1], totals("dram_read_bytes")[2])),
            std::string::npos)
      << csv;
  const auto macs = folder.report("a").at("total").at("macs").get<double>();
  EXPECT_NE(csv.find(fmt::format("\n,TOPS,{}", 2 * macs / cycles[0] / 1000).substr(0, 12)), std::string::npos)
      << csv;
  EXPECT_NE(compare({"--format", "csv", "--layers"}).find("\nconv1,beats,36,100,"), std::string::npos);

  const std::string markdown = compare({"--format", "markdown"});
  EXPECT_NE(markdown.find("| --- | ---: | ---: | ---: | ---: | ---: |\n"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("| total cycles | " + grouped(static_cast<std::int64_t>(cycles[0])) + " | "),
            std::string::npos);
  EXPECT_EQ(folder.run({"compare", "a/report.json"}).status, 2);
  EXPECT_EQ(folder.run({"compare", "a/report.json", "b/report.json", "--format", "xml"}).status, 2);
}

TEST(CompareCommand, UI_14_fails_above_a_limit_of_any_number) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  nlohmann::json slower = folder.report("a");
  const auto cycles = slower["total"]["cycles"].get<int>();
  slower["total"]["cycles"] = cycles + 10;
  slower["layers"][0]["cycles"] = slower["layers"][0]["cycles"].get<int>() + 10;
  folder.write("b.json", slower.dump());
  const double percent = 100 * 10.0 / cycles;
  const auto compare = [&](const std::vector<std::string>& limits, bool swapped = false) {
    std::vector<std::string> arguments{"compare", swapped ? "b.json" : "a/report.json",
                                       swapped ? "a/report.json" : "b.json"};
    for (const std::string& limit : limits) arguments.insert(arguments.end(), {"--fail-above", limit});
    return folder.run(arguments);
  };
  EXPECT_EQ(compare({}).status, 0);
  EXPECT_EQ(compare({fmt::format("cycles={}%", percent + 0.1)}).status, 0);
  const CommandResult failed = compare({fmt::format("cycles={}%", percent - 0.1)});
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.err, fmt::format("tilebeat: b.json: total: cycles: {} -> {} ({:+.3g} %), allowed {} %\n",
                                    cycles, cycles + 10, percent, percent - 0.1));
  EXPECT_NE(failed.out.find("total cycles"), std::string::npos) << "the table is there, too";
  EXPECT_EQ(compare({"0"}).status, 1) << "any number";
  EXPECT_EQ(
      compare({"0", "cycles=50%", "microseconds=50%", "tops=50", "dram_gb_s=50%", "energy_delay_j_s=50%"})
          .status,
      0)
      << "what has a limit of its own is not held to the one without a name";
  EXPECT_EQ(compare({"cycles=+0%"}).status, 1);
  EXPECT_EQ(compare({"cycles=-0%"}).status, 0) << "more is allowed";
  EXPECT_EQ(compare({"cycles=+0%"}, true).status, 0);
  EXPECT_EQ(compare({"cycles=-0%"}, true).status, 1);
  EXPECT_EQ(folder.run({"compare", "a/report.json", "b.json", "--fail-above", "beats=0"}).status, 2)
      << "layers are not compared";
  EXPECT_EQ(folder.run({"compare", "a/report.json", "b.json", "--layers", "--fail-above", "beats=0"}).status,
            0);
}

TEST(CompareCommand, UI_14_a_run_that_did_not_pass_is_beyond_every_limit) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  nlohmann::json failed = folder.report("a");
  failed["passed"] = false;
  folder.write("b.json", failed.dump());
  for (const char* limit : {"50%", "cycles=50%", "checks=0"}) {
    const CommandResult result = folder.run({"compare", "a/report.json", "b.json", "--fail-above", limit});
    EXPECT_EQ(result.status, 1) << limit;
    EXPECT_EQ(result.err, "tilebeat: b.json: total: did not pass its checks\n");
    EXPECT_EQ(folder.run({"compare", "a/report.json", "a/report.json", "--fail-above", limit}).status, 0);
  }
}

TEST(CompareCommand, UI_14_a_limit_of_what_is_nowhere_is_kept) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  nlohmann::json stalled = folder.report("a");
  ASSERT_EQ(stalled["layers"][0]["stall_cycles"].value("barrier", 0), 0);
  ASSERT_EQ(stalled["layers"][0]["bank_conflict_cycles"], 0);
  const auto compare = [&](const char* limit) {
    return folder.run({"compare", "a/report.json", "b.json", "--layers", "--fail-above", limit}).status;
  };
  folder.write("b.json", stalled.dump());
  EXPECT_EQ(compare("stall_barrier=1"), 0);
  EXPECT_EQ(compare("bank_conflict_cycles=1"), 0);
  stalled["layers"][0]["stall_cycles"]["barrier"] = 1;
  folder.write("b.json", stalled.dump());
  EXPECT_EQ(compare("stall_barrier=1"), 1);
  EXPECT_EQ(compare("bank_conflict_cycles=1"), 0);
}

TEST(CompareCommand, UI_2_UI_14_wrong_limits_are_refused) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated, {"--out", "a"}).status, 0);
  for (const auto& [limit, wanted] : {std::pair("much", "PERCENT or QUANTITY=PERCENT is expected"),
                                      {"=2%", "is expected"},
                                      {"cycles=", "is expected"},
                                      {"cycles=--2", "is expected"},
                                      {"2e9", "from 0 to 1e6"},
                                      {"largest_stall=1", "--fail-above largest_stall: is no number"},
                                      {"stall_barrier=1", "is a quantity of layers, which --layers compares"},
                                      {"cycle=2%", "no such quantity, the nearest one is cycles"}}) {
    const CommandResult result =
        folder.run({"compare", "a/report.json", "a/report.json", "--fail-above", limit});
    EXPECT_EQ(result.status, 2) << limit;
    EXPECT_NE(result.err.find(wanted), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(
      folder.run({"compare", "a/report.json", "a/report.json", "--fail-above", "1", "--fail-above", "2"})
          .status,
      2);
}

struct Damage {
  const char* pointer;
  const char* value;  ///< null: the place is removed
  const char* wanted;
};

TEST(CompareCommand, UI_2_a_damaged_report_is_named_with_the_place) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kConfig, kDilated).status, 0);
  const nlohmann::json good = folder.report();
  const Damage damages[] = {
      {"/total", nullptr, "/total: is missing"},
      {"/total/cycles", "\"many\"", "/total/cycles: \"many\" is not allowed, allowed is a whole number"},
      {"/total/cycles", "1e300", "/total/cycles: 1e+300"},
      {"/total/cycles", "18446744073709551615", "/total/cycles: 18446744073709551615"},
      {"/total/macs", "-1", "/total/macs: -1 is not allowed, allowed is at least 0"},
      {"/layers", "{}", "/layers: {} is not allowed, allowed is a list"},
      {"/layers/0", "7", "/layers/0: 7 is not allowed, allowed is an object"},
      {"/layers/0/name", nullptr, "/layers/0/name: is missing"},
      {"/layers/0/check", "\"maybe\"", "/layers/0/check: \"maybe\" is not allowed, allowed is one of"},
      {"/layers/0/utilization", "null", "/layers/0/utilization: null is not allowed, allowed is a number"},
      {"/layers/0/bytes/dram/read", "[]", "/layers/0/bytes/dram/read: [] is not allowed"},
      {"/layers/0/stall_cycles/host", "\"x\"", "/layers/0/stall_cycles/host: \"x\""},
      {"/passed", "1", "/passed: 1 is not allowed, allowed is true or false"},
      {"/tilebeat_report", "99", "/tilebeat_report: 99 is another version"},
      {"/tilebeat_report", nullptr, "is no report"},
  };
  for (const Damage& damage : damages) {
    nlohmann::json report = good;
    const nlohmann::json::json_pointer pointer(damage.pointer);
    if (damage.value == nullptr) {
      report[pointer.parent_pointer()].erase(pointer.back());
    } else {
      report[pointer] = nlohmann::json::parse(damage.value);
    }
    folder.write("damaged.json", report.dump());
    for (const bool first : {true, false}) {
      const std::string whole = "tilebeat-out/report.json", damaged = "damaged.json";
      const CommandResult result = folder.run({"compare", first ? damaged : whole, first ? whole : damaged});
      EXPECT_EQ(result.status, 2) << damage.pointer;
      EXPECT_EQ(result.err.rfind("tilebeat: damaged.json: ", 0), 0U) << result.err;
      EXPECT_NE(result.err.find(damage.wanted), std::string::npos) << result.err;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
      EXPECT_EQ(result.err.find("json.exception"), std::string::npos) << result.err;
      EXPECT_EQ(result.out, "");
    }
  }
  nlohmann::json older = good;
  older.erase("outputs");
  folder.write("older.json", older.dump());
  EXPECT_EQ(folder.run({"compare", "older.json", "tilebeat-out/report.json"}).status, 0);
}

TEST(CompareCommand, UI_5_a_place_that_cannot_be_written_is_found_before_anything_runs) {
  const CommandFolder folder;
  std::filesystem::create_directory(folder.path("cmp"));
  folder.write("cmp/wfold16x4", "a file");
  const auto before = folder.files();
  const CommandResult result =
      folder.run({"compare", "--config", source_path("configs/core1.json"), "--config",
                  source_path("configs/wfold16x4.json"), "--layer", source_path(kDilated), "--out", "cmp"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("cmp/wfold16x4: is a file, a folder is to be written there"), std::string::npos)
      << result.err;
  EXPECT_EQ(folder.files(), before);
}

TEST(CompareCommand, UI_5_a_signal_ends_the_run_that_goes_on) {
  const CommandFolder folder;
  const StartedCommand compare =
      folder.start({"compare", "--config", source_path("configs/core1.json"), "--config",
                    source_path("configs/core1.json"), "--layer", source_path("models/vgg16_conv3_2.json"),
                    "--granularity", "clock", "--out", "cmp"});
  const auto writes = [&] { return std::filesystem::exists(folder.path("cmp/core1/outputs")); };
  for (int i = 0; i < 2000 && !writes(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(writes()) << "the first run has begun";
  compare.signal(SIGTERM);
  EXPECT_EQ(compare.finish().status, 128 + SIGTERM);
  // The run removes what it has begun, also its folders; one that went on would leave a report.
  for (int i = 0; i < 2000 && writes(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(writes());
}

}  // namespace
}  // namespace tilebeat::testing
