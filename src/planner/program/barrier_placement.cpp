#include "planner/program/barrier_placement.h"

#include "isa/address_map.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/placement.h"

#include <algorithm>
#include <utility>

namespace tilebeat {

bool works_apart(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                 const ChipConfig& chip) {
  const auto own = [&chip](int processor, std::uint64_t address) {
    const int size = cluster_size(chip);
    const int core = processor / size * chip.cores_per_cluster + processor % size;
    const auto inside = [address](std::uint64_t begin, std::int64_t bytes) {
      return address >= begin && address < begin + to_unsigned(bytes);
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
           return nth(tasks, dependency.from).processor == nth(tasks, dependency.to).processor;
         });
}

BarrierNeeds::BarrierNeeds(const Workload& workload) {
  for (const Layer& layer : workload.layers) {
    if (std::holds_alternative<Reshape>(layer.operation)) base_[layer.name] = stored_as(layer.inputs.front());
  }
}

// The tensor that stores the bytes of `tensor`: the input of a reshape in place of its result.
const std::string& BarrierNeeds::stored_as(const std::string& tensor) const {
  const auto found = base_.find(tensor);
  return found == base_.end() ? tensor : found->second;
}

bool BarrierNeeds::needs_barrier(const Next& next) const {
  const bool depends = std::any_of(next.reads.begin(), next.reads.end(), [&](const std::string& tensor) {
    return made_.count(stored_as(tensor)) > 0;
  });
  return depends || (!made_.empty() && !(apart_ && next.apart));
}

void BarrierNeeds::add(const Next& next, bool barrier) {
  if (barrier) made_.clear(), apart_ = true;
  for (const std::string& tensor : next.makes) made_.insert(stored_as(tensor));
  apart_ = apart_ && next.apart;
}

namespace {

// A layer's tasks without accesses, as estimates need them.
std::vector<Task> tasks_alone(const TaskGraph& graph) {
  std::vector<Task> tasks = graph.tasks();
  for (Task& task : tasks) task.accesses.clear();
  return tasks;
}

// Numbers of the tasks that no other task waits for; the first task has the number `first`.
std::vector<int> last_tasks(std::size_t tasks, const std::vector<Dependency>& dependencies, int first) {
  std::vector<bool> followed(tasks, false);
  for (const Dependency& d : dependencies) nth(followed, d.from) = true;
  std::vector<int> last;
  for (std::size_t i = 0; i < tasks; ++i) {
    if (!followed[i]) last.push_back(first + to_int(i));
  }
  return last;
}

}  // namespace

void OverlappingLayers::begin(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                              const Machine& machine, double cycles) {
  tasks_ = tasks_alone(graph), dependencies_ = dependencies, machine_ = machine, cycles_ = cycles;
  buffer_ = machine.instruction_buffer;
  ends_ = last_tasks(tasks_.size(), dependencies, 0);
}

bool OverlappingLayers::add_if_faster(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                                      double barrier, double cycles) {
  const auto first = count_of(tasks_);
  std::vector<Task> added = tasks_alone(graph);
  std::vector<bool> waits(added.size(), false);
  std::vector<Dependency> all = dependencies_;
  for (Dependency d : dependencies) {
    nth(waits, d.to) = true;
    d.from += first, d.to += first;
    all.push_back(d);
  }
  // A processor's first tasks of the layer wait for its last tasks of the previous layer.
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (waits[i]) continue;
    for (const int end : ends_) {
      if (nth(tasks_, end).processor == added[i].processor) all.push_back({end, first + to_int(i)});
    }
  }
  // The layer's instructions are no longer those of a later one, and it has had a full buffer as well.
  Machine machine = machine_;
  for (const Task& task : added) machine.fetched_bytes -= task.cost.instructions * kInstructionBytes;
  machine.fetched_bytes = std::max(machine.fetched_bytes, 0.0);
  machine.instruction_buffer += buffer_;
  TaskGraph both;
  for (const Task& task : tasks_) both.add(task);
  for (const Task& task : added) both.add(task);
  const double together = schedule(both, all, machine).cycles;
  if (together >= kClearlyFaster * (cycles_ + barrier + cycles)) return false;
  ends_ = last_tasks(added.size(), dependencies, first);
  tasks_ = both.tasks(), dependencies_ = std::move(all), cycles_ = together, machine_ = machine;
  return true;
}

BarrierPlacement::Border BarrierPlacement::add(const Next& next) {
  const bool first = !last_, after_work = last_works_;
  last_ = next.number, last_works_ = next.works;
  if (!next.works) return Border::kNothing;
  const BarrierNeeds::Next layer{next.makes, next.reads, works_apart(next.graph, next.dependencies, chip_)};
  const auto faster = [&] {
    return open_.add_if_faster(next.graph, next.dependencies, static_cast<double>(chip_.sync_cycles),
                               next.cycles);
  };
  const bool barrier = !first && (!after_work || needs_.needs_barrier(layer) || !faster());
  needs_.add(layer, barrier);
  if (first || barrier) open_.begin(next.graph, next.dependencies, next.machine, next.cycles);
  if (first) return Border::kNothing;
  return barrier ? Border::kBarrier : Border::kOpen;
}

}  // namespace tilebeat
