// The networks of models/ that a script writes are what it writes (SPEC FU-7).
#include "../data/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(MadeNetworks, FU_7_are_what_the_script_writes) {
  const fs::path root = TILEBEAT_SOURCE_DIR;
  const TemporaryFolder folder;
  // Folders may have spaces in their names.
  const std::string command = "'" + (root / "scripts/make-networks").string() + "' '" + folder.path("") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path(""))) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(contents(entry.path()) == contents(root / "models" / name))
        << "models/" << name << " differs: run scripts/make-networks models";
    ++files;
  }
  EXPECT_GE(files, 4);
}

}  // namespace
}  // namespace tilebeat::testing
