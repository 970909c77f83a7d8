#pragma once

// Plans whose layers do not overlap.

#include "isa/operations.h"
#include "program/plan.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tilebeat::testing {

/// A planned network with a barrier behind every layer but a program's last one. Its programs lie behind all
/// else.
inline Plan with_barriers_everywhere(Plan plan) {
  constexpr std::uint64_t kPage = 4096;
  for (LayerPlan& layer : plan.layers) layer.overlaps = false;
  for (ProgramImage& program : plan.programs) {
    std::vector<Instruction> made;
    const std::vector<Instruction>& old = program.instructions;
    for (std::size_t i = 0; i < old.size(); ++i) {
      made.push_back(old[i]);
      const auto* end = old[i].operation.get_if<LayerEnd>();
      if (end == nullptr || old[i + 1].operation.is<Barrier>() || old[i + 1].operation.is<Halt>()) continue;
      const int processors = plan.layers.at(end->layer).ends;
      made.push_back(
          {{},
           {},
           {},
           Barrier{static_cast<std::uint16_t>(end->layer), static_cast<std::uint16_t>(processors)}});
    }
    program.instructions = std::move(made);
    program.address = plan.dram_bytes;
    MemorySegment segment{"program " + program.label, program.address, {}};
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes bytes = encode(instruction);
      segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
    }
    plan.dram_bytes += (segment.bytes.size() + kPage - 1) / kPage * kPage;
    plan.image.push_back(std::move(segment));
  }
  return plan;
}

/// Barriers in the programs of a plan, by processor the same number: in the first of them.
inline int barriers_of(const Plan& plan) {
  int barriers = 0;
  for (const Instruction& instruction : plan.programs.front().instructions)
    barriers += instruction.operation.is<Barrier>() ? 1 : 0;
  return barriers;
}

}  // namespace tilebeat::testing
