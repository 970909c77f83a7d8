// Files that are put into place together, or not at all (SPEC UI-5).
#include "../data/temporary_folder.h"
#include "app/output_files.h"
#include "tilebeat/error.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class ReplacementTest : public ::testing::Test {
 protected:
  ReplacementTest() {
    for (const char* name : {"a", "c", "stale"}) folder_.write(name, std::string("old ") + name);
    for (const char* name : {"new_a", "new_b", "new_c"}) folder_.write(name, name);
    fs::create_directory(folder_.path("taken"));
    folder_.write("taken/file", "mine");
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  Files files() const {
    Files found;
    for (const auto& entry : fs::recursive_directory_iterator(path(""))) {
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path()).rdbuf();
      found[fs::relative(entry.path(), path("")).string()] = entry.is_directory() ? "folder" : bytes.str();
    }
    return found;
  }
  void replace(Replacement& replacement) const {
    replacement.remove(path("stale"));
    replacement.put(path("new_a"), path("a"));
    replacement.put(path("new_b"), path("b"));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ReplacementTest, UI_5_what_is_kept_is_in_its_place_and_nothing_else_is_there) {
  {
    Replacement replacement;
    replace(replacement);
    replacement.keep();
  }
  EXPECT_EQ(files(), (Files{{"a", "new_a"},
                            {"b", "new_b"},
                            {"c", "old c"},
                            {"new_c", "new_c"},
                            {"taken", "folder"},
                            {"taken/file", "mine"}}));
}

TEST_F(ReplacementTest, UI_5_a_failure_puts_everything_back) {
  const std::string cases[][2] = {{"new_c", "taken"}, {"missing", "c"}, {"new_c", "missing/c"}};
  for (const auto& [from, to] : cases) {
    Files before = files();
    const std::string message = refusal([&, from = from, to = to] {
      Replacement replacement;
      replace(replacement);
      EXPECT_EQ(files().at("a"), "new_a");
      replacement.put(path(from), path(to));
      replacement.keep();
    });
    EXPECT_EQ(message.rfind(path(to) + ": cannot be written: ", 0), 0U) << message;
    for (const char* moved : {"new_a", "new_b"}) before.erase(moved);
    EXPECT_EQ(files(), before) << to;
    for (const char* moved : {"new_a", "new_b"}) std::ofstream(path(moved)) << moved;
  }
}

// The beginning is rewritten after the rest has gone to the disk, and that it is full is not forgotten on the
// way.
TEST(OutputFileTest, UI_5_what_a_full_disk_does_not_take_is_an_error_also_when_the_beginning_is_rewritten) {
  OutputFile full(open("/dev/full", O_WRONLY), "w.fst", "w.fst", "");
  full.write("header and body");
  full.rewrite("HEADER");
  full.close();
  EXPECT_THROW(full.check(), UserError);

  const TemporaryFolder folder;
  folder.write("w.fst", "");
  OutputFile file(open(folder.path("w.fst").c_str(), O_WRONLY), "w.fst", "w.fst", "");
  file.write("header and");
  file.rewrite("HEADER");
  file.write(" body");
  file.close();
  EXPECT_NO_THROW(file.check());
  std::ostringstream bytes;
  bytes << std::ifstream(folder.path("w.fst")).rdbuf();
  EXPECT_EQ(bytes.str(), "HEADER and body");
}

}  // namespace
}  // namespace tilebeat::testing
