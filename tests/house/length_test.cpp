// A file holds one thing whole, a function is read at one look: CONTRIBUTING.md.
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 500;       // of a file
constexpr std::size_t kLongestFunction = 80;  // lines

struct Source {
  std::string name;
  std::vector<std::string> lines;
};

/// The sources and headers of the product.
std::vector<Source> sources() {
  std::vector<Source> found;
  for (const char* folder : {"include", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TILEBEAT_SOURCE_DIR) / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".h" && ending != ".cpp") continue;
      Source& source = found.emplace_back();
      source.name = fs::relative(entry.path(), TILEBEAT_SOURCE_DIR).string();
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
    }
  }
  return found;
}

/// Lines of the function that line `end`, its closing brace, ends: formatted code begins it with the last
/// line in front that is as far to the left and neither blank, a comment nor a label.
std::size_t lines_of_function(const std::vector<std::string>& lines, std::size_t end) {
  const std::size_t indent = lines[end].find('}');
  for (std::size_t i = end; i-- > 0;) {
    const std::string& line = lines[i];
    if (line.size() <= indent || line.find_first_not_of(' ') != indent) continue;
    if (line.compare(indent, 1, "/") == 0 || line.compare(indent, 1, "#") == 0 || line.back() == ':')
      continue;
    return end - i + 1;
  }
  return 0;
}

TEST(Length, no_file_has_more_than_500_lines) {
  std::size_t files = 0;
  for (const Source& source : sources()) {
    EXPECT_LE(source.lines.size(), kMostLines) << source.name;
    ++files;
  }
  EXPECT_GT(files, 300U) << "the files were found";
}

TEST(Length, no_function_has_more_than_80_lines) {
  const std::regex ends("^(  ){0,3}\\}$");
  std::size_t functions = 0;
  for (const Source& source : sources()) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      if (!std::regex_match(source.lines[i], ends)) continue;
      ++functions;
      EXPECT_LE(lines_of_function(source.lines, i), kLongestFunction) << source.name << ":" << i + 1;
    }
  }
  EXPECT_GT(functions, 2000U) << "they were found";
}

TEST(Length, a_long_function_is_found) {
  std::vector<std::string> lines{"int f(int a,", "      int b) {"};
  for (std::size_t i = 0; i < kLongestFunction; ++i) lines.emplace_back("  ++a;");
  lines.emplace_back("}");
  EXPECT_EQ(lines_of_function(lines, lines.size() - 1), kLongestFunction + 3);
}

}  // namespace
}  // namespace tilebeat::testing
