#pragma once

// Planned programs that a test changes.

#include "isa/instruction.h"
#include "program/plan.h"

#include <stdexcept>

namespace tilebeat::testing {

/// Puts `program`, one of `plan`'s with other instructions, in its place in DRAM.
inline void write_back(Plan& plan, const ProgramImage& program) {
  for (MemorySegment& segment : plan.image) {
    if (segment.address != program.address) continue;
    segment.bytes.clear();
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes bytes = encode(instruction);
      segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
    }
    return;
  }
  throw std::runtime_error("the program has no segment");
}

}  // namespace tilebeat::testing
