// Programs are what runs: a flipped bit of an instruction in DRAM changes what happens or ends the run with a
// reason (SPEC HI_2, UI_5).
#include "engines/switch_array/operations.h"
#include "simulated_run.h"
#include "workload/workload.h"

#include <csignal>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::ConvRun;
using switch_array::LoadInput;
using switch_array::LoadKernels;

namespace {

HardwareConfig core1() {
  return load_hardware(TILEBEAT_SOURCE_DIR "/configs/core1.json");
}
Plan plan_of_example(const HardwareConfig& hardware) {
  return make_plan(load_workload(TILEBEAT_SOURCE_DIR "/models/worked_dilated.json"), hardware);
}
MemorySegment& program_segment(Plan& plan) {
  for (MemorySegment& segment : plan.image) {
    if (segment.address == plan.programs.front().address) return segment;
  }
  throw std::logic_error("the program has no segment");
}

/// What a plan says of instructions, besides their bytes, is of no consequence: neither of a core's units nor
/// of a memory core's.
TEST(ProgramInDram, HI_2_units_are_driven_by_its_bytes_alone) {
  HardwareConfig staged = load_hardware(TILEBEAT_SOURCE_DIR "/configs/cluster4.json");
  staged.chip->dram_path = DramPath::kSram;
  const Workload network = load_workload(TILEBEAT_SOURCE_DIR "/models/alexnet_small.json");
  struct Case {
    HardwareConfig hardware;
    Plan plan;
  };
  std::set<Unit> units;
  std::vector<Case> cases{{core1(), plan_of_example(core1())},
                          {core1(), make_plan(network, core1())},
                          {staged, make_plan(network, staged)}};
  for (Case& c : cases) {
    const SimulatedRun whole = simulate_in_child(c.hardware, c.plan, {});
    EXPECT_EQ(whole.failures, std::vector<std::string>{});
    for (ProgramImage& program : c.plan.programs) {
      for (Instruction& instruction : program.instructions) {
        units.insert(unit_of(instruction));
        instruction = {{}, {}, {}, Halt{}};
      }
    }
    const SimulatedRun bytes = simulate_in_child(c.hardware, c.plan, {});
    EXPECT_EQ(bytes.report_text, whole.report_text);
    for (const auto& [name, output] : whole.outputs) EXPECT_EQ(bytes.outputs.at(name).bytes, output.bytes);
  }
  for (const Unit unit : {Unit::kLoad, Unit::kParameter, Unit::kMatrix, Unit::kStore, Unit::kVector,
                          Unit::kIodma, Unit::kMvdma, Unit::kGdma, Unit::kSync})
    EXPECT_EQ(units.count(unit), 1U) << kUnitNames[static_cast<std::size_t>(unit)];
}

/// What became of a run with one flipped bit.
enum class Fate { kSame, kOther, kFailed };

/// Fields that need not have an effect: signals that nobody waits for, strides where there is one run, what a
/// border is filled with where there is none, a limit that no accumulator reaches, constants of a function
/// that is not asked for, the number of a barrier that nobody else comes to, a stride of the arrangement
/// beyond the map, slices of more channels than there are, rows
/// and columns that no tap reaches.
bool may_be_idle(const Instruction& instruction, std::size_t bit) {
  if (bit >= 64 && bit < 128) return true;
  if (instruction.operation.is<Copy>()) return bit >= 288 && bit < 456;
  if (instruction.operation.is<ConvSetup>()) return (bit >= 263 && bit < 327) || bit >= 364;
  if (instruction.operation.is<LoadInput>()) return (bit >= 289 && bit < 321) || (bit >= 329 && bit < 345);
  // All kernels of a group, and more of them than there are.
  if (instruction.operation.is<LoadKernels>()) return bit >= 359 && bit < 407;
  if (instruction.operation.is<ConvRun>()) return bit >= 163 && bit < 195;
  if (instruction.operation.is<Barrier>()) return bit >= 128 && bit < 144;
  return false;
}

struct Flips {
  HardwareConfig hardware = core1();
  Plan plan = plan_of_example(hardware);
  SimulatedRun whole = simulate_in_child(hardware, plan, {});

  /// `why` of a failure.
  Fate flip(std::size_t bit, std::string& why) {
    return flip(bit, why, static_cast<std::size_t>(&program_segment(plan) - plan.image.data()));
  }
  Fate flip(std::size_t bit, std::string& why, std::size_t segment) {
    Plan flipped = plan;
    flipped.image[segment].bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    const SimulatedRun run = simulate_in_child(hardware, flipped, {}, 20);  // ends a run that hangs
    if (!run.failures.empty()) {
      why = run.failures.front();
      return Fate::kFailed;
    }
    const bool same = run.report_text == whole.report_text &&
                      run.outputs.at("conv1").bytes == whole.outputs.at("conv1").bytes;
    return same ? Fate::kSame : Fate::kOther;
  }
};

/// Every 37th bit of the program: all fields of all kinds of instructions have their turn.
TEST(ProgramInDram, HI_2_UI_5_a_flipped_bit_changes_the_run_or_is_named) {
  Flips flips;
  const std::uint64_t base = flips.plan.programs.front().address;
  const std::size_t bits = program_segment(flips.plan).bytes.size() * 8;
  std::map<Fate, int> fates;
  for (std::size_t bit = 5; bit < bits; bit += 37) {
    const std::size_t number = bit / (8 * kInstructionBytes), within = bit % (8 * kInstructionBytes);
    const std::string text = disassemble(flips.plan.programs.front().instructions[number]);
    SCOPED_TRACE(fmt::format("bit {} of instruction {}: {}", within, number, text));
    std::string why;
    Fate fate = Fate::kOther;
    ASSERT_NO_THROW(fate = flips.flip(bit, why));
    ++fates[fate];
    if (fate == Fate::kSame) {
      EXPECT_TRUE(may_be_idle(flips.plan.programs.front().instructions[number], within));
    }
    // A broken promise of the planner is found behind the run; a deadlock names the instructions that wait; a
    // signal that should not be given lets two others race, which are named.
    const bool signal = within >= 64 && within < 128 && why.find("race in ") != std::string::npos &&
                        why.find(" writes there") != std::string::npos &&
                        why.find(" works on ") != std::string::npos;
    const bool whole_run =
        signal || why.rfind("invariant broken", 0) == 0 || why.find("deadlock") != std::string::npos;
    if (fate == Fate::kFailed && !whole_run) {
      const std::string address = fmt::format(" at {:#x}", base + number * kInstructionBytes);
      EXPECT_NE(why.find(address), std::string::npos) << why;
    }
    if (std::getenv("TILEBEAT_FLIPS") != nullptr)
      fmt::print("{} bit {} of {:#x} {}\n    {}\n",
                 fate == Fate::kSame    ? "same"
                 : fate == Fate::kOther ? "other"
                                        : "failed",
                 within, base + number * kInstructionBytes, text, why.substr(0, 300));
  }
  EXPECT_GE(fates[Fate::kOther], 20);
  EXPECT_GE(fates[Fate::kFailed], 60);
}

/// The offset-table engine reads instructions and tables from DRAM. Whatever lies there, a run ends: with
/// other outputs or with a reason, never with an access outside a memory.
TEST(ProgramInDram, OT_3_HI_2_UI_5_flipped_bits_of_the_offset_engine) {
  Flips flips;
  flips.hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/offset16.json");
  flips.plan = plan_of_example(flips.hardware);
  flips.whole = simulate_in_child(flips.hardware, flips.plan, {});
  std::map<std::string, std::map<Fate, int>> fates;
  for (std::size_t number = 0; number < flips.plan.image.size(); ++number) {
    const MemorySegment& segment = flips.plan.image[number];
    const bool tables = segment.what == "constants of conv1";
    if (!tables && segment.address != flips.plan.programs.front().address) continue;
    for (std::size_t bit = 3; bit < segment.bytes.size() * 8; bit += 29) {
      SCOPED_TRACE(fmt::format("bit {} of {}", bit, segment.what));
      std::string why;
      ASSERT_NO_THROW(++fates[tables ? "tables" : "program"][flips.flip(bit, why, number)]);
    }
  }
  for (const char* what : {"tables", "program"}) {
    EXPECT_GT(fates[what][Fate::kOther], 0) << what;
    EXPECT_GT(fates[what][Fate::kFailed], 0) << what;
  }
}

}  // namespace
}  // namespace tilebeat::testing
