#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "program/plan.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// The `tilebeat` program (SPEC section 8). Exit status: 0 when everything ran and every check passed, 1 for
/// a failed check or a simulation error, 2 for a wrong command line or file.
int run_command_line(int argc, char** argv);

/// A number of random upsets, each in a simulation of its own.
struct FaultCampaign {
  int faults = 0;
  std::uint32_t seed = 1;
  std::vector<std::string> places;  ///< names of kinds of places ("nram", "bus"); none: all that there are
  std::string table;                ///< path of a table of the faults; empty: none
};

/// The arguments of `tilebeat run`.
struct RunCommand {
  std::string config, layer;
  std::string mapping;     ///< path of a mapping file; empty: none
  std::string tables;      ///< path of tables compiled ahead; empty: none
  std::string program;     ///< path of a hand-written program, in place of `layer`
  std::string plan_cache;  ///< folder of kept plans (PlanCache); empty: none
  std::string out = "tilebeat-out";
  std::string granularity;  ///< "clock" or "tile"; empty: tile, or clock where every clock is wanted
  std::string vcd, fst, timeline, konata;
  std::vector<std::string> vcd_signals;
  Cycle vcd_from = 0;           ///< first cycle of the waveform
  std::optional<Cycle> vcd_to;  ///< first cycle behind the waveform; none: it goes to the end
  std::int64_t vcd_max_mb = 1024;
  bool has_waveform() const { return !vcd.empty() || !fst.empty(); }
  std::string vectors;                     ///< folder for vectors of all ports; empty: none
  std::vector<std::string> vectors_ports;  ///< shell patterns for the names of ports; none: all
  bool vectors_text = false;               ///< a text beside each file of vectors
  std::int64_t timeline_max_mb = 48;
  bool vcd_accumulators = false;
  /// "refuse" or "allow", of reads by `program` of bytes that nobody wrote; empty: they are refused
  std::string uninitialised;
  std::string extrapolate;  ///< steps of the workload that are simulated, the others are not; empty: all
  std::string check;        ///< "on" or "off"; empty: on up to kCheckedMacs
  std::vector<std::string> inputs;  ///< NAME=FILE
  std::vector<std::string> faults;  ///< [PLACE:]BANK:BYTE:MASK[@CYCLE]
  FaultCampaign campaign;
  std::uint32_t jitter_seed = 0, build_order_seed = 0;
};

/// Workloads up to this many multiply-accumulates are checked against the reference by default.
constexpr std::int64_t kCheckedMacs = 40'000'000'000;

int run(const RunCommand& command);
/// Runs on `hardware`, which was not read from `command.config`; `config_hash` is the SHA-256 of that file.
int run_on(const RunCommand& command, HardwareConfig hardware, const std::optional<std::string>& config_hash);
/// Throws UserError when the outputs of a run of `plan` cannot be written to their places.
void check_run_places(const RunCommand& command, const Plan& plan);

/// `tilebeat rerun`: repeats the run of a report.
struct RerunCommand {
  std::string report;
  std::string out = "tilebeat-rerun";
};
int rerun(const RerunCommand& command);

/// `tilebeat import`: converts a model file to a workload.
struct ImportCommand {
  std::string model, out;
  std::string arithmetic;  ///< empty: the arithmetic of the model's format
  bool float_on_host = false;
  bool keep_all = false;
  std::vector<std::string> calibrate;  ///< X.npy or NAME=X.npy: samples of an input
  double percentile = 100;
  std::string weights;  ///< "int4" or "int4:GROUP"; empty: int8
};
int import_file(const ImportCommand& command);

/// `tilebeat plan`.
struct PlanCommand {
  std::string config, layer;
  std::string mapping, picture;  ///< paths of output files; empty: not written
  std::string program;           ///< path of a program file to write; empty: none
  std::string plan_cache;        ///< folder of kept plans (PlanCache); empty: none
  std::vector<int> sram_kib;     ///< further sizes of a cluster's SRAM for which fusion groups are planned
  bool disassemble = false;
};
int plan(const PlanCommand& command);

/// `tilebeat tables`: compiles tables ahead of runs, or shows a file of them.
struct TablesCommand {
  std::string config, layer, out;
  std::string show;  ///< path of the file to show, in place of compiling
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

/// `tilebeat new`: prints the beginning of a file with comments.
struct NewCommand {
  std::string kind;
  std::string out;  ///< is written there, if nothing is there; empty: it is printed
};
int begin_file(const NewCommand& command);

/// `tilebeat mcp`: serves the Model Context Protocol on standard input and output until the input ends.
int serve_mcp();

/// `tilebeat report`: makes a page about runs.
struct ReportCommand {
  std::vector<std::string> reports;  ///< report.json files
  std::vector<std::string> whatif;   ///< whatif.json files about the same runs
  std::string html;                  ///< path of the page
};
int report(const ReportCommand& command);

/// `tilebeat compare`: compares reports, or runs one workload on several configurations.
struct CompareCommand {
  std::vector<std::string> reports;
  std::vector<std::string> configs;  ///< configurations to run, in place of reports
  std::string layer;
  std::string out = "tilebeat-compare";
  std::string granularity;
  bool layers = false;              ///< every layer besides the totals
  std::vector<std::string> limits;  ///< [QUANTITY=]PERCENT that fail it where they are exceeded
  std::string format = "text";
};
int compare(const CompareCommand& command);

/// `tilebeat sweep`: makes many runs, each with other values in its files.
struct SweepCommand {
  std::string sweep;
  std::string out = "tilebeat-sweep";
  std::string pareto = "cycles,dram_bytes";
  std::string plan_cache;  ///< folder of kept plans (PlanCache); empty: none
  std::string colour;     ///< the axis that colours the page's points; empty: the one with the largest effect
  std::string snakemake;  ///< path of a workflow to write in place of running; empty: run the points
  bool collect = false;   ///< run nothing, only collect the results that exist
  int jobs = 0;           ///< parallel runs; 0: as many as there are processors
};
int sweep(const SweepCommand& command);

/// What a search makes least, and how it chooses points.
constexpr std::array<const char*, 5> kSearchObjectives{"cycles", "time", "energy", "edp", "area-delay"};
constexpr std::array<const char*, 3> kSearchStrategies{"model", "random", "grid"};

/// `tilebeat search`: runs points of a space that are expected to be good, until time or points are over.
struct SearchCommand {
  std::string space;  ///< a sweep file
  std::string out = "tilebeat-search";
  std::string objective = kSearchObjectives[0], strategy = kSearchStrategies[0];
  double budget = 0;       ///< seconds after which no run begins or goes on; 0: no limit
  int runs = 0;            ///< most points; 0: no limit
  int seed = 1;            ///< of random choices
  bool certify = false;    ///< also certifies the mappings of the best point's layers
  std::string plan_cache;  ///< folder of kept plans (PlanCache); empty: none
  int jobs = 0;            ///< parallel runs; 0: as many as there are processors
};
int search(const SearchCommand& command);

/// `tilebeat certify`: how far the mapping of every layer is from the best one.
struct CertifyCommand {
  std::string config, layer;
  std::string mapping;              ///< a mapping file; empty: the planner's choice for each layer by itself
  std::vector<std::string> layers;  ///< names or patterns of layers; none: all
  std::string out = "tilebeat-certify";
  double budget = 0;  ///< seconds; 0: no limit
  int jobs = 0;       ///< simulations at the same time; 0: as many as there are processors
};
int certify(const CertifyCommand& command);

/// `tilebeat whatif`: runs the knobs of the hardware a step up and down.
struct WhatIfCommand {
  std::string config, layer;
  std::vector<std::string> knobs;  ///< names, beginnings of names or patterns; none: all
  std::string out = "tilebeat-whatif";
  std::string plan_cache;  ///< folder of kept plans (PlanCache); empty: none
  double budget = 0;       ///< seconds after which no run begins or goes on; 0: no limit
  int jobs = 0;            ///< parallel runs; 0: as many as there are processors
};
int whatif(const WhatIfCommand& command);

/// `tilebeat check`: the runs of a suite, compared with what it stores of them.
struct CheckCommand {
  std::string suite;
  bool update = false;               ///< stores what they come to
  std::string junit;                 ///< is written there; empty: nowhere
  std::vector<std::string> filters;  ///< names of runs, or patterns; none: all
  int jobs = 0;                      ///< 0: as many as there are processors
};
int check(const CheckCommand& command);

}  // namespace tilebeat
