#include "borders.h"

#include "tilebeat/isa/address_map.h"

#include <algorithm>

#include "processors.h"

namespace tilebeat {

bool works_apart(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                 const ChipConfig& chip) {
  const auto own = [&chip](int processor, std::uint64_t address) {
    const int size = cluster_size(chip);
    const int core = processor / size * chip.cores_per_cluster + processor % size;
    const auto inside = [address](std::uint64_t begin, std::int64_t bytes) {
      return address >= begin && address < begin + static_cast<std::uint64_t>(bytes);
    };
    return address < kDramEnd || inside(nram_address(core), chip.core.nram.size_bytes) ||
           inside(wram_address(core), chip.core.wram.size_bytes);
  };
  const std::vector<Task>& tasks = graph.tasks();
  const bool own_memories = std::all_of(tasks.begin(), tasks.end(), [&](const Task& task) {
    if (task.processor % cluster_size(chip) >= chip.cores_per_cluster) return false;  // a memory core
    const auto* copy = task.instruction.operation.get_if<Copy>();
    return copy == nullptr || (own(task.processor, copy->source) && own(task.processor, copy->destination));
  });
  return own_memories &&
         std::all_of(dependencies.begin(), dependencies.end(), [&](const Dependency& dependency) {
           return tasks[static_cast<std::size_t>(dependency.from)].processor ==
                  tasks[static_cast<std::size_t>(dependency.to)].processor;
         });
}

Borders::Borders(const Workload& workload) {
  for (const Layer& layer : workload.layers) {
    if (std::holds_alternative<Reshape>(layer.operation)) base_[layer.name] = stored_as(layer.inputs.front());
  }
}

// The tensor whose bytes these are.
const std::string& Borders::stored_as(const std::string& tensor) const {
  const auto found = base_.find(tensor);
  return found == base_.end() ? tensor : found->second;
}

bool Borders::needs_barrier(const Next& next) const {
  const bool depends = std::any_of(next.reads.begin(), next.reads.end(), [&](const std::string& tensor) {
    return made_.count(stored_as(tensor)) > 0;
  });
  return depends || (!made_.empty() && !(apart_ && next.apart));
}

void Borders::add(const Next& next, bool barrier) {
  if (barrier) made_.clear(), apart_ = true;
  for (const std::string& tensor : next.makes) made_.insert(stored_as(tensor));
  apart_ = apart_ && next.apart;
}

}  // namespace tilebeat
