#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/progress.h"
#include "app/provenance.h"
#include "app/sweep_folder.h"
#include "report/sweep_table.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

// The two columns; of an axis all labels must be numbers.
void check_colour(const std::string& colour, const SweepFile& file) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : file.axes) names.push_back(axis.name);
  if (!colour.empty() && std::find(names.begin(), names.end(), colour) == names.end())
    throw UserError(
        fmt::format("--colour {}: one of the axes {} is expected", colour, fmt::join(names, ", ")));
}

ParetoAxes pareto_axes(const std::string& text, const SweepFile& file) {
  const std::size_t comma = text.find(',');
  ParetoAxes axes{text.substr(0, comma), comma == std::string::npos ? "" : text.substr(comma + 1)};
  std::vector<std::string> known = sweep_costs();
  for (const SweepAxis& axis : file.axes) {
    const bool numbers = std::all_of(axis.choices.begin(), axis.choices.end(), [](const SweepChange& c) {
      return Json::parse(c.label, nullptr, false).is_number();
    });
    if (numbers) known.push_back(axis.name);
  }
  for (const std::string& axis : axes) {
    if (std::find(known.begin(), known.end(), axis) == known.end())
      throw UserError(
          fmt::format("--pareto {}: two of {} are expected, as A,B", text, fmt::join(known, ", ")));
  }
  if (axes[0] == axes[1])
    throw UserError(fmt::format("--pareto {}: two different columns are expected", text));
  return axes;
}

// A point that takes more than the sweep allows has failed.
void fail_above(const SweepLimits& limits, nlohmann::ordered_json& row) {
  if (row["result"] != "passed") return;
  for (const auto& [column, most] : limits) {
    if (row.contains(column) && row[column].get<double>() <= most) continue;
    row["result"] = "failed";
    row["error"] =
        row.contains(column)
            ? fmt::format("{} is {}, the limit is {}", column, row[column].dump(), Json(most).dump())
            : fmt::format("{} has a limit, the report says nothing of it", column);
    return;
  }
}

std::vector<PointFolder> folders_of(const SweepFile& file, const SweepCommand& command) {
  const std::string points = command.out + "/points";
  std::vector<PointFolder> folders;
  for (SweepPoint& point : sweep_points(file, command.sweep, points))
    folders.emplace_back(points, std::move(point), PointOptions{file.check, {}, command.plan_cache});
  return folders;
}

// Refuses a workflow path that would overwrite an input or a result.
void check_workflow_place(const SweepCommand& command) {
  check_not_read("--snakemake", command.snakemake);
  for (const char* name : {"/sweep.csv", "/sweep.html"}) {
    if (place_of(command.out + name) == place_of(command.snakemake))
      throw UserError(
          fmt::format("--snakemake {}: is a file of the sweep, it cannot be written", command.snakemake));
  }
}

int write_workflow(const SweepCommand& command, const SweepFile& file,
                   const std::vector<PointFolder>& folders) {
  const std::string self = own_path();
  const std::string workflow =
      snakemake_workflow(file.name, folders,
                         {self.empty() ? "tilebeat" : self, place_of(command.sweep).string(),
                          place_of(command.out).string(), command.pareto});
  OutputFiles files;
  files.write(command.snakemake, workflow);
  files.commit();
  fmt::print("Wrote {}, and the files of {} points in {}/points\n", command.snakemake, folders.size(),
             command.out);
  return 0;
}

int write_results(const SweepCommand& command, const SweepTable& table, const ParetoAxes& axes) {
  OutputFiles files;
  const std::string csv = command.out + "/sweep.csv", page = command.out + "/sweep.html";
  files.write(csv, sweep_csv(table, axes));
  files.write(page, sweep_page(table, axes, command.colour));
  files.commit();
  fmt::print("{}\n", sweep_summary(table, axes));
  std::size_t shown = 0;
  constexpr std::size_t kMostShown = 10;
  for (const auto& row : table.rows) {
    if (!row.contains("error") || ++shown > kMostShown) continue;
    print_message(
        fmt::format("point {}: {}", row["point"].get<std::string>(), row["error"].get<std::string>()));
  }
  if (shown > kMostShown)
    print_message(fmt::format("... and {} more points, see {}", shown - kMostShown, csv));
  fmt::print("Wrote {}, {}\n", csv, page);
  return shown == 0 ? 0 : 1;
}

// Runs the points without results. Returns the signal that ended the sweep, or 0.
int run_missing(const std::vector<PointFolder>& folders, const SweepLock& lock, int jobs) {
  std::vector<const PointFolder*> missing;
  for (const PointFolder& folder : folders) {
    folder.prepare();
    if (folder.finished())
      folder.restore_status();
    else
      missing.push_back(&folder);
  }
  const std::size_t before = folders.size() - missing.size();
  if (before > 0) print_message(fmt::format("{} of {} points are there already", before, folders.size()));
  PointProgress progress("points", folders.size(), before);
  std::size_t ended = 0;
  const int signal = run_points(missing, lock, {jobs, [&](std::size_t now, std::size_t running) {
                                                  ended = now;
                                                  progress(now, running);
                                                }});
  if (signal == SIGINT)
    fmt::print(stderr,
               "\ntilebeat: interrupted, {} of {} points are done; the same command goes on from there\n",
               before + ended, folders.size());
  return signal;
}

}  // namespace

int sweep(const SweepCommand& command) {
  const SweepFile file = load_sweep(command.sweep);
  const ParetoAxes axes = pareto_axes(command.pareto, file);
  check_colour(command.colour, file);
  const std::vector<PointFolder> folders = folders_of(file, command);
  if (!command.snakemake.empty()) check_workflow_place(command);
  for (const char* name : {"/sweep.csv", "/sweep.html"}) check_not_read("--out", command.out + name);
  std::error_code error;
  fs::create_directories(command.out, error);
  if (error) throw UserError(fmt::format("--out {}: {}", command.out, error.message()));
  const SweepLock lock(command.out);
  if (!command.snakemake.empty()) {
    for (const PointFolder& folder : folders) folder.prepare();
    return write_workflow(command, file, folders);
  }
  if (!command.collect) {
    if (const int signal = run_missing(folders, lock, jobs_of(command.jobs)); signal != 0) {
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    }
  }
  SweepTable table{file.name, axis_names(file), {}};
  for (const PointFolder& folder : folders) {
    table.rows.push_back(folder.row(table.axes));
    fail_above(file.limits, table.rows.back());
  }
  return write_results(command, table, axes);
}

}  // namespace tilebeat
