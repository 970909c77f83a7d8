#pragma once

// Task graphs that are written by hand, and what became of their tasks in the programs.

#include "engines/switch_array/operations.h"
#include "isa/instruction.h"
#include "planner/language/task_graph.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tilebeat::testing {

using switch_array::LoadInput;
using switch_array::LoadKernels;
using switch_array::StoreOutput;

/// An operation of a unit that carries a number, by which programs are searched.
inline Operation tagged_operation(Unit unit, int tag) {
  const auto narrow = static_cast<std::uint16_t>(tag);
  switch (unit) {
    case Unit::kSync:
      return Barrier{narrow, 1};
    case Unit::kMatrix: {
      ConvSetup setup;
      setup.kernel_h = narrow;
      return setup;
    }
    case Unit::kLoad: {
      LoadInput load;
      load.height = narrow;
      return load;
    }
    case Unit::kParameter: {
      LoadKernels load;
      load.slot = narrow;
      return load;
    }
    case Unit::kStore: {
      StoreOutput store;
      store.rows = narrow;
      return store;
    }
    case Unit::kVector: {
      VectorRun run;
      run.channels = narrow;
      return run;
    }
    default: {
      Copy copy;
      copy.unit = unit;
      copy.run_bytes = narrow;
      return copy;
    }
  }
}
/// The number of an instruction; -1: a signal.
inline int tag_of(const Instruction& instruction) {
  const Operation& operation = instruction.operation;
  if (operation.is<Signal>()) return -1;
  if (const auto* barrier = operation.get_if<Barrier>()) return barrier->id;
  if (const auto* setup = operation.get_if<ConvSetup>()) return setup->kernel_h;
  if (const auto* load = operation.get_if<LoadInput>()) return load->height;
  if (const auto* load = operation.get_if<LoadKernels>()) return load->slot;
  if (const auto* store = operation.get_if<StoreOutput>()) return store->rows;
  if (const auto* run = operation.get_if<VectorRun>()) return run->channels;
  return static_cast<int>(operation.get<Copy>().run_bytes);
}
inline Task tagged_task(int processor, Unit unit, int tag, std::vector<tilebeat::Access> accesses) {
  Task task;
  task.processor = processor;
  task.accesses = std::move(accesses);
  task.instruction.operation = tagged_operation(unit, tag);
  return task;
}

/// A graph whose tasks are tagged by their numbers.
class SmallGraph {
 public:
  TaskGraph graph;

  BufferId buffer(BufferRole role = BufferRole::kMap) { return graph.add_buffer(role); }
  int add(int processor, Unit unit, std::vector<tilebeat::Access> accesses) {
    const int number = static_cast<int>(graph.tasks().size());
    return graph.add(tagged_task(processor, unit, number, std::move(accesses)));
  }
};
inline tilebeat::Access read_of(BufferId buffer, int version = 0) {
  return {buffer, version, AccessKind::kRead};
}
inline tilebeat::Access write_of(BufferId buffer, int version = 0) {
  return {buffer, version, AccessKind::kWrite};
}
inline tilebeat::Access accumulate_in(BufferId buffer, int version = 0) {
  return {buffer, version, AccessKind::kAccumulate};
}

/// The semaphores of a field that are there, by number.
inline std::vector<Semaphore> tokens(const Semaphores& field) {
  std::vector<Semaphore> found;
  std::copy_if(field.begin(), field.end(), std::back_inserter(found), [](Semaphore s) { return s != 0; });
  std::sort(found.begin(), found.end());
  return found;
}

/// The programs of a graph.
class SmallPrograms {
 public:
  explicit SmallPrograms(std::map<int, std::vector<Instruction>> programs) : all_(std::move(programs)) {}

  const std::vector<Instruction>& of(int processor) const { return all_.at(processor); }
  const std::map<int, std::vector<Instruction>>& all() const { return all_; }
  /// The instruction of a task.
  const Instruction& task(int number) const {
    for (const auto& [processor, program] : all_) {
      for (const Instruction& instruction : program) {
        if (tag_of(instruction) == number) return instruction;
      }
    }
    throw std::runtime_error("no such task");
  }
  /// The place of a task in its program.
  std::size_t place(int processor, int number) const {
    const auto& program = of(processor);
    const auto found = std::find_if(program.begin(), program.end(),
                                    [number](const Instruction& i) { return tag_of(i) == number; });
    return static_cast<std::size_t>(found - program.begin());
  }
  /// The signals of a processor, in the order of its program.
  std::vector<Instruction> signals(int processor) const {
    std::vector<Instruction> found;
    for (const Instruction& instruction : of(processor)) {
      if (tag_of(instruction) < 0) found.push_back(instruction);
    }
    return found;
  }

 private:
  std::map<int, std::vector<Instruction>> all_;
};

}  // namespace tilebeat::testing
