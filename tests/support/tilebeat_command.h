#pragma once

// The command line as a user meets it: the binary in a process of its own, its exit status, its output, its
// files.

#include "../data/temporary_folder.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat::testing {

/// The bytes of a file; throws when it cannot be read.
inline std::string read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(path + " cannot be read");
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

/// A path in the source tree, such as source_path("models/worked_dense.json").
inline std::string source_path(const std::string& path) {
  return std::string(TILEBEAT_SOURCE_DIR "/") + path;
}

struct CommandResult {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out, err;
};

/// What a command finds around it, besides its folder.
struct CommandSetting {
  std::string out;                                 ///< file that stdout goes to instead of CommandResult::out
  rlim_t max_file_bytes = RLIM_INFINITY;           ///< no file of the command can grow beyond
  rlim_t max_memory_bytes = RLIM_INFINITY;         ///< of its address space
  bool interrupts_ignored = false;                 ///< as under nohup
  std::map<std::string, std::string> environment;  ///< variables besides those of the test
};

/// The binary that is tested: the build's, or the one that scripts/mutation-test has made.
inline const char* tilebeat_binary() {
  const char* other = std::getenv("TILEBEAT_UNDER_TEST");
  return other != nullptr ? other : TILEBEAT_BINARY;
}

/// A command that runs.
class StartedCommand {
 public:
  StartedCommand(const std::string& folder, const std::vector<std::string>& arguments,
                 const CommandSetting& setting)
      : out_(setting.out.empty() ? streams_.path("out") : setting.out), child_(fork()) {
    if (child_ == 0) execute(folder, arguments, setting);
  }
  void signal(int number) const { kill(child_, number); }
  /// Waits until it ends.
  CommandResult finish() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            out_ == streams_.path("out") ? read_bytes(out_) : "", read_bytes(streams_.path("err"))};
  }

 private:
  [[noreturn]] void execute(const std::string& folder, const std::vector<std::string>& arguments,
                            const CommandSetting& setting) const {
    if (chdir(folder.c_str()) != 0) _exit(126);
    const auto redirect = [](const std::string& file, int to) {
      const int from = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (from < 0 || dup2(from, to) < 0) _exit(126);
      close(from);
    };
    redirect(out_, STDOUT_FILENO);
    redirect(streams_.path("err"), STDERR_FILENO);
    const rlimit limit{setting.max_file_bytes, setting.max_file_bytes};
    if (setting.max_file_bytes != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
    const rlimit memory{setting.max_memory_bytes, setting.max_memory_bytes};
    if (setting.max_memory_bytes != RLIM_INFINITY && setrlimit(RLIMIT_AS, &memory) != 0) _exit(126);
    if (setting.interrupts_ignored) std::signal(SIGINT, SIG_IGN);
    for (const auto& [name, value] : setting.environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> raw{const_cast<char*>(tilebeat_binary())};
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    execv(tilebeat_binary(), raw.data());
    _exit(126);
  }

  TemporaryFolder streams_;
  std::string out_;
  pid_t child_;
};

/// A folder in which the binary runs, with whatever it writes there.
class CommandFolder {
 public:
  /// Starts `tilebeat ARGUMENTS...` in this folder.
  StartedCommand start(const std::vector<std::string>& arguments, const CommandSetting& setting = {}) const {
    return {path(""), arguments, setting};
  }
  /// Runs `tilebeat ARGUMENTS...` in this folder.
  CommandResult run(const std::vector<std::string>& arguments, const CommandSetting& setting = {}) const {
    return start(arguments, setting).finish();
  }
  /// `run --config CONFIG --layer WORKLOAD more...`, with files of the source tree.
  CommandResult run_layer(const std::string& config, const std::string& workload,
                          std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"run", "--config", source_path(config), "--layer",
                                       source_path(workload)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }
  /// Every file below the folder (or `below` it) with its bytes, by relative path.
  std::map<std::string, std::string> files(const std::string& below = "") const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(below))) {
      const std::string name = entry.path().lexically_relative(path(below)).string();
      if (entry.is_regular_file()) found[name] = read_bytes(entry.path().string());
      if (entry.is_directory()) found[name + "/"] = "";
    }
    return found;
  }
  /// The tensors of a run, by name.
  std::map<std::string, std::string> tensors(const std::string& out) const {
    std::map<std::string, std::string> found = files(out + "/outputs");
    found.erase(".report.json");
    return found;
  }
  /// The report without its provenance, which names the files that a run was given.
  std::string results(const std::string& out = "tilebeat-out") const {
    nlohmann::ordered_json report = nlohmann::ordered_json::parse(read_bytes(path(out + "/report.json")));
    report.erase("provenance");
    return report.dump();
  }
  nlohmann::json report(const std::string& out = "tilebeat-out") const {
    return nlohmann::json::parse(read_bytes(path(out + "/report.json")));
  }

 private:
  TemporaryFolder folder_;
};

/// The JSON files of a folder of the source tree, as paths in it.
inline std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(source_path(folder))) {
    if (entry.path().extension() == ".json") found.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether a layer of a report began before the one in front of it was complete.
inline bool overlaps(const nlohmann::json& layer) {
  const nlohmann::json& facts = layer.at("facts");
  return std::any_of(facts.begin(), facts.end(),
                     [](const auto& fact) { return fact.at("name") == "begins"; });
}

/// "models/small_chain.json" as a test's name: small_chain.
inline std::string test_name(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

}  // namespace tilebeat::testing
