#pragma once

#include "base/activity.h"
#include "isa/operation.h"
#include "isa/operations.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The operations that a program may consist of, found by opcode and by name.
class InstructionSet {
 public:
  /// Throws std::logic_error when two types share an opcode or a name, or when a type's fields do not fit an
  /// instruction.
  explicit InstructionSet(const std::vector<const OperationType*>& types);

  /// Null when there is none.
  const OperationType* with_opcode(std::uint8_t opcode) const { return by_opcode_[opcode]; }
  const OperationType* with_name(std::string_view name) const;
  const std::vector<const OperationType*>& types() const { return types_; }

 private:
  std::vector<const OperationType*> types_;
  std::array<const OperationType*, 256> by_opcode_{};
};

/// The set of this program: `core_operations()` (isa/operations.h) and those of every engine. It is defined
/// where the engines are listed, src/engines/list/instructions.cpp, not in isa/.
const InstructionSet& instruction_set();

/// A counting semaphore; 0 means none. An instruction waits until each of its `waits` is above zero and takes
/// one from each; it adds one to each of its signals.
using Semaphore = std::uint8_t;
constexpr int kSemaphores = 256;
constexpr int kMaxParameterSlots = 64;
constexpr Semaphore input_full(int copy) {
  return static_cast<Semaphore>(1 + copy);
}
constexpr Semaphore input_free(int copy) {
  return static_cast<Semaphore>(3 + copy);
}
constexpr Semaphore output_full(int half) {
  return static_cast<Semaphore>(5 + half);
}
constexpr Semaphore output_free(int half) {
  return static_cast<Semaphore>(7 + half);
}
/// The first of the two transfers that fill a buffer for a map is complete (SPEC WF-5).
constexpr int kFoldBuffers = 2;
constexpr Semaphore map_begun(int buffer) {
  return static_cast<Semaphore>(9 + buffer);
}
constexpr Semaphore kernels_full(int slot) {
  return static_cast<Semaphore>(16 + slot);
}
constexpr Semaphore kernels_free(int slot) {
  return static_cast<Semaphore>(16 + kMaxParameterSlots + slot);
}

/// Buffers of a core's memories, up to kMemoryBuffers of each kind.
constexpr int kMemoryBuffers = 8;
constexpr Semaphore map_full(int buffer) {
  return static_cast<Semaphore>(144 + buffer);
}
constexpr Semaphore map_free(int buffer) {
  return static_cast<Semaphore>(152 + buffer);
}
constexpr Semaphore wram_full(int buffer) {
  return static_cast<Semaphore>(160 + buffer);
}
constexpr Semaphore wram_free(int buffer) {
  return static_cast<Semaphore>(168 + buffer);
}
constexpr Semaphore result_full(int buffer) {
  return static_cast<Semaphore>(176 + buffer);
}
constexpr Semaphore result_free(int buffer) {
  return static_cast<Semaphore>(184 + buffer);
}
/// Every result of a layer lies in memory.
constexpr Semaphore kLayerStored = 192;
/// Given by other processors of the cluster.
constexpr int kPeerSemaphores = 56;
constexpr Semaphore peer(int number) {
  return static_cast<Semaphore>(200 + number);
}

/// What a unit waits for while it waits for `semaphore`, as stall cause and as text.
Activity semaphore_activity(Semaphore semaphore);
std::string semaphore_name(Semaphore semaphore);
/// The semaphore of a name as `semaphore_name` gives it; nothing for any other text.
std::optional<Semaphore> semaphore_of(std::string_view name);

using Semaphores = std::array<Semaphore, 4>;

/// One instruction: an operation with the tokens it waits for and gives.
struct Instruction {
  Semaphores waits{};            ///< taken before it is dispatched
  Semaphores release_signals{};  ///< given when its operands are no longer needed
  Semaphores done_signals{};     ///< given when its results are complete
  Operation operation;
  std::uint64_t address = 0;  ///< where a command processor found it; no part of its encoding
};

/// The unit whose queue the instruction goes to.
Unit unit_of(const Instruction& instruction);
/// Binary encoding (docs/isa.md).
InstructionBytes encode(const Instruction& instruction);
/// Decodes; throws SimulationError with what is wrong for an illegal opcode or field. `encode(decode(b)) ==
/// b` for all legal `b`.
Instruction decode(const InstructionBytes& bytes, const InstructionSet& set = instruction_set());
/// What it is and how much it works on, in a few words: "conv.run 20x56x16".
std::string summary(const Instruction& instruction);
/// One line of text, with the tokens. Fields that have their default value are left out.
std::string disassemble(const Instruction& instruction);
/// The instruction that a line of text in the form of `disassemble` describes. Throws UserError with what is
/// wrong, but not where: `assemble(disassemble(i)) == i`.
Instruction assemble(std::string_view line, const InstructionSet& set = instruction_set());

/// One record of post-parameters in DRAM: 16 bytes, little-endian (scale: bytes 0-7, bias: 8-11, shift:
/// 12-15).
struct PostParameter {
  double scale = 1.0;  ///< of fixed-point rescaling: the multiplier, a whole number of 32 bits
  std::int32_t bias = 0;
  std::int32_t shift = 0;  ///< of fixed-point rescaling
};
constexpr int kPostParameterBytes = 16;
std::array<std::uint8_t, kPostParameterBytes> encode(const PostParameter& parameter);
PostParameter decode_post_parameter(const std::uint8_t* bytes);

/// What stands in front of the records of an `endsums`, 32 bytes: the activation of a convolution's
/// registers, as the bounds of the clamp (two int32, low first; the widest where there is none), the function
/// (int32), rescale, floor and ceiling (a byte each), zero (a byte), output_scale and slope.
constexpr int kActivationBytes = 32;
std::array<std::uint8_t, kActivationBytes> encode_activation(const ConvSetup& setup);
/// Sets the fields of `setup` that are the activation.
void decode_activation(const std::uint8_t* bytes, ConvSetup& setup);

}  // namespace tilebeat
