// The levels of DESIGN.md: what each may include. A new edge needs a line here and in CMakeLists.txt.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

using Edges = std::map<std::string, std::set<std::string>>;

/// By level, the levels that its files may include besides its own.
const Edges kAllowed{
    {"base", {}},
    {"schema", {"base"}},
    {"workload", {"base", "schema"}},
    {"config", {"base", "schema"}},
    {"host", {"base", "workload"}},
    {"reference", {"base", "workload", "host"}},
    {"import", {"base", "schema", "workload"}},
    {"isa", {"base"}},
    {"program", {"base", "schema", "workload", "config", "isa"}},
    {"planner_language", {"base", "schema", "workload", "config", "isa", "program"}},
    {"engines", {"base", "schema", "workload", "config", "isa", "program", "planner_language"}},
    {"engine_list", {"config", "isa", "planner_language", "engines"}},
    {"planner", {"base", "workload", "config", "isa", "program", "planner_language", "engines"}},
    {"kernels", {"base"}},
    {"observe", {"base"}},
    {"report", {"base", "schema", "workload", "config", "observe"}},
    {"sim", {"base", "observe"}},
    {"fabric", {"base", "config", "observe", "sim"}},
    {"units", {"base", "config", "isa", "kernels", "observe", "sim", "fabric"}},
    {"engines_sim", {"base", "config", "isa", "engines", "kernels", "observe", "sim", "fabric", "units"}},
    {"engine_units", {"config", "engine_list", "units", "engines_sim"}},
    {"system",
     {"base", "config", "workload", "host", "isa", "program", "observe", "report", "sim", "fabric", "units"}},
    {"embed",
     {"base", "schema", "workload", "config", "reference", "program", "planner_language", "planner", "report",
      "sim", "fabric", "system"}},
    {"app",
     {"base", "schema", "workload", "config", "reference", "import", "program", "planner_language", "planner",
      "observe", "report", "system", "client"}},
    {"client", {}},
};
const std::set<std::string> kWithSystemC{"sim",          "fabric", "units", "engines_sim",
                                         "engine_units", "system", "embed", "app"};

/// The level that a file belongs to: its folder; of the planner its language apart, of an engine's folder
/// sim/, and the list of engines. Of the headers of include/tilebeat that of the errors belongs to the lowest
/// level, C's to the client, the others to the highest one of the library.
std::string level_of(const fs::path& relative) {
  const std::string folder = relative.begin()->string();
  if (relative == "tilebeat/tilebeat.h") return "client";
  if (folder == "tilebeat") return relative == "tilebeat/error.h" ? "base" : "embed";
  if (relative.parent_path() == "planner/language") return "planner_language";
  if (folder != "engines") return folder;
  if (relative.parent_path() == "engines" || relative.parent_path() == "engines/list") return "engine_list";
  if (relative.parent_path() == "engines/sim") return "engine_units";
  const bool sim = relative.string().find("/sim/") != std::string::npos;
  return sim ? "engines_sim" : folder;
}

struct Include {
  std::string file, level, target;
  bool quoted = false;  ///< "target", not <target>
};

/// Every #include of the product, with the level of the file it stands in.
std::vector<Include> includes() {
  std::vector<Include> found;
  const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  for (const char* root : {"include", "src"}) {
    const fs::path folder = fs::path(TILEBEAT_SOURCE_DIR) / root;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const fs::path relative = fs::relative(entry.path(), folder);
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) {
        std::smatch match;
        if (std::regex_search(line, match, pattern)) {
          found.push_back(
              {(fs::path(root) / relative).string(), level_of(relative), match[2], match[1] == "\""});
        }
      }
    }
  }
  return found;
}

TEST(Layering, every_folder_is_a_known_level) {
  for (const auto& entry : fs::directory_iterator(fs::path(TILEBEAT_SOURCE_DIR) / "src")) {
    EXPECT_EQ(kAllowed.count(entry.path().filename().string()), 1U) << entry.path() << " belongs to no level";
  }
}

TEST(Layering, includes_follow_the_allowed_edges) {
  int checked = 0;
  for (const Include& include : includes()) {
    if (!include.quoted) continue;
    const std::string to = level_of(include.target);
    ASSERT_EQ(kAllowed.count(include.level), 1U) << include.file;
    EXPECT_TRUE(to == include.level || kAllowed.at(include.level).count(to))
        << include.file << " includes " << include.target << ": " << include.level << " may not see " << to;
    ++checked;
  }
  EXPECT_GT(checked, 100) << "the files were found";
}

TEST(Layering, headers_are_named_by_their_path_from_the_root) {
  const fs::path source = TILEBEAT_SOURCE_DIR;
  int checked = 0;
  for (const Include& include : includes()) {
    if (!include.quoted) continue;
    EXPECT_TRUE(fs::exists(source / "src" / include.target) ||
                fs::exists(source / "include" / include.target))
        << include.file << " includes " << include.target;
    ++checked;
  }
  EXPECT_GT(checked, 100) << "the files were found";
}

TEST(Layering, systemc_is_seen_below_its_line_only) {
  bool seen = false;
  for (const Include& include : includes()) {
    const bool systemc = include.target == "systemc" || include.target == "systemc.h" ||
                         include.target.compare(0, 3, "tlm") == 0;
    if (!systemc) continue;
    seen = true;
    EXPECT_EQ(kWithSystemC.count(include.level), 1U) << include.file << " includes " << include.target;
  }
  EXPECT_TRUE(seen);
}

// tests/CMakeLists.txt compiles each of them by itself, scripts/check-install sees that no others are
// installed.
TEST(Layering, UI_12_public_headers_know_the_standard_library_and_systemc_alone) {
  const std::regex standard("[a-z_]+|std[a-z]+\\.h");
  const std::regex ours("tilebeat/\\w+\\.h");
  std::set<std::string> files;
  for (const Include& include : includes()) {
    if (include.file.compare(0, 8, "include/") != 0) continue;
    files.insert(include.file);
    EXPECT_TRUE(std::regex_match(include.target, include.quoted ? ours : standard))
        << include.file << " includes " << include.target;
    if (include.target == "systemc" || include.target == "tlm") {
      EXPECT_EQ(include.file, "include/tilebeat/accelerator.h") << "the others do without SystemC";
    }
  }
  for (const char* name : {"accelerator", "error", "hardware", "plan", "result", "tilebeat", "workload"})
    EXPECT_EQ(files.count(std::string("include/tilebeat/") + name + ".h"), 1U) << name;
}

TEST(Layering, allowed_edges_have_no_cycle) {
  std::set<std::string> placed;
  while (placed.size() < kAllowed.size()) {
    const std::size_t before = placed.size();
    for (const auto& [level, below] : kAllowed) {
      if (std::includes(placed.begin(), placed.end(), below.begin(), below.end())) placed.insert(level);
    }
    ASSERT_GT(placed.size(), before) << "a cycle among the levels that are left";
  }
}

TEST(Layering, cmake_links_exactly_these_levels) {
  std::ifstream stream(fs::path(TILEBEAT_SOURCE_DIR) / "CMakeLists.txt");
  const std::regex pattern(R"(^tilebeat_level\((\w+)(?: USES ([\w ]+))?\))");
  Edges linked;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) continue;
    std::istringstream words(match[2]);
    auto& edges = linked[match[1]];
    for (std::string word; words >> word;) edges.insert(word);
  }
  EXPECT_EQ(linked, kAllowed);
}

}  // namespace
}  // namespace tilebeat::testing
