#include "tilebeat/program/program_index.h"

#include "tilebeat/isa/operations.h"

#include <algorithm>
#include <iterator>

namespace tilebeat {

ProgramIndex::ProgramIndex(const Plan& plan) {
  for (const LayerPlan& layer : plan.layers) layers_.push_back(layer.name);
  for (const ProgramImage& program : plan.programs) {
    std::vector<Place>& places = programs_[program.address];
    std::map<int, int> numbers;  // of the layer's operations, by opcode
    std::size_t begin = 0;       // of the layer
    for (const Instruction& instruction : program.instructions) {
      const auto* end = instruction.operation.get_if<LayerEnd>();
      if (end == nullptr) {
        places.push_back({0, numbers[instruction.operation.type().opcode()]++});
        continue;
      }
      places.push_back({end->layer, 0});
      for (; begin < places.size(); ++begin) places[begin].layer = end->layer;
      numbers.clear();
    }
    places.resize(begin);
  }
}

std::optional<ProgramIndex::Place> ProgramIndex::find(std::uint64_t address) const {
  auto program = programs_.upper_bound(address);
  if (program == programs_.begin()) return std::nullopt;
  program = std::prev(program);
  const std::uint64_t number = (address - program->first) / kInstructionBytes;
  if (number >= program->second.size()) return std::nullopt;
  const Place& place = program->second[number];
  if (place.layer >= layers_.size()) return std::nullopt;
  return place;
}

}  // namespace tilebeat
