// One place knows semaphores, and planning knows no engine (SPEC MA-2).
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TILEBEAT_SOURCE_DIR;

struct Line {
  std::string file, text;
  int number = 0;
};

/// The lines of the sources below `folder`, a path from the root.
std::vector<Line> lines_of(const std::string& folder) {
  std::vector<Line> lines;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".h" && ending != ".cpp") continue;
    std::ifstream stream(entry.path());
    Line line;
    line.file = fs::relative(entry.path(), kRoot).string();
    while (std::getline(stream, line.text)) {
      ++line.number;
      lines.push_back(line);
    }
  }
  return lines;
}
std::string place(const Line& line) {
  return line.file + ":" + std::to_string(line.number) + ": " + line.text;
}

/// Semaphores are data of instructions, and units take and give them. Only the synchronisation of task graphs
/// decides which. The reader of programs by hand knows their names.
bool owns_semaphores(const std::string& file) {
  static const std::regex owners(
      "src/(isa|units)/.*"
      "|src/engines/\\w+/sim/.*"
      "|src/program/program_file\\.cpp"
      "|src/planner/schedule/.*");
  return std::regex_match(file, owners);
}

TEST(House, MA_2_only_the_synchronisation_of_task_graphs_names_semaphores) {
  const std::regex names(
      "\\b(Semaphores?|kSemaphores|semaphore_\\w+|kLayerStored|release_signals|done_signals|map_begun"
      "|(input|output|kernels|map|wram|result)_(full|free))\\b|\\bpeer\\(|(\\.|->)waits\\b"
      "|\\b(get|get_if|is)<Signal>|\\bSignal\\{");
  int owned = 0;
  for (const char* folder : {"include", "src"}) {
    for (const Line& line : lines_of(folder)) {
      const std::string code = line.text.substr(0, line.text.find("//"));
      if (!std::regex_search(code, names)) continue;
      if (owns_semaphores(line.file)) {
        ++owned;
      } else {
        ADD_FAILURE() << place(line);
      }
    }
  }
  EXPECT_GT(owned, 50) << "the files were found";
}

/// The folders of the engines.
std::vector<fs::path> engine_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kRoot / "src/engines")) {
    if (fs::exists(entry.path() / "operations.h")) folders.push_back(entry.path());
  }
  return folders;
}
/// The types of their operations and configurations.
std::set<std::string> engine_types() {
  std::set<std::string> names;
  const std::regex type("^(struct|class|enum class) (\\w+)");
  for (const fs::path& folder : engine_folders()) {
    for (const char* header : {"operations.h", "config.h"}) {
      std::ifstream stream(folder / header);
      for (std::string line; std::getline(stream, line);) {
        std::smatch match;
        if (std::regex_search(line, match, type)) names.insert(match[2]);
      }
    }
  }
  return names;
}
/// Small letters alone: a name is the same in every spelling.
std::string without_case(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

TEST(House, MA_2_planning_and_mapping_know_no_engine) {
  const std::set<std::string> types = engine_types();
  for (const char* known :
       {"ConvRun", "LoadInput", "LoadKernels", "StoreOutput", "WfoldRun", "SwitchArrayConfig", "WfoldConfig"})
    EXPECT_EQ(types.count(known), 1U) << known << " was not found";
  std::string pattern;
  for (const std::string& type : types) pattern += (pattern.empty() ? "\\b(" : "|") + type;
  const std::regex named(pattern + ")\\b");
  int checked = 0;
  for (const Line& line : lines_of("src/planner")) {
    EXPECT_FALSE(std::regex_search(line.text, named)) << place(line);
    for (const fs::path& engine : engine_folders())
      EXPECT_EQ(without_case(line.text).find(without_case(engine.filename().string())), std::string::npos)
          << place(line);
    ++checked;
  }
  EXPECT_GT(checked, 1000) << "the files were found";
}

/// The lines of a class of a header, from its head to the brace that ends it.
std::vector<std::string> class_lines(const std::string& header, const std::string& name) {
  std::ifstream stream(kRoot / header);
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, 6 + name.size(), "class " + name) == 0) inside = true;
    if (inside) lines.push_back(line);
    if (inside && line == "};") break;
  }
  return lines;
}

/// Members of a class's interface that are not const, but for its destructor and `made`, which belong to its
/// making.
std::vector<std::string> changing_members(const std::string& header, const std::string& name,
                                          const std::string& made) {
  std::vector<std::string> found;
  std::string declaration;
  for (const std::string& line : class_lines(header, name)) {
    const std::string code = line.substr(0, line.find("//"));
    if (declaration.empty() && code.find("virtual ") == std::string::npos) continue;
    declaration += code;
    if (code.find(';') == std::string::npos && code.find('{') == std::string::npos) continue;
    const bool constant = std::regex_search(declaration, std::regex("\\) const( =|;| \\{)"));
    const bool making = declaration.find('~') != std::string::npos ||
                        (!made.empty() && declaration.find(made) != std::string::npos);
    if (!constant && !making) found.push_back(declaration);
    declaration.clear();
  }
  return found;
}

TEST(House, MA_2_planned_layers_do_not_change) {
  EXPECT_GT(class_lines("src/planner/language/matrix_backend.h", "MatrixLayer").size(), 20U);
  EXPECT_GT(class_lines("src/planner/program/planned_part.h", "PlannedPart").size(), 20U);
  for (const std::string& member :
       changing_members("src/planner/language/matrix_backend.h", "MatrixLayer", ""))
    ADD_FAILURE() << member << " may change what an engine says of a layer";
  for (const std::string& member :
       changing_members("src/planner/program/planned_part.h", "PlannedPart", "void place("))
    ADD_FAILURE() << member << " may change a part that is made";
}

}  // namespace
}  // namespace tilebeat::testing
