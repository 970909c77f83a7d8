#include "planner/language/task_graph.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tilebeat {

std::int64_t Arena::floor_of(const Floors& floors, std::int64_t bytes) {
  const auto above = floors.upper_bound(bytes);
  return above == floors.begin() ? 0 : std::prev(above)->second;
}

void Arena::raise(Floors& floors, std::int64_t bytes, std::int64_t begin) {
  floors[bytes] = begin;
  auto above = floors.upper_bound(bytes);
  while (above != floors.end() && above->second <= begin) above = floors.erase(above);
}

std::uint64_t Arena::allocate(std::int64_t bytes, Lifetime lifetime) {
  Floors& floors = floors_[{lifetime.first, lifetime.last}];
  std::int64_t begin = floor_of(floors, bytes);
  auto place = std::lower_bound(places_.begin(), places_.end(), begin - longest_,
                                [](const Place& p, std::int64_t at) { return p.begin < at; });
  for (; place != places_.end(); ++place) {
    if (!place->lifetime.overlaps(lifetime)) continue;
    if (begin + bytes <= place->begin) break;
    begin = std::max(begin, align_up(place->end, alignment_));
  }
  if (begin + bytes > bytes_)
    throw UserError(fmt::format("{} bytes do not fit: {} of {} are taken", bytes, begin, bytes_));
  const Place made{begin, begin + bytes, lifetime};
  places_.insert(std::upper_bound(places_.begin(), places_.end(), made,
                                  [](const Place& a, const Place& b) { return a.begin < b.begin; }),
                 made);
  used_ = std::max(used_, made.end);
  longest_ = std::max(longest_, bytes);
  raise(floors, bytes, begin);
  return base_ + to_unsigned(begin);
}

namespace {

// A list of tasks in the order in which they were added: indices of the first and last user.
struct UserList {
  int first = -1, last = -1;
  bool empty() const { return first < 0; }
};

// The tasks that use one version of a buffer.
struct Uses {
  UserList writers, readers;
};

class Dependencies {
 public:
  explicit Dependencies(const TaskGraph& graph)
      : graph_(graph), last_(graph.tasks().size(), {-1, -1, {}, {}}), used_(buffers(), 0) {
    std::vector<int> versions(buffers(), 0);
    std::size_t accesses = 0;
    for (const Task& task : graph.tasks()) {
      accesses += task.accesses.size();
      for (const Access& access : task.accesses) {
        int& of_buffer = nth(versions, access.buffer);
        of_buffer = std::max(of_buffer, access.version + 1);
      }
    }
    first_.reserve(buffers());
    std::size_t all = 0;
    for (const int of_buffer : versions) first_.push_back(all), all += to_size(of_buffer);
    uses_.resize(all);
    users_.reserve(accesses);
    found_.reserve(accesses);
  }

  std::vector<Dependency> run() {
    const std::vector<Task>& tasks = graph_.tasks();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const Access& access : tasks[i].accesses) add(to_int(i), access);
    }
    return std::move(found_);
  }

 private:
  std::size_t buffers() const { return to_size(graph_.buffers()); }

  void add(int to, const Access& access) {
    const BufferRole role = graph_.role(access.buffer);
    const auto buffer = to_size(access.buffer);
    Uses& uses = uses_[first_[buffer] + to_size(access.version)];
    check_later(to, access);
    used_[buffer] = std::max(used_[buffer], access.version + 1);
    if (access.kind == AccessKind::kRead) {
      after_all(uses.writers, to, cause_of_empty(role));
      append(uses.readers, to);
      return;
    }
    if (access.kind == AccessKind::kAccumulate) after_all(uses.writers, to, cause_of_empty(role));
    if (!uses.readers.empty())
      throw SimulationError(
          fmt::format("task graph: task {} writes version {} of buffer {} behind a task that reads it", to,
                      access.version, access.buffer));
    append(uses.writers, to);
    if (access.version == 0) return;
    const Uses& before = *(&uses - 1);
    // Readers have already waited for the writers.
    if (before.readers.empty()) after_all(before.writers, to, cause_of_full(role));
    for (int i = before.readers.first; i >= 0; i = user(i).next) {
      const int from = user(i).task;
      if (from != to) depend({from, to, nth(graph_.tasks(), from).operands_free, cause_of_full(role)});
    }
  }
  void after_all(const UserList& writers, int to, Activity cause) {
    for (int i = writers.first; i >= 0; i = user(i).next) {
      if (user(i).task != to) depend({user(i).task, to, TaskEvent::kDone, cause});
    }
  }
  void depend(const Dependency& d) {
    Dependency& before = nth(last_, d.from);
    if (before.to == d.to && before.event == d.event && before.cause == d.cause) return;
    before = d;
    found_.push_back(d);
  }

  // Only the task itself may already use later versions.
  void check_later(int to, const Access& access) const {
    const auto buffer = to_size(access.buffer);
    for (int version = access.version + 1; version < used_[buffer]; ++version) {
      const Uses& later = uses_[first_[buffer] + to_size(version)];
      if (!only_by(later.writers, to) || !only_by(later.readers, to))
        throw SimulationError(
            fmt::format("task graph: task {} uses version {} of buffer {} behind a later one", to,
                        access.version, access.buffer));
    }
  }
  bool only_by(const UserList& list, int task) const {
    for (int i = list.first; i >= 0; i = user(i).next) {
      if (user(i).task != task) return false;
    }
    return true;
  }

  struct User {
    int task, next;
  };
  const User& user(int number) const { return nth(users_, number); }
  void append(UserList& list, int task) {
    const auto number = count_of(users_);
    users_.push_back({task, -1});
    if (list.empty())
      list.first = number;
    else
      nth(users_, list.last).next = number;
    list.last = number;
  }

  const TaskGraph& graph_;
  // By `from`: the latest dependency found; two tasks often share many buffers.
  std::vector<Dependency> last_;
  std::vector<int> used_;           // by buffer: its versions from 0 on that have been used so far
  std::vector<std::size_t> first_;  // by buffer: where its versions begin
  std::vector<Uses> uses_;          // by buffer and version
  std::vector<User> users_;
  std::vector<Dependency> found_;
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
  return count_of(tasks_) - 1;
}

bool TaskGraph::is_first_use(int processor, const std::optional<Access>& content, std::uint64_t address) {
  const std::optional<BufferId> buffer = content ? std::optional(content->buffer) : std::nullopt;
  return first_uses_.try_emplace({processor, buffer, content ? content->version : 0, address}, tasks_.size())
      .second;
}

void TaskGraph::shrink(const Size& size) {
  for (auto use = first_uses_.begin(); use != first_uses_.end();)
    use = use->second >= size.tasks ? first_uses_.erase(use) : std::next(use);
  tasks_.erase(tasks_.begin() + to_signed(size.tasks), tasks_.end());
  roles_.resize(size.buffers);
  also_.reset();  // somebody may have failed while he added tasks
}

BufferRing::BufferRing(TaskGraph& graph, BufferRole role, int count)
    : first_(graph.buffers()), count_(count) {
  for (int i = 0; i < count; ++i) graph.add_buffer(role);
}

BufferRing::Filling BufferRing::next() {
  const Filling filling{next_, first_ + next_, version_};
  if (++next_ == count_) next_ = 0, ++version_;
  return filling;
}

std::vector<Dependency> dependencies_of(const TaskGraph& graph) {
  return Dependencies(graph).run();
}

}  // namespace tilebeat
