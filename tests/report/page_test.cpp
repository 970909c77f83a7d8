// The page about runs (SPEC UI-8): every number on it is the report's, names are escaped, several runs stand
// beside each other, and a report that lacks what the page needs is named.

#include "report/report.h"
#include "report/text_table.h"
#include "report_text.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

using Json = nlohmann::ordered_json;

LayerResult layer_result(const std::string& name, Cycle cycles, std::int64_t macs, std::int64_t bytes) {
  LayerResult layer;
  layer.name = name, layer.op = "conv2d", layer.scene = "main", layer.dataflow = "dilated";
  layer.cycles = cycles, layer.beats = cycles / 4, layer.macs = macs;
  layer.utilization = static_cast<double>(macs) / (2.0 * static_cast<double>(cycles) * 1024);
  layer.activity[static_cast<std::size_t>(Activity::kBusy)] = cycles / 4;
  layer.activity[static_cast<std::size_t>(Activity::kBarrier)] = cycles;
  layer.activity[static_cast<std::size_t>(Activity::kInputLoad)] = 2 * cycles - cycles / 4 - cycles;
  layer.bytes.dram_read = bytes, layer.bytes.dram_write = bytes / 2, layer.bytes.nram_read = 3 * bytes;
  layer.bound = {cycles / 8, cycles / 4, cycles / 2};
  layer.check = "passed";
  return layer;
}

// A chip of two cores with a DRAM of 16 bytes a DRAM clock and two controllers.
RunResult run_result() {
  RunResult run;
  run.workload = "net", run.hardware = "chip2", run.dataflow = "dilated", run.peak_macs_per_clock = 2048;
  run.layers = {layer_result("conv1", 4000, 1'000'000, 64'000), layer_result("conv2", 1237, 777'777, 9'001),
                layer_result("add", 100, 0, 1'000)};
  for (const LayerResult& layer : run.layers) {
    run.cycles += layer.cycles, run.macs += layer.macs;
    run.bytes.dram_read += layer.bytes.dram_read, run.bytes.dram_write += layer.bytes.dram_write;
  }
  run.utilization = static_cast<double>(run.macs) / (static_cast<double>(run.cycles) * 2048);
  run.core_results = {{"cluster0.core0", 900'000, 0.25, 1000, 20, 3},
                      {"cluster0.core1", 877'777, 0.75, 990, 30, 4}};
  for (const char* name : {"dram0.ch0", "dram1.ch0", "noc.cluster0.core0.iodma.read",
                           "cluster0.memory.gdma.read", "link.cluster0.read"}) {
    ModuleCycles module{name, "npu", run.cycles, {}};
    module.activity[static_cast<std::size_t>(Activity::kBusy)] =
        1000 + static_cast<Cycle>(run.modules.size());
    run.modules.push_back(module);
  }
  run.graph = {
      {"conv1", "conv2d", {"x"}}, {"conv2", "conv2d", {"conv1"}}, {"add", "add", {"conv1", "conv2"}}};
  run.memory_over_time = {
      2048,
      {{"cluster0.core0.nram", 65'536, {1024, 65'536, 0}}, {"cluster0.sram", 1'048'576, {0, 4096, 128}}}};
  run.layers[0].losses = MacLosses{11'000, 2'300, 0};
  run.layers[1].losses = MacLosses{5, 0, 70'123};
  run.losses = *run.layers[0].losses + *run.layers[1].losses;
  return run;
}

const Json kHardware = Json::parse(R"({"clock_mhz": 800.5, "chip": {"memory_controllers": 2},
    "dram": {"channels": 1, "data_bits": 64, "burst_length": 8, "transfers_per_clock": 2,
    "clock_ps": 1250}})");

PageReport page_report(const RunResult& run, const std::string& file = "a/report.json") {
  PageReport made{file, Json::parse(report_text(run, kHardware))};
  check_report(made.report, file);
  return made;
}

/// An element that shows a number: where it comes from, its exact value, and the text that a reader sees.
struct Shown {
  std::string at, of;
  double value;
  std::string text;
};
std::vector<Shown> numbers_of(const std::string& html) {
  const std::regex element(R"re((data-at|data-of)="([^"]*)" data-value="([^"]*)"[^>]*>([^<]*))re");
  std::vector<Shown> found;
  for (auto match = std::sregex_iterator(html.begin(), html.end(), element); match != std::sregex_iterator();
       ++match) {
    const bool at = (*match)[1] == "data-at";
    found.push_back({at ? (*match)[2].str() : "", at ? "" : (*match)[2].str(), std::stod((*match)[3]),
                     (*match)[4].str()});
  }
  return found;
}
std::map<std::string, double> computed_of(const std::string& html) {
  std::map<std::string, double> values;
  for (const Shown& shown : numbers_of(html)) {
    if (shown.of.empty()) continue;
    const auto [found, added] = values.emplace(shown.of, shown.value);
    EXPECT_EQ(found->second, shown.value) << shown.of << " has one value, wherever it stands";
  }
  return values;
}

TEST(Page, UI_8_numbers_equal_the_report) {
  const std::vector<PageReport> reports{page_report(run_result())};
  const std::string html = report_page(reports);
  std::set<std::string> places;
  for (const Shown& shown : numbers_of(html)) {
    if (shown.at.empty()) continue;
    ASSERT_EQ(shown.at.rfind("0:", 0), 0U) << shown.at;
    const Json& value = reports[0].report.at(Json::json_pointer(shown.at.substr(2)));
    EXPECT_EQ(shown.value, value.get<double>()) << shown.at;
    places.insert(shown.at.substr(2));
    if (shown.text.empty()) continue;  // a bar
    const std::string percent = fmt::format("{:.1f} %", 100 * value.get<double>());
    const bool whole = value.is_number_integer() && shown.text == grouped(value.get<std::int64_t>());
    const std::size_t prefix = shown.text.find_first_of("kM");
    const bool prefixed = value.is_number_integer() && prefix != std::string::npos &&
                          std::abs(std::stod(shown.text) * (shown.text[prefix] == 'k' ? 1e3 : 1e6) -
                                   value.get<double>()) <= value.get<double>() / 180;
    const double unit = shown.at.find("pj") != std::string::npos ? 1e6 : 1;  // shown as uJ
    const bool energy = shown.at.find("/energy") != std::string::npos &&
                        shown.text == fmt::format("{:.4g}", value.get<double>() / unit);
    EXPECT_TRUE(whole || prefixed || energy || shown.text == percent || shown.text == "800.5 MHz")
        << shown.at << ": " << value << " is shown as " << shown.text;
  }
  for (const char* wanted : {"/total/cycles",
                             "/total/utilization",
                             "/total/macs",
                             "/total/dram_read_bytes",
                             "/layers/0/cycles",
                             "/layers/1/utilization",
                             "/layers/2/bound_cycles/dram",
                             "/layers/0/beats",
                             "/layers/0/stall_cycles/barrier",
                             "/layers/1/bytes/dram/read",
                             "/layers/2/bytes/nram/read",
                             "/cores/0/utilization",
                             "/cores/1/utilization",
                             "/total/lost_macs/no_pixel",
                             "/layers/1/lost_macs/no_channel",
                             "/memory_over_time/memories/0/bytes",
                             "/memory_over_time/memories/0/held_bytes/1",
                             "/memory_over_time/memories/1/held_bytes/2",
                             "/energy/pj/total",
                             "/energy/watts",
                             "/layers/1/energy_pj/total"})
    EXPECT_EQ(places.count(wanted), 1U) << wanted << " is on the page";
}

TEST(Page, UI_8_losses_and_useful_work_share_what_the_beats_had_room_for) {
  RunResult run = run_result();
  for (LayerResult& layer : run.layers) layer.beats *= 2;  // room for all of it
  const auto values = computed_of(report_page({page_report(run)}));
  const double all = 1'777'777 + 11'005 + 2'300 + 70'123;
  double sum = 0;
  for (const char* part : {"/total/macs", "/total/lost_macs/no_pixel", "/total/lost_macs/no_kernel",
                           "/total/lost_macs/no_channel"}) {
    ASSERT_EQ(values.count(fmt::format("0:{}/share", part)), 1U) << part;
    sum += values.at(fmt::format("0:{}/share", part));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(values.at("0:/total/lost_macs/no_channel/share"), 70'123 / all, 1e-12);
  const std::string html = report_page({page_report(run)});
  EXPECT_NE(html.find("most of the others had <b>no_channel</b>"), std::string::npos);
  RunResult without = run;
  without.losses.reset();
  for (LayerResult& layer : without.layers) layer.losses.reset();
  EXPECT_EQ(report_page({page_report(without)}).find("Why busy is not utilised"), std::string::npos);
}

TEST(Page, UI_13_limits_are_named_and_no_cure_that_was_not_measured) {
  RunResult run = run_result();
  const auto says = [&](const std::string& text) {
    return report_page({page_report(run)}).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("<b>Waiting limits it.</b>"));
  EXPECT_TRUE(says("The arrays wait most for <b>barrier</b>"));
  EXPECT_TRUE(says("What would help has not been measured"));
  for (LayerResult& layer : run.layers) layer.bound = {layer.cycles / 8, layer.cycles, layer.cycles / 2};
  EXPECT_TRUE(says("<b>The multipliers limit it.</b>")) << "the beats are full of useful work";
  run.losses = MacLosses{500'000, 600'000, 700'000};
  EXPECT_TRUE(says("<b>The schedule of the arrays limits it.</b>"));
  EXPECT_TRUE(says("Beside that, the arrays wait in")) << "half of their cycles are stalls";
  for (LayerResult& layer : run.layers) layer.bound.beats = 0, layer.port = {"noc.dram0.read", layer.cycles};
  EXPECT_TRUE(says("<b>The port noc.dram0.read limits it.</b>"));
  for (LayerResult& layer : run.layers) layer.bound.dram = layer.cycles;
  EXPECT_TRUE(says("<b>DRAM bandwidth limits it.</b>")) << "of equal bounds the simpler one";
}

// The bars of a memory: each is as high as its part of the memory, and stands where its slice lies.
TEST(Page, UI_8_memory_over_time_is_drawn_to_scale) {
  const std::string html = report_page({page_report(run_result())});
  const std::regex bar(
      R"re(<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="([\d.]+)" fill="[^"]*" data-at="0:/memory_over_time/memories/(\d)/held_bytes/(\d)")re");
  std::map<std::string, std::array<double, 3>> bars;
  for (auto match = std::sregex_iterator(html.begin(), html.end(), bar); match != std::sregex_iterator();
       ++match)
    bars[(*match)[4].str() + "/" + (*match)[5].str()] = {std::stod((*match)[1]), std::stod((*match)[2]),
                                                         std::stod((*match)[3])};
  ASSERT_EQ(bars.size(), 4U) << "slices without bytes have no bar";
  EXPECT_NEAR(bars["0/0"][2] / bars["0/1"][2], 1024.0 / 65'536, 0.01);
  EXPECT_NEAR(bars["0/0"][0] + bars["0/0"][1], bars["0/1"][0], 0.2);
  // The last slice ends with the run: 5337 cycles are two slices and 1241 cycles.
  EXPECT_NEAR(bars["1/2"][1] / bars["1/1"][1], 1241.0 / 2048, 0.01);
}

TEST(Page, UI_8_the_graph_has_an_edge_for_every_input_and_marks_units) {
  const auto edges_of = [](const std::string& html) {
    const std::regex edge(R"re(stroke="([^"]*)"[^>]*data-edge="([^"]*)")re");
    std::map<std::string, std::string> colours;
    for (auto match = std::sregex_iterator(html.begin(), html.end(), edge); match != std::sregex_iterator();
         ++match)
      colours[(*match)[2]] = (*match)[1];
    return colours;
  };
  const auto alone = edges_of(report_page({page_report(run_result())}));
  ASSERT_EQ(alone.size(), 4U);
  for (const char* edge : {"x to conv1", "conv1 to conv2", "conv1 to add", "conv2 to add"})
    EXPECT_EQ(alone.count(edge), 1U) << edge;
  RunResult fused = run_result();
  fused.layers.erase(fused.layers.begin(), fused.layers.begin() + 1);
  fused.layers[0].layers = {"conv1", "conv2"}, fused.layers[0].op = "fused";
  fused.layers[0].facts = {{"layers", "conv1, conv2"}, {"ends", "rule 19: <3 pixels>"}};
  const std::string html = report_page({page_report(fused)});
  const auto inside = edges_of(html);
  ASSERT_EQ(inside.size(), 4U);
  EXPECT_NE(inside.at("conv1 to conv2"), inside.at("conv2 to add")) << "the edge within the unit stands out";
  EXPECT_EQ(inside.at("x to conv1"), inside.at("conv2 to add"));
  EXPECT_NE(html.find("unit of 2 layers"), std::string::npos);
  EXPECT_NE(html.find("<b>ends</b> rule 19: &lt;3 pixels&gt;"), std::string::npos) << "what was decided";
  fused.graph.clear();
  EXPECT_NE(report_page({page_report(fused)}).find("<h3>Fusion groups</h3>"), std::string::npos);
}

// Two branches of one layer are beside each other, and a line passes no dot but those of its ends.
TEST(Page, UI_8_lines_of_branches_pass_no_other_layer) {
  RunResult run = run_result();
  run.graph = {{"a", "conv2d", {"x"}},      {"b", "conv2d", {"a"}},   {"c", "conv2d", {"a"}},
               {"d", "conv2d", {"c", "x"}}, {"e", "add", {"b", "d"}}, {"f", "add", {"e", "a"}}};
  std::string html = report_page({page_report(run)});
  html.erase(0, html.find("<h3>The graph of layers</h3>"));
  html.erase(html.find("</svg>", html.find("aria-label")));
  std::vector<std::pair<double, double>> dots;
  const std::regex dot(R"re(<circle cx="([\d.]+)" cy="([\d.]+)")re");
  for (auto match = std::sregex_iterator(html.begin(), html.end(), dot); match != std::sregex_iterator();
       ++match)
    dots.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  ASSERT_EQ(dots.size(), 7U);
  const std::regex path(R"re(<path d="M([\d.]+) ([\d.]+)V([\d.]+)(C?)[^"]*")re");
  int lines = 0;
  for (auto match = std::sregex_iterator(html.begin(), html.end(), path); match != std::sregex_iterator();
       ++match, ++lines) {
    const double x = std::stod((*match)[1]), from = std::stod((*match)[2]), to = std::stod((*match)[3]);
    for (const auto& [dot_x, dot_y] : dots)
      EXPECT_FALSE(dot_x == x && dot_y > from && dot_y < to) << x << ": " << from << " to " << to;
  }
  EXPECT_EQ(lines, 9);
}

TEST(Page, UI_8_RN_3_layers_say_how_close_they_are_to_the_float_network) {
  EXPECT_EQ(report_page({page_report(run_result())}).find("against float"), std::string::npos);
  RunResult run = run_result();
  run.layers[1].quality = Quality{23.456, 0.987654321};
  const std::string html = report_page({page_report(run)});
  EXPECT_NE(html.find("against float"), std::string::npos);
  std::map<std::string, std::string> shown;
  for (const Shown& number : numbers_of(html)) shown[number.at] = number.text;
  EXPECT_EQ(shown["0:/layers/1/quality/sqnr_db"], "23.5 dB");
  EXPECT_EQ(shown["0:/layers/1/quality/cosine"], "0.98765");
  EXPECT_EQ(shown.count("0:/layers/0/quality/cosine"), 0U);
}

TEST(Page, UI_8_computed_numbers_follow_from_the_report) {
  const RunResult run = run_result();
  const auto values = computed_of(report_page({page_report(run)}));
  const double seconds = static_cast<double>(run.cycles) / 800.5e6;
  const auto expect = [&](const std::string& name, double wanted) {
    ASSERT_EQ(values.count("0:" + name), 1U) << name;
    EXPECT_NEAR(values.at("0:" + name), wanted, 1e-9 * wanted) << name;
  };
  expect("microseconds", seconds * 1e6);
  expect("ops_per_second", 2 * static_cast<double>(run.macs) / seconds);
  expect("peak_ops_per_second", 2 * 2048 * 800.5e6);
  expect("dram_bytes_per_second", static_cast<double>(run.bytes.dram_read + run.bytes.dram_write) / seconds);
  expect("peak_dram_bytes_per_second", 2 * 8 * 2 / 1250e-12);
  expect("cycles/busy", 1000 + 309 + 25);
  expect("cycles/barrier", 5337);
  expect("share/barrier", 0.5);  // two arrays
  expect("bound/dram/layers", 3);
  expect("bound/dram/bound", 2000 + 618 + 50);
  expect("/layers/0/macs_per_second", 1e6 / (4000 / 800.5e6));
  expect("busy/dram1.ch0", 1001.0 / 5337);
  EXPECT_EQ(values.count("0:/layers/2/macs_per_second"), 0U) << "no dot without multiply-accumulates";
}

TEST(Page, UI_8_the_largest_causes_come_first_with_their_meaning) {
  const std::string html = report_page({page_report(run_result())});
  const std::size_t barrier = html.find("<b>barrier</b>"), load = html.find("<b>input_load</b>");
  ASSERT_NE(load, std::string::npos);
  EXPECT_LT(barrier, load);
  for (const Activity cause : {Activity::kBarrier, Activity::kInputLoad}) {
    std::string meaning(activity_meaning(cause));
    if (const std::size_t quote = meaning.find('\''); quote != std::string::npos)
      meaning.replace(quote, 1, "&#39;");
    EXPECT_NE(html.find(meaning), std::string::npos) << meaning;
  }
}

TEST(Page, UI_8_names_are_escaped) {
  RunResult run = run_result();
  run.workload = "<script>alert(\"x\")</script>", run.hardware = "a&b'c", run.layers[0].name = "</table><b>";
  run.layers[1].layers = {"<i>one", "two\n\x01"};
  run.core_results[0].name = "cluster0.<core>", run.modules[0].name = "dram\"<0>";
  run.failures = {"<p>failed & done"};
  const std::string html = report_page({page_report(run, "<dir>/\xff.json")});
  for (const char* raw :
       {"<script", "</table><b>", "<i>one", "<core>", "<0>", "a&b", "<p>failed", "<dir>", "\x01"})
    EXPECT_EQ(html.find(raw), std::string::npos) << raw;
  for (const char* wanted : {"&lt;script&gt;", "a&amp;b&#39;c", "&lt;/table&gt;&lt;b&gt;", "&lt;i&gt;one",
                             "&lt;p&gt;failed &amp; done", "&lt;dir&gt;/\xef\xbf\xbd.json"})
    EXPECT_NE(html.find(wanted), std::string::npos) << wanted;
}

TEST(Page, UI_8_needs_nothing_but_itself) {
  const std::string html = report_page({page_report(run_result())});
  for (const char* reference : {"<script", "http:", "https:", "src=", "url(", "@import", "<link", "<img"})
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
}

TEST(Page, UI_8_same_reports_same_bytes) {
  EXPECT_EQ(report_page({page_report(run_result())}), report_page({page_report(run_result())}));
}

TEST(Page, UI_8_several_runs_stand_beside_each_other) {
  RunResult fused = run_result();
  fused.hardware = "fused";
  fused.layers[1].name = "conv2", fused.layers[1].layers = {"conv1", "conv2"}, fused.layers[1].op = "fused";
  fused.layers.erase(fused.layers.begin());
  fused.layers[1].name = "other";
  fused.cycles = 1337;
  const std::string html = report_page({page_report(run_result()), page_report(fused, "b.json")});
  EXPECT_LT(html.find("<h1>Tilebeat: 2 runs"), html.find("The runs beside each other"));
  EXPECT_NE(html.find("net on chip2"), std::string::npos);
  EXPECT_NE(html.find("net on fused"), std::string::npos);
  const auto values = computed_of(html);
  EXPECT_NEAR(values.at("1:speedup"), 5337.0 / 1337, 1e-9);
  EXPECT_EQ(values.at("0:speedup"), 1);
  // The unit stands beside both of its layers.
  EXPECT_EQ(values.at("0:cycles/conv1 to conv2"), 5237);
  const std::size_t row = html.find("<tr><td>conv1 to conv2</td>"), end = html.find("</tr>", row);
  ASSERT_NE(row, std::string::npos);
  const std::string cells = html.substr(row, end - row);
  EXPECT_NE(cells.find("data-at=\"1:/layers/0/cycles\" data-value=\"1237\""), std::string::npos) << cells;
  EXPECT_NE(html.find("<td>add</td>"), std::string::npos);
  EXPECT_NE(html.find("<td class=\"n\">no layer</td>"), std::string::npos);
}

TEST(Page, UI_15_charts_across_runs_have_a_bar_a_run) {
  RunResult other = run_result();
  other.cycles = 2 * other.cycles, other.bytes.dram_read += 1000;
  const std::vector<PageReport> reports{page_report(run_result()), page_report(other, "b.json")};
  const std::string html = report_page(reports);
  const auto values = computed_of(html);
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const Json& report = reports[r].report;
    const std::string run = std::to_string(r) + ":across/";
    EXPECT_NEAR(values.at(run + "microseconds"), report["total"]["cycles"].get<double>() / 800.5, 1e-6);
    EXPECT_NEAR(values.at(run + "energy_pj"), report["energy"]["pj"]["total"].get<double>(), 1e-3);
    EXPECT_EQ(values.at(run + "dram_bytes"), report["total"]["dram_read_bytes"].get<double>() +
                                                 report["total"]["dram_write_bytes"].get<double>());
  }
  const auto count = [&html](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = html.find(text); at != std::string::npos; at = html.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<details>"), 2U) << "each run is folded up";
  EXPECT_EQ(report_page({reports[0]}).find("<details>"), std::string::npos) << "one is not";
}

TEST(Page, UI_15_many_runs_have_a_row_each) {
  const std::vector<PageReport> reports(7, page_report(run_result()));
  const std::string html = report_page(reports);
  EXPECT_NE(html.find("<thead><tr><th>run</th><th class=\"n\">cycles</th>"), std::string::npos);
  EXPECT_EQ(html.find("Cycles of the layers"), std::string::npos);
}

TEST(Page, UI_8_workloads_that_differ_have_no_table_of_layers) {
  RunResult other = run_result();
  other.workload = "another";
  const std::string html = report_page({page_report(run_result()), page_report(other)});
  EXPECT_EQ(html.find("Cycles of the layers"), std::string::npos);
}

TEST(Page, UI_8_runs_without_layers_or_work_have_a_page) {
  RunResult run = run_result();
  run.layers.clear(), run.cycles = 0, run.macs = 0, run.utilization = 0, run.core_results.clear();
  run.modules.clear();
  const std::string html = report_page({page_report(run)});
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
  EXPECT_NE(html.find("</html>"), std::string::npos);
}

TEST(Page, UI_2_UI_8_a_configuration_that_lacks_a_field_is_named) {
  struct Damage {
    const char *pointer, *value, *wanted;
  };
  for (const Damage& damage :
       {Damage{"/configuration/clock_mhz", nullptr, "r.json: /configuration/clock_mhz: is missing"},
        Damage{"/configuration/clock_mhz", "0", "/configuration/clock_mhz: 0 is not allowed"},
        Damage{"/configuration/clock_mhz", "1e-300", "/configuration/clock_mhz: 1e-300 is not allowed"},
        Damage{"/configuration/dram", nullptr, "/configuration/dram: is missing"},
        Damage{"/configuration/dram", "7", "/configuration/dram/channels: is missing"},
        Damage{"/configuration/dram/clock_ps", "\"x\"", "/configuration/dram/clock_ps: \"x\" is not allowed"},
        Damage{"/configuration/chip/memory_controllers", nullptr, "memory_controllers: is missing"},
        Damage{"/layers/1/stall_cycles/tea", "\"much\"",
               "/layers/1/stall_cycles/tea: is no cause of stalls"}}) {
    PageReport report = page_report(run_result(), "r.json");
    const Json::json_pointer pointer(damage.pointer);
    if (damage.value == nullptr)
      report.report[pointer.parent_pointer()].erase(pointer.back());
    else
      report.report[pointer] = Json::parse(damage.value);
    try {
      report_page({report});
      ADD_FAILURE() << damage.pointer << " is refused";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(damage.wanted), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tilebeat::testing
