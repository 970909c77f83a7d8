#include "system/simulation.h"

#include "fabric/sram_bank.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Cycles between two calls of `progress`: some milliseconds in either granularity, more on large chips.
constexpr Cycle kSliceCycles = 20'000;

double utilization_of(std::int64_t macs, Cycle cycles, std::int64_t peak) {
  return cycles > 0 ? static_cast<double>(macs) / (static_cast<double>(cycles) * static_cast<double>(peak))
                    : 0.0;
}

LayerResult layer_result(const LayerPlan& plan, const LayerMark& before, const LayerMark& after,
                         const RunResult& run) {
  LayerResult layer;
  layer.name = plan.name, layer.op = plan.op, layer.scene = plan.scene, layer.dataflow = run.dataflow;
  layer.cycles = after.at - before.at;
  LayerCounts did = after;
  did -= before;
  layer.beats = did.beats, layer.macs = did.macs, layer.losses = did.losses;
  layer.activity = did.array, layer.bytes = did.bytes;
  layer.results = did.results, layer.decoded = did.decoded, layer.activations = did.activations;
  layer.utilization = utilization_of(layer.macs, layer.array_cycles(), run.peak_macs_per_clock / run.cores);
  layer.busiest = after.busiest, layer.busiest_share = after.busiest_share;
  layer.estimated_cycles = plan.estimated_cycles, layer.facts = plan.facts, layer.layers = plan.layers;
  layer.bound = plan.bound, layer.port = after.port, layer.helpers = did.helpers;
  return layer;
}

Slice layer_slice(const LayerResult& layer, Picoseconds begin, Picoseconds end) {
  Slice slice{layer.name, begin, end};
  slice.bytes = layer.bytes.dram_read + layer.bytes.dram_write;
  slice.macs = layer.macs;
  return slice;
}

// Whether anything was computed or moved between two marks; fetches beyond the ends of programs do not count.
bool worked(const LayerMark& before, const LayerMark& after) {
  const MemoryBytes moved = after.bytes - before.bytes;
  return after.beats > before.beats ||
         std::any_of(kMemoryCounts.begin(), kMemoryCounts.end(), [&](std::int64_t MemoryBytes::*count) {
           return count != &MemoryBytes::dram_read && count != &MemoryBytes::bus_read && moved.*count != 0;
         });
}

// Checks that every multiplication slot of a beat is either useful or lost under exactly one name.
template <class Expect>
void assert_losses(const RunResult& run, const Expect& expect) {
  const std::int64_t peak = run.peak_macs_per_clock / run.cores;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    if (!layer.losses) continue;
    const std::int64_t lost = std::accumulate(layer.losses->begin(), layer.losses->end(), std::int64_t{0});
    const std::int64_t least = *std::min_element(layer.losses->begin(), layer.losses->end());
    expect(layer.macs + lost == layer.beats * peak && least >= 0, fmt::format("/layers/{}/lost_macs", i),
           fmt::format("layer '{}': {} useful multiply-accumulates and {} lost ones are not {} beats of {}, "
                       "or some are negative",
                       layer.name, layer.macs, lost, layer.beats, peak));
  }
}

// The layers of the chip, in their order.
std::vector<const LayerPlan*> layers_of_chip(const Plan& plan) {
  std::vector<const LayerPlan*> made;
  for (const LayerPlan& layer : plan.layers) {
    if (!layer.on_host) made.push_back(&layer);
  }
  return made;
}

// Checks that overlapping layers take no less than their joint bound: of the second layer only the cycles
// after the end of the first are counted.
template <class Expect>
void assert_bounds(const Plan& plan, const RunResult& run, const Expect& expect) {
  const std::vector<const LayerPlan*> plans = layers_of_chip(plan);
  Cycle cycles = 0;
  BoundCycles bound;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    const std::string and_before = plans[i]->overlaps ? "and those that overlap it " : "";
    cycles += layer.cycles, bound += layer.bound;
    expect(layer.cycles >= layer.port.cycles, fmt::format("/layers/{}/bound_cycles/port", i),
           fmt::format("layer '{}' took {} cycles, {} carried data in {}", layer.name, layer.cycles,
                       layer.port.name, layer.port.cycles));
    if (i + 1 < run.layers.size() && plans[i + 1]->overlaps) continue;
    expect(cycles >= bound.cycles(), fmt::format("/layers/{}/cycles", i),
           fmt::format("layer '{}' {}took {} cycles, the lower bound is {}", layer.name, and_before, cycles,
                       bound.cycles()));
    cycles = 0, bound = {};
  }
}

// Checks the invariants at the end of a run (SPEC CY-1).
void assert_invariants(const HardwareConfig& hardware, const Plan& plan, StartedBy started_by,
                       RunResult& run) {
  const auto expect = [&](bool holds, const std::string& field, const std::string& text) {
    if (!holds)
      run.failures.push_back(
          fmt::format("invariant broken: {}: {}; this is a defect of tilebeat: please report it "
                      "with the files of --config and --layer",
                      field, text));
  };
  for (std::size_t i = 0; i < run.modules.size(); ++i) {
    const ModuleCycles& module = run.modules[i];
    const std::string field = fmt::format("/modules/{}/cycles", i);
    // Clocks of different domains may differ by one cycle of either.
    const Picoseconds period = module.clock == "dram" ? hardware.dram.clock_ps : hardware.clock_ps();
    const Picoseconds apart = module.cycles * period - run.cycles * hardware.clock_ps();
    expect(module.clock == "dram" ? std::abs(apart) <= period + hardware.clock_ps() : apart == 0, field,
           fmt::format("{}: {} cycles of {} ps are accounted for, the run has {} of {} ps", module.name,
                       module.cycles, period, run.cycles, hardware.clock_ps()));
    const Cycle sum = std::accumulate(module.activity.begin(), module.activity.end(), Cycle{0});
    expect(sum == module.cycles, field,
           fmt::format("{}: busy and stalls are {} cycles of {}", module.name, sum, module.cycles));
  }
  const std::vector<const LayerPlan*> plans = layers_of_chip(plan);
  Cycle layer_cycles = 0;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    layer_cycles += layer.cycles;
    if (plan.hand_written) continue;
    const LayerPlan& planned = *plans[i];
    const auto field = [i](const char* key) { return fmt::format("/layers/{}/{}", i, key); };
    expect(layer.macs == planned.macs, field("macs"),
           fmt::format("layer '{}' did {} useful multiply-accumulates of {}", layer.name, layer.macs,
                       planned.macs));
    // An outside master writes to DRAM as well.
    expect(started_by == StartedBy::kOutside || layer.bytes.dram_write == planned.output_bytes,
           field("dram_write_bytes"),
           fmt::format("layer '{}' wrote {} bytes to DRAM, its output has {}", layer.name,
                       layer.bytes.dram_write, planned.output_bytes));
    expect(layer.beats == planned.beats, field("beats"),
           fmt::format("layer '{}' took {} beats, its schedules have {}", layer.name, layer.beats,
                       planned.beats));
    expect(nth(layer.activity, Activity::kBusy) == layer.beats, field("beats"),
           fmt::format("layer '{}': the array was busy in {} cycles, with {} beats", layer.name,
                       nth(layer.activity, Activity::kBusy), layer.beats));
  }
  if (!plan.hand_written) assert_bounds(plan, run, expect);
  assert_losses(run, expect);
  expect(layer_cycles == run.cycles, "/total/cycles",
         fmt::format("the layers' cycles sum to {}, the run took {}", layer_cycles, run.cycles));
}

// Runs to a time, or, where the programs end before, `behind` further, as far as there are events: so far
// does a run without stops show what happens.
void run_until(System& system, Picoseconds until, const sc_core::sc_time& behind) {
  sc_core::sc_start(to_sc_time(until - now_ps()), sc_core::SC_EXIT_ON_STARVATION);
  system.let_go_if_over();
  if (system.finished())
    sc_core::sc_start(behind, sc_core::SC_EXIT_ON_STARVATION);
  else if (now_ps() < until)
    sc_core::sc_start(to_sc_time(until - now_ps()), sc_core::SC_RUN_TO_TIME);
}

void run_programs(System& system, const SimulationOptions& options, const ClockDomain& clock) {
  const MemoryBetweenClocks memory{
      [&system](std::uint64_t address, std::int64_t bytes) { return system.read_memory(address, bytes); },
      [&system](std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
        system.write_memory(address, bytes);
      }};
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // the initial runs of the processes
  while (!system.finished()) {
    if (!sc_core::sc_pending_activity()) {
      throw SimulationError(
          fmt::format("deadlock: nothing can happen any more\n{}", system.describe_state()));
    }
    if (options.step) {
      run_until(system, options.step(memory) * clock.period_ps(),
                to_sc_time(kSliceCycles * clock.period_ps()));
      continue;
    }
    // A slice is never shorter than the wait for the next event; with no event left, time stands still.
    const sc_core::sc_time slice = to_sc_time(kSliceCycles * clock.period_ps());
    sc_core::sc_start(std::max(slice, sc_core::sc_time_to_pending_activity()),
                      sc_core::SC_EXIT_ON_STARVATION);
    system.let_go_if_over();
    if (options.progress)
      options.progress(system.now(), system.layer_ends().size() + system.host_done().size());
  }
}

// The error text of a run; errors of units already name their instructions.
std::string failure(const System& system, const std::string& what) {
  const bool named = what.find("instruction at 0x") != std::string::npos;
  return fmt::format("simulation error at clock {}: {}{}", system.now(), what,
                     named ? "" : system.describe_under_way());
}

// Where a refused instruction stands: in the program file, or in a planned program.
std::string place_of(const Plan& plan, const ByteChecks::Fault& fault) {
  for (const ProgramImage& program : plan.programs) {
    const std::uint64_t number = (fault.instruction - program.address) / kInstructionBytes;
    if (program.processor != fault.processor || fault.instruction < program.address) continue;
    if (number < program.lines.size())
      return fmt::format("{}:{}: instruction at {:#x}: ", plan.file, program.lines[number],
                         fault.instruction);
  }
  return fmt::format("program {}: instruction at {:#x}: ", plan.name, fault.instruction);
}

// The cycles of modules since `begin`; `modules` has those of the whole simulation.
std::vector<ModuleCycles> since(const Snapshot& begin, std::vector<ModuleCycles> modules) {
  for (std::size_t i = 0; i < begin.modules.size(); ++i) {
    modules[i].cycles -= begin.modules[i].cycles;
    std::transform(modules[i].activity.begin(), modules[i].activity.end(), begin.modules[i].activity.begin(),
                   modules[i].activity.begin(), std::minus<>());
  }
  return modules;
}

// The counters of a run that began with those of `begin`; `counters` are those of the whole simulation. Sizes
// stay; bandwidths, which stand behind the bytes of their module, are those of the run's picoseconds.
std::vector<Counter> since(const Snapshot& begin, std::vector<Counter> counters, Picoseconds time) {
  std::int64_t payload = 0;
  for (std::size_t i = 0; i < begin.counters.size(); ++i) {
    Counter& counter = counters[i];
    if (counter.name == "largest") continue;
    counter.value -= begin.counters[i].value;
    if (counter.name == "read") payload = counter.value;
    if (counter.name == "written") payload += counter.value;
    if (counter.unit == "MB/s") counter.value = time > 0 ? payload * 1'000'000 / time : 0;
  }
  return counters;
}

// The same for the counts of cores.
std::vector<CoreResult> since(const Snapshot& begin, std::vector<CoreResult> cores) {
  for (std::size_t i = 0; i < begin.cores.size(); ++i) {
    cores[i].macs -= begin.cores[i].macs, cores[i].busy -= begin.cores[i].busy;
    cores[i].barrier -= begin.cores[i].barrier, cores[i].peer -= begin.cores[i].peer;
  }
  return cores;
}

// The bytes that on-chip memories held over the run, in slices of equal length.
MemoryOverTime memory_over_time(const System& system, Cycle begin, Cycle end) {
  MemoryOverTime made;
  const std::vector<const Scratchpad*> memories = system.scratchpads();
  for (const Scratchpad* memory : memories)
    made.slice_cycles = std::max(made.slice_cycles, memory->held.slice_cycles(end));
  for (const Scratchpad* memory : memories) {
    if (!memory->held.ever_accessed()) continue;
    made.memories.push_back({report_name(*memory), to_signed(memory->size()),
                             memory->held.by_slice(made.slice_cycles, begin, end)});
  }
  return made;
}

void collect(const Plan& plan, System& system, Timeline* timeline, const ClockDomain& clock, RunResult& run) {
  LayerMark before(system.run_begin(), {});
  std::vector<bool> done(plan.layers.size(), false);
  for (const auto& [number, mark] : system.layer_ends()) {
    run.layers.push_back(layer_result(plan.layers[number], before, mark, run));
    done[number] = true;
    if (timeline != nullptr)
      timeline->slice("layers", layer_slice(run.layers.back(), clock.at(before.at), clock.at(mark.at)));
    before = mark;
  }
  for (const std::uint32_t number : system.host_done()) {
    const LayerPlan& layer = plan.layers[number];
    run.host_layers.push_back({layer.name, layer.op, layer.on_host.value()});
    done[number] = true;
  }
  Snapshot last = system.last_layer_end();
  // A program without layer ends is one layer. Work after the last layer is shown as a further layer.
  if (plan.hand_written && system.run_end()) {
    const LayerMark end(*system.run_end(), last);
    if (system.layer_ends().empty() || worked(before, end)) {
      LayerPlan rest;
      rest.name = "rest", rest.op = "program", rest.scene = "main";
      run.layers.push_back(
          layer_result(system.layer_ends().empty() ? plan.layers.front() : rest, before, end, run));
      last = *system.run_end();
    }
  }
  // An aborted run is reported up to where it stopped.
  if (!run.failures.empty()) last = system.snapshot_now();
  run.cycles = last.at - system.run_begin().at;
  LayerCounts did = last;
  did -= system.run_begin();
  run.macs = did.macs, run.losses = did.losses, run.bytes = did.bytes;
  run.results = did.results, run.decoded = did.decoded, run.activations = did.activations;
  run.utilization = utilization_of(run.macs, run.cycles, run.peak_macs_per_clock);
  run.modules = since(system.run_begin(), std::move(last.modules));
  run.counters = since(system.run_begin(), std::move(last.counters), clock.at(run.cycles));
  for (const GraphLayer& layer : plan.graph) run.graph.push_back({layer.name, layer.op, layer.inputs});
  run.memory_over_time = memory_over_time(system, system.run_begin().at, last.at);
  run.core_results = since(system.run_begin(), std::move(last.cores));
  for (CoreResult& core : run.core_results)
    core.utilization = utilization_of(core.macs, run.cycles, run.peak_macs_per_clock / run.cores);
  const auto read = [&](const std::string& name) {
    const Placement& place = plan.tensors.at(name);
    std::vector<std::uint8_t> bytes = system.read_memory(place.address, place.size_bytes());
    if (place.stored) bytes = bytes_as_nhwc(*place.stored, bytes);
    run.outputs[name] = {place.info.shape, place.info.dtype, std::move(bytes)};
  };
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    if (done[i] && !plan.hand_written) read(plan.layers[i].name);
  }
  if (plan.hand_written) std::for_each(plan.outputs.begin(), plan.outputs.end(), read);
}

// Gives the DRAM that the plan uses to the option for it.
void read_memory_after(const Plan& plan, const SimulationOptions& options, System& system) {
  constexpr std::uint64_t kPiece = 1 << 16;
  std::uint64_t address = plan.dram_bytes;
  for (const MemorySegment& segment : plan.image) address = std::min(address, segment.address);
  for (; address < plan.dram_bytes; address += kPiece) {
    const std::uint64_t bytes = std::min(kPiece, plan.dram_bytes - address);
    options.memory_after(address, system.read_memory(address, to_signed(bytes)));
  }
}

// Gives all banks at or below the modules to the option for them.
void read_banks_after(const std::vector<sc_core::sc_object*>& objects, const SimulationOptions& options) {
  for (sc_core::sc_object* const object : objects) {
    if (auto* const bank = dynamic_cast<SramBank*>(object); bank != nullptr)
      options.bank_after(bank->name(), bank->contents(), to_size(bank->size_bytes()));
    read_banks_after(object->get_child_objects(), options);
  }
}

}  // namespace

RunResult simulate(const HardwareConfig& hardware, Plan plan, const SimulationOptions& options) {
  DeltaJitter jitter(options.jitter_seed);
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  // A process builds one system and keeps it: destroying the sockets of a large chip takes longer than
  // running a small layer on it.
  static System* kept = nullptr;
  kept = make_system(hardware, plan, options, options.jitter_seed != 0 ? &jitter : nullptr).release();
  System& system = *kept;
  system.probe();
  system.inject_faults(options.faults);
  for (MemorySegment& segment : plan.image) {
    system.write_memory(segment.address, segment.bytes);
    std::vector<std::uint8_t>().swap(segment.bytes);  // weights are large; `= {}` would keep the memory
  }
  std::vector<std::string> failures;
  try {
    run_programs(system, options, ClockDomain(hardware.clock_ps()));
  } catch (const SimulationError& error) {
    failures.push_back(failure(system, error.what()));
  } catch (const sc_core::sc_report& report) {  // exceptions of processes reach sc_start's caller as reports
    failures.push_back(failure(system, report.get_msg()));
  }
  if (const auto fault = system.fault()) throw UserError(place_of(plan, *fault) + fault->text);
  RunResult result = collect_result(hardware, plan, options, system, std::move(failures));
  if (options.memory_after) read_memory_after(plan, options, system);
  if (options.bank_after) read_banks_after(system.get_child_objects(), options);
  return result;
}

RunResult collect_result(const HardwareConfig& hardware, const Plan& plan, const SimulationOptions& options,
                         System& system, std::vector<std::string> failures) {
  RunResult run;
  run.failures = std::move(failures);
  run.workload = plan.name;
  run.hardware = hardware.name;
  run.granularity = options.granularity == Granularity::kClock ? "clock" : "tile";
  run.dataflow = hardware.dataflow;
  run.cores = hardware.chip ? hardware.chip->cores() : 1;
  run.peak_macs_per_clock = hardware.macs_per_clock() * run.cores;
  run.clock_mhz = hardware.clock_mhz;
  collect(plan, system, options.observers.timeline, ClockDomain(hardware.clock_ps()), run);
  add_energy(hardware, run);
  if (run.failures.empty()) assert_invariants(hardware, plan, options.started_by, run);
  return run;
}

}  // namespace tilebeat
