#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "sweep_points.h"

namespace tilebeat {

/// Keeps other sweeps out of a folder while it and the processes that inherit its descriptor exist.
class SweepLock {
 public:
  /// Of a folder that exists. Waits some seconds for the processes of a sweep that was killed. Throws
  /// UserError when another sweep is under way there.
  explicit SweepLock(const std::string& folder);
  ~SweepLock();
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

  /// The descriptor that a process of the sweep keeps open.
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// The folder of one point: the files of its run, and what came out.
///
/// config.json, workload.json, mapping.json: the run's files. report.json, outputs/: what it wrote, log.txt
/// and errors.txt: what it printed. status: its exit status, or 128 and the signal that ended it.
class PointFolder {
 public:
  PointFolder(const std::string& points, SweepPoint point, SweepCheck check);

  const SweepPoint& point() const { return point_; }
  const std::string& path() const { return path_; }
  /// The run, for a process whose working folder is this one.
  const RunCommand& command() const { return command_; }
  /// Its arguments behind `tilebeat`.
  std::vector<std::string> arguments() const;

  /// Writes the run's files where they are missing or others, and then forgets the status. Throws UserError.
  void prepare() const;
  /// Records how the run ended. Throws UserError.
  void write_status(int status) const;
  /// Whether the report of exactly this run is there, by this build, of these files as they are now.
  bool finished() const;
  /// The row of the point (SweepTable), from what is there.
  nlohmann::ordered_json row(const std::vector<std::string>& axes) const;

 private:
  std::optional<nlohmann::ordered_json> report() const;
  std::string error() const;
  bool prepared() const;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  SweepPoint point_;
  std::string path_;
  RunCommand command_;
};

}  // namespace tilebeat
