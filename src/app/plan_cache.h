#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <string>

namespace tilebeat {

/// Plans that a folder keeps (`--plan-cache`), a file each: the mappings and groups that were chosen, the
/// texts of the reasons, and the digest of the programs. What is kept is planned again with these mappings,
/// without a search, and used only where the programs are the same, byte by byte.
///
/// The name of a file is the SHA-256 of all that a plan depends on: the program's version and revision, the
/// effective hardware, the workload and the tensors that it names, the mapping file. A file that is damaged
/// or belongs to another plan is ignored, with a message, and written again. Files come into their places by
/// renaming, so any number of processes may share a folder.
class PlanCache {
 public:
  /// `folder` is made where it is missing; empty: nothing is kept. Throws UserError when it cannot be made or
  /// written.
  explicit PlanCache(std::string folder);

  /// `plan_workload`, for the mapping file `asked`. A workload that is no regular file is not kept.
  PlannedNetwork plan(const Workload& workload, const HardwareConfig& hardware, const std::string& file,
                      const NetworkMapping& asked = {});
  /// Whether the last plan was kept before.
  bool found() const { return found_; }

 private:
  std::string folder_;
  bool found_ = false;
};

}  // namespace tilebeat
