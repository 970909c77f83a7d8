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

/// The operations that a program may contain, found by opcode and by name.
class InstructionSet {
 public:
  /// Throws std::logic_error when two types share an opcode or a name, or when a type's fields do not fit an
  /// instruction.
  explicit InstructionSet(const std::vector<const OperationType*>& types);

  /// The operation type with this opcode; null when there is none.
  const OperationType* with_opcode(std::uint8_t opcode) const { return by_opcode_[opcode]; }
  const OperationType* with_name(std::string_view name) const;
  const std::vector<const OperationType*>& types() const { return types_; }

 private:
  std::vector<const OperationType*> types_;
  std::array<const OperationType*, 256> by_opcode_{};
};

/// The instruction set of this program: `core_operations()` (isa/operations.h) and the operations of every
/// engine. Defined by the list of engines (src/engines/list/list.cpp), not in isa/.
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
/// Given when the first of the two transfers that fill a map buffer is complete (SPEC WF-5).
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
/// Given when all results of a layer are in memory.
constexpr Semaphore kLayerStored = 192;
/// Semaphores that other processors of the cluster give.
constexpr int kPeerSemaphores = 56;
constexpr Semaphore peer(int number) {
  return static_cast<Semaphore>(200 + number);
}

/// The wait for `semaphore` as a stall cause, and the semaphore's name as text.
Activity semaphore_activity(Semaphore semaphore);
std::string semaphore_name(Semaphore semaphore);
/// The semaphore with this name, in the form of `semaphore_name`; nothing for any other text.
std::optional<Semaphore> semaphore_of(std::string_view name);

using Semaphores = std::array<Semaphore, 4>;

/// One instruction: an operation with the tokens it waits for and gives.
struct Instruction {
  Semaphores waits{};            ///< taken before it is dispatched
  Semaphores release_signals{};  ///< given when its operands are no longer needed
  Semaphores done_signals{};     ///< given when its results are complete
  Operation operation;
  std::uint64_t address = 0;  ///< address where a command processor found it; not encoded
};

/// The unit whose queue the instruction goes to.
Unit unit_of(const Instruction& instruction);
/// Binary encoding (docs/isa.md).
InstructionBytes encode(const Instruction& instruction);
/// Decodes an instruction. Throws SimulationError with the reason for an illegal opcode or field.
/// `encode(decode(b)) == b` for all legal `b`.
Instruction decode(const InstructionBytes& bytes, const InstructionSet& set = instruction_set());
/// Name and size of an instruction in a few words: "conv.run 20x56x16".
std::string summary(const Instruction& instruction);
/// One line of text, with the tokens. Fields that have their default value are left out.
std::string disassemble(const Instruction& instruction);
/// The instruction in a line of text, in the form of `disassemble`. Throws UserError with the reason but
/// without the place. `assemble(disassemble(i)) == i`.
Instruction assemble(std::string_view line, const InstructionSet& set = instruction_set());

/// One record of post-parameters in DRAM: 16 bytes, little-endian (scale: bytes 0-7, bias: 8-11, shift:
/// 12-15). Sums of products of int16 have a bias of 64 bits, bytes 8-15, and no shift.
struct PostParameter {
  double scale = 1.0;  ///< of fixed-point rescaling: the multiplier, a whole number of 32 bits
  std::int32_t bias = 0;
  std::int32_t shift = 0;  ///< of fixed-point rescaling

  std::int64_t wide_bias() const {
    return static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint32_t>(shift)} << 32 |
                                     static_cast<std::uint32_t>(bias));
  }
  void set_wide_bias(std::int64_t value) {
    bias = static_cast<std::int32_t>(static_cast<std::uint64_t>(value));
    shift = static_cast<std::int32_t>(static_cast<std::uint64_t>(value) >> 32);
  }
};
constexpr int kPostParameterBytes = 16;
std::array<std::uint8_t, kPostParameterBytes> encode(const PostParameter& parameter);
PostParameter decode_post_parameter(const std::uint8_t* bytes);

/// The header of the records of an `endsums`, 32 bytes: the activation from a convolution's registers, as the
/// bounds of the clamp (two int32, low first; the widest where there is no clamp), function and rescale (a
/// byte each), zeros (two bytes), floor and ceiling (two bytes each), output_scale and slope.
constexpr int kActivationBytes = 32;
std::array<std::uint8_t, kActivationBytes> encode_activation(const ConvSetup& setup);
/// Sets the activation fields of `setup`.
void decode_activation(const std::uint8_t* bytes, ConvSetup& setup);

}  // namespace tilebeat
