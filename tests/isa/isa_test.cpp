// The binary form of instructions (docs/isa.md; SPEC HI-2).
#include "base/types.h"
#include "engines/switch_array/operations.h"
#include "isa/instruction.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {

using switch_array::ConvRun;
using switch_array::LoadInput;
using switch_array::StoreOutput;

namespace {

template <class T>
T any() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<T>());
}
template <class T>
T below(T end) {
  return *rc::gen::inRange<T>(0, end);
}
std::string any_text(const FieldInfo& field) {
  if (field.is_real) return fmt::format("{}", any<std::int32_t>() / 256.0);
  if (!field.names.empty()) return std::string(field.names[below(field.names.size())]);
  const bool at_an_end = below(4) == 0;
  if (at_an_end) return fmt::format("{}", any<bool>() ? field.least : field.most);
  return fmt::format("{}", *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(field.least, field.most)));
}

// Any operation whose fields do not contradict one another, whatever operations there are.
Operation any_operation() {
  const auto& types = instruction_set().types();
  const OperationType& type = *types[below(types.size())];
  while (true) {
    Operation operation = type.default_value();
    for (const FieldInfo& field : type.fields()) operation.set_field(field.name, any_text(field));
    if (operation.fault().empty()) return operation;
  }
}

Instruction any_instruction() {
  Instruction instruction;
  for (Semaphores* tokens : {&instruction.waits, &instruction.release_signals, &instruction.done_signals}) {
    for (Semaphore& token : *tokens) token = any<std::uint8_t>();
  }
  instruction.operation = any_operation();
  return instruction;
}

RC_GTEST_PROP(Isa, HI_2_decoding_gives_back_what_was_encoded, ()) {
  const Instruction instruction = any_instruction();
  const InstructionBytes bytes = encode(instruction);
  const Instruction back = decode(bytes);
  RC_ASSERT(&back.operation.type() == &instruction.operation.type());
  RC_ASSERT(back.waits == instruction.waits);
  RC_ASSERT(back.release_signals == instruction.release_signals);
  RC_ASSERT(back.done_signals == instruction.done_signals);
  RC_ASSERT(disassemble(back) == disassemble(instruction));  // every field and every token
  RC_ASSERT(encode(back) == bytes);
}

RC_GTEST_PROP(Isa, HI_2_text_assembles_to_the_instruction_that_it_shows, ()) {
  const Instruction instruction = any_instruction();
  const std::string text = disassemble(instruction);
  const Instruction back = assemble(text);
  RC_ASSERT(disassemble(back) == text);
  InstructionBytes fields = encode(instruction), assembled = encode(back);
  constexpr std::ptrdiff_t kTokensEnd = 16;  // text closes gaps between tokens
  RC_ASSERT(std::equal(fields.begin() + kTokensEnd, fields.end(), assembled.begin() + kTokensEnd));
}

std::string assembly_error(const std::string& line) {
  try {
    assemble(line);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Isa, HI_2_text_that_is_no_instruction_is_refused) {
  EXPECT_EQ(assembly_error("conv.rum rows=1"), "\"conv.rum\" is no instruction");
  EXPECT_EQ(assembly_error("barrier id"), "\"id\" is not of the form name=value");
  EXPECT_EQ(assembly_error("vector.run kind=table rows=1 columns=1"),
            "channels is 0, allowed are 1 to 65535");
  EXPECT_EQ(assembly_error("barrier idd=1"), "there is no field \"idd\"; there are id, participants");
  EXPECT_EQ(assembly_error("barrier id=65536"), "id is 65536, allowed are 0 to 65535");
  EXPECT_EQ(assembly_error("barrier id=12x"), "\"12x\" is not a number");
  EXPECT_EQ(assembly_error("halt waits input_ful[0]"), "\"input_ful[0]\" behind \"waits\" is no semaphore");
  EXPECT_EQ(assembly_error("halt waits"), "\"waits\" names no semaphore");
  EXPECT_EQ(assembly_error("vector.run kind=tabel").substr(0, 29), "\"tabel\" is no vector operatio");
  EXPECT_EQ(assembly_error("iodma.copy pad_top=256"), "pad_top is 256, allowed are 0 to 255");
}

RC_GTEST_PROP(Isa, HI_2_every_bit_matters, ()) {
  // A flipped bit is another instruction or no instruction, never the same one.
  const Instruction instruction = any_instruction();
  InstructionBytes bytes = encode(instruction);
  const int bit = below(kInstructionBytes * 8);
  bytes.at(static_cast<std::size_t>(bit / 8)) ^= static_cast<std::uint8_t>(1 << (bit % 8));
  try {
    const Instruction other = decode(bytes);
    RC_ASSERT(encode(other) == bytes);
    RC_ASSERT(disassemble(other) != disassemble(instruction));
  } catch (const SimulationError&) {
    // refused: a reserved bit, an illegal opcode or an illegal field
  }
}

std::string refused(const InstructionBytes& bytes) {
  try {
    decode(bytes);
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "";
}

// The bytes of an instruction with one field that no text can set.
InstructionBytes with_code(InstructionBytes bytes, const OperationType& type, const std::string& name,
                           std::int64_t value) {
  int at = kHeaderBits;
  for (const FieldInfo& field : type.fields()) {
    for (int i = 0; i < field.bits; ++i, ++at) {
      if (field.name != name) continue;
      std::uint8_t& byte = bytes.at(static_cast<std::size_t>(at / 8));
      const auto mask = static_cast<std::uint8_t>(1 << (at % 8));
      byte = static_cast<std::uint8_t>(((value >> i) & 1) != 0 ? byte | mask : byte & ~mask);
    }
  }
  return bytes;
}

std::string field_error(const OperationType& type, const FieldInfo& field, std::int64_t value) {
  Operation operation = type.default_value();
  for (const FieldInfo& other : type.fields()) {
    if (!other.is_real && other.names.empty() && other.least > 0)
      operation.set_field(other.name, fmt::format("{}", other.least));
  }
  return refused(with_code(encode({{}, {}, {}, operation}), type, field.name, value));
}

TEST(Isa, HI_2_every_field_has_a_range_that_is_checked_when_decoded) {
  int ranges = 0;
  for (const OperationType* type : instruction_set().types()) {
    for (const FieldInfo& field : type->fields()) {
      if (field.is_real || !field.names.empty()) continue;
      const std::string place = fmt::format("{} {}", type->name(), field.name);
      const std::string range = fmt::format("allowed are {} to {}", field.least, field.most);
      const bool is_signed = field.least < 0;
      const std::int64_t low = is_signed ? -(std::int64_t{1} << (field.bits - 1)) : 0;
      const std::int64_t high = (std::int64_t{1} << (is_signed ? field.bits - 1 : field.bits)) - 1;
      for (const std::int64_t value : {field.least, field.most})
        EXPECT_EQ(field_error(*type, field, value).find("allowed are"), std::string::npos) << place;
      if (field.least > low) {
        EXPECT_EQ(field_error(*type, field, field.least - 1),
                  fmt::format("{} is {}, {}", field.name, field.least - 1, range))
            << place;
        ++ranges;
      }
      if (field.most < high) {
        EXPECT_EQ(field_error(*type, field, field.most + 1),
                  fmt::format("{} is {}, {}", field.name, field.most + 1, range))
            << place;
        ++ranges;
      }
    }
  }
  EXPECT_GE(ranges, 70) << "extents, strides, counts and zero points";
}

TEST(Isa, HI_2_fields_that_contradict_one_another_are_refused) {
  EXPECT_EQ(assembly_error("signal processors=0 semaphore=200"),
            "signal: processors and semaphore are named together or not at all");
  EXPECT_EQ(assembly_error("gdma.copy run_bytes=4294967295 inner_count=65535 outer_count=65535"),
            "65535 x 65535 x 4294967295 bytes are more than the 1099511627776 that one instruction may move");
  EXPECT_EQ(assembly_error("gdma.copy run_bytes=65536 inner_count=4096 outer_count=4096"), "");
  EXPECT_NE(assembly_error("gdma.copy run_bytes=65536 inner_count=4096 outer_count=4096 pad_top=1"), "");
}

TEST(Isa, HI_2_illegal_opcodes_are_refused) {
  const std::set<int> legal{0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A,
                            0x10, 0x11, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23, 0x30, 0x31,
                            0x32, 0x33, 0x34, 0x35, 0x36, 0x40, 0x41, 0x42};
  for (int opcode = 0; opcode < 256; ++opcode) {
    InstructionBytes bytes{};
    bytes[0] = static_cast<std::uint8_t>(opcode);
    EXPECT_EQ(refused(bytes).find("illegal opcode") == std::string::npos, legal.count(opcode) == 1)
        << "opcode " << opcode << ": " << refused(bytes);
  }
}

TEST(Isa, HI_2_reserved_bits_are_refused) {
  for (int bit = 8; bit < 32; ++bit) {  // between opcode and tokens
    InstructionBytes bytes = encode({{}, {}, {}, Halt{}});
    bytes.at(static_cast<std::size_t>(bit / 8)) |= static_cast<std::uint8_t>(1 << (bit % 8));
    EXPECT_NE(refused(bytes).find("reserved"), std::string::npos) << "bit " << bit;
  }
  for (int bit = 128 + 32; bit < kInstructionBytes * 8; ++bit) {  // behind the layer's number
    InstructionBytes bytes = encode({{}, {}, {}, LayerEnd{7}});
    bytes.at(static_cast<std::size_t>(bit / 8)) |= static_cast<std::uint8_t>(1 << (bit % 8));
    EXPECT_NE(refused(bytes).find("reserved"), std::string::npos) << "bit " << bit;
  }
}

TEST(Isa, HI_2_fields_that_do_not_fit_are_refused_when_encoding) {
  StoreOutput store;
  store.address = std::uint64_t{1} << 48;
  EXPECT_THROW(encode({{}, {}, {}, store}), SimulationError);
  store.address -= 1;
  EXPECT_NO_THROW(encode({{}, {}, {}, store}));
  ConvRun run;
  run.copy = 2;
  EXPECT_THROW(encode({{}, {}, {}, run}), SimulationError) << "there are two copies of every bank";
}

TEST(Isa, HI_2_an_element_type_that_matrix_units_do_not_have_is_refused) {
  ConvSetup setup;
  setup.output_type = DType::kInt8;
  const InstructionBytes plain = encode({{}, {}, {}, setup});
  setup.output_type = DType::kUint8;  // one bit apart
  const InstructionBytes other = encode({{}, {}, {}, setup});
  setup.output_type = DType::kInt32;  // the other bit of the field
  InstructionBytes both = encode({{}, {}, {}, setup});
  for (std::size_t i = 0; i < both.size(); ++i) both[i] |= static_cast<std::uint8_t>(plain[i] ^ other[i]);
  EXPECT_NE(refused(both).find("matrix units have no float32"), std::string::npos) << refused(both);
}

TEST(Isa, UI_1_disassembly_shows_fields_and_tokens) {
  LoadInput load;
  load.copy = 1, load.address = 4096, load.height = 8, load.width = 14, load.channels = 3;
  const Instruction instruction{{input_free(1)}, {}, {input_full(1)}, load};
  const std::string text = disassemble(instruction);
  for (const char* part : {"load.input", "copy=1", "address=0x1000", "height=8", "width=14", "channels=3",
                           "input_free[1]", "input_full[1]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
}

TEST(Isa, SW_8_tokens_of_different_meaning_are_different_numbers) {
  std::set<int> numbers{0};
  std::size_t tokens = 1;
  const auto add = [&](Semaphore semaphore) { numbers.insert(semaphore), ++tokens; };
  for (int copy = 0; copy < 2; ++copy)
    add(input_full(copy)), add(input_free(copy)), add(output_full(copy)), add(output_free(copy));
  for (int slot = 0; slot < kMaxParameterSlots; ++slot) add(kernels_full(slot)), add(kernels_free(slot));
  for (int i = 0; i < kMemoryBuffers; ++i) {
    for (auto* kind : {map_full, map_free, wram_full, wram_free, result_full, result_free}) add(kind(i));
  }
  add(kLayerStored);
  for (int i = 0; i < kPeerSemaphores; ++i) add(peer(i));
  EXPECT_EQ(numbers.size(), tokens);
}

RC_GTEST_PROP(Isa, NU_2_post_parameters_keep_every_bit, ()) {
  PostParameter parameter;
  parameter.scale = *rc::gen::arbitrary<double>();
  parameter.bias = any<std::int32_t>();
  const auto bytes = encode(parameter);
  const PostParameter back = decode_post_parameter(bytes.data());
  RC_ASSERT(back.scale == parameter.scale);
  RC_ASSERT(back.bias == parameter.bias);
}

TEST(Isa, HI_2_a_value_of_too_many_bits_for_a_field_is_not_cut) {
  std::uint8_t byte = 0;
  set_field(byte, -128);
  EXPECT_EQ(byte, 128);
  set_field(byte, 255);
  EXPECT_EQ(byte, 255);
  EXPECT_THROW(set_field(byte, 256), std::logic_error);
  EXPECT_THROW(set_field(byte, -129), std::logic_error);
  EXPECT_EQ(byte, 255);
  std::uint32_t word = 0;
  set_field(word, std::int64_t{UINT32_MAX});
  EXPECT_EQ(word, UINT32_MAX);
  EXPECT_THROW(set_field(word, std::int64_t{1} << 32), std::logic_error);
}

}  // namespace
}  // namespace tilebeat
