#include "tilebeat/mapping/task_graph.h"

#include "tilebeat/base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The tasks that use one version of a buffer, in the order in which they were added.
struct Uses {
  std::vector<int> writers, readers;

  bool only_by(int task) const {
    const auto by_it = [task](int user) { return user == task; };
    return std::all_of(writers.begin(), writers.end(), by_it) &&
           std::all_of(readers.begin(), readers.end(), by_it);
  }
};

}  // namespace

Activity cause_of_empty(BufferRole role) {
  switch (role) {
    case BufferRole::kMap:
      return Activity::kMapLoad;
    case BufferRole::kKernels:
      return Activity::kKernelLoad;
    case BufferRole::kInput:
      return Activity::kInputLoad;
    case BufferRole::kParameters:
      return Activity::kWeightLoad;
    case BufferRole::kResult:
    case BufferRole::kOutput:
      return Activity::kOutputReady;
    case BufferRole::kStaging:
      return Activity::kPeer;
  }
  return Activity::kNoWork;
}

Activity cause_of_full(BufferRole role) {
  switch (role) {
    case BufferRole::kMap:
      return Activity::kMapRelease;
    case BufferRole::kKernels:
      return Activity::kKernelRelease;
    case BufferRole::kInput:
      return Activity::kInputRelease;
    case BufferRole::kParameters:
      return Activity::kWeightRelease;
    case BufferRole::kResult:
    case BufferRole::kOutput:
      return Activity::kOutputSpace;
    case BufferRole::kStaging:
      return Activity::kPeer;
  }
  return Activity::kNoWork;
}

BufferId TaskGraph::add_buffer(BufferRole role) {
  roles_.push_back(role);
  return buffers() - 1;
}

int TaskGraph::add(Task task) {
  if (also_) task.accesses.push_back(*also_);
  tasks_.push_back(std::move(task));
  return static_cast<int>(tasks_.size()) - 1;
}

BufferRing::BufferRing(TaskGraph& graph, BufferRole role, int count) {
  for (int i = 0; i < count; ++i) buffers_.push_back(graph.add_buffer(role));
}

BufferRing::Filling BufferRing::next() {
  const int place = fillings_ % count(), version = fillings_ / count();
  ++fillings_;
  return {place, buffers_[static_cast<std::size_t>(place)], version};
}

std::vector<Dependency> dependencies_of(const TaskGraph& graph) {
  std::vector<std::vector<Uses>> buffers(static_cast<std::size_t>(graph.buffers()));  // by version
  std::vector<Dependency> found;
  const auto& tasks = graph.tasks();
  // By `from`: the dependency that was found last. Two tasks often share many buffers.
  std::vector<Dependency> last(tasks.size(), {-1, -1, {}, {}});
  const auto add = [&](const Dependency& d) {
    Dependency& before = last[static_cast<std::size_t>(d.from)];
    if (before.to == d.to && before.event == d.event && before.cause == d.cause) return;
    before = d;
    found.push_back(d);
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const int to = static_cast<int>(i);
    for (const Access& access : tasks[i].accesses) {
      std::vector<Uses>& versions = buffers[static_cast<std::size_t>(access.buffer)];
      const auto version = static_cast<std::size_t>(access.version);
      if (version >= versions.size()) versions.resize(version + 1);
      const BufferRole role = graph.role(access.buffer);
      Uses& uses = versions[version];
      const auto later_one = versions.begin() + access.version + 1;
      if (!std::all_of(later_one, versions.end(), [to](const Uses& later) { return later.only_by(to); }))
        throw SimulationError(
            fmt::format("task graph: task {} uses version {} of buffer {} behind a later one", to,
                        access.version, access.buffer));
      const auto after_all = [&](const std::vector<int>& writers, Activity cause) {
        for (const int from : writers) {
          if (from != to) add({from, to, TaskEvent::kDone, cause});
        }
      };
      if (access.kind == AccessKind::kRead) {
        after_all(uses.writers, cause_of_empty(role));
        uses.readers.push_back(to);
        continue;
      }
      if (access.kind == AccessKind::kAccumulate) after_all(uses.writers, cause_of_empty(role));
      if (!uses.readers.empty())
        throw SimulationError(
            fmt::format("task graph: task {} writes version {} of buffer {} behind a task that reads it", to,
                        access.version, access.buffer));
      uses.writers.push_back(to);
      if (version == 0) continue;
      const Uses& before = versions[version - 1];
      // Readers have waited for the writers.
      if (before.readers.empty()) after_all(before.writers, cause_of_full(role));
      for (const int from : before.readers) {
        if (from != to)
          add({from, to, tasks[static_cast<std::size_t>(from)].operands_free, cause_of_full(role)});
      }
    }
  }
  return found;
}

}  // namespace tilebeat
