#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/planning.h"
#include "app/provenance.h"
#include "config/hardware_config.h"
#include "report/report.h"
#include "report/whatif.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "schema/values.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {

namespace {

// Gives the table to the reports of the run that it is about.
void add_whatif(std::vector<PageReport>& reports, const std::string& path) {
  const WhatIfTable table = read_whatif(path);
  bool found = false;
  for (PageReport& page : reports) {
    const OrderedJson& report = page.report;
    const auto same = [](const OrderedJson& a, const OrderedJson& b) {
      return nlohmann::json(a) == nlohmann::json(b);  // whatever the order of keys
    };
    if (report["workload"] != table["workload"] || !same(whatif_base(report), table["base"]) ||
        !same(report["configuration"], table["configuration"]))
      continue;
    page.whatif = table, found = true;
  }
  if (!found)
    throw UserError(fmt::format("--whatif {}: is about {} on {} in {} cycles, which no report is of", path,
                                shown(table["workload"].get<std::string>()),
                                shown(table["hardware"].get<std::string>()), table["base"]["cycles"].dump()));
}

}  // namespace

int report(const ReportCommand& command) {
  for (const auto* read : {&command.reports, &command.whatif}) {
    for (const std::string& path : *read) {
      std::error_code ignored;
      if (std::filesystem::equivalent(path, command.html, ignored))
        throw UserError(
            fmt::format("--html {}: is read by this command, it cannot be written", command.html));
    }
  }
  std::vector<PageReport> reports;
  for (const std::string& path : command.reports) reports.push_back({path, read_report(path)});
  for (const std::string& path : command.whatif) add_whatif(reports, path);
  const std::string page = report_page(reports);
  OutputFiles files;
  files.write(command.html, page);
  files.commit();
  fmt::print("Wrote {}\n", command.html);
  return 0;
}

namespace {

// Other inputs would make another run.
void check_inputs(const InputHashes& recorded, const RunCommand& command, const std::string& report) {
  std::vector<std::string> read{command.config, command.program.empty() ? command.layer : command.program};
  if (!command.mapping.empty()) read.push_back(command.mapping);
  for (const std::string& file : read) {
    if (recorded.count(file) == 0)
      throw UserError(
          fmt::format("{}: /provenance/inputs: has no \"{}\", which the run has read", report, file));
  }
  for (const auto& [file, hash] : recorded) {
    if (!hash) throw UserError(fmt::format("{}: {} was no file that can be read again", report, file));
    if (file == command.config) continue;  // the report has all of it
    const auto now = hashes_of({file}).at(file);
    if (!now) throw UserError(fmt::format("{}: is needed to repeat {}, and is not there", file, report));
    if (*now != *hash)
      throw UserError(fmt::format("{}: is not the file of {}: its SHA-256 is {}, the report has {}", file,
                                  report, *now, *hash));
  }
}

// The report without the fields that depend on the build.
OrderedJson comparable(OrderedJson report) {
  for (const char* key : {"version", "revision", "outputs", "digest"}) report["provenance"].erase(key);
  return report;
}

// Removes keys from `after` that `before` lacks, as reports of earlier versions had fewer keys; returns their
// names.
std::string take_out_additions(const OrderedJson& before, OrderedJson& after) {
  std::vector<std::string> added;
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) added.push_back(key);
  }
  for (const std::string& key : added) after.erase(key);
  return fmt::format("{}", fmt::join(added, ", "));
}

// The JSON path of the first value that differs; empty: there is none.
std::string first_difference(const OrderedJson& a, const OrderedJson& b, const std::string& path = "") {
  if (a == b) return "";
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      if (!b.contains(key)) return path + "/" + key;
      if (std::string found = first_difference(value, b[key], path + "/" + key); !found.empty()) return found;
    }
  } else if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::string found = first_difference(a[i], b[i], fmt::format("{}/{}", path, i)); !found.empty())
        return found;
    }
  }
  return path.empty() ? "/" : path;
}

}  // namespace

int rerun(const RerunCommand& asked) {
  const OrderedJson before = read_report(asked.report);
  if (!is_as_written(read_file(asked.report, kMaxJsonBytes)))
    throw UserError(fmt::format(
        "{}: was changed after the run wrote it: /provenance/digest is not that of its text", asked.report));
  RunCommand command = recorded_command(before, asked.report);
  const InputHashes inputs = recorded_inputs(before);
  check_inputs(inputs, command, asked.report);
  command.out = asked.out;
  const HardwareConfig hardware =
      parse_hardware(nlohmann::json(before["configuration"]), asked.report + ": /configuration");
  const int status = run_on(command, hardware, inputs.at(command.config));
  const OrderedJson after = read_report(asked.out + "/report.json");
  OrderedJson compared = comparable(after);
  const std::string added = take_out_additions(before, compared);
  const std::string difference = first_difference(comparable(before), compared);
  if (difference.empty()) {
    const std::string more =
        added.empty() ? "" : fmt::format(" It has more than that one, of an earlier version: {}.", added);
    fmt::print("\nThe report is the same as {}.{}\n", asked.report, more);
    return status;
  }
  const auto build = [](const OrderedJson& report) {
    const OrderedJson& p = report["provenance"];
    return fmt::format("{} ({})", p["version"].get<std::string>(), p["revision"].get<std::string>());
  };
  fmt::print("\nThe report differs from {}: first at {}. That one is of tilebeat {}, this one of {}.\n",
             asked.report, difference, build(before), build(after));
  return 1;
}

namespace {

// "2%", "cycles=2%", "cycles=+2%": without a sign up or down.
CompareLimit parse_limit(const std::string& text) {
  const std::size_t equals = text.find('=');
  CompareLimit limit;
  if (equals != std::string::npos) limit.quantity = text.substr(0, equals);
  std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  if (!number.empty() && number.back() == '%') number.pop_back();
  if (!number.empty() && (number[0] == '+' || number[0] == '-')) {
    limit.direction = number[0] == '+' ? LimitDirection::kMore : LimitDirection::kLess;
    number.erase(0, 1);
  }
  constexpr double kMost = 1e6;
  const nlohmann::json value = nlohmann::json::parse(number, nullptr, false);
  if (equals == 0 || !value.is_number() || value.get<double>() < 0 || value.get<double>() > kMost)
    throw UserError(
        fmt::format("--fail-above {}: PERCENT or QUANTITY=PERCENT is expected, such as 2% or "
                    "cycles=+0.5%, from 0 to 1e6",
                    text));
  limit.percent = value.get<double>();
  return limit;
}

std::vector<CompareLimit> limits_of(const CompareCommand& command) {
  std::vector<CompareLimit> limits;
  for (const std::string& text : command.limits) {
    limits.push_back(parse_limit(text));
    const auto same = [&](const CompareLimit& limit) { return limit.quantity == limits.back().quantity; };
    if (std::count_if(limits.begin(), limits.end(), same) > 1)
      throw UserError(fmt::format("--fail-above {}: there is a limit of it already", text));
  }
  return limits;
}

// Returns the exit status.
int print_comparison(const CompareCommand& command, const std::vector<std::string>& files,
                     const std::vector<std::string>& names) {
  std::vector<NamedReport> reports;
  for (std::size_t i = 0; i < files.size(); ++i) reports.push_back({names[i], read_report(files[i])});
  const CompareDetail detail = command.layers ? CompareDetail::kLayers : CompareDetail::kTotals;
  const std::vector<std::string> exceeded = exceeded_limits(reports, detail, limits_of(command));
  fmt::print("{}", compare_reports(reports, detail,
                                   command.format == "csv"        ? TableFormat::kCsv
                                   : command.format == "markdown" ? TableFormat::kMarkdown
                                                                  : TableFormat::kText));
  if (!exceeded.empty()) std::fflush(stdout);  // what exceeds its limit stands behind the table
  for (const std::string& line : exceeded) print_message(line);
  return exceeded.empty() ? 0 : 1;
}

// Runs in a process of its own, because a process builds only one chip; its table is not printed. Returns the
// exit status.
int run_apart(const RunCommand& command) {
  std::fflush(stdout);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw UserError(fmt::format("no process for a run: {}", std::strerror(errno)));
  if (child == 0) {
    // The run ends with this process: nobody else would wait for it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    int status = 1;
    try {
      status = run(command);
    } catch (const UserError& error) {
      print_error(error);
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
  limits_of(command);  // a wrong one is found before anything runs
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
  const int compared = print_comparison(command, reports, names);
  // A table for another program is not followed by anything.
  if (command.format == "text")
    fmt::print("\nWrote {}/{{{}}}/{{report.json,outputs/}}\n", command.out, fmt::join(names, ","));
  if (worst != 0) print_message("a check or a simulation failed, see the reports");
  return std::max(worst, compared);
}

}  // namespace

int compare(const CompareCommand& command) {
  if (!command.configs.empty()) return run_and_compare(command);
  return print_comparison(command, command.reports, command.reports);
}

}  // namespace tilebeat
