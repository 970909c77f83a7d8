// The binary form of instructions (docs/isa.md; SPEC HI-2).
#include "tilebeat/base/error.h"
#include "tilebeat/engines/switch_array/operations.h"
#include "tilebeat/engines/wfold/operations.h"
#include "tilebeat/isa/instruction.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

template <class T>
T any() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<T>());
}
template <class T>
T below(T end) {
  return *rc::gen::inRange<T>(0, end);
}
std::uint64_t any_address() {
  return any<std::uint64_t>() & ((std::uint64_t{1} << 48) - 1);
}
std::uint8_t any_copy() {
  return below<std::uint8_t>(2);
}
DType any_type() {
  return static_cast<DType>(below(3));
}

ConvSetup any_setup() {
  ConvSetup s;
  s.kernel_h = any<std::uint16_t>(), s.kernel_w = any<std::uint16_t>();
  s.stride_h = any<std::uint16_t>(), s.stride_w = any<std::uint16_t>();
  s.dilation_h = any<std::uint16_t>(), s.dilation_w = any<std::uint16_t>();
  s.input_zero_point = any<std::int16_t>(), s.weight_zero_point = any<std::int16_t>();
  s.input_type = any_type(), s.output_type = any_type();
  s.requantise = any<bool>(), s.clamp = any<bool>(), s.post_parameters = any<bool>();
  s.clamp_low = any<std::int32_t>(), s.clamp_high = any<std::int32_t>(),
  s.output_zero_point = any<std::int32_t>();
  return s;
}

ConvRun any_run() {
  ConvRun r;
  r.copy = any_copy(), r.first = any<bool>(), r.last = any<bool>();
  r.rows = any<std::uint16_t>(), r.columns = any<std::uint16_t>();
  r.height = any<std::uint16_t>(), r.width = any<std::uint16_t>();
  r.h_offset = any<std::int16_t>(), r.w_offset = any<std::int16_t>();
  r.first_plane = any<std::uint16_t>(), r.planes = any<std::uint16_t>();
  r.kernels = any<std::uint16_t>(), r.slot = any<std::uint16_t>();
  r.parameter_word = any<std::uint32_t>(), r.output_base = any<std::uint32_t>();
  r.output_stride = any<std::uint32_t>(), r.macs_per_pixel = any<std::uint32_t>();
  r.blocks = any<std::uint16_t>(), r.plane_step = any<std::uint16_t>();
  return r;
}

LoadInput any_load_input() {
  LoadInput l;
  l.copy = any_copy(), l.address = any_address();
  l.row_stride = any<std::uint32_t>(), l.pixel_stride = any<std::uint32_t>();
  l.height = any<std::uint16_t>(), l.width = any<std::uint16_t>(), l.channels = any<std::uint16_t>();
  l.stride_h = any<std::uint16_t>(), l.stride_w = any<std::uint16_t>(), l.fill = any<std::uint8_t>();
  l.slice = any<std::uint16_t>();
  return l;
}

LoadKernels any_load_kernels() {
  LoadKernels l;
  l.address = any_address(), l.post_address = any_address();
  l.words = any<std::uint32_t>(), l.parameter_word = any<std::uint32_t>();
  l.slot = any<std::uint16_t>(), l.post_records = any<std::uint16_t>();
  l.group_channels = any<std::uint32_t>(), l.group_kernels = any<std::uint16_t>();
  l.first_kernel = any<std::uint16_t>(), l.kernels = any<std::uint16_t>();
  l.first_channel = any<std::int32_t>(), l.block_words = any<std::uint32_t>();
  l.block_channels = any<std::uint16_t>(), l.taps = any<std::uint32_t>() >> 8, l.fill = any<std::uint8_t>();
  return l;
}

StoreOutput any_store() {
  StoreOutput s;
  s.address = any_address(), s.row_stride = any<std::uint32_t>(), s.pixel_stride = any<std::uint32_t>();
  s.source = any<std::uint32_t>(), s.pixel_bytes = any<std::uint32_t>();
  s.rows = any<std::uint16_t>(), s.columns = any<std::uint16_t>();
  return s;
}

Copy any_copy_operation() {
  Copy c;
  c.unit = static_cast<Unit>(static_cast<int>(Unit::kIodma) + below(4));
  c.source = any_address(), c.destination = any_address(), c.run_bytes = any<std::uint32_t>();
  c.inner_count = any<std::uint16_t>(), c.outer_count = any<std::uint16_t>();
  c.source_inner_stride = any<std::uint32_t>(), c.source_outer_stride = any<std::uint32_t>();
  c.destination_inner_stride = any<std::uint32_t>(), c.destination_outer_stride = any<std::uint32_t>();
  c.pad_top = any<std::uint8_t>(), c.pad_left = any<std::uint8_t>(), c.pad_bottom = any<std::uint8_t>();
  c.pad_right = any<std::uint8_t>(), c.fill = any<std::uint8_t>();
  return c;
}

VectorRun any_vector_run() {
  VectorRun v;
  v.kind = static_cast<VectorKind>(below<int>(kVectorKindNames.size()));
  v.a_type = any_type(), v.b_type = any_type(), v.out_type = any_type();
  v.relu = any<bool>(), v.count_padding = any<bool>();
  v.a_zero = any<std::int16_t>(), v.b_zero = any<std::int16_t>(), v.out_zero = any<std::int16_t>();
  v.a = any<std::uint32_t>(), v.b = any<std::uint32_t>();
  v.destination = any<std::uint32_t>(), v.parameters = any<std::uint32_t>();
  v.rows = any<std::uint16_t>(), v.columns = any<std::uint16_t>(), v.channels = any<std::uint16_t>();
  v.height = any<std::uint16_t>(), v.width = any<std::uint16_t>();
  v.kernel_h = any<std::uint16_t>(), v.kernel_w = any<std::uint16_t>();
  v.stride_h = any<std::uint8_t>(), v.stride_w = any<std::uint8_t>();
  v.dilation_h = any<std::uint8_t>(), v.dilation_w = any<std::uint8_t>();
  v.h_offset = any<std::int16_t>(), v.w_offset = any<std::int16_t>();
  return v;
}

VectorResize any_vector_resize() {
  constexpr std::uint32_t k20Bits = (1U << 20) - 1;
  VectorResize v;
  v.kind = any<bool>() ? ResizeKind::kBilinear : ResizeKind::kNearest;
  v.type = any_type(), v.zero = any<std::int16_t>();
  v.a = any<std::uint32_t>(), v.destination = any<std::uint32_t>();
  v.rows = any<std::uint16_t>(), v.columns = any<std::uint16_t>(), v.channels = any<std::uint16_t>();
  v.height = any<std::uint16_t>(), v.width = any<std::uint16_t>();
  v.h_first = any<std::int32_t>(), v.w_first = any<std::int32_t>();
  v.h_step = any<std::uint32_t>() & k20Bits, v.w_step = any<std::uint32_t>() & k20Bits;
  v.h_divisor = any<std::uint32_t>() & k20Bits, v.w_divisor = any<std::uint32_t>() & k20Bits;
  return v;
}

WfoldRun any_wfold_run() {
  WfoldRun r;
  r.map = any<std::uint32_t>(), r.row_bytes = any<std::uint32_t>(), r.lead_bytes = any<std::int32_t>();
  r.weights = any<std::uint32_t>(), r.result = any<std::uint32_t>();
  r.result_pixel = any<std::uint32_t>(), r.macs_per_output = any<std::uint32_t>();
  r.rows = any<std::uint16_t>(), r.columns = any<std::uint16_t>(), r.kernels = any<std::uint16_t>();
  r.height = any<std::uint16_t>(), r.h_offset = any<std::int16_t>();
  r.pixel_bytes = any<std::uint16_t>(), r.first_channel = any<std::uint16_t>();
  r.channels = any<std::uint16_t>();
  r.granularity = static_cast<std::uint16_t>(below(512));
  r.result_granularity = static_cast<std::uint16_t>(below(512));
  r.read_mode = static_cast<WfoldReadMode>(below<int>(kWfoldReadModeNames.size()));
  r.block_outer = any<bool>();
  r.begins_sums = any<bool>(), r.ends_sums = any<bool>();
  return r;
}

constexpr int kOperations = 13;
Instruction any_instruction(int operation) {
  Instruction instruction;
  for (Semaphores* tokens : {&instruction.waits, &instruction.release_signals, &instruction.done_signals}) {
    for (Semaphore& token : *tokens) token = any<std::uint8_t>();
  }
  switch (operation) {
    case 0:
      instruction.operation = any_setup();
      break;
    case 1:
      instruction.operation = any_run();
      break;
    case 2:
      instruction.operation = any_load_input();
      break;
    case 3:
      instruction.operation = any_load_kernels();
      break;
    case 4:
      instruction.operation = any_store();
      break;
    case 5:
      instruction.operation = LayerEnd{any<std::uint32_t>()};
      break;
    case 6:
      instruction.operation = Barrier{any<std::uint16_t>(), any<std::uint16_t>()};
      break;
    case 7:
      instruction.operation = Signal{any_address(), any<std::uint8_t>()};
      break;
    case 8:
      instruction.operation = any_copy_operation();
      break;
    case 9:
      instruction.operation = any_vector_run();
      break;
    case 10:
      instruction.operation = any_wfold_run();
      break;
    case 11:
      instruction.operation = any_vector_resize();
      break;
    default:
      instruction.operation = Halt{};
  }
  return instruction;
}

RC_GTEST_PROP(Isa, HI_2_decoding_gives_back_what_was_encoded, ()) {
  const Instruction instruction = any_instruction(below(kOperations));
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
  const Instruction instruction = any_instruction(below(kOperations));
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
  const Instruction instruction = any_instruction(below(kOperations));
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

TEST(Isa, HI_2_illegal_opcodes_are_refused) {
  const std::set<int> legal{0x01, 0x02, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09, 0x10, 0x11, 0x12,
                            0x20, 0x21, 0x22, 0x23, 0x30, 0x31, 0x32, 0x33, 0x34, 0x40, 0x41};
  for (int opcode = 0; opcode < 256; ++opcode) {
    InstructionBytes bytes{};
    bytes[0] = static_cast<std::uint8_t>(opcode);
    EXPECT_EQ(refused(bytes).empty(), legal.count(opcode) == 1)
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

TEST(Isa, HI_2_an_illegal_element_type_is_refused) {
  ConvSetup setup;
  setup.output_type = DType::kInt8;
  const InstructionBytes plain = encode({{}, {}, {}, setup});
  setup.output_type = DType::kUint8;  // one bit apart
  const InstructionBytes other = encode({{}, {}, {}, setup});
  setup.output_type = DType::kInt32;  // the other bit of the field
  InstructionBytes both = encode({{}, {}, {}, setup});
  for (std::size_t i = 0; i < both.size(); ++i) both[i] |= static_cast<std::uint8_t>(plain[i] ^ other[i]);
  EXPECT_NE(refused(both).find("output_type"), std::string::npos) << refused(both);
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

}  // namespace
}  // namespace tilebeat
