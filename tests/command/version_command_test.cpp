// `tilebeat --version` (SPEC UI-11).
#include "tilebeat_command.h"

#include <fstream>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

TEST(VersionCommand, UI_11_says_version_and_revision) {
  const CommandResult result = CommandFolder().run({"--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(
      result.out, match, std::regex(R"(tilebeat ([0-9]+\.[0-9]+\.[0-9]+) \((unknown|[0-9a-f]{12,40})\)\n)")))
      << result.out;
  for (const char* file : {"CMakeLists.txt", "CITATION.cff", "CHANGELOG.md"})
    EXPECT_NE(read_bytes(source_path(file)).find(match[1].str()), std::string::npos)
        << file << " is of this version";
}

}  // namespace
}  // namespace tilebeat::testing
