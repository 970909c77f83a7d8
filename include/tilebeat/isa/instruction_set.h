#pragma once

#include "tilebeat/isa/operation.h"

#include <array>
#include <cstdint>
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

}  // namespace tilebeat
