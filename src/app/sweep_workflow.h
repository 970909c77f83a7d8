#pragma once

#include <string>
#include <vector>

#include "sweep_folder.h"

namespace tilebeat {

/// What the workflow of a sweep calls and where it writes, as absolute paths.
struct WorkflowPlaces {
  std::string tilebeat, sweep, out;
  std::string pareto;  ///< as typed
};

/// The sweep as a Snakemake workflow: a job for every point, `tilebeat run` in the point's folder, and at the
/// end `tilebeat sweep --collect`. Same sweep, same bytes.
std::string snakemake_workflow(const std::string& name, const std::vector<PointFolder>& points,
                               const WorkflowPlaces& places);

}  // namespace tilebeat
