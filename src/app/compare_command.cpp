#include "tilebeat/base/error.h"
#include "tilebeat/config/hardware_file.h"
#include "tilebeat/report/report.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "messages.h"
#include "planning.h"
#include "report_file.h"

namespace tilebeat {
namespace {

void print_comparison(const CompareCommand& command, const std::vector<std::string>& files,
                      const std::vector<std::string>& names) {
  std::vector<NamedReport> reports;
  for (std::size_t i = 0; i < files.size(); ++i) reports.push_back({names[i], read_report(files[i])});
  fmt::print("{}", compare_reports(reports, command.layers ? CompareDetail::kLayers : CompareDetail::kTotals,
                                   command.format == "csv"        ? TableFormat::kCsv
                                   : command.format == "markdown" ? TableFormat::kMarkdown
                                                                  : TableFormat::kText));
}

// Runs in a process of its own, because a process builds one chip; its table is not printed. Returns the exit
// status.
int run_apart(const RunCommand& command) {
  std::fflush(stdout);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw UserError(fmt::format("no process for a run: {}", std::strerror(errno)));
  if (child == 0) {
    // What ends this process ends its run: nobody would wait for it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    int status = 1;
    try {
      status = run(command);
    } catch (const UserError& error) {
      print_message(error.what());
      status = 2;
    } catch (const std::exception& error) {
      print_message(error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) throw SimulationError(fmt::format("the run with {} was ended", command.config));
  return WEXITSTATUS(status);
}

int run_and_compare(const CompareCommand& command) {
  const Workload workload = load_workload(command.layer);
  std::vector<RunCommand> runs;
  std::vector<std::string> names, reports;
  for (const std::string& config : command.configs) {
    const HardwareConfig hardware = load_hardware(config);
    const Plan plan =
        plan_workload(workload, hardware, command.layer).plan;  // before anything runs or is written
    std::string name = hardware.name;
    for (int i = 2; std::find(names.begin(), names.end(), name) != names.end(); ++i)
      name = fmt::format("{}-{}", hardware.name, i);
    names.push_back(name);
    RunCommand& run = runs.emplace_back();
    run.config = config, run.layer = command.layer, run.granularity = command.granularity;
    run.out = (std::filesystem::path(command.out) / name).string();
    reports.push_back(run.out + "/report.json");
    check_run_places(run, plan);
  }
  int worst = 0;
  for (const RunCommand& one : runs) {
    const int status = run_apart(one);
    if (status == 2) return 2;
    worst = std::max(worst, status);
  }
  print_comparison(command, reports, names);
  // A table for another program is not followed by anything.
  if (command.format == "text")
    fmt::print("\nWrote {}/{{{}}}/{{report.json,outputs/}}\n", command.out, fmt::join(names, ","));
  if (worst != 0) print_message("a check or a simulation failed, see the reports");
  return worst;
}

}  // namespace

int compare(const CompareCommand& command) {
  if (!command.configs.empty()) return run_and_compare(command);
  print_comparison(command, command.reports, command.reports);
  return 0;
}

}  // namespace tilebeat
