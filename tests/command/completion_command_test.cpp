// Completion in shells and the manual page say what --help says (UI-12).
#include "tilebeat_command.h"

#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using Words = std::set<std::string>;

/// All matches of the first group of `pattern`.
Words matches(const std::string& text, const std::string& pattern) {
  Words found;
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

Words commands_of_help(const CommandFolder& folder) {
  const std::string help = folder.run({"--help"}).out;
  return matches(help.substr(help.find("Subcommands:")), "^  ([a-z]+) +[a-z]");
}

/// The long options that the help of a command lists; those that examples use are among them.
Words options_of_help(const CommandFolder& folder, const std::string& command) {
  const std::string help = folder.run({command, "--help"}).out;
  return matches(help, "^ +(?:-h,)?(--[a-z-]+)");
}

/// What bash offers behind these words.
Words offered(const CommandFolder& folder, const std::vector<std::string>& words) {
  folder.write("completion.bash", folder.run({"completion", "bash"}).out);
  std::string script = ". " + folder.path("completion.bash") + "; COMP_WORDS=(tilebeat";
  for (const std::string& word : words) script += " '" + word + "'";
  script +=
      "); COMP_CWORD=" + std::to_string(words.size()) + R"(; _tilebeat; printf "%s\n" "${COMPREPLY[@]}")";
  folder.write("ask.bash", script);
  FILE* pipe = popen(("bash " + folder.path("ask.bash") + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> block{};
  for (std::size_t got = 0; (got = fread(block.data(), 1, block.size(), pipe)) > 0;)
    text.append(block.data(), got);
  EXPECT_EQ(pclose(pipe), 0) << text;
  return matches(text, "^(.+)$");
}

TEST(Completion, UI_12_bash_offers_what_help_lists) {
  const CommandFolder folder;
  const Words commands = commands_of_help(folder);
  ASSERT_GE(commands.size(), 10U);
  Words first = offered(folder, {""});
  for (const char* option : {"-h", "--help", "--version"}) EXPECT_EQ(first.erase(option), 1U);
  EXPECT_EQ(first, commands);
  for (const std::string& command : commands)
    EXPECT_EQ(offered(folder, {command, "--"}), options_of_help(folder, command)) << command;
}

TEST(Completion, UI_12_bash_offers_the_words_that_an_option_takes) {
  const CommandFolder folder;
  EXPECT_EQ(offered(folder, {"run", "--granularity", ""}), (Words{"clock", "tile"}));
  EXPECT_EQ(offered(folder, {"run", "--granularity", "c"}), Words{"clock"});
  EXPECT_EQ(offered(folder, {"schema", ""}),
            (Words{"hardware", "workload", "mapping", "report", "sweep", "suite", "whatif"}));
  EXPECT_EQ(offered(folder, {"run", "--config", ""}), Words{}) << "bash completes the names of files";
}

TEST(Completion, UI_12_zsh_and_the_manual_page_have_every_option_of_every_command) {
  const CommandFolder folder;
  const std::string zsh = folder.run({"completion", "zsh"}).out, manual = folder.run({"manual"}).out;
  EXPECT_EQ(zsh.rfind("#compdef tilebeat\n", 0), 0U);
  const Words commands = commands_of_help(folder);
  EXPECT_EQ(matches(zsh, "^    ([a-z]+)\\)$"), commands);
  EXPECT_EQ(matches(manual, "^\\.SS tilebeat ([a-z]+)$"), commands);
  for (const std::string& command : commands) {
    const Words options = options_of_help(folder, command);
    const std::size_t in_zsh = zsh.find("    " + command + ")\n");
    const std::string completion = zsh.substr(in_zsh, zsh.find(";;", in_zsh + 1) - in_zsh);
    // The descriptions hold two semicolons nowhere, or the part would be cut short.
    EXPECT_EQ(matches(completion, "'\\*?(--[a-z-]+)\\["), options) << command;
    const std::size_t in_manual = manual.find(".SS tilebeat " + command + "\n");
    std::string entries = manual.substr(in_manual, manual.find("\n.S", in_manual + 1) - in_manual);
    entries = std::regex_replace(entries, std::regex(R"(\\-)"), "-");
    EXPECT_EQ(matches(entries, R"(\\fB(--[a-z-]+)\\fR)"), options) << command;
  }
}

TEST(Completion, UI_12_text_that_troff_would_take_for_requests_is_guarded) {
  const CommandFolder folder;
  const std::string manual = folder.run({"manual"}).out;
  EXPECT_EQ(matches(manual, "^([.'](?!TH|SH|SS|TP|PP|nf|fi|B).*)$"), Words{});
  EXPECT_EQ(matches(manual, R"((\\[^-&fe]))"), Words{});
}

}  // namespace
}  // namespace tilebeat::testing
