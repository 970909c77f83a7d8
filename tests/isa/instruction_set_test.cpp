// Operations that describe themselves, and sets of them (docs/isa.md).
#include "engines/switch_array/operations.h"
#include "isa/instruction.h"
#include "tilebeat/error.h"

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat {

using switch_array::ConvRun;
using switch_array::LoadInput;

namespace {

// With every field that must not be 0 at its least value.
Operation least_of(const OperationType& type) {
  Operation operation = type.default_value();
  for (const FieldInfo& field : type.fields()) {
    if (field.least > 0) operation.set_field(field.name, std::to_string(field.least));
  }
  return operation;
}

TEST(InstructionSet, the_least_values_of_every_operation_survive_encoding_and_text) {
  EXPECT_EQ(instruction_set().types().size(), 28U) << "six copies and 22 others";
  for (const OperationType* type : instruction_set().types()) {
    const Instruction instruction{{}, {}, {}, least_of(*type)};
    EXPECT_EQ(&instruction.operation.type(), type) << type->name();
    const InstructionBytes bytes = encode(instruction);
    EXPECT_EQ(bytes[0], type->opcode()) << type->name();
    const Instruction decoded = decode(bytes);
    EXPECT_EQ(&decoded.operation.type(), type) << type->name();
    EXPECT_EQ(encode(decoded), bytes) << type->name();
    const Instruction assembled = assemble(disassemble(decoded));
    EXPECT_EQ(&assembled.operation.type(), type) << type->name();
    EXPECT_EQ(encode(assembled), bytes) << type->name();
  }
}

std::string refused_set(const std::vector<const OperationType*>& types) {
  try {
    const InstructionSet set(types);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

// What an engine of this test's own brings.
enum class Spin : std::uint8_t { kUp, kDown, kStrange };
constexpr std::array<std::string_view, 3> kSpinNames{"up", "down", "strange"};
constexpr FieldChoices choices_of(Spin) {
  return {"spin", kSpinNames.data(), kSpinNames.size()};
}
struct SpinRun {
  static constexpr OperationKind kKind{"spin.run", 0x7f, Unit::kMatrix};
  Spin spin = Spin::kUp;
  std::uint64_t address = 0;
  std::int8_t balance = 3;
  std::array<std::uint16_t, 2> turns{};
  void describe(FieldVisitor& visit) {
    visit("spin", spin, 2), visit("address", address, 48), visit("balance", balance, 5);
    visit("turns_0", turns[0], 16), visit("turns_1", turns[1], 16);
  }
  std::string subject() const { return fmt::format("{} turns", turns[0] + turns[1]); }
};
struct SameOpcode {
  static constexpr OperationKind kKind{"spin.same", 0x7f, Unit::kMatrix};
  void describe(FieldVisitor&) {}
};
struct SameName {
  static constexpr OperationKind kKind{"spin.run", 0x7e, Unit::kMatrix};
  void describe(FieldVisitor&) {}
};
struct TooWide {
  static constexpr OperationKind kKind{"too.wide", 0x7d, Unit::kMatrix};
  std::array<std::uint64_t, 7> words{};
  void describe(FieldVisitor& visit) {
    for (std::uint64_t& word : words) visit("word", word, 55);
  }
};

TEST(InstructionSet, operations_that_collide_or_do_not_fit_are_refused) {
  EXPECT_EQ(refused_set(operation_types<SpinRun, Halt, Copy>()), "");
  EXPECT_EQ(refused_set(operation_types<SpinRun, SameOpcode>()),
            "spin.run and spin.same both have opcode 0x7f");
  EXPECT_EQ(refused_set(operation_types<SpinRun, SameName>()), "two operations are called spin.run");
  EXPECT_EQ(refused_set(operation_types<TooWide>()),
            "the fields of too.wide take 385 bits, an instruction has room for 384");
}

TEST(InstructionSet, an_operation_from_elsewhere_is_like_the_others) {
  std::vector<const OperationType*> types = core_operations();
  types.push_back(&type_of(SpinRun{}));
  const InstructionSet set(types);

  SpinRun run;
  run.spin = Spin::kStrange, run.address = 0xabc, run.balance = -16, run.turns = {2, 40};
  const Instruction instruction{{peer(1)}, {}, {}, run};
  const std::string text =
      "spin.run      spin=strange address=0xabc balance=-16 turns_0=2 turns_1=40  waits peer[1]";
  EXPECT_EQ(disassemble(instruction), text);
  EXPECT_EQ(summary(instruction), "spin.run 42 turns");
  EXPECT_EQ(unit_of(instruction), Unit::kMatrix);

  const InstructionBytes bytes = encode(instruction);
  EXPECT_EQ(bytes[0], 0x7f);
  EXPECT_EQ(bytes[16], 0xf2) << "two bits of spin, then the address";
  const Instruction decoded = decode(bytes, set);
  EXPECT_EQ(disassemble(decoded), text);
  ASSERT_NE(decoded.operation.get_if<SpinRun>(), nullptr);
  EXPECT_EQ(decoded.operation.get_if<SpinRun>()->balance, -16) << "the sign of five bits";
  EXPECT_FALSE(decoded.operation.is<Halt>());
  EXPECT_EQ(encode(assemble(text, set)), bytes);
  EXPECT_EQ(encode(decode(encode({{}, {}, {}, Barrier{7, 2}}), set)), encode({{}, {}, {}, Barrier{7, 2}}));

  EXPECT_THROW(decode(bytes), SimulationError) << "the set of the program does not have it";
  EXPECT_THROW(assemble("spin.run"), UserError);
  EXPECT_THROW(assemble("spin.run spin=left", set), UserError);
  EXPECT_THROW(assemble("spin.run balance=16", set), UserError);
  run.balance = 16;
  EXPECT_THROW(encode({{}, {}, {}, run}), SimulationError);
}

TEST(Operation, holds_one_operation_and_says_which) {
  Operation operation;
  EXPECT_TRUE(operation.is<Halt>()) << "what nobody filled in stops the processor";
  operation = ConvRun{};
  ASSERT_NE(operation.get_if<ConvRun>(), nullptr);
  operation.get_if<ConvRun>()->rows = 5;
  const Operation copy = operation;
  EXPECT_EQ(copy.get<ConvRun>().rows, 5);
  EXPECT_EQ(copy.get_if<LoadInput>(), nullptr);
  EXPECT_THROW(copy.get<LoadInput>(), SimulationError);
}

TEST(Operation, a_copy_goes_to_the_unit_that_it_names) {
  const std::vector<std::pair<Unit, std::string>> names{
      {Unit::kIodma, "iodma.copy"}, {Unit::kMvdma, "mvdma.copy"}, {Unit::kGdma, "gdma.copy"},
      {Unit::kCdma, "cdma.copy"},   {Unit::kFold, "fold.copy"},   {Unit::kIostore, "iostore.copy"}};
  for (const auto& [unit, name] : names) {
    Copy copy;
    copy.unit = unit;
    const Operation operation = copy;
    EXPECT_EQ(operation.type().name(), name);
    EXPECT_EQ(operation.type().unit(), unit) << name;
    EXPECT_EQ(decode(encode({{}, {}, {}, copy})).operation.get<Copy>().unit, unit) << name;
  }
  Copy stray;
  stray.unit = Unit::kStore;
  EXPECT_THROW(Operation{stray}, SimulationError);
}

}  // namespace
}  // namespace tilebeat
