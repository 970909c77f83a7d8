#include "tilebeat/isa/instruction.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "instruction_fields.h"

namespace tilebeat {
namespace {

constexpr int kHeaderBits = 128;  // opcode word, waits, release signals, done signals
constexpr int kBits = kInstructionBytes * 8;

class Packer {
 public:
  explicit Packer(InstructionBytes& bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(const char* name, const T& value, int bits) {
    const auto raw = static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1);
    if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
      if (raw != value)
        throw SimulationError(fmt::format("instruction field {} = {} needs over {} bits", name, value, bits));
    }
    for (int i = 0; i < bits; ++i, ++at_) {
      if ((raw >> i) & 1)
        bytes_[static_cast<std::size_t>(at_ / 8)] |= static_cast<std::uint8_t>(1 << (at_ % 8));
    }
  }

 private:
  InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

class Unpacker {
 public:
  explicit Unpacker(const InstructionBytes& bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(const char* name, T& value, int bits) {
    std::uint64_t raw = 0;
    for (int i = 0; i < bits; ++i, ++at_) raw |= static_cast<std::uint64_t>(bit(at_)) << i;
    if constexpr (std::is_same_v<T, DType>) {
      if (raw > 2) throw SimulationError(fmt::format("illegal {} {}", name, raw));
    }
    if constexpr (std::is_same_v<T, WfoldReadMode>) {
      if (raw >= kWfoldReadModeNames.size()) throw SimulationError(fmt::format("illegal {} {}", name, raw));
    }
    if constexpr (std::is_same_v<T, VectorKind>) {
      if (raw >= kVectorKindNames.size()) throw SimulationError(fmt::format("illegal {} {}", name, raw));
    }
    if constexpr (std::is_signed_v<T>) {
      const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
      value = static_cast<T>(static_cast<std::int64_t>((raw ^ sign)) - static_cast<std::int64_t>(sign));
    } else {
      value = static_cast<T>(raw);
    }
  }
  // What lies beyond the fields must be zero: a stray bit is an encoding error, not a feature.
  void expect_zero_tail() const {
    for (int i = at_; i < kBits; ++i) {
      if (bit(i)) throw SimulationError(fmt::format("bit {} is reserved and must be zero", i));
    }
  }

 private:
  int bit(int at) const { return (bytes_[static_cast<std::size_t>(at / 8)] >> (at % 8)) & 1; }
  const InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

}  // namespace

Unit unit_of(const Instruction& instruction) {
  struct Visitor {
    Unit operator()(const ConvSetup&) const { return Unit::kMatrix; }
    Unit operator()(const ConvRun&) const { return Unit::kMatrix; }
    Unit operator()(const WfoldRun&) const { return Unit::kMatrix; }
    Unit operator()(const LoadInput&) const { return Unit::kLoad; }
    Unit operator()(const LoadKernels&) const { return Unit::kParameter; }
    Unit operator()(const StoreOutput&) const { return Unit::kStore; }
    Unit operator()(const LayerEnd&) const { return Unit::kSync; }
    Unit operator()(const Halt&) const { return Unit::kSync; }
    Unit operator()(const Barrier&) const { return Unit::kSync; }
    Unit operator()(const Signal&) const { return Unit::kSync; }
    Unit operator()(const Copy& copy) const { return copy.unit; }
    Unit operator()(const VectorRun&) const { return Unit::kVector; }
  };
  return std::visit(Visitor{}, instruction.operation);
}

std::optional<decltype(Instruction::operation)> operation_of(Opcode opcode) {
  const auto copy = [](Unit unit) {
    Copy op;
    op.unit = unit;
    return op;
  };
  switch (opcode) {
    case Opcode::kConvSetup:
      return ConvSetup{};
    case Opcode::kConvRun:
      return ConvRun{};
    case Opcode::kWfoldRun:
      return WfoldRun{};
    case Opcode::kLoadInput:
      return LoadInput{};
    case Opcode::kLoadKernels:
      return LoadKernels{};
    case Opcode::kStoreOutput:
      return StoreOutput{};
    case Opcode::kLayerEnd:
      return LayerEnd{};
    case Opcode::kHalt:
      return Halt{};
    case Opcode::kBarrier:
      return Barrier{};
    case Opcode::kSignal:
      return Signal{};
    case Opcode::kCopyIodma:
      return copy(Unit::kIodma);
    case Opcode::kCopyMvdma:
      return copy(Unit::kMvdma);
    case Opcode::kCopyGdma:
      return copy(Unit::kGdma);
    case Opcode::kCopyCdma:
      return copy(Unit::kCdma);
    case Opcode::kCopyFold:
      return copy(Unit::kFold);
    case Opcode::kVectorRun:
      return VectorRun{};
  }
  return std::nullopt;
}

InstructionBytes encode(const Instruction& instruction) {
  InstructionBytes bytes{};
  std::copy(instruction.waits.begin(), instruction.waits.end(), bytes.begin() + 4);
  std::copy(instruction.release_signals.begin(), instruction.release_signals.end(), bytes.begin() + 8);
  std::copy(instruction.done_signals.begin(), instruction.done_signals.end(), bytes.begin() + 12);
  std::visit(
      [&](const auto& op) {
        bytes[0] = static_cast<std::uint8_t>(opcode_of(op));
        Packer packer(bytes);
        visit_fields(packer, op);
      },
      instruction.operation);
  return bytes;
}

Instruction decode(const InstructionBytes& bytes) {
  Instruction instruction;
  std::copy_n(bytes.begin() + 4, 4, instruction.waits.begin());
  std::copy_n(bytes.begin() + 8, 4, instruction.release_signals.begin());
  std::copy_n(bytes.begin() + 12, 4, instruction.done_signals.begin());
  if (bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0)
    throw SimulationError("bits 8 to 31 are reserved and must be zero");
  auto operation = operation_of(static_cast<Opcode>(bytes[0]));
  if (!operation) throw SimulationError(fmt::format("illegal opcode {:#04x}", bytes[0]));
  std::visit(
      [&bytes](auto& op) {
        Unpacker unpacker(bytes);
        visit_fields(unpacker, op);
        unpacker.expect_zero_tail();
      },
      *operation);
  instruction.operation = *operation;
  return instruction;
}

std::array<std::uint8_t, kPostParameterBytes> encode(const PostParameter& parameter) {
  std::array<std::uint8_t, kPostParameterBytes> bytes{};
  std::memcpy(bytes.data(), &parameter.scale, 8);
  std::memcpy(bytes.data() + 8, &parameter.bias, 4);
  return bytes;
}

PostParameter decode_post_parameter(const std::uint8_t* bytes) {
  PostParameter parameter;
  std::memcpy(&parameter.scale, bytes, 8);
  std::memcpy(&parameter.bias, bytes + 8, 4);
  return parameter;
}

}  // namespace tilebeat
