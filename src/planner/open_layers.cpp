#include "open_layers.h"

#include <utility>

#include "choose_mapping.h"

namespace tilebeat {
namespace {

// The tasks of a layer as estimates need them.
std::vector<Task> tasks_alone(const TaskGraph& graph) {
  std::vector<Task> tasks = graph.tasks();
  for (Task& task : tasks) task.accesses.clear();
  return tasks;
}

// The tasks that nothing waits for, the first of which has the number `first`.
std::vector<int> last_tasks(std::size_t tasks, const std::vector<Dependency>& dependencies, int first) {
  std::vector<bool> followed(tasks, false);
  for (const Dependency& d : dependencies) followed[static_cast<std::size_t>(d.from)] = true;
  std::vector<int> last;
  for (std::size_t i = 0; i < tasks; ++i) {
    if (!followed[i]) last.push_back(first + static_cast<int>(i));
  }
  return last;
}

}  // namespace

void OpenLayers::begin(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                       const Machine& machine, double cycles) {
  tasks_ = tasks_alone(graph), dependencies_ = dependencies, machine_ = machine, cycles_ = cycles;
  ends_ = last_tasks(tasks_.size(), dependencies, 0);
}

bool OpenLayers::add_if_faster(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                               double barrier, double cycles) {
  const auto first = static_cast<int>(tasks_.size());
  std::vector<Task> added = tasks_alone(graph);
  std::vector<bool> waits(added.size(), false);
  std::vector<Dependency> all = dependencies_;
  for (Dependency d : dependencies) {
    waits[static_cast<std::size_t>(d.to)] = true;
    d.from += first, d.to += first;
    all.push_back(d);
  }
  // A processor's first tasks of the layer wait for its last ones of the layer before.
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (waits[i]) continue;
    for (const int end : ends_) {
      if (tasks_[static_cast<std::size_t>(end)].processor == added[i].processor)
        all.push_back({end, first + static_cast<int>(i)});
    }
  }
  TaskGraph both;
  for (const Task& task : tasks_) both.add(task);
  for (const Task& task : added) both.add(task);
  const double together = schedule(both, all, machine_).cycles;
  if (together >= kClearlyFaster * (cycles_ + barrier + cycles)) return false;
  ends_ = last_tasks(added.size(), dependencies, first);
  tasks_ = both.tasks(), dependencies_ = std::move(all), cycles_ = together;
  return true;
}

}  // namespace tilebeat
