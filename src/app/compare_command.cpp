#include "tilebeat/base/error.h"
#include "tilebeat/config/hardware_file.h"
#include "tilebeat/report/report.h"

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

void print_comparison(const std::string& left, const std::string& right, const std::string& left_name,
                      const std::string& right_name) {
  const nlohmann::ordered_json l = read_report(left), r = read_report(right);
  fmt::print("{}", compare_reports(l, r, left_name, right_name));
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
  RunCommand runs[2];
  std::string names[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const HardwareConfig hardware = load_hardware(command.configs[i]);
    const Plan plan =
        plan_workload(workload, hardware, command.layer).plan;  // before anything runs or is written
    names[i] = hardware.name;
    if (i == 1 && names[1] == names[0]) names[1] += "-2";
    runs[i].config = command.configs[i], runs[i].layer = command.layer;
    runs[i].granularity = command.granularity;
    runs[i].out = (std::filesystem::path(command.out) / names[i]).string();
    check_run_places(runs[i], plan);
  }
  int worst = 0;
  for (const RunCommand& one : runs) {
    const int status = run_apart(one);
    if (status == 2) return 2;
    worst = std::max(worst, status);
  }
  print_comparison(runs[0].out + "/report.json", runs[1].out + "/report.json", names[0], names[1]);
  fmt::print("\nWrote {0}/{{report.json,outputs/}}, {1}/{{report.json,outputs/}}\n", runs[0].out,
             runs[1].out);
  if (worst != 0) print_message("a check or a simulation failed, see the reports");
  return worst;
}

}  // namespace

int compare(const CompareCommand& command) {
  if (!command.configs.empty()) return run_and_compare(command);
  print_comparison(command.left, command.right, command.left, command.right);
  return 0;
}

}  // namespace tilebeat
