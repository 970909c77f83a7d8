#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/progress.h"
#include "app/suite_compare.h"
#include "app/suite_file.h"
#include "app/sweep_folder.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

// No run is called so.
constexpr const char* kConfigurationCase = "(configuration)";

// The name has the text in it, or follows it as a shell's pattern.
bool is_chosen(const std::string& name, const std::vector<std::string>& filters) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&name](const std::string& filter) {
           return name.find(filter) != std::string::npos || fnmatch(filter.c_str(), name.c_str(), 0) == 0;
         });
}

std::vector<const SuiteRun*> chosen_runs(const std::vector<SuiteRun>& runs, const CheckCommand& command) {
  std::vector<const SuiteRun*> chosen;
  for (const SuiteRun& run : runs) {
    if (is_chosen(run.name, command.filters)) chosen.push_back(&run);
  }
  if (chosen.empty())
    throw UserError(fmt::format("--filter {}: fits none of the {} runs of {}, such as '{}'",
                                fmt::join(command.filters, " "), runs.size(), command.suite,
                                runs.front().name));
  return chosen;
}

// The files that a suite names, and those that the workloads of its runs name.
std::vector<std::string> files_of(const SuiteFile& suite, const std::string& path,
                                  const std::vector<SuiteRun>& runs) {
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> files{path};
  const auto add = [&](const std::string& file) { files.push_back((folder / file).string()); };
  for (const SuiteProduct& product : suite.runs) {
    for (const auto* inputs : {&product.configs, &product.layers}) {
      for (const SuiteInput& input : *inputs) add(input.file);
    }
    for (const SuiteOption& option : product.options) {
      for (const auto& file : option.change.files) {
        if (file) add(*file);
      }
    }
  }
  for (const SuiteRun& run : runs) {
    const auto tensors =
        tensors_read(Json::parse(*nth(run.folder.point().texts, SweepTarget::kLayer)), run.folder.path());
    files.insert(files.end(), tensors.begin(), tensors.end());
  }
  return files;
}

// What the chosen runs came to.
struct SuiteResults {
  std::map<std::string, StoredRun> runs;
  std::map<std::string, std::string> errors;  ///< by run, of those that did not pass
  std::map<std::string, StoredConfiguration> configurations;
};

// Returns a signal that ended it, or 0.
int run_all(const std::vector<const SuiteRun*>& runs, const ScratchFolder& folder, int jobs) {
  const SweepLock lock(folder.path());
  std::vector<const PointFolder*> folders;
  for (const SuiteRun* run : runs) {
    run->folder.prepare();
    folders.push_back(&run->folder);
  }
  PointProgress progress("runs", folders.size(), 0);
  std::size_t done = 0;
  const int signal = run_points(folders, lock, {jobs, [&](std::size_t ended, std::size_t running) {
                                                  done = ended;
                                                  progress(ended, running);
                                                }});
  if (signal == SIGINT)
    fmt::print(stderr, "\ntilebeat: interrupted, {} of {} runs were done; nothing was written\n", done,
               folders.size());
  return signal;
}

// What a run said, in the user's names: it read a copy of its workload in a folder that is gone afterwards.
std::string in_the_users_names(const SuiteRun& run, std::string said) {
  const std::string copy = "workload.json: ", up = " ../";
  if (said.compare(0, copy.size(), copy) == 0) said.replace(0, copy.size() - 2, run.layer);
  for (auto at = said.find(up); at != std::string::npos; at = said.find(up, at + up.size())) {
    const std::size_t begin = at + 1, end = std::min(said.find(": ", begin), said.size());
    const fs::path path = fs::path(run.folder.path()) / said.substr(begin, end - begin);
    said.replace(begin, end - begin,
                 path.lexically_normal().lexically_proximate(fs::current_path()).string());
  }
  return said;
}

SuiteResults results_of(const std::vector<const SuiteRun*>& runs) {
  SuiteResults results;
  for (const SuiteRun* run : runs) {
    const PointResult result = run->folder.result();
    if (!result.error.empty()) results.errors[run->name] = in_the_users_names(*run, result.error);
    if (!result.report) continue;
    results.configurations.try_emplace(run->configuration, stored_configuration(*result.report));
    if (result.error.empty())
      results.runs[run->name] = stored_run(*result.report, run->folder.path() + "/outputs");
  }
  return results;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// ---- --update ----

// What is not chosen stays; without a filter, what is no run of the suite goes.
int update(const CheckCommand& command, const LoadedSuite& suite, const SuiteResults& results,
           OutputFiles& files, OutputFile& file) {
  if (!results.errors.empty()) {
    for (const auto& [run, error] : results.errors)
      print_message(fmt::format("{}: did not pass: {}", run, error));
    print_message(fmt::format("{}: stays as it is", command.suite));
    return 1;
  }
  std::map<std::string, StoredRun> runs = results.runs;
  std::map<std::string, StoredConfiguration> configurations = results.configurations;
  if (!command.filters.empty()) {
    runs.insert(suite.file.results.begin(), suite.file.results.end());
    configurations.insert(suite.file.configurations.begin(), suite.file.configurations.end());
  }
  std::size_t changed = 0;
  for (const auto& [name, run] : results.runs) {
    const auto before = suite.file.results.find(name);
    const bool same =
        before != suite.file.results.end() && differences(name, before->second, run, {}).empty();
    changed += same ? 0 : 1;
  }
  file.write(suite_text(suite.json, configurations, runs));
  files.commit();
  fmt::print("suite {}: {}, {} stored anew\nWrote {}\n", suite.file.name, counted(results.runs.size(), "run"),
             changed, command.suite);
  return 0;
}

// ---- the check ----

SuiteCase case_of(const SuiteRun& run, const SuiteFile& suite, const SuiteResults& results) {
  const std::size_t slash = run.name.find('/');
  SuiteCase made{run.name.substr(0, slash), run.name.substr(slash + 1), {}, ""};
  const auto stored = suite.results.find(run.name);
  if (const auto failed = results.errors.find(run.name); failed != results.errors.end()) {
    made.error = fmt::format("{}: did not pass: {}", run.name, failed->second);
  } else if (stored == suite.results.end()) {
    made.error = fmt::format("{}: nothing is stored, --update does that", run.name);
  } else {
    made.differences = differences(run.name, stored->second, results.runs.at(run.name), run.tolerances);
  }
  return made;
}

std::vector<SuiteCase> cases_of(const std::vector<const SuiteRun*>& chosen, const std::vector<SuiteRun>& all,
                                const CheckCommand& command, const SuiteFile& suite,
                                const SuiteResults& results) {
  std::vector<SuiteCase> cases;
  for (const auto& [name, configuration] : results.configurations) {
    const auto stored = suite.configurations.find(name);
    SuiteCase made{name, kConfigurationCase, {}, ""};
    if (stored == suite.configurations.end()) {
      made.error = fmt::format("{}: nothing is stored of the configuration, --update does that", name);
    } else {
      made.differences = differences(name, stored->second, configuration);
    }
    cases.push_back(std::move(made));
  }
  for (const SuiteRun* run : chosen) cases.push_back(case_of(*run, suite, results));
  if (!command.filters.empty()) return cases;
  for (const auto& [name, ignored] : suite.results) {
    const auto named = [&name = name](const SuiteRun& run) { return run.name == name; };
    if (std::any_of(all.begin(), all.end(), named)) continue;
    const std::size_t slash = std::min(name.find('/'), name.size());
    cases.push_back({name.substr(0, slash),
                     name.substr(std::min(slash + 1, name.size())),
                     {},
                     fmt::format("{}: is stored, and no run of the suite; --update removes it", name)});
  }
  return cases;
}

int print_cases(const SuiteFile& suite, const std::vector<SuiteCase>& cases, std::size_t runs) {
  std::size_t lines = 0, differing = 0, configurations = 0;
  for (const SuiteCase& one : cases) {
    for (const SuiteDifference& difference : one.differences) fmt::print("{}\n", difference.text());
    if (!one.error.empty()) fmt::print("{}\n", one_line(one.error));
    if (one.differences.empty() && one.error.empty()) continue;
    lines += one.differences.size() + (one.error.empty() ? 0 : 1);
    (one.name == kConfigurationCase ? configurations : differing) += 1;
  }
  std::vector<std::string> where;
  if (differing > 0) where.push_back(counted(differing, "run"));
  if (configurations > 0) where.push_back(counted(configurations, "configuration"));
  const std::string end =
      lines == 0 ? "all as stored"
                 : fmt::format("{} in {}", counted(lines, "difference"), fmt::join(where, " and "));
  fmt::print("suite {}: {}, {}\n", suite.name, counted(runs, "run"), end);
  return lines == 0 ? 0 : 1;
}

// The rest of it, once it is known where everything lies.
int check_in(const CheckCommand& command, const LoadedSuite& suite, const ScratchFolder& folder,
             int& signal) {
  const std::vector<SuiteRun> all = suite_runs(suite.file, command.suite, folder.path());
  const std::vector<const SuiteRun*> chosen = chosen_runs(all, command);
  if (!command.junit.empty()) {
    note_inputs(files_of(suite.file, command.suite, all));
    check_not_read("--junit", command.junit);
  }
  OutputFiles files;  // what cannot be written is found before anything runs
  OutputFile* suite_file = command.update ? &files.open(command.suite, OverInput::kAllowed) : nullptr;
  OutputFile* junit = command.junit.empty() ? nullptr : &files.open(command.junit);
  signal = run_all(chosen, folder, jobs_of(command.jobs));
  if (signal != 0) return 0;
  const SuiteResults results = results_of(chosen);
  if (suite_file != nullptr) return update(command, suite, results, files, *suite_file);
  const std::vector<SuiteCase> cases = cases_of(chosen, all, command, suite.file, results);
  if (junit != nullptr) {
    junit->write(junit_text(suite.file.name, cases));
    files.commit();
  }
  return print_cases(suite.file, cases, chosen.size());
}

}  // namespace

int check(const CheckCommand& command) {
  const LoadedSuite suite = load_suite(command.suite);
  if (command.update && !Json::accept(read_file(command.suite, kMaxJsonBytes)))
    throw UserError(
        fmt::format("{}: has // comments, which --update would lose, or is YAML; write JSON, and comments as "
                    "\"comment\": \"...\"",
                    command.suite));
  int signal = 0, status = 0;
  {
    const ScratchFolder folder("check");
    status = check_in(command, suite, folder, signal);
  }
  if (signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return status;
}

}  // namespace tilebeat
