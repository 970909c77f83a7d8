#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "program/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// The `tilebeat` program (SPEC section 8). Exit status: 0 when everything ran and every check passed, 1 for
/// a failed check or a simulation error, 2 for a wrong command line or file.
int run_command_line(int argc, char** argv);

/// `tilebeat run`, as typed.
struct RunCommand {
  std::string config, layer;
  std::string mapping;  ///< a mapping file; empty: none
  std::string tables;   ///< what was compiled ahead; empty: nothing
  std::string program;  ///< instead of `layer`: programs written by hand
  std::string out = "tilebeat-out";
  std::string granularity;  ///< empty: tile, or cycle with a VCD
  std::string vcd, fst, timeline, konata;
  std::vector<std::string> vcd_signals;
  Cycle vcd_from = 0, vcd_to = -1;  ///< cycles; -1: to the end
  std::int64_t vcd_max_mb = 1024;
  std::int64_t timeline_max_mb = 48;
  bool vcd_accumulators = false;
  std::string check;                ///< empty: on below kCheckedMacs
  std::vector<std::string> inputs;  ///< NAME=FILE
  std::vector<std::string> faults;  ///< BANK:BYTE:MASK
  std::uint32_t jitter_seed = 0, build_order_seed = 0;
};

/// Workloads up to this many multiply-accumulates are checked against the reference unless `--check off` is
/// said.
constexpr std::int64_t kCheckedMacs = 40'000'000'000;

int run(const RunCommand& command);
/// On hardware that was read elsewhere than from `command.config`, whose hash is `config_hash`.
int run_on(const RunCommand& command, HardwareConfig hardware, const std::optional<std::string>& config_hash);
/// Throws UserError when the outputs of a run of `plan` cannot be written where they are to be.
void check_run_places(const RunCommand& command, const Plan& plan);

/// `tilebeat rerun`: repeats the run of a report.
struct RerunCommand {
  std::string report;
  std::string out = "tilebeat-rerun";
};
int rerun(const RerunCommand& command);

/// `tilebeat import`: a model file as a workload.
struct ImportCommand {
  std::string model, out;
  std::string arithmetic;  ///< empty: the one of the model's format
  bool keep_all = false;
  std::vector<std::string> calibrate;  ///< X.npy or NAME=X.npy: samples of an input
  double percentile = 100;
};
int import_file(const ImportCommand& command);

/// `tilebeat plan`.
struct PlanCommand {
  std::string config, layer;
  std::string mapping, picture;  ///< are written there; empty: nowhere
  std::vector<int> sram_kib;     ///< sizes of a cluster's SRAM that units are planned for, too
  bool disassemble = false;
};
int plan(const PlanCommand& command);

/// `tilebeat tables`: compiles what the engine compiles ahead of runs, or shows such a file.
struct TablesCommand {
  std::string config, layer, out;
  std::string show;  ///< instead: the file that is shown
  int entry = 0;
  std::optional<std::int64_t> thread;
  std::optional<int> k;
};
int tables(const TablesCommand& command);

/// `tilebeat schema`.
struct SchemaCommand {
  std::string kind;
  bool markdown = false;
};
int schema(const SchemaCommand& command);

/// `tilebeat report`: a page about runs.
struct ReportCommand {
  std::vector<std::string> reports;  ///< report.json files
  std::string html;                  ///< is written there
};
int report(const ReportCommand& command);

/// `tilebeat compare`: reports, or one workload run on several configurations.
struct CompareCommand {
  std::vector<std::string> reports;
  std::vector<std::string> configs;  ///< instead of the reports
  std::string layer;
  std::string out = "tilebeat-compare";
  std::string granularity;
  bool layers = false;  ///< every layer besides the totals
  std::string format = "text";
};
int compare(const CompareCommand& command);

/// `tilebeat sweep`: many runs, each with other values in its files.
struct SweepCommand {
  std::string sweep;
  std::string out = "tilebeat-sweep";
  std::string pareto = "cycles,dram_bytes";
  std::string snakemake;  ///< a workflow is written there instead; empty: the points run
  bool collect = false;   ///< nothing runs, results are put together
  int jobs = 0;           ///< 0: as many as there are processors
};
int sweep(const SweepCommand& command);

}  // namespace tilebeat
