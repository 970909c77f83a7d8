// Random task graphs, made programs and run on chips: what they leave in every memory is what their tasks do
// one after the other, in the order in which they were added (SPEC MA-2, HI-2, HI-3, CY-3).
//
// A simulation runs the programs of many graphs, one after the other. Seeds are fixed; TILEBEAT_GRAPH_SEED
// moves all of them. A failure names the seed of its simulation, which TILEBEAT_GRAPH_ONLY runs alone.
#include "chip_model.h"
#include "chip_run.h"
#include "planner/schedule/schedule.h"
#include "random_graph.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr int kGroups = 8, kSimulations = 5, kGraphs = 26;  // simulations of a group, graphs of a simulation
static_assert(kGroups * kSimulations * kGraphs >= 1000);
constexpr std::array<double, 3> kFactors{1.0, -0.5, 1.25};  // of operands and result of an addition

/// What was met: the tests ask that nothing of it is missing.
struct Met {
  int joins = 0, relays = 0, signals = 0, shared_signals = 0, multicasts = 0, accumulations = 0;
  int far_signals = 0;  // to other clusters

  void count(const TaskGraph& graph) {
    for (const Task& task : graph.tasks()) {
      for (const tilebeat::Access& access : task.accesses)
        accumulations += access.kind == AccessKind::kAccumulate ? 1 : 0;
      const auto* copy = task.instruction.operation.get_if<Copy>();
      multicasts += copy != nullptr && (copy->destination & kMulticast) != 0 ? 1 : 0;
    }
  }
  void count(const std::vector<Instruction>& program) {
    for (const Instruction& instruction : program) {
      const auto* signal = instruction.operation.get_if<Signal>();
      if (signal == nullptr) continue;
      const bool local = signal->processors == 0, several = instruction.waits[1] != 0;
      (local ? several ? joins : relays : signals) += 1;
      far_signals += signal->cluster_distance != 0 ? 1 : 0;
      shared_signals += (signal->processors & (signal->processors - 1)) != 0 ? 1 : 0;
    }
  }
};

/// `run` on the core of `nram`, whose elements are int8.
void apply(const VectorRun& run, std::vector<std::uint8_t>& nram) {
  const auto signed_at = [&](std::uint32_t at) { return static_cast<std::int8_t>(nram.at(at)); };
  std::vector<std::uint8_t> results;
  for (std::uint32_t i = 0; i < run.channels; ++i) {
    if (run.kind == VectorKind::kTable) {
      results.push_back(nram.at(run.parameters + nram.at(run.a + i)));
      continue;
    }
    std::array<double, 3> factors{};
    std::memcpy(factors.data(), &nram.at(run.parameters), sizeof factors);
    const double sum = signed_at(run.a + i) * factors[0] + signed_at(run.b + i) * factors[1];
    const double rounded = std::nearbyint(sum * factors[2]);
    results.push_back(static_cast<std::uint8_t>(static_cast<int>(std::clamp(rounded, -128.0, 127.0))));
  }
  std::copy(results.begin(), results.end(), nram.begin() + run.destination);
}

HardwareConfig chip_of(Draw& draw) {
  HardwareConfig hardware = small_chip(draw.one_in(2) ? draw.number(2, 3) : 1, draw.number(1, 4));
  ChipConfig& chip = *hardware.chip;
  chip.sync_cycles = draw.number(1, 8);
  hardware.interconnect.bytes_per_clock = 8 << draw.number(0, 2);
  for (InterconnectConfig* bus : {&chip.core.bus, &chip.cluster_bus})
    *bus = {16 << draw.number(0, 2), draw.number(1, 3), draw.number(1, 3), draw.number(1, 16)};
  for (DmaConfig* copy : {&chip.core.copy, &chip.copy}) {
    copy->burst_bytes = 64 << draw.number(0, 3);
    copy->buffer_bytes = 2 * copy->burst_bytes;
    copy->max_outstanding = draw.number(1, 8);
  }
  chip.core.vector.lanes = draw.number(1, 64);
  hardware.host.instruction_buffer_bytes = 64 * draw.number(1, 16);
  check_hardware(hardware, "chip of random graphs");
  return hardware;
}

/// Times as a list schedule gives them, or any at all: programs are right in every order that is possible.
Schedule times_of(const TaskGraph& graph, const std::vector<Dependency>& dependencies, Draw& draw) {
  Schedule times = schedule(graph, dependencies, {});
  if (!draw.one_in(3)) return times;
  for (std::vector<double>* of : {&times.start, &times.end, &times.done}) {
    for (double& time : *of) time = draw.number(0, 30);
  }
  return times;
}

/// Many graphs for one chip: their programs, what DRAM holds before, and what it holds when all have run.
class Simulation {
 public:
  explicit Simulation(std::uint32_t seed) : draw_(seed), hardware_(chip_of(draw_)) {
    const ChipConfig& chip = *hardware_.chip;
    ChipModel model(chip, kGraphs * kGraphRoom);
    std::vector<std::uint8_t>& dram = model.at(0).bytes;
    for (int g = 0; g < kGraphs; ++g) {
      const auto base = static_cast<std::ptrdiff_t>(g * kGraphRoom);
      std::generate_n(dram.begin() + base, kGraphDram, [&] { return draw_.byte(); });
      std::memcpy(&dram[static_cast<std::size_t>(base)], kFactors.data(), sizeof kFactors);
    }
    dram_ = dram;
    for (int g = 0; g < kGraphs; ++g) add_graph(g, model);
    expected_ = dram;
  }

  /// Runs the programs in a child process: a line for what is wrong, then all statistics.
  std::string run(int queue, SimulationOptions options) const {
    return in_child([&] {
      HardwareConfig hardware = hardware_;
      hardware.dma.command_queue = queue;
      ChipRun run(hardware, plan_, options);
      run.write(0, dram_);
      run.run(20'000'000);
      std::string text = run.error.empty() ? "" : "wrong: " + run.error + "\n";
      const auto found = run.read(0, static_cast<std::int64_t>(expected_.size()));
      const auto wrong = std::mismatch(found.begin(), found.end(), expected_.begin()).first - found.begin();
      if (wrong != found.end() - found.begin())
        text += fmt::format("wrong: graph {}, byte {}\n", wrong / kGraphRoom, wrong % kGraphRoom);
      if (!run.unbalanced().empty()) text += "wrong: cycles of " + run.unbalanced() + "\n";
      return text + run.statistics();
    });
  }
  const Met& met() const { return met_; }

 private:
  void add_graph(int number, ChipModel& model) {
    const ChipConfig& chip = *hardware_.chip;
    const auto base = static_cast<std::uint64_t>(number * kGraphRoom);
    const bool layer = draw_.one_in(2);
    RandomGraph random(chip, base, draw_);
    for (const Task& task : random.graph.tasks()) apply_task(task, model);
    met_.count(random.graph);
    const std::vector<Dependency> dependencies = dependencies_of(random.graph);
    auto programs = synchronise(random.graph, dependencies, times_of(random.graph, dependencies, draw_),
                                chip.cores_per_cluster + 1);
    for (const auto& [processor, program] : programs) met_.count(program);
    if (layer) end_layer(programs);
    // What the memories hold is read behind the layer's end, or when all programs have ended.
    std::map<int, std::vector<Instruction>> dump;
    for (const auto& [processor, copy] : dump_of(random, base + 2 * kGraphDram)) {
      Instruction instruction;
      instruction.operation = copy;
      (layer ? programs : dump)[processor].push_back(instruction);
      model.apply(copy, processor / (chip.cores_per_cluster + 1));
    }
    add_programs(fmt::format("graph {}", number), std::move(programs));
    add_programs(fmt::format("dump {}", number), std::move(dump));
  }

  // All processors end the layer and meet at a barrier, as the planner's programs do.
  void end_layer(std::map<int, std::vector<Instruction>>& programs) {
    const int processors = hardware_.chip->processors();
    const auto layer = static_cast<std::uint32_t>(plan_.layers.size());
    plan_.layers.emplace_back().ends = processors;
    for (int processor = 0; processor < processors; ++processor) {
      std::vector<Instruction>& program = programs[processor];
      program.emplace_back().operation = LayerEnd{layer};
      program.emplace_back().operation =
          Barrier{static_cast<std::uint16_t>(layer), static_cast<std::uint16_t>(processors)};
    }
  }

  void apply_task(const Task& task, ChipModel& model) const {
    const int cores = hardware_.chip->cores_per_cluster, cluster = task.processor / (cores + 1);
    if (const auto* copy = task.instruction.operation.get_if<Copy>()) return model.apply(*copy, cluster);
    const int core = cluster * cores + task.processor % (cores + 1);
    apply(task.instruction.operation.get<VectorRun>(), model.at(nram_address(core)).bytes);
  }

  /// Copies of what a graph used of every memory to DRAM, with their processors.
  std::vector<std::pair<int, Copy>> dump_of(const RandomGraph& graph, std::uint64_t address) const {
    const ChipConfig& chip = *hardware_.chip;
    std::vector<std::pair<int, Copy>> copies;
    const auto add = [&](int processor, Unit unit, std::uint64_t from, std::int64_t bytes) {
      Copy copy;
      copy.unit = unit;
      copy.source = from, copy.destination = address;
      copy.run_bytes = static_cast<std::uint32_t>(bytes);
      copies.emplace_back(processor, copy);
      address += static_cast<std::uint64_t>(bytes);
    };
    for (int k = 0; k < chip.clusters; ++k) {
      const int first = k * (chip.cores_per_cluster + 1);
      for (int i = 0; i < chip.cores_per_cluster; ++i) {
        const int core = k * chip.cores_per_cluster + i;
        add(first + i, Unit::kIodma, nram_address(core), graph.nram_bytes());
        add(first + i, Unit::kIodma, wram_address(core), graph.wram_bytes());
      }
      add(first + chip.cores_per_cluster, Unit::kGdma, sram_address(k), graph.sram_bytes());
    }
    return copies;
  }

  void add_programs(const std::string& label, std::map<int, std::vector<Instruction>> programs) {
    for (auto& [processor, instructions] : programs) {
      instructions.emplace_back().operation = Halt{};
      MemorySegment segment{"program", free_, {}};
      for (const Instruction& instruction : instructions) {
        const InstructionBytes bytes = encode(instruction);
        segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
      }
      plan_.programs.push_back({label, processor, free_, std::move(instructions)});
      free_ += segment.bytes.size();
      plan_.image.push_back(std::move(segment));
    }
  }

  Draw draw_;
  HardwareConfig hardware_;
  Plan plan_;
  std::uint64_t free_ = kProgramBase;
  std::vector<std::uint8_t> dram_, expected_;
  Met met_;
};

std::optional<std::uint32_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(text));
}

void check(std::uint32_t seed, Met& met) {
  const Simulation simulation(seed);
  for (const int queue : {1, 2, 8}) {
    SCOPED_TRACE(fmt::format("TILEBEAT_GRAPH_ONLY={}, queues of {} commands", seed, queue));
    SimulationOptions tile, clock;
    clock.granularity = Granularity::kClock;
    if (queue == 2) clock.jitter_seed = seed + 1, clock.build_order_seed = seed + 2;
    const std::string coarse = simulation.run(queue, tile), fine = simulation.run(queue, clock);
    ASSERT_EQ(coarse.find("wrong"), std::string::npos) << coarse.substr(0, 4000);
    ASSERT_EQ(fine.find("wrong"), std::string::npos) << fine.substr(0, 4000);
    ASSERT_TRUE(coarse == fine) << "statistics of the granularities differ";
  }
  const Met& m = simulation.met();
  met.joins += m.joins, met.relays += m.relays, met.signals += m.signals;
  met.far_signals += m.far_signals, met.shared_signals += m.shared_signals, met.multicasts += m.multicasts;
  met.accumulations += m.accumulations;
}

class RandomGraphs : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraphs, MA_2_HI_2_HI_3_CY_3_do_what_their_tasks_do_in_turn) {
  Met met;
  if (const auto only = number_from("TILEBEAT_GRAPH_ONLY")) {
    if (GetParam() == 0) check(*only, met);
    return;
  }
  const std::uint32_t first = number_from("TILEBEAT_GRAPH_SEED").value_or(1);
  for (int i = 0; i < kSimulations; ++i) {
    check(first + static_cast<std::uint32_t>(GetParam() * kSimulations + i), met);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(met.joins, 0);
  EXPECT_GT(met.relays, 0);
  EXPECT_GT(met.signals, 0);
  EXPECT_GT(met.shared_signals, 0);
  EXPECT_GT(met.far_signals, 0);
  EXPECT_GT(met.multicasts, 0);
  EXPECT_GT(met.accumulations, 0);
  RecordProperty("joins", met.joins);
  RecordProperty("relays", met.relays);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(0, kGroups));

}  // namespace
}  // namespace tilebeat::testing
