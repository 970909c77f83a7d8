// `tilebeat tables`, and runs with the files that it writes (SPEC OT-3, UI-1, UI-5).
#include "tilebeat_command.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTableConfig = "configs/offset16.json";
constexpr const char* kTableLayer = "models/worked_dense.json";

CommandResult compile(const CommandFolder& folder, const std::string& to, const char* config = kTableConfig,
                      const char* layer = kTableLayer) {
  return folder.run({"tables", "--config", source_path(config), "--layer", source_path(layer), "--out", to});
}

TEST(TablesCommand, OT_3_UI_1_tables_are_compiled_shown_and_used) {
  const CommandFolder folder;
  const std::string file = folder.path("dense.tables");
  const CommandResult compiled = compile(folder, file);
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("72 bases, 9 offsets, 324 bytes (396 by k)"));
  const CommandResult shown = folder.run({"tables", "--show", file});
  EXPECT_THAT(shown.out, HasSubstr("0: conv1: nhwc 1 x 3 x 8 x 14"));
  EXPECT_EQ(folder.run({"tables", "--show", file, "--thread", "37", "--k", "5"}).out,
            "thread 37, k 5: n 0, oh 3, ow 1, v 1, u 2, c 0 -> element 177\n");
  for (const char* granularity : {"tile", "clock"}) {
    const CommandResult run =
        folder.run_layer(kTableConfig, kTableLayer, {"--tables", file, "--granularity", granularity});
    ASSERT_EQ(run.status, 0) << run.err;
    const std::string with = folder.results();
    ASSERT_EQ(folder.run_layer(kTableConfig, kTableLayer, {"--granularity", granularity}).status, 0);
    EXPECT_EQ(with, folder.results()) << "tables that were compiled before are the same tables";
  }
}

TEST(TablesCommand, OT_3_UI_5_tables_of_something_else_are_refused) {
  const CommandFolder folder;
  const std::string file = folder.path("dense.tables");
  ASSERT_EQ(compile(folder, file).status, 0);
  const CommandResult other =
      folder.run_layer(kTableConfig, "models/worked_dilated.json", {"--tables", file});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("no tables for a layer of"));
  const CommandResult engine = folder.run_layer("configs/rolling16.json", kTableLayer, {"--tables", file});
  EXPECT_EQ(engine.status, 2);
  EXPECT_THAT(engine.err, HasSubstr("the engine \"rolling\" compiles nothing ahead"));
  EXPECT_EQ(compile(folder, file, "configs/core1.json").status, 2);
}

TEST(TablesCommand, OT_3_UI_5_damage_is_one_line_and_nothing_is_written) {
  const CommandFolder folder;
  const std::string file = folder.path("dense.tables");
  ASSERT_EQ(compile(folder, file).status, 0);
  std::string bytes = read_bytes(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const std::string bad = folder.write("bad.tables", bytes),
                    cut = folder.write("cut.tables", bytes.substr(0, 50));
  for (const std::string& damaged : {bad, cut, source_path(kTableConfig), folder.path("nothing there")}) {
    for (const CommandResult& result : {folder.run({"tables", "--show", damaged}),
                                        folder.run_layer(kTableConfig, kTableLayer, {"--tables", damaged})}) {
      EXPECT_EQ(result.status, 2) << damaged;
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
  }
  const CommandResult thread = folder.run({"tables", "--show", file, "--thread", "72"});
  EXPECT_THAT(thread.err, HasSubstr("there is no thread 72, there are 72"));
  EXPECT_EQ(folder.run({"tables"}).status, 2);
}

}  // namespace
}  // namespace tilebeat::testing
