#include "planner/schedule/schedule.h"

#include "base/types.h"
#include "planner/schedule/ready_tasks.h"
#include "planner/schedule/replay.h"
#include "planner/schedule/running_copies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace tilebeat {
namespace {

// The cycles of a schedule whose requests are not followed are above those of its replay by this factor at
// most; a replay that is even faster is not believed. So no schedule above it need be replayed. Where several
// engines move bytes over DRAM, ports of one have data while DRAM serves another.
double most_above_replay(const std::vector<Task>& tasks) {
  constexpr double kOneEngine = 1.05, kSeveral = 1.15;
  const Task* first = nullptr;
  for (const Task& task : tasks) {
    if (task.cost.requests.count == 0) continue;
    if (first == nullptr) first = &task;
    if (task.unit() != first->unit() || task.processor != first->processor) return kSeveral;
  }
  return kOneEngine;
}

// The unit whose queue holds a task while it waits.
Unit queue_unit(const Task& task, const Machine& machine) {
  const Unit unit = task.unit();
  const bool merged = machine.merged_dma_of > 0 &&
                      task.processor % machine.merged_dma_of == machine.merged_dma_of - 1 &&
                      (unit == Unit::kCdma || unit == Unit::kMvdma);
  return merged ? Unit::kGdma : unit;
}

// Numbers of queues, by processor and unit; -1: not assigned yet.
class QueueNumbers {
 public:
  int& of(std::size_t processor, Unit unit) {
    while (processor >= numbers_.size()) numbers_.emplace_back().fill(-1);
    return nth(numbers_[processor], unit);
  }

 private:
  std::vector<std::array<int, kQueuedUnits + 1>> numbers_;
};

class Simulation {
 public:
  Simulation(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine)
      : tasks_(graph.tasks()),
        waits_(tasks_.size(), 0),
        ready_(tasks_.size(), 0),
        queue_of_(tasks_.size()),
        cycles_(tasks_.size()),
        signal_(machine.signal_cycles),
        released_(tasks_.size(), dependencies, TaskEvent::kReleased),
        completed_(tasks_.size(), dependencies, TaskEvent::kDone) {
    result_.start.assign(tasks_.size(), 0), result_.end = result_.done = result_.start;
    for (const Dependency& d : dependencies) ++nth(waits_, d.to);
    QueueNumbers numbers;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      cycles_[i] = tasks_[i].cost.cycles;
      const auto processor = to_size(tasks_[i].processor);
      int& number = numbers.of(processor, queue_unit(tasks_[i], machine));
      if (number < 0) {
        number = count_of(queues_);
        queues_.emplace_back();
        if (processor < machine.starts.size()) queues_.back().opens = machine.starts[processor];
      }
      queue_of_[i] = number;
      Queue& queue = nth(queues_, number);
      queue.left += cycles_[i];
      if (tasks_[i].unit() == Unit::kMatrix) queue.sequence.push_back(to_int(i));
    }
    find_tails();
    dram_rate_ = machine.dram_bytes_per_clock * share_of_open_rows();
    copies_.emplace(machine, dram_rate_);
    fetch_instructions(machine);
    for (const Task& task : tasks_) bytes_left_ += task.cost.dram_bytes;
    expect_bytes();
    for (std::size_t i = 0; i < tasks_.size(); ++i) expect_start(i, 0);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (waits_[i] == 0) make_ready(to_int(i));
    }
  }

  // What the run has found; refers to this simulation.
  ScheduledTasks scheduled() const {
    ScheduledTasks scheduled{tasks_, released_, completed_, {}, fetch_};
    for (const Queue& queue : queues_) scheduled.orders.push_back({queue.opens, queue.taken});
    return scheduled;
  }
  Schedule run(double limit) {
    for (std::size_t q = 0; q < queues_.size(); ++q) touched_.push_back(to_int(q));
    while (least_ <= limit) {
      start_tasks();
      double next = events_.empty() ? kNever : events_.top().time;
      if (const double cycles = copies_->least_cycles(); cycles < kNever)
        next = std::min(next, now_ + cycles);
      if (next == kNever) break;
      least_ = std::max(least_, next);
      if (least_ > limit) break;
      bytes_left_ -= copies_->advance(next - now_);
      now_ = next;
      expect_bytes();
      copies_->each_ended([this](int task) { happen(task, Event::kEnds); });
      while (!events_.empty() && events_.top().time <= now_) {
        const Timed event = events_.top();
        events_.pop();
        happen(event.number(), event.event());
      }
    }
    result_.cycles = least_ > limit   ? std::numeric_limits<double>::infinity()
                     : tasks_.empty() ? 0
                                      : *std::max_element(result_.done.begin(), result_.done.end());
    return std::move(result_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::max();
  enum class Event { kOpens, kEnds, kReleased, kDone, kToken };
  static constexpr int kHeld = 2;  // instructions that a unit holds at most
  // Of events at the same time, the lowest task number comes first, then the first event in enum order.
  class Timed {
   public:
    Timed(double when, int number, Event event)
        : time(when), key_(std::int64_t{number} * kEvents + to_int(event)) {}
    int number() const { return to_int(key_ / kEvents); }
    Event event() const { return static_cast<Event>(key_ % kEvents); }
    friend bool operator>(const Timed& a, const Timed& b) {
      return a.time > b.time || (a.time == b.time && a.key_ > b.key_);
    }
    double time;

   private:
    static constexpr int kEvents = 8;
    std::int64_t key_;
  };

  // The tail of a task: a lower bound of the cycles that must follow it, from the tasks that wait for it and,
  // on a unit that computes, all tasks that were added later. A unit that takes the longest tail first delays
  // the end least (Jackson's rule).
  void find_tails() {
    std::vector<int> later_of_unit(queues_.size(), -1);
    tail_.assign(tasks_.size(), 0);
    for (std::size_t i = tasks_.size(); i-- > 0;) {
      const auto behind = [&](int number) {
        const auto next = to_size(number);
        tail_[i] = std::max(tail_[i], tail_[next] + cycles_[next]);
      };
      for (const int next : completed_.of(i)) behind(next);
      for (const int next : released_.of(i)) behind(next);
      const Unit unit = tasks_[i].unit();
      if (unit != Unit::kMatrix && unit != Unit::kVector) continue;
      int& later = nth(later_of_unit, queue_of_[i]);
      if (later >= 0) behind(later);
      later = to_int(i);
      // A vector unit may reorder its tasks.
      if (unit == Unit::kVector) tails_are_least_ = false;
    }
  }
  static constexpr double kSurely = 1 - 1e-6;  // sums are rounded
  // A lower bound of the time at which the bytes that have not moved yet are through DRAM.
  void expect_bytes() { least_ = std::max(least_, now_ + kSurely * bytes_left_ / dram_rate_); }
  // Notes that `task` does not start before `time`.
  void expect_start(std::size_t task, double time) {
    if (tails_are_least_) least_ = std::max(least_, time + kSurely * (cycles_[task] + tail_[task]));
  }
  // Fraction of DRAM's rate that is left where many streams close each other's open rows.
  double share_of_open_rows() const {
    std::vector<char> streams;  // by processor: whether it moves something over DRAM
    for (const Task& task : tasks_) {
      const auto processor = to_size(task.processor);
      if (processor >= streams.size()) streams.resize(processor + 1, 0);
      if (task.cost.dram_bytes > 0) streams[processor] = 1;
    }
    constexpr double kStreams = 16, kConflicts = 0.12;  // lost for each doubling beyond these streams
    const auto count = static_cast<double>(std::count(streams.begin(), streams.end(), 1));
    return 1 / (1 + kConflicts * std::max(0.0, std::log2(count / kStreams)));
  }
  // Begins to fetch instructions: all of them where processors start, else those that do not fit buffers that
  // earlier layers have filled, while the tasks run.
  void fetch_instructions(const Machine& machine) {
    std::map<int, double> fetched;  // bytes, by processor
    double least = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      fetched[tasks_[i].processor] += tasks_[i].cost.instructions * kInstructionBytes;
      least = std::max(least, cycles_[i] + tail_[i]);
    }
    for (const Queue& queue : queues_) least = std::max(least, queue.left);
    const bool starts = !machine.starts.empty();
    double bytes = machine.fetched_bytes;
    for (const auto& [processor, own] : fetched)
      bytes += starts ? own : std::max(0.0, own - machine.instruction_buffer);
    fetch_ = {bytes, starts ? 0 : least, count_of(fetched)};
    if (bytes > 0) copies_->fetch(fetch_.bytes, fetch_.processors, fetch_.cycles);
  }
  Rank rank(int number) const {
    const auto task = to_size(number);
    return {-tail_[task], -cycles_[task], number};
  }
  void make_ready(int number) {
    const auto task = to_size(number);
    Queue& queue = nth(queues_, queue_of_[task]);
    queue.soon.erase(number);
    ready_[task] = 1;
    if (queue.sequence.empty())
      queue.ready.push(rank(number));
    else
      ++queue.ready_of_sequence;
  }

  void start_tasks() {
    for (const int number : touched_) {
      Queue& queue = nth(queues_, number);
      const bool in_sequence = !queue.sequence.empty();
      if (queue.running >= 0 || queue.unreleased == kHeld) continue;
      if (in_sequence ? queue.ready_of_sequence == 0 : queue.ready.empty()) continue;
      if (queue.opens > now_) {
        events_.push({queue.opens, number, Event::kOpens});
        continue;
      }
      const int task = in_sequence ? queue.sequence[queue.next] : std::get<int>(queue.ready.top());
      if (nth(ready_, task) == 0) continue;
      if (const double time = worth_waiting(queue, task); time > now_) {
        events_.push({time, number, Event::kOpens});
        continue;
      }
      if (in_sequence)
        ++queue.next, --queue.ready_of_sequence;
      else
        queue.ready.pop();
      queue.running = task;
      queue.taken.push_back(task);
      ++queue.unreleased;
      const TaskCost& cost = nth(tasks_, task).cost;
      least_ = std::max(least_, now_ + queue.left);
      queue.left -= cost.cycles;
      expect_start(to_size(task), now_);
      nth(result_.start, task) = now_;
      const double end = now_ + std::max(cost.cycles, 1.0);
      if (RunningCopies::shares(cost))
        copies_->start(task, cost);
      else
        events_.push({end, task, Event::kEnds});
      if (cost.dram_bytes == 0) announce(task, end + cost.latency);
    }
    touched_.clear();
  }

  // The time at which a task with a longer tail becomes ready, if it is so soon that `task` had better wait;
  // else 0.
  double worth_waiting(const Queue& queue, int task) const {
    constexpr double kShare = 0.25;  // of the cycles of `task`
    const double latest = now_ + kShare * nth(tasks_, task).cost.cycles;
    for (const auto [other, time] : queue.soon) {
      if (time <= latest && nth(tail_, other) > nth(tail_, task)) return time;
    }
    return 0;
  }
  // Announces tasks that wait for nothing but the completion of `task` at `time`.
  void announce(int task, double time) {
    for (const int next : completed_.of(to_size(task))) {
      if (nth(waits_, next) != 1) continue;
      nth(queues_, nth(queue_of_, next)).soon.set(next, time + delay(task, next));
    }
  }
  // Cycles of a token from task to task: 0 within a processor.
  double delay(int from, int to) const {
    return nth(tasks_, from).processor == nth(tasks_, to).processor ? 0 : signal_;
  }

  void happen(int number, Event event) {
    if (event == Event::kOpens) {
      touched_.push_back(number);
      return;
    }
    if (event == Event::kToken) {
      take_token(number);
      return;
    }
    const auto task = to_size(number);
    if (event == Event::kEnds) {
      result_.end[task] = now_;
      const int queue = queue_of_[task];
      nth(queues_, queue).running = -1;
      touched_.push_back(queue);
      announce(number, now_ + tasks_[task].cost.latency);
      events_.push({now_ + tasks_[task].cost.release, number, Event::kReleased});
      events_.push({now_ + tasks_[task].cost.latency, number, Event::kDone});
    } else if (event == Event::kReleased) {
      --nth(queues_, queue_of_[task]).unreleased;
      touched_.push_back(queue_of_[task]);
      wake(number, released_.of(task));
    } else {
      result_.done[task] = now_;
      wake(number, completed_.of(task));
    }
  }
  void wake(int from, Followers::Range later) {
    for (const int number : later) {
      if (const double after = delay(from, number); after > 0) {
        events_.push({now_ + after, number, Event::kToken});
      } else {
        take_token(number);
      }
    }
  }
  void take_token(int number) {
    const auto task = to_size(number);
    if (--waits_[task] > 0) return;
    make_ready(number);
    touched_.push_back(queue_of_[task]);
  }

  const std::vector<Task>& tasks_;
  double dram_rate_ = 0;  // bytes a cycle
  std::optional<RunningCopies> copies_;
  InstructionFetch fetch_;
  std::vector<int> waits_;   // by task: number of events that it still waits for
  std::vector<char> ready_;  // by task: whether `waits_` is 0
  std::vector<int> queue_of_;
  std::vector<double> cycles_;      // by task: cycles of its unit
  double signal_;                   // cycles of a token from one processor to another
  std::vector<double> tail_;        // by task: cycles that must follow it
  bool tails_are_least_ = true;     // tails are lower bounds; not where a unit may reorder its tasks
  Followers released_, completed_;  // by task: tasks that wait for these events
  std::vector<Queue> queues_;
  std::vector<int> touched_;  // queues that may be able to start a task
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> events_;
  double now_ = 0;
  double bytes_left_ = 0;  // bytes that have not moved over DRAM
  double least_ = 0;       // lower bound of the schedule's cycles
  Schedule result_;
};

}  // namespace

Schedule schedule(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Machine& machine,
                  double limit) {
  Simulation simulation(graph, dependencies, machine);
  if (machine.requests.bytes_per_clock == 0) return simulation.run(limit);
  const double above = most_above_replay(graph.tasks());
  Schedule result = simulation.run(above * limit);
  if (result.cycles < std::numeric_limits<double>::infinity())
    result.cycles = std::max(result.cycles / above, replayed_cycles(simulation.scheduled(), machine, limit));
  return result;
}

double LeastCycles::now() {
  constexpr double kSurely = 1 - 1e-6;  // rates are rounded
  const bool follows = machine_.requests.bytes_per_clock > 0;
  for (; seen_ < graph_.tasks().size(); ++seen_) {
    const Task& task = graph_.tasks()[seen_];
    const RequestCost& requests = task.cost.requests;
    const bool followed = follows && requests.count > 0;
    const auto processor = to_size(task.processor);
    if (processor >= of_units_.size()) of_units_.resize(processor + 1, {});
    Busy& busy = nth(of_units_[processor], queue_unit(task, machine_));
    double& cycles = followed && requests.to_dram ? busy.to_dram : busy.cycles;
    most_ = std::max(most_, cycles += followed ? requests.all_beats() : task.cost.cycles);
    bytes_ += followed ? requests.all_bytes() : task.cost.dram_bytes;
  }
  const double rate = follows ? machine_.requests.bytes_per_clock : machine_.dram_bytes_per_clock;
  return kSurely * std::max(most_, bytes_ / rate);
}

}  // namespace tilebeat
