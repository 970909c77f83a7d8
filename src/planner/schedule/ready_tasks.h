#pragma once

#include "base/types.h"
#include "planner/language/task_graph.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <vector>

namespace tilebeat {

/// Sort key of ready tasks: longest tail first, then longest task, then number.
using Rank = std::tuple<double, double, int>;

/// Tasks that become ready at a known time, by number.
class Soon {
 public:
  struct Entry {
    int task;
    double time;
  };
  void set(int task, double time) {
    const auto place = place_of(task);
    if (place != entries_.end() && place->task == task)
      place->time = time;
    else
      entries_.insert(place, {task, time});
  }
  void erase(int task) {
    const auto place = place_of(task);
    if (place != entries_.end() && place->task == task) entries_.erase(place);
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry>::iterator place_of(int task) {
    return std::lower_bound(entries_.begin(), entries_.end(), task,
                            [](const Entry& entry, int number) { return entry.task < number; });
  }
  std::vector<Entry> entries_;
};

/// The tasks that run on one unit of one processor.
struct Queue {
  std::priority_queue<Rank, std::vector<Rank>, std::greater<>> ready;  // unused for a matrix unit
  Soon soon;
  std::vector<int> sequence;  // a matrix unit's tasks, which keep the order in which they were added
  std::size_t next = 0;       // index in `sequence`
  std::vector<int> taken;     // the tasks that have started
  int ready_of_sequence = 0;
  int running = -1;
  int unreleased = 0;  // started tasks whose operands are still being read
  double opens = 0;    // time before which the processor decodes nothing
  double left = 0;     // cycles of the tasks that have not started
};

/// Tasks that follow each task of a graph, in the order of its dependencies.
class Followers {
 public:
  class Range {
   public:
    Range(const int* begin, const int* end) : begin_(begin), end_(end) {}
    const int* begin() const { return begin_; }
    const int* end() const { return end_; }

   private:
    const int *begin_, *end_;
  };

  /// Collects the dependencies with event `event`.
  Followers(std::size_t tasks, const std::vector<Dependency>& dependencies, TaskEvent event)
      : first_(tasks + 1, 0) {
    for (const Dependency& d : dependencies) {
      if (d.event == event) ++first_[to_size(d.from) + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    followers_.resize(first_.back());
    std::vector<std::size_t> at = first_;
    for (const Dependency& d : dependencies) {
      if (d.event == event) followers_[nth(at, d.from)++] = d.to;
    }
  }
  Range of(std::size_t task) const {
    return {followers_.data() + first_[task], followers_.data() + first_[task + 1]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<int> followers_;
};

}  // namespace tilebeat
