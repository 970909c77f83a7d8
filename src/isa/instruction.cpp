#include "isa/instruction.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {

Unit unit_of(const Instruction& instruction) {
  return instruction.operation.type().unit();
}

InstructionBytes encode(const Instruction& instruction) {
  InstructionBytes bytes{};
  bytes[0] = instruction.operation.type().opcode();
  std::copy(instruction.waits.begin(), instruction.waits.end(), bytes.begin() + 4);
  std::copy(instruction.release_signals.begin(), instruction.release_signals.end(), bytes.begin() + 8);
  std::copy(instruction.done_signals.begin(), instruction.done_signals.end(), bytes.begin() + 12);
  instruction.operation.encode_fields(bytes);
  return bytes;
}

Instruction decode(const InstructionBytes& bytes, const InstructionSet& set) {
  if (bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0)
    throw SimulationError("bits 8 to 31 are reserved and must be zero");
  const OperationType* type = set.with_opcode(bytes[0]);
  if (type == nullptr) throw SimulationError(fmt::format("illegal opcode {:#04x}", bytes[0]));
  Instruction instruction;
  std::copy_n(bytes.begin() + 4, 4, instruction.waits.begin());
  std::copy_n(bytes.begin() + 8, 4, instruction.release_signals.begin());
  std::copy_n(bytes.begin() + 12, 4, instruction.done_signals.begin());
  instruction.operation = type->decode(bytes);
  return instruction;
}

std::array<std::uint8_t, kPostParameterBytes> encode(const PostParameter& parameter) {
  std::array<std::uint8_t, kPostParameterBytes> bytes{};
  std::memcpy(bytes.data(), &parameter.scale, 8);
  std::memcpy(bytes.data() + 8, &parameter.bias, 4);
  std::memcpy(bytes.data() + 12, &parameter.shift, 4);
  return bytes;
}

PostParameter decode_post_parameter(const std::uint8_t* bytes) {
  PostParameter parameter;
  std::memcpy(&parameter.scale, bytes, 8);
  std::memcpy(&parameter.bias, bytes + 8, 4);
  std::memcpy(&parameter.shift, bytes + 12, 4);
  return parameter;
}

std::array<std::uint8_t, kActivationBytes> encode_activation(const ConvSetup& setup) {
  const std::array<std::int32_t, 2> bounds{setup.clamp ? setup.clamp_low : INT32_MIN,
                                           setup.clamp ? setup.clamp_high : INT32_MAX};
  std::array<std::uint8_t, kActivationBytes> bytes{};
  std::memcpy(bytes.data(), bounds.data(), sizeof bounds);
  bytes[8] = static_cast<std::uint8_t>(setup.function), bytes[9] = static_cast<std::uint8_t>(setup.rescale);
  std::memcpy(bytes.data() + 12, &setup.floor, 2);
  std::memcpy(bytes.data() + 14, &setup.ceiling, 2);
  std::memcpy(bytes.data() + 16, &setup.output_scale, 8);
  std::memcpy(bytes.data() + 24, &setup.slope, 8);
  return bytes;
}

void decode_activation(const std::uint8_t* bytes, ConvSetup& setup) {
  std::array<std::int32_t, 2> bounds{};
  std::memcpy(bounds.data(), bytes, sizeof bounds);
  setup.clamp = true, setup.clamp_low = bounds[0], setup.clamp_high = bounds[1];
  if (bytes[8] >= kRealFunctionNames.size())
    throw SimulationError(fmt::format("endsums: there is no function {}", bytes[8]));
  setup.function = static_cast<RealFunction>(bytes[8]);
  if (bytes[9] >= kRescaleNames.size())
    throw SimulationError(fmt::format("endsums: there is no rescaling {}", bytes[9]));
  setup.rescale = static_cast<Rescale>(bytes[9]);
  std::memcpy(&setup.floor, bytes + 12, 2);
  std::memcpy(&setup.ceiling, bytes + 14, 2);
  std::memcpy(&setup.output_scale, bytes + 16, 8);
  std::memcpy(&setup.slope, bytes + 24, 8);
}

InstructionSet::InstructionSet(const std::vector<const OperationType*>& types) {
  constexpr int kFieldBits = kInstructionBytes * 8 - kHeaderBits;
  for (const OperationType* type : types) {
    if (const OperationType* other = with_opcode(type->opcode()); other != nullptr) {
      throw std::logic_error(
          fmt::format("{} and {} both have opcode {:#04x}", other->name(), type->name(), type->opcode()));
    }
    if (with_name(type->name()) != nullptr)
      throw std::logic_error(fmt::format("two operations are called {}", type->name()));
    if (type->field_bits() > kFieldBits) {
      throw std::logic_error(fmt::format("the fields of {} take {} bits, an instruction has room for {}",
                                         type->name(), type->field_bits(), kFieldBits));
    }
    types_.push_back(type);
    by_opcode_[type->opcode()] = type;
  }
}

const OperationType* InstructionSet::with_name(std::string_view name) const {
  const auto found = std::find_if(types_.begin(), types_.end(),
                                  [name](const OperationType* t) { return name == t->name(); });
  return found == types_.end() ? nullptr : *found;
}

}  // namespace tilebeat
