// The line that tells how far a run is (SPEC UI-1).
#include "tilebeat_command.h"

#include <chrono>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <pty.h>

namespace tilebeat::testing {
namespace {

/// Layers of about two million cycles each, every one of which is simulated.
std::string long_workload(const CommandFolder& folder, int layers) {
  nlohmann::json model{{"name", "long"}};
  model["inputs"] = {{{"name", "x"}, {"shape", {1, 32, 32, 128}}, {"random", {{"seed", 1}}}}};
  for (int i = 0; i < layers; ++i) {
    model["layers"].push_back({{"name", "l" + std::to_string(i)},
                               {"op", "conv2d"},
                               {"inputs", {"x"}},
                               {"out_channels", 128},
                               {"kernel", {9, 9}},
                               {"pads", {4, 4, 4, 4}},
                               {"weights", {{"random", {{"seed", i}}}}}});
  }
  return folder.write("long.json", model.dump());
}

/// Runs the binary in `folder` with a terminal for stderr and stdout; what it writes there.
std::string on_a_terminal(const CommandFolder& folder, const std::vector<std::string>& arguments,
                          int& status) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    if (chdir(folder.path("").c_str()) != 0) _exit(126);
    std::vector<char*> raw{const_cast<char*>(TILEBEAT_BINARY)};
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    execv(TILEBEAT_BINARY, raw.data());
    _exit(126);
  }
  std::string text;
  char block[4096];
  for (ssize_t got = 0; (got = read(terminal, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  waitpid(child, &status, 0);
  close(terminal);
  return text;
}

TEST(Progress, UI_1_a_terminal_shows_it_after_a_second_and_a_file_never) {
  const CommandFolder folder;
  const std::vector<std::string> arguments{"run",
                                           "--config",
                                           source_path("configs/switch16.json"),
                                           "--layer",
                                           long_workload(folder, 8),
                                           "--check",
                                           "off",
                                           "--granularity",
                                           "clock"};
  const auto begin = std::chrono::steady_clock::now();
  int status = -1;
  const std::string shown = on_a_terminal(folder, arguments, status);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(status, 0) << shown;
  ASSERT_GT(took, std::chrono::seconds(2)) << "the workload is too small to show progress";
  const std::size_t at = shown.find("\r  clock ");
  ASSERT_NE(at, std::string::npos) << shown;
  EXPECT_NE(shown.find(" of 8 layers complete", at), std::string::npos) << shown;
  EXPECT_TRUE(std::regex_search(shown.substr(at), std::regex("complete, about [0-9]+ s left")))
      << "in clock granularity, too: " << shown;
  EXPECT_NE(shown.find('\r' + std::string(78, ' ') + '\r', at), std::string::npos)
      << "and clears it: " << shown;
  EXPECT_LT(shown.rfind("layers complete"), shown.find("long on switch16")) << "before the table is printed";

  const CommandResult result = folder.run(arguments);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "") << "no terminal, no progress";
  EXPECT_EQ(result.out.find("layers complete"), std::string::npos);
}

TEST(Progress, UI_1_a_short_run_shows_none) {
  const CommandFolder folder;
  int status = -1;
  const std::string shown = on_a_terminal(folder,
                                          {"run", "--config", source_path("configs/switch16.json"), "--layer",
                                           source_path("models/worked_dilated.json")},
                                          status);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shown.find("layers complete"), std::string::npos) << shown;
}

}  // namespace
}  // namespace tilebeat::testing
