// What the pages say of the tree is there: CONTRIBUTING.md.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Docs, pages_name_only_sources_and_tests_that_exist) {
  const fs::path root = TILEBEAT_SOURCE_DIR;
  const std::regex name("`((?:src|tests|include|scripts|rtl|configs|models)/[A-Za-z0-9_./-]*[A-Za-z0-9_])`");
  std::size_t names = 0;
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = text_of(entry.path());
    for (std::sregex_iterator found(page.begin(), page.end(), name), end; found != end; ++found, ++names) {
      const std::string path = (*found)[1];
      // NAME stands for an engine, and dot is the one that a page adds.
      if (path.find("NAME") != std::string::npos || path == "src/engines/dot") continue;
      EXPECT_TRUE(fs::exists(root / path)) << entry.path().filename() << ": " << path;
    }
  }
  EXPECT_GT(names, 100U) << "the names were found";
}

}  // namespace
}  // namespace tilebeat::testing
