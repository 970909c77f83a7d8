#include "tilebeat/isa/instruction.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kHeaderBits = 128;  // opcode word, waits, release signals, done signals
constexpr int kBits = kInstructionBytes * 8;

// The fields of each operation, once, in the order in which they are packed: encoder, decoder and
// disassembler visit them.
template <class V, class Op>
void visit_fields(V& v, Op& op) {
  using T = std::remove_const_t<Op>;
  if constexpr (std::is_same_v<T, ConvSetup>) {
    v("kernel_h", op.kernel_h, 16), v("kernel_w", op.kernel_w, 16);
    v("stride_h", op.stride_h, 16), v("stride_w", op.stride_w, 16);
    v("dilation_h", op.dilation_h, 16), v("dilation_w", op.dilation_w, 16);
    v("input_zero_point", op.input_zero_point, 16), v("weight_zero_point", op.weight_zero_point, 16);
    v("input_type", op.input_type, 2), v("output_type", op.output_type, 2);
    v("requantise", op.requantise, 1), v("clamp", op.clamp, 1), v("post_parameters", op.post_parameters, 1);
    v("clamp_low", op.clamp_low, 32), v("clamp_high", op.clamp_high, 32);
    v("output_zero_point", op.output_zero_point, 32);
  } else if constexpr (std::is_same_v<T, ConvRun>) {
    v("copy", op.copy, 1), v("first", op.first, 1), v("last", op.last, 1);
    v("rows", op.rows, 16), v("columns", op.columns, 16), v("height", op.height, 16),
        v("width", op.width, 16);
    v("h_offset", op.h_offset, 16), v("w_offset", op.w_offset, 16);
    v("first_plane", op.first_plane, 16), v("planes", op.planes, 16), v("kernels", op.kernels, 16);
    v("slot", op.slot, 16), v("parameter_word", op.parameter_word, 32);
    v("output_base", op.output_base, 32), v("output_stride", op.output_stride, 32),
        v("macs_per_pixel", op.macs_per_pixel, 32);
  } else if constexpr (std::is_same_v<T, LoadInput>) {
    v("copy", op.copy, 1), v("address", op.address, 48);
    v("row_stride", op.row_stride, 32), v("pixel_stride", op.pixel_stride, 32);
    v("height", op.height, 16), v("width", op.width, 16), v("channels", op.channels, 16);
    v("stride_h", op.stride_h, 16), v("stride_w", op.stride_w, 16), v("fill", op.fill, 8);
  } else if constexpr (std::is_same_v<T, LoadKernels>) {
    v("address", op.address, 48), v("post_address", op.post_address, 48), v("words", op.words, 32);
    v("parameter_word", op.parameter_word, 32), v("slot", op.slot, 16),
        v("post_records", op.post_records, 16);
  } else if constexpr (std::is_same_v<T, StoreOutput>) {
    v("address", op.address, 48), v("row_stride", op.row_stride, 32), v("pixel_stride", op.pixel_stride, 32);
    v("source", op.source, 32), v("pixel_bytes", op.pixel_bytes, 32);
    v("rows", op.rows, 16), v("columns", op.columns, 16);
  } else if constexpr (std::is_same_v<T, LayerEnd>) {
    v("layer", op.layer, 32);
  }
}

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

class Printer {
 public:
  template <class T>
  void operator()(const char* name, const T& value, int) {
    if constexpr (std::is_same_v<T, DType>) {
      text += fmt::format(" {}={}", name, dtype_name(value));
    } else {
      text += fmt::format(" {}={}", name, value);
    }
  }
  std::string text;
};

template <class Op>
constexpr Opcode opcode_of() {
  if constexpr (std::is_same_v<Op, ConvSetup>) return Opcode::kConvSetup;
  if constexpr (std::is_same_v<Op, ConvRun>) return Opcode::kConvRun;
  if constexpr (std::is_same_v<Op, LoadInput>) return Opcode::kLoadInput;
  if constexpr (std::is_same_v<Op, LoadKernels>) return Opcode::kLoadKernels;
  if constexpr (std::is_same_v<Op, StoreOutput>) return Opcode::kStoreOutput;
  if constexpr (std::is_same_v<Op, LayerEnd>) return Opcode::kLayerEnd;
  return Opcode::kHalt;
}

const char* mnemonic(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConvSetup:
      return "conv.setup";
    case Opcode::kConvRun:
      return "conv.run";
    case Opcode::kLoadInput:
      return "load.input";
    case Opcode::kLoadKernels:
      return "load.kernels";
    case Opcode::kStoreOutput:
      return "store.output";
    case Opcode::kLayerEnd:
      return "layer.end";
    case Opcode::kHalt:
      return "halt";
  }
  return "?";
}

template <class Op>
void decode_operation(const InstructionBytes& bytes, Instruction& instruction) {
  Op op;
  Unpacker unpacker(bytes);
  visit_fields(unpacker, op);
  unpacker.expect_zero_tail();
  instruction.operation = op;
}

void append_tokens(std::string& text, const char* label, const Semaphores& semaphores) {
  bool any = false;
  for (Semaphore s : semaphores) {
    if (s == 0) continue;
    text += any ? "," : fmt::format("  {} ", label);
    text += semaphore_name(s);
    any = true;
  }
}

}  // namespace

Activity semaphore_activity(Semaphore s) {
  if (s >= 1 && s <= 2) return Activity::kInputLoad;
  if (s >= 3 && s <= 4) return Activity::kInputRelease;
  if (s >= 5 && s <= 6) return Activity::kOutputReady;
  if (s >= 7 && s <= 8) return Activity::kOutputSpace;
  if (s >= kernels_full(0) && s < kernels_free(0)) return Activity::kWeightLoad;
  if (s >= kernels_free(0) && s < kernels_free(0) + kMaxParameterSlots) return Activity::kWeightRelease;
  return Activity::kNoWork;
}

std::string semaphore_name(Semaphore s) {
  if (s >= 1 && s <= 2) return fmt::format("input_full[{}]", s - 1);
  if (s >= 3 && s <= 4) return fmt::format("input_free[{}]", s - 3);
  if (s >= 5 && s <= 6) return fmt::format("output_full[{}]", s - 5);
  if (s >= 7 && s <= 8) return fmt::format("output_free[{}]", s - 7);
  if (s >= kernels_full(0) && s < kernels_free(0))
    return fmt::format("kernels_full[{}]", s - kernels_full(0));
  if (s >= kernels_free(0) && s < kernels_free(0) + kMaxParameterSlots) {
    return fmt::format("kernels_free[{}]", s - kernels_free(0));
  }
  return fmt::format("semaphore[{}]", s);
}

Unit unit_of(const Instruction& instruction) {
  struct Visitor {
    Unit operator()(const ConvSetup&) const { return Unit::kMatrix; }
    Unit operator()(const ConvRun&) const { return Unit::kMatrix; }
    Unit operator()(const LoadInput&) const { return Unit::kLoad; }
    Unit operator()(const LoadKernels&) const { return Unit::kParameter; }
    Unit operator()(const StoreOutput&) const { return Unit::kStore; }
    Unit operator()(const LayerEnd&) const { return Unit::kSync; }
    Unit operator()(const Halt&) const { return Unit::kSync; }
  };
  return std::visit(Visitor{}, instruction.operation);
}

InstructionBytes encode(const Instruction& instruction) {
  InstructionBytes bytes{};
  std::copy(instruction.waits.begin(), instruction.waits.end(), bytes.begin() + 4);
  std::copy(instruction.release_signals.begin(), instruction.release_signals.end(), bytes.begin() + 8);
  std::copy(instruction.done_signals.begin(), instruction.done_signals.end(), bytes.begin() + 12);
  std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        bytes[0] = static_cast<std::uint8_t>(opcode_of<Op>());
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
  switch (static_cast<Opcode>(bytes[0])) {
    case Opcode::kConvSetup:
      decode_operation<ConvSetup>(bytes, instruction);
      return instruction;
    case Opcode::kConvRun:
      decode_operation<ConvRun>(bytes, instruction);
      return instruction;
    case Opcode::kLoadInput:
      decode_operation<LoadInput>(bytes, instruction);
      return instruction;
    case Opcode::kLoadKernels:
      decode_operation<LoadKernels>(bytes, instruction);
      return instruction;
    case Opcode::kStoreOutput:
      decode_operation<StoreOutput>(bytes, instruction);
      return instruction;
    case Opcode::kLayerEnd:
      decode_operation<LayerEnd>(bytes, instruction);
      return instruction;
    case Opcode::kHalt:
      decode_operation<Halt>(bytes, instruction);
      return instruction;
  }
  throw SimulationError(fmt::format("illegal opcode {:#04x}", bytes[0]));
}

std::string summary(const Instruction& instruction) {
  return std::visit(
      [](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        std::string text = mnemonic(opcode_of<Op>());
        if constexpr (std::is_same_v<Op, ConvRun>)
          text += fmt::format(" {}x{}x{}", op.rows, op.columns, op.kernels);
        if constexpr (std::is_same_v<Op, LoadInput>)
          text += fmt::format(" {}x{}x{}", op.height, op.width, op.channels);
        if constexpr (std::is_same_v<Op, LoadKernels>) text += fmt::format(" {} words", op.words);
        if constexpr (std::is_same_v<Op, StoreOutput>)
          text += fmt::format(" {}x{}x{} bytes", op.rows, op.columns, op.pixel_bytes);
        return text;
      },
      instruction.operation);
}

std::string disassemble(const Instruction& instruction) {
  std::string text = std::visit(
      [](const auto& op) {
        Printer printer;
        visit_fields(printer, op);
        return fmt::format("{:<13}{}", mnemonic(opcode_of<std::decay_t<decltype(op)>>()), printer.text);
      },
      instruction.operation);
  append_tokens(text, "waits", instruction.waits);
  append_tokens(text, "releases", instruction.release_signals);
  append_tokens(text, "completes", instruction.done_signals);
  return text;
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
