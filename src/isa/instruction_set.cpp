#include "tilebeat/isa/instruction_set.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {

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
