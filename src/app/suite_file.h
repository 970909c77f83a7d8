#pragma once

#include "app/sweep_file.h"
#include "app/sweep_folder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// A file that runs of a suite use, and what they are called by.
struct SuiteInput {
  std::string name;  ///< without one in the suite the file's, without its ending
  std::string file;
};

/// A way to run every pair of a configuration and a workload.
struct SuiteOption {
  SweepChange change;
  PointOptions how;
};

/// By how many per cent of the stored value a value may differ, up or down.
struct SuiteTolerances {
  double cycles = 0, dram_bytes = 0, energy_pj = 0;
};

/// Runs of a suite: every configuration with every workload, in every way.
struct SuiteProduct {
  std::vector<SuiteInput> configs, layers;
  std::vector<SuiteOption> options;  ///< none: as `tilebeat run` does
  std::optional<SuiteTolerances> tolerances;
};

/// What a suite stores of a layer, or of a whole run.
struct StoredCosts {
  std::int64_t cycles = 0, dram_bytes = 0;
  double energy_pj = 0;
};

/// What a suite stores of a run.
struct StoredRun {
  StoredCosts costs;
  std::map<std::string, StoredCosts> layers;   ///< by the name that the report has
  std::map<std::string, std::string> outputs;  ///< SHA-256 of the file, by its name
};

/// The effective configuration of hardware, values by JSON pointer.
using StoredConfiguration = std::map<std::string, Json>;

/// A suite file. All paths start at it.
struct SuiteFile {
  int version = 0;
  std::string name;
  SuiteTolerances tolerances;
  std::vector<SuiteProduct> runs;
  std::map<std::string, StoredConfiguration> configurations;  ///< by name, see SuiteRun
  std::map<std::string, StoredRun> results;                   ///< by the name of the run
};

/// Version of the suite file's format.
constexpr int kSuiteVersion = 1;

/// A suite, and its file as JSON.
struct LoadedSuite {
  SuiteFile file;
  Json json;
};

/// Reads and checks a suite file. Throws UserError, one line with file, JSON path, value and what is allowed.
LoadedSuite load_suite(const std::string& path);

/// The text of the suite `json` with other `results` and `configurations`: keys are sorted, a line for each
/// run, layer, output and value. Same values, same bytes.
std::string suite_text(Json json, const std::map<std::string, StoredConfiguration>& configurations,
                       const std::map<std::string, StoredRun>& results);

/// The JSON Schema (draft-07) of suite files.
OrderedJson suite_schema();

/// One run of a suite.
struct SuiteRun {
  std::string name;           ///< "CONFIG/LAYER", behind it "/OPTION" where there are options
  std::string configuration;  ///< "CONFIG", behind it "/OPTION" where that changes the hardware
  std::string layer;          ///< path of its workload's file
  SuiteTolerances tolerances;
  PointFolder folder;
};

/// All runs of the suite that was read from `path`, in folders below `points`. Throws UserError as
/// `sweep_points` does, and for names that stand there twice.
std::vector<SuiteRun> suite_runs(const SuiteFile& suite, const std::string& path, const std::string& points);

}  // namespace tilebeat
