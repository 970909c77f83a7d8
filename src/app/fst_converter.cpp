#include "fst_converter.h"

#include "tilebeat/base/error.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilebeat {
namespace {

constexpr const char* kConverter = "vcd2fst";
// Where the header of an FST file has the date of its making.
constexpr std::streamoff kDateOffset = 202, kDateBytes = 119;

// Whether the converter ran and said that all went well; its output is dropped.
bool run_converter(const std::string& from, const std::string& to) {
  std::array<std::string, 5> arguments{kConverter, "-v", from, "-f", to};
  std::array<char*, arguments.size() + 1> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, kConverter, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  return failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void require_fst_converter() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + kConverter).c_str(), X_OK) == 0) return;
  }
  throw UserError(
      fmt::format("--fst: the converter {} is not installed (Debian package gtkwave)", kConverter));
}

void convert_to_fst(OutputFile& vcd, OutputFile& fst) {
  vcd.close();
  vcd.check();
  if (!run_converter(vcd.temporary(), fst.temporary()))
    throw UserError(fmt::format("--fst {}: {} failed", fst.target(), kConverter));
  std::fstream made(fst.temporary(), std::ios::in | std::ios::out | std::ios::binary);
  made.seekp(kDateOffset);
  made.write(std::string(kDateBytes, '\0').data(), kDateBytes);
  if (!made) throw UserError(fmt::format("--fst {}: {} made no FST file", fst.target(), kConverter));
}

}  // namespace tilebeat
