#include "app/command_options.h"
#include "app/commands.h"
#include "app/faults.h"
#include "app/output_files.h"
#include "app/plan_cache.h"
#include "app/planning.h"
#include "app/progress.h"
#include "app/provenance.h"
#include "app/reference_run.h"
#include "app/run_outputs.h"
#include "app/step_server.h"
#include "config/hardware_config.h"
#include "program/program_file.h"
#include "reference/reference.h"
#include "report/report.h"
#include "report/scenes.h"
#include "system/simulation.h"
#include "tilebeat/error.h"
#include "workload/npy.h"
#include "workload/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

void compare_tensors(const char* against, const std::string& layer, const Tensor& wanted, RunResult& result) {
  const auto got = result.outputs.find(layer);
  if (got == result.outputs.end()) return;  // never computed: `failures` says why
  if (const auto mismatch = first_mismatch(layer, wanted, got->second)) {
    result.differences.push_back({layer, against, mismatch->index, mismatch->expected, mismatch->actual});
  }
}

void check_outputs(const Workload& workload, const std::map<std::string, Tensor>& reference,
                   RunResult& result) {
  for (const Layer& layer : workload.layers) {
    compare_tensors("reference", layer.name, reference.at(layer.name), result);
    if (const auto expected = workload.expected.find(layer.name); expected != workload.expected.end()) {
      compare_tensors("expected", layer.name, expected->second, result);
    }
  }
  const auto failed = [&](const std::string& name) {
    return std::any_of(result.differences.begin(), result.differences.end(),
                       [&](const auto& difference) { return difference.layer == name; });
  };
  for (LayerResult& layer : result.layers) layer.check = failed(layer.name) ? "failed" : "passed";
  // Layers on the host have no second implementation: an expected file alone can pass them.
  for (HostLayerResult& layer : result.host_layers) {
    const bool compared = workload.expected.count(layer.name) != 0;
    layer.check = failed(layer.name) ? "failed" : compared ? "passed" : "off";
  }
}

/// A run that takes other cycles than the workload expects fails as one with wrong outputs does.
void check_cycles(const ExpectedCycles& expected, RunResult& result) {
  const auto check = [&result](const std::string& what, const CycleTarget& target, Cycle cycles) {
    const auto wanted = static_cast<double>(target.cycles);
    if (std::abs(static_cast<double>(cycles) - wanted) <= wanted * target.tolerance_percent / 100) return;
    result.failures.push_back(fmt::format(
        "{} took {} cycles, the workload expects {}{}", what, cycles, target.cycles,
        target.tolerance_percent > 0 ? fmt::format(" within {} %", target.tolerance_percent) : ""));
  };
  if (!result.failures.empty()) return;  // the run did not come to its end
  for (const auto& [name, target] : expected.layers) {
    const auto named = [&name = name](const auto& layer) { return layer.name == name; };
    const auto layer = std::find_if(result.layers.begin(), result.layers.end(), named);
    if (layer != result.layers.end()) {
      check(fmt::format("layer '{}'", name), target, layer->cycles);
    } else {
      result.failures.push_back(fmt::format(
          "layer '{}' ran as a part of a fusion group, the workload expects {} cycles of it alone", name,
          target.cycles));
    }
  }
  if (expected.total) check("the run", *expected.total, result.cycles);
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

/// What `.expect` says of the results of programs by hand.
void check_expected(const std::map<std::string, HandPrograms::Expected>& expected, RunResult& result) {
  if (!result.failures.empty()) return;  // the run did not come to its end
  for (const auto& [name, wanted] : expected) {
    const Tensor& got = result.outputs.at(name);
    const auto mismatch = first_mismatch(name, wanted.elements, got);
    if (!mismatch) continue;
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < got.elements(); ++i)
      different += got.wide_at(i) != wanted.elements.wide_at(i) ? 1 : 0;
    result.failures.push_back(
        fmt::format("{} of {} elements of '{}' differ from {}: the first one, [{}], is {}, {} is expected",
                    different, got.elements(), name, wanted.file, fmt::join(mismatch->index, ", "),
                    mismatch->actual, mismatch->expected));
  }
}

UninitialisedReads reads_of(const RunCommand& command) {
  return command.uninitialised == "allow" ? UninitialisedReads::kAllowed : UninitialisedReads::kRefused;
}

// Planning a workload of more multiply-accumulates may take longer than a second.
constexpr std::int64_t kAnnouncedMacs = 1'000'000'000;

std::int64_t macs_of(const Workload& workload) {
  return std::accumulate(
      workload.layers.begin(), workload.layers.end(), std::int64_t{0},
      [&](std::int64_t sum, const Layer& layer) { return sum + useful_macs(workload, layer); });
}

Granularity granularity_of(const RunCommand& command, const std::vector<PlacedFault>& faults, bool steps) {
  const bool upset =
      command.campaign.faults > 0 || std::any_of(faults.begin(), faults.end(), needs_every_clock);
  if (command.granularity == "tile" && upset)
    throw UserError(
        "--granularity tile and an upset in what an engine computes with: use --granularity clock");
  if (command.granularity == "tile" && command.has_waveform()) {
    throw UserError(
        "--granularity tile and --vcd together: a waveform needs every clock, use --granularity clock");
  }
  if (steps && (command.granularity == "tile" || command.has_waveform() || !command.vectors.empty() ||
                command.campaign.faults > 0))
    throw UserError(
        "a run that is stepped through goes with neither --granularity tile, --vcd, --fst, --vectors nor "
        "--fault-campaign");
  if (!steps && command.vectors.empty() && !command.vectors_ports.empty())
    throw UserError("--vectors-ports requires --vectors");
  if (command.vectors.empty() && command.vectors_text) throw UserError("--vectors-text requires --vectors");
  if (command.granularity == "tile" && !command.vectors.empty())
    throw UserError(
        "--granularity tile and --vectors together: vectors need every clock, use --granularity clock");
  return command.granularity == "clock" || command.has_waveform() || !command.vectors.empty() || upset ||
                 steps
             ? Granularity::kClock
             : Granularity::kTile;
}

// Vectors have the accumulators of PEs that have some.
bool traces_accumulators(const RunCommand& command, const HardwareConfig& hardware, bool steps) {
  const bool has_some = engine_description(hardware.dataflow).traces_accumulators;
  if (command.vcd_accumulators && !has_some)
    throw UserError(fmt::format("--vcd-accumulators: the PEs of {} have no accumulators (dataflow \"{}\")",
                                command.config, hardware.dataflow));
  return command.vcd_accumulators || (has_some && (steps || !command.vectors.empty()));
}

// The tables of --tables, in use by the hardware's engine; null: there are none.
std::shared_ptr<CompiledAhead> tables_of(const RunCommand& command, HardwareConfig& hardware) {
  if (command.tables.empty()) return nullptr;
  std::shared_ptr<CompiledAhead> ahead = ahead_of(hardware);
  ahead->use(read_compiled(command.tables), command.tables);
  return ahead;
}

SimulationOptions options_of(const RunCommand& command, const HardwareConfig& hardware, bool steps) {
  SimulationOptions options;
  options.trace_accumulators = traces_accumulators(command, hardware, steps);
  for (const std::string& fault : command.faults) options.faults.push_back(parse_fault(fault, hardware));
  options.granularity = granularity_of(command, options.faults, steps);
  options.jitter_seed = command.jitter_seed;
  options.build_order_seed = command.build_order_seed;
  return options;
}

bool checks_outputs(const RunCommand& command, std::int64_t macs) {
  const bool checks = command.check == "on" || (command.check.empty() && macs <= kCheckedMacs);
  if (command.campaign.faults > 0 && !checks)
    throw UserError("--fault-campaign: compares with the reference, say --check on");
  return checks;
}

void print_result(const RunCommand& command, const RunResult& result, bool checked,
                  const std::vector<std::string>& remarks, const std::vector<std::string>& written) {
  fmt::print("{}", report_table(result));
  if (!checked && command.program.empty())
    fmt::print("\n{}", command.check == "off"
                           ? "Outputs were not checked (--check off).\n"
                           : "Outputs were not checked: over 4e10 MACs, say --check on.\n");
  for (const std::string& remark : remarks) print_message(remark);
  std::string more;
  for (const std::string& file : written) more += ", " + file;
  fmt::print("\nWrote {0}/report.json, {0}/outputs/{1}\n", command.out, more);
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

/// What was asked for, once it is read.
struct Loaded {
  std::optional<Workload> workload;  ///< none: a program runs
  NetworkMapping asked;  ///< of the mapping file, without what it says of steps that are not simulated
  int all_steps = 0;     ///< steps of the file where only the first ones are simulated
};

Loaded load(const RunCommand& command, const InputFiles& given) {
  Loaded loaded;
  if (!command.mapping.empty()) loaded.asked = load_mapping(command.mapping);
  if (!command.program.empty()) return loaded;
  if (command.extrapolate.empty()) {
    loaded.workload = load_workload(command.layer, given);
    return loaded;
  }
  FirstSteps first = load_first_steps(command.layer, given, std::stoi(command.extrapolate));
  const auto is_left_out = [&](const std::string& layer) { return first.left_out.count(layer) > 0; };
  const auto erase = [](auto& list, const auto& wanted) {
    list.erase(std::remove_if(list.begin(), list.end(), wanted), list.end());
  };
  erase(loaded.asked.layers, [&](const MappingRequest& request) { return is_left_out(request.layer); });
  erase(loaded.asked.groups, [&](const GroupRequest& request) {
    return std::any_of(request.layers.begin(), request.layers.end(), is_left_out);
  });
  loaded.workload = std::move(first.workload), loaded.all_steps = first.all;
  return loaded;
}

void extrapolate(const RunCommand& command, int all_steps, RunResult& result) {
  if (all_steps > 0 && result.failures.empty())
    result.extrapolated = extrapolated(result, std::stoi(command.extrapolate), all_steps);
}

/// What runs, and the files that it was read from.
HandPrograms programs_of(const RunCommand& command, const std::optional<Workload>& workload,
                         const HardwareConfig& hardware, const NetworkMapping& asked, PlanCache& cache) {
  HandPrograms made = workload ? HandPrograms{cache.plan(*workload, hardware, command.layer, asked).plan,
                                              files_read(command.config, command.layer)}
                               : load_programs(command.program, hardware);
  for (const std::string& file : {command.config, command.mapping, command.tables}) {
    if (!file.empty()) made.files.push_back(file);
  }
  return made;
}

void check_command(const RunCommand& command) {
  if (command.vcd_to && *command.vcd_to <= command.vcd_from) {
    throw UserError(
        fmt::format("--vcd-to {}: more than --vcd-from ({}) is expected", *command.vcd_to, command.vcd_from));
  }
  const RunCommand plain;
  const std::array<std::pair<const char*, bool>, 5> of_waveforms{
      {{"--vcd-signals", !command.vcd_signals.empty()},
       {"--vcd-from", command.vcd_from != plain.vcd_from},
       {"--vcd-to", command.vcd_to.has_value()},
       {"--vcd-max-mb", command.vcd_max_mb != plain.vcd_max_mb},
       {"--vcd-accumulators", command.vcd_accumulators}}};
  for (const auto& [option, given] : of_waveforms) {
    if (given && !command.has_waveform()) throw UserError(fmt::format("{} requires --vcd or --fst", option));
  }
  if (command.fst.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(command.fst, ignored) &&
      !std::filesystem::is_regular_file(command.fst, ignored))
    throw UserError(fmt::format("--fst {}: is no regular file", command.fst));
}

// With where the plan is from, if plans are kept.
nlohmann::ordered_json provenance_of(const RunCommand& command, const InputHashes& inputs,
                                     const PlanCache& cache) {
  nlohmann::ordered_json provenance = provenance_json(command, inputs);
  if (!command.plan_cache.empty()) provenance["plan"] = cache.found() ? "kept" : "made";
  return provenance;
}

// What an interruption says from now on.
void say_interrupted(Cycle now, std::size_t done, std::size_t layers) {
  Interruption::say(
      fmt::format("\ntilebeat: interrupted behind clock {}, {} of {} layers complete; nothing was written\n",
                  now, done, layers));
}

}  // namespace

void check_run_places(const RunCommand& command, const Plan& plan) {
  note_inputs(files_read(command.config, command.layer));
  check_places(places_of(command, plan));
}

int run(const RunCommand& command) {
  check_command(command);
  HardwareConfig hardware = load_hardware(command.config);
  return run_on(command, std::move(hardware), hashes_of({command.config}).at(command.config));
}

int run_on(const RunCommand& command, HardwareConfig loaded, const std::optional<std::string>& config_hash) {
  std::optional<Interruption> planning;  // until the outputs are held, which have one of their own
  planning.emplace();
  Interruption::say("\ntilebeat: interrupted before the simulation began; nothing was written\n");
  const std::shared_ptr<CompiledAhead> ahead = tables_of(command, loaded);
  const HardwareConfig hardware = std::move(loaded);
  const std::unique_ptr<StepServer> steps = StepServer::of_environment();
  SimulationOptions options = options_of(command, hardware, steps != nullptr);
  const InputFiles given = input_files(command.inputs);
  Loaded loaded_work = load(command, given);
  std::optional<Workload>& workload = loaded_work.workload;
  Progress progress;
  const std::int64_t macs = workload ? macs_of(*workload) : 0;
  const bool check = workload && checks_outputs(command, macs);
  std::map<std::string, FloatReference> references;
  ExpectedCycles expected_cycles;
  if (workload)
    references = std::move(workload->float_references), expected_cycles = workload->expected_cycles;
  std::optional<ReferenceRun> reference;
  if (check) reference.emplace(*workload);
  if (macs > kAnnouncedMacs) progress.announce(fmt::format("planning {} layers", workload->layers.size()));
  PlanCache cache(command.plan_cache);
  HandPrograms made = programs_of(command, workload, hardware, loaded_work.asked, cache);
  for (const auto& [name, file] : given) made.files.push_back(file);
  Plan& plan = made.plan;
  if (ahead && ahead->used() == 0)
    throw UserError(
        fmt::format("{}: no tables for a layer of {} as {} maps it: shapes, layouts or parameters differ",
                    command.tables, command.layer, command.config));
  if (plan.hand_written) options.check_reads = reads_of(command);

  const InputHashes inputs = hashes_of(made.files, {{command.config, config_hash}});
  RunResult result;
  std::vector<std::string> remarks, written;
  std::vector<FaultEffect> effects;
  {
    planning.reset();
    RunOutputs outputs(command, hardware, plan, made.files, steps.get());
    options.step = outputs.step();
    options.observers = outputs.observers();
    options.memory_after = outputs.memory_after();
    options.bank_after = outputs.bank_after();
    SimulatedShare share(plan.layers);
    progress.begin();
    const auto tell = [layers = plan.layers.size()](Cycle now, std::size_t done) {
      say_interrupted(now, done, layers);
    };
    tell(0, 0);
    options.progress = [&, layers = plan.layers.size()](Cycle now, std::size_t done) {
      outputs.check();
      tell(now, done);
      progress.tell(fmt::format("clock {}, {} of {} layers complete", now, done, layers),
                    share.at(now, done));
    };
    std::map<std::string, Tensor> wanted;
    if (command.campaign.faults > 0) {
      wanted = reference->take(progress);
      effects = run_campaign(command.campaign, hardware, plan, options, wanted, progress);
      outputs.write_fault_table(campaign_csv(effects));
    }
    if (!check) workload.reset();  // weights are large
    result = simulate(hardware, std::move(plan), options);
    extrapolate(command, loaded_work.all_steps, result);
    progress.clear();
    Interruption::say(fmt::format(
        "\ntilebeat: interrupted after the simulation of {} clocks, before its outputs were written\n",
        result.cycles));
    if (reference) check_outputs(*workload, wanted.empty() ? reference->take(progress) : wanted, result);
    add_qualities(references, result);
    check_cycles(expected_cycles, result);
    check_expected(made.expected, result);
    outputs.write(hardware, provenance_of(command, inputs, cache), result);
    remarks = outputs.remarks(result);
    for (const auto& [option, file] : outputs.files()) written.push_back(file);
  }
  print_result(command, result, check, remarks, written);
  if (!effects.empty()) fmt::print("\n{}", campaign_text(effects));
  return result.passed() ? 0 : 1;
}

}  // namespace tilebeat
