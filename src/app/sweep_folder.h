#pragma once

#include "app/commands.h"
#include "app/sweep_file.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// Keeps other sweeps out of a folder while it and the processes that inherit its descriptor exist.
class SweepLock {
 public:
  /// `folder` exists. Waits some seconds for the processes of a sweep that was killed. Throws UserError when
  /// another sweep is in progress there.
  explicit SweepLock(const std::string& folder);
  ~SweepLock();
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

  /// The descriptor that a process of the sweep keeps open.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// How the run of a point is asked for, besides its files.
struct PointOptions {
  SweepCheck check = SweepCheck::kDefault;
  std::optional<RunGranularity> granularity;
  std::string plan_cache = {};  ///< as --plan-cache; empty: none
};

/// What came of a point.
struct PointResult {
  std::optional<nlohmann::ordered_json> report;  ///< of exactly this run
  std::string error;                             ///< in a line; empty: all passed
};

/// The folder of one point: the files of its run, and what came out.
///
/// config.json, workload.json, mapping.json: the run's files. report.json, outputs/: its results. log.txt,
/// errors.txt: its printed output. status: its exit status, or 128 plus the signal that ended it.
class PointFolder {
 public:
  PointFolder(const std::string& points, SweepPoint point, const PointOptions& options);

  const SweepPoint& point() const { return point_; }
  const std::string& path() const { return path_; }
  /// The run, for a process whose working folder is this one.
  const RunCommand& command() const { return command_; }
  /// Its arguments behind `tilebeat`.
  std::vector<std::string> arguments() const;

  /// Writes the run's files where they are missing or differ, and then deletes the status. Throws UserError.
  void prepare() const;
  /// Records how the run ended. Throws UserError.
  void write_status(int status) const;
  /// Records how the run of the report ended, where the sweep was ended before it could. Throws UserError.
  void restore_status() const;
  /// Whether it has the report of exactly this run, by this build, of these files as they are now, with the
  /// bytes and the tensors that the run wrote.
  bool finished() const;
  /// Whether its run has ended by itself, and whether then the run found a file of it wrong.
  bool ended() const { return prepared() && status().has_value(); }
  bool refused() const { return status() == 2; }
  PointResult result() const;
  /// The row of the point (SweepTable), from what is there.
  nlohmann::ordered_json row(const std::vector<std::string>& axes) const;

 private:
  std::optional<nlohmann::ordered_json> report() const;
  std::string error() const;
  std::optional<int> status() const;
  bool prepared() const;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  SweepPoint point_;
  std::string path_;
  RunCommand command_;
};

/// Runs of points as processes of their own.
struct SweepProcesses {
  int jobs = 1;                                                          ///< most processes at the same time
  std::function<void(std::size_t ended, std::size_t running)> progress;  ///< at least once a second
  /// When it has come, no process is started and those that run are ended, without a status.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// Runs all `points` and records how each ended; processes keep `lock`. Processes end with this one, however
/// it ends. Returns 0, or the signal SIGINT, SIGTERM or SIGHUP that came: then processes have been ended, and
/// their points have no status, as at the deadline. Throws UserError when no process can be made or a status
/// cannot be written.
int run_points(const std::vector<const PointFolder*>& points, const SweepLock& lock,
               const SweepProcesses& how);

/// The paths that a sweep's workflow uses, all absolute.
struct WorkflowPlaces {
  std::string tilebeat, sweep, out;
  std::string pareto;  ///< as typed
};

/// The sweep as a Snakemake workflow: a job for every point, `tilebeat run` in the point's folder, and at the
/// end `tilebeat sweep --collect`. Same sweep, same bytes.
std::string snakemake_workflow(const std::string& name, const std::vector<PointFolder>& points,
                               const WorkflowPlaces& places);

}  // namespace tilebeat
