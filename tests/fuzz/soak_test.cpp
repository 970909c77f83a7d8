// A differential fuzzer: random hardware x random network x random changes of its program (SPEC CY-3, HI-2,
// UI-5). What is planned is exact and the same in both granularities. What somebody made of the program ends
// as it likes, with results or a reason, but in both granularities alike, and no run crashes. A network is
// planned twice, on one processor and on all, with threads that scripts/soak delays at random: both plans are
// the same (CY-4).
//
// Every case follows from a seed. TILEBEAT_SOAK_SEED is the first one, TILEBEAT_SOAK_SECONDS says how long to
// go on (scripts/soak sets both); a few cases are tried without them.
#include "changed_program.h"
#include "checked_run.h"
#include "random_engine.h"
#include "random_network.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sched.h>

namespace tilebeat::testing {
namespace {

constexpr int kFewCases = 12;
constexpr int kChangedPrograms = 4;  // of a network
constexpr unsigned kSeconds = 60;    // that a run may take
const std::string kTooLong = fmt::format("ended by signal {}", SIGALRM);

long from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

/// How a run ended, in words that both granularities share.
struct Outcome {
  std::string text;     ///< the report, or why there is none
  std::string outputs;  ///< their bytes
  bool failed = false, endless = false;
};

/// The first line of a failure, without its numbers: a run that is advanced as a whole meets an address where
/// there is no memory in another cycle, and other bytes of it first.
std::string reason_of(const Outcome& failed) {
  return std::regex_replace(failed.text.substr(0, failed.text.find('\n')), std::regex("0x[0-9a-f]+|[0-9]+"),
                            "#");
}

Outcome outcome_of(const HardwareConfig& hardware, const Plan& plan, Granularity granularity) {
  SimulationOptions options;
  options.granularity = granularity;
  Outcome outcome;
  try {
    const SimulatedRun run = simulate_in_child(hardware, plan, options, kSeconds);
    outcome.text = run.failures.empty() ? run.report_text : fmt::format("{}", fmt::join(run.failures, "\n"));
    outcome.failed = !run.failures.empty();
    if (outcome.failed) return outcome;
    for (const auto& [name, tensor] : run.outputs)
      outcome.outputs += name + std::string(tensor.bytes.begin(), tensor.bytes.end());
  } catch (const std::runtime_error& error) {
    outcome.text = error.what();
    outcome.endless = outcome.text.find(kTooLong) != std::string::npos;
    RC_LOG() << outcome.text << "\n";
    RC_ASSERT(outcome.endless);  // anything else is a crash
  }
  return outcome;
}

std::string value_of(const FieldInfo& field) {
  if (field.is_real) return fmt::format("{}", number(-1000, 1000) / 16.0);
  if (!field.names.empty())
    return std::string(
        field.names[static_cast<std::size_t>(number(0, static_cast<int>(field.names.size()) - 1))]);
  if (one_in(4)) return fmt::format("{}", one_in(2) ? field.least : field.most);
  const auto near = std::min<std::int64_t>(field.most, field.least + 64);
  return fmt::format(
      "{}", *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(field.least, one_in(2) ? near : field.most)));
}

/// Changes a field, the order, or the tokens of an instruction.
void change(std::vector<Instruction>& program) {
  const auto any = [&] { return static_cast<std::size_t>(number(0, static_cast<int>(program.size()) - 1)); };
  Instruction& instruction = program[any()];
  switch (number(0, 5)) {
    case 0:
      std::swap(instruction, program[any()]);
      return;
    case 1: {
      Semaphores* const tokens[] = {&instruction.waits, &instruction.release_signals,
                                    &instruction.done_signals};
      (*tokens[number(0, 2)])[static_cast<std::size_t>(number(0, 3))] =
          static_cast<Semaphore>(one_in(2) ? 0 : number(0, 255));
      return;
    }
    default: {
      const std::vector<FieldInfo> fields = instruction.operation.type().fields();
      if (fields.empty()) return;
      const FieldInfo& field =
          fields[static_cast<std::size_t>(number(0, static_cast<int>(fields.size()) - 1))];
      const Instruction before = instruction;
      instruction.operation.set_field(field.name, value_of(field));
      RC_LOG() << disassemble(before) << "\n  -> " << disassemble(instruction) << "\n";
    }
  }
}

/// Whether the changed program can be written down.
bool can_be_written(const ProgramImage& program) {
  return std::all_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction& instruction) { return instruction.operation.fault().empty(); });
}

struct Counts : Refusals {
  int same = 0, failed = 0, endless = 0;
};

void try_changed_program(const HardwareConfig& hardware, Plan plan, Counts& counts) {
  ProgramImage& program =
      plan.programs[static_cast<std::size_t>(number(0, static_cast<int>(plan.programs.size()) - 1))];
  for (int changes = skewed(3); changes > 0; --changes) change(program.instructions);
  if (!can_be_written(program)) return;
  write_back(plan, program);
  const Outcome tile = outcome_of(hardware, plan, Granularity::kTile);
  const Outcome clock = outcome_of(hardware, plan, Granularity::kClock);
  if (tile.endless || clock.endless) {
    ++counts.endless;
    return;
  }
  RC_LOG() << "tile: " << tile.text.substr(0, 600) << "\nclock: " << clock.text.substr(0, 600) << "\n";
  if (tile.failed && clock.failed) {
    RC_ASSERT(reason_of(tile) == reason_of(clock));
  } else {
    RC_ASSERT(tile.failed == clock.failed);
    RC_ASSERT(tile.text == clock.text);
    RC_ASSERT(tile.outputs == clock.outputs);
  }
  ++(tile.failed ? counts.failed : counts.same);
}

/// The processors that this process may use are the first of them while it exists.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

/// Programs, tables and tensors lie in the image; estimates are what the planner decided by.
void expect_same_plan(const Plan& a, const Plan& b) {
  RC_ASSERT(a.image.size() == b.image.size());
  for (std::size_t i = 0; i < a.image.size(); ++i) {
    RC_ASSERT(a.image[i].address == b.image[i].address);
    RC_ASSERT(a.image[i].bytes == b.image[i].bytes);
  }
  RC_ASSERT(a.layers.size() == b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    RC_ASSERT(a.layers[i].estimated_cycles == b.layers[i].estimated_cycles);
}

TEST(Soak, CY_3_CY_4_HI_2_UI_5_random_hardware_networks_and_programs) {
  const long first = from_environment("TILEBEAT_SOAK_SEED", 1),
             seconds = from_environment("TILEBEAT_SOAK_SECONDS", 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  Counts counts;
  long seed = first;
  for (;
       !HasFailure() && (seconds == 0 ? seed < first + kFewCases : passed() < std::chrono::seconds(seconds));
       ++seed) {
    SCOPED_TRACE(fmt::format("TILEBEAT_SOAK_SEED={} tries this case alone", seed));
    check_cases(
        1,
        [&] {
          const HardwareConfig hardware = random_chip_with(kEngines[static_cast<std::size_t>(number(0, 3))]);
          const Workload network = RandomNetwork(number(1, 4)).load();
          const auto plan = [&](Refusals& tally) {
            return plan_or_refusal(network, hardware,
                                   {"chip.", "switch_array.", "wfold.", "rolling.", "offset.", "dram."},
                                   tally);
          };
          const auto planned = plan(counts);
          {
            const OneProcessor one;
            Refusals again;
            const auto planned_again = plan(again);
            RC_ASSERT(planned_again.has_value() == planned.has_value());
            if (planned) expect_same_plan(planned->plan, planned_again->plan);
          }
          if (!planned) return;
          check_both_granularities(network, hardware, planned->plan, kSeconds);
          for (int i = 0; i < kChangedPrograms; ++i) try_changed_program(hardware, planned->plan, counts);
        },
        static_cast<std::uint64_t>(seed));
  }
  fmt::print(
      "seeds {} to {}: {} networks, {} refused; changed programs: {} ran, {} failed, {} took too long\n",
      first, seed - 1, counts.cases, counts.refused, counts.same, counts.failed, counts.endless);
  EXPECT_GE(counts.same + counts.failed, 1);
}

}  // namespace
}  // namespace tilebeat::testing
