// GTKWave, where it is installed, opens waveforms with their save files: every row is found in VCD and in
// FST, the whole run is in view, and what is busy comes first (SPEC UI-7, UI-12).
#include "tilebeat_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// The names of the rows of a save file, from the top; GTKWave shows the last part of a path, or an alias.
std::vector<std::string> rows_of(const std::string& view) {
  std::vector<std::string> rows;
  std::istringstream lines(view);
  for (std::string line; std::getline(lines, line);) {
    if (line.front() == '[' || line.front() == '*' || line.front() == '@') continue;
    if (line.front() == '-') {
      rows.push_back(line.substr(1));
    } else if (line.front() == '+') {
      rows.push_back(line.substr(2, line.find('}') - 2));
    } else {
      const std::string path = line.substr(0, line.find('['));
      rows.push_back(path.substr(path.rfind('.') + 1));
    }
  }
  return rows;
}

/// What GTKWave shows in a window of 1600 x 1000.
struct Shown {
  std::vector<std::string> rows;
  std::int64_t begin = -1, end = -1, last = -1;  // time in view, and the last one of the dump
};

class Gtkwave : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const char* program : {"gtkwave", "xvfb-run"}) {
      if (!is_installed(program)) GTEST_SKIP() << program << " is not installed";
    }
    const CommandResult result =
        folder_.run_layer("configs/" + GetParam() + ".json", "models/worked_dense.json",
                          {"--vcd", "w.vcd", "--fst", "w.fst", "--check", "off"});
    ASSERT_EQ(result.status, 0) << result.err;
    view_ = read_bytes(folder_.path("w.gtkw"));
  }
  Shown show(const std::string& dump) const {
    folder_.write("show.tcl", R"(
      for {set i 0} {$i < [gtkwave::getTotalNumTraces]} {incr i} {
        puts "ROW [gtkwave::getTraceNameFromIndex $i]"
      }
      puts "VIEW [gtkwave::getWindowStartTime] [gtkwave::getWindowEndTime] [gtkwave::getMaxTime]"
      gtkwave::/File/Quit
    )");
    const std::string command = "cd '" + folder_.path("") +
                                "' && timeout 120 xvfb-run -a -s '-screen 0 1600x1000x24' gtkwave " + dump +
                                " w.gtkw -S show.tcl > shown.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << read_bytes(folder_.path("shown.txt"));
    Shown shown;
    std::istringstream lines(read_bytes(folder_.path("shown.txt")));
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("ROW ", 0) == 0) shown.rows.push_back(line.substr(4, line.find('[') - 4));
      if (line.rfind("VIEW ", 0) == 0)
        std::istringstream(line.substr(5)) >> shown.begin >> shown.end >> shown.last;
    }
    return shown;
  }

  CommandFolder folder_;
  std::string view_;
};

TEST_P(Gtkwave, UI_12_finds_every_row_and_shows_the_whole_run) {
  const std::vector<std::string> rows = rows_of(view_);
  EXPECT_GT(rows.size(), 100U);
  for (const char* dump : {"w.vcd", "w.fst"}) {
    const Shown shown = show(dump);
    EXPECT_EQ(shown.rows, rows) << dump;
    EXPECT_EQ(shown.begin, 0) << dump;
    EXPECT_GT(shown.last, 0) << dump;
    EXPECT_GE(shown.end, shown.last) << dump << ": the whole run is in view";
    EXPECT_LE(shown.end, shown.last + shown.last / 10) << dump << ": and fills it";
  }
}

std::vector<std::string> shipped_hardware() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(source_path("configs")))
    if (file.path().extension() == ".json") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Shipped, Gtkwave, ::testing::ValuesIn(shipped_hardware()),
                         [](const auto& test) { return test.param; });

TEST(SaveFile, UI_12_busy_units_come_first_and_idle_ports_last) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer("configs/core1.json", "models/worked_dense.json", {"--vcd", "w.vcd"}).status, 0);
  const nlohmann::json modules = folder.report().at("modules");
  std::vector<std::string> states;  // behind the clock and the name of the group
  for (const std::string& row : rows_of(read_bytes(folder.path("w.gtkw")))) {
    if (row == "states" && !states.empty()) break;
    if (row != "states" && row != "clk") states.push_back(row);
  }
  std::vector<bool> busy;
  for (std::string name : states) {
    for (char& c : name) c = c == '/' ? '.' : c;
    for (const auto& module : modules) {
      if (module.at("name") == name) busy.push_back(module.at("busy") > 0);
    }
  }
  ASSERT_EQ(busy.size(), states.size());
  EXPECT_TRUE(busy.front());
  EXPECT_FALSE(busy.back());
  for (std::size_t i = 1; i < busy.size(); ++i) EXPECT_TRUE(busy[i - 1] || !busy[i]) << states[i];
}

}  // namespace
}  // namespace tilebeat::testing
