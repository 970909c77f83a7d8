#include "tilebeat/base/error.h"
#include "tilebeat/config/hardware_file.h"
#include "tilebeat/observe/chrome_timeline.h"
#include "tilebeat/observe/vcd_writer.h"
#include "tilebeat/program/program_file.h"
#include "tilebeat/reference/reference.h"
#include "tilebeat/report/report.h"
#include "tilebeat/system/simulation.h"
#include "tilebeat/workload/npy.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "commands.h"
#include "compiled_files.h"
#include "fault_option.h"
#include "messages.h"
#include "output_files.h"
#include "output_places.h"
#include "planning.h"

namespace tilebeat {
namespace {

// A line that tells how far the run is, on a terminal and after a second.
class Progress {
 public:
  explicit Progress(std::size_t layers) : layers_(layers), shown_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  void clear() {
    if (printed_) show(fmt::format("\r{:60}\r", ""));
    printed_ = false;
  }
  void operator()(Cycle now, std::size_t done) {
    const auto time = std::chrono::steady_clock::now();
    if (!shown_ || time - last_ < std::chrono::seconds(1)) return;
    last_ = time;
    printed_ = true;
    show(fmt::format("\r  clock {}, {} of {} layers complete", now, done, layers_));
  }

 private:
  static void show(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

  std::size_t layers_;
  bool shown_, printed_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void compare_tensors(const char* against, const std::string& layer, const Tensor& wanted, RunResult& result) {
  const auto got = result.outputs.find(layer);
  if (got == result.outputs.end()) return;  // never computed: `failures` says why
  if (const auto mismatch = first_mismatch(layer, wanted, got->second)) {
    result.differences.push_back({layer, against, mismatch->index, mismatch->expected, mismatch->actual});
  }
}

void check_outputs(const Workload& workload, RunResult& result) {
  const std::map<std::string, Tensor> reference = run_reference(workload);
  for (const Layer& layer : workload.layers) {
    compare_tensors("reference", layer.name, reference.at(layer.name), result);
    if (const auto expected = workload.expected.find(layer.name); expected != workload.expected.end()) {
      compare_tensors("expected", layer.name, expected->second, result);
    }
  }
  for (LayerResult& layer : result.layers) {
    const bool failed = std::any_of(result.differences.begin(), result.differences.end(),
                                    [&](const auto& d) { return d.layer == layer.name; });
    layer.check = failed ? "failed" : "passed";
  }
}

/// How well the outputs of the run stand for those of the float network (SPEC RN-3).
void add_qualities(const std::map<std::string, FloatReference>& references, RunResult& result) {
  for (LayerResult& layer : result.layers) {
    const auto real = references.find(layer.name);
    const auto made = result.outputs.find(layer.name);
    if (real != references.end() && made != result.outputs.end())
      layer.quality = quality_of(made->second, real->second);
  }
}

Granularity granularity_of(const RunCommand& command) {
  if (command.granularity == "tile" && !command.vcd.empty()) {
    throw UserError(
        "--granularity tile and --vcd together: a waveform needs every clock, use --granularity clock");
  }
  return command.granularity == "clock" || !command.vcd.empty() ? Granularity::kClock : Granularity::kTile;
}

OutputPlaces places_of(const RunCommand& command, const Plan& plan) {
  return {command.out, plan.outputs, command.vcd, command.timeline};
}

TraceFilter filter_of(const RunCommand& command, Picoseconds period) {
  TraceFilter filter;
  filter.patterns = command.vcd_signals;
  filter.begin = command.vcd_from * period;
  if (command.vcd_to >= 0) filter.end = command.vcd_to * period;
  filter.max_bytes = command.vcd_max_mb << 20;
  return filter;
}

// The observers of a run, and the files that they write.
class RunOutputs {
 public:
  /// `inputs` are the files that the run has read.
  RunOutputs(const RunCommand& command, const Plan& plan, std::vector<std::string> inputs, Picoseconds period)
      : places_(places_of(command, plan)), inputs_(std::move(inputs)), period_(period) {
    check_places(places_, inputs_);
    files_.make_folder(places_.out);
    files_.lock_folder(places_.out);
    files_.make_folder(places_.outputs());
    files_.begin_set(places_.out);
    if (!command.vcd.empty()) {
      OutputFile& file = files_.open(command.vcd);
      vcd_.emplace(filter_of(command, period), period, now_ps,
                   [&file](const std::string& text) { file.write(text); });
    }
    if (!command.timeline.empty()) {
      timeline_file_ = &files_.open(command.timeline);
      timeline_.emplace();
    }
  }

  Observers observers() { return {vcd_ ? &*vcd_ : nullptr, timeline_ ? &*timeline_ : nullptr}; }
  /// Throws UserError when it is certain already that the files cannot be what is asked for.
  void check() const {
    files_.check();
    if (!vcd_ || vcd_->unmatched_patterns().empty()) return;
    throw UserError(
        fmt::format("--vcd-signals {}: no signal is called like that", vcd_->unmatched_patterns().front()));
  }
  /// Writes everything; before that `result` learns what is written.
  void write(const HardwareConfig& hardware, RunResult& result) {
    if (vcd_) vcd_->finish((result.cycles + 1) * period_);
    if (timeline_) timeline_file_->write(timeline_->json());
    for (const std::string& name : places_.names) {
      const auto output = result.outputs.find(name);
      if (output == result.outputs.end()) continue;  // never computed: `failures` says why
      files_.write(places_.tensor(name), npy_bytes(output->second));
      result.written.push_back(name);
    }
    files_.write(places_.report(), report_json(result, hardware_to_json(hardware)).dump(1) + "\n");
    files_.commit(obsolete_outputs(places_, inputs_));
  }
  /// What a user should know of the waveform: that it ends early, or shows nothing; else empty.
  std::string remark(const RunCommand& command, const RunResult& result) const {
    if (!vcd_) return "";
    if (vcd_->truncated())
      return fmt::format("{} ends early: it reached the cap of {} MB (--vcd-max-mb)", command.vcd,
                         command.vcd_max_mb);
    if (command.vcd_from > result.cycles)
      return fmt::format("{} shows nothing: the run ended at clock {}, --vcd-from is {}", command.vcd,
                         result.cycles, command.vcd_from);
    return "";
  }

 private:
  OutputPlaces places_;
  std::vector<std::string> inputs_;
  Picoseconds period_;
  OutputFiles files_;
  std::optional<VcdWriter> vcd_;
  std::optional<ChromeTimeline> timeline_;
  OutputFile* timeline_file_ = nullptr;
};

void print_result(const RunCommand& command, const RunResult& result, bool checked,
                  const std::string& remark) {
  fmt::print("{}", report_table(result));
  if (!checked && command.program.empty())
    fmt::print("\n{}", command.check == "off"
                           ? "Outputs were not checked (--check off).\n"
                           : "Outputs were not checked: over 4e10 MACs, say --check on.\n");
  if (!remark.empty()) print_message(remark);
  fmt::print("\nWrote {0}/report.json, {0}/outputs/{1}{2}\n", command.out,
             command.vcd.empty() ? "" : ", " + command.vcd,
             command.timeline.empty() ? "" : ", " + command.timeline);
}

/// The files of `--input NAME=FILE`, by name.
InputFiles input_files(const std::vector<std::string>& options) {
  InputFiles files;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == option.size())
      throw UserError(fmt::format("--input {}: NAME=X.npy is expected", option));
    const std::string name = option.substr(0, equals);
    if (!files.emplace(name, option.substr(equals + 1)).second)
      throw UserError(fmt::format("--input {}: {} is said twice", option, name));
  }
  return files;
}

void check_command(const RunCommand& command) {
  if (command.vcd_to >= 0 && command.vcd_to <= command.vcd_from) {
    throw UserError(
        fmt::format("--vcd-to {}: more than --vcd-from ({}) is expected", command.vcd_to, command.vcd_from));
  }
}

}  // namespace

void check_run_places(const RunCommand& command, const Plan& plan) {
  check_places(places_of(command, plan), files_read(command.config, command.layer));
}

int run(const RunCommand& command) {
  check_command(command);
  SimulationOptions options;
  options.granularity = granularity_of(command);
  HardwareConfig loaded = load_hardware(command.config);
  std::shared_ptr<CompiledAhead> ahead;
  if (!command.tables.empty()) {
    ahead = ahead_of(loaded);
    ahead->use(read_compiled(command.tables), command.tables);
  }
  const HardwareConfig hardware = std::move(loaded);
  if (command.vcd_accumulators && !engine_description(hardware.dataflow).traces_accumulators)
    throw UserError(fmt::format("--vcd-accumulators: the PEs of {} have no accumulators (dataflow \"{}\")",
                                command.config, hardware.dataflow));
  for (const std::string& fault : command.faults) options.faults.push_back(parse_fault(fault, hardware));
  std::optional<Workload> workload;
  const InputFiles given = input_files(command.inputs);
  if (command.program.empty()) workload = load_workload(command.layer, given);
  const NetworkMapping asked = command.mapping.empty() ? NetworkMapping{} : load_mapping(command.mapping);
  HandPrograms made = workload ? HandPrograms{plan_workload(*workload, hardware, command.layer, asked).plan,
                                              files_read(command.config, command.layer)}
                               : load_programs(command.program, hardware);
  for (const std::string& file : {command.config, command.mapping, command.tables}) {
    if (!file.empty()) made.files.push_back(file);
  }
  for (const auto& [name, file] : given) made.files.push_back(file);
  Plan& plan = made.plan;
  if (ahead && ahead->used() == 0)
    throw UserError(
        fmt::format("{}: no tables for a layer of {} as {} maps it: shapes, layouts or parameters differ",
                    command.tables, command.layer, command.config));
  const std::int64_t macs =
      std::accumulate(plan.layers.begin(), plan.layers.end(), std::int64_t{0},
                      [](std::int64_t sum, const LayerPlan& l) { return sum + l.macs; });
  const bool check = workload && (command.check == "on" || (command.check.empty() && macs <= kCheckedMacs));
  options.trace_accumulators = command.vcd_accumulators;
  options.jitter_seed = command.jitter_seed;
  options.build_order_seed = command.build_order_seed;

  RunResult result;
  std::string remark;
  {
    RunOutputs outputs(command, plan, made.files, hardware.clock_ps());
    options.observers = outputs.observers();
    Progress progress(plan.layers.size());
    options.progress = [&](Cycle now, std::size_t done) {
      outputs.check();
      progress(now, done);
    };
    std::map<std::string, FloatReference> references;
    if (workload) references = std::move(workload->float_references);
    if (!check) workload.reset();  // weights are large
    result = simulate(hardware, std::move(plan), options);
    progress.clear();
    if (check) check_outputs(*workload, result);
    add_qualities(references, result);
    outputs.write(hardware, result);
    remark = outputs.remark(command, result);
  }
  print_result(command, result, check, remark);
  return result.passed() ? 0 : 1;
}

}  // namespace tilebeat
