#include "planner/schedule/replay.h"

#include "base/types.h"
#include "planner/schedule/copy_requests.h"
#include "planner/schedule/ready_tasks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

namespace tilebeat {
namespace {

class Replay {
 public:
  Replay(const ScheduledTasks& scheduled, const Machine& machine)
      : scheduled_(scheduled),
        tasks_(scheduled.tasks),
        machine_(machine),
        copies_(machine.requests, scheduled.orders.size()),
        waits_(tasks_.size(), 0),
        is_released_(tasks_.size(), 0),
        unit_of_(tasks_.size()) {
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      for (const int later : scheduled.released.of(task)) ++nth(waits_, later);
      for (const int later : scheduled.completed.of(task)) ++nth(waits_, later);
    }
    for (const UnitOrder& order : scheduled.orders) {
      UnitState unit{&order};
      for (const int task : order.tasks) {
        nth(unit_of_, task) = count_of(units_);
        const TaskCost& cost = nth(tasks_, task).cost;
        unit.left_of(cost) += port_cycles(cost);
        bytes_left_ += cost.requests.all_bytes();
      }
      units_.push_back(unit);
    }
  }

  double run(double limit) {
    fetch_instructions(scheduled_.fetch);
    for (int unit = 0; unit < count_of(units_); ++unit) start_next(unit);
    while (least_ <= limit) {
      const double next = std::min(copies_.next(), events_.empty() ? kNever : events_.top().time);
      if (next == kNever || left_ == 0) return cycles_;
      now_ = next;
      least_ = std::max(least_, now_);
      if (copies_.next() <= now_) {
        copies_.step();
        take_outcomes();
        continue;
      }
      const Event event = events_.top();
      events_.pop();
      happen(event.number, event.kind);
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::max();
  enum class Kind { kOpens, kFree, kReleased, kDone, kToken };
  struct Event {
    double time;
    int number;  // of a task, or of the unit that opens
    Kind kind;
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.time, a.number, a.kind) > std::tie(b.time, b.number, b.kind);
    }
  };
  struct UnitState {
    const UnitOrder* order;
    std::size_t next = 0;  // index in `order`
    bool busy = false;
    // Cycles of the tasks that have not started, at the port from DRAM, or where they run, and at that to
    // DRAM.
    double left = 0, left_to_dram = 0;
    double& left_of(const TaskCost& cost) { return cost.requests.to_dram ? left_to_dram : left; }
  };
  static double port_cycles(const TaskCost& cost) {
    return cost.requests.count > 0 ? cost.requests.all_beats() : cost.cycles;
  }

  void start_next(int number) {
    UnitState& unit = nth(units_, number);
    if (unit.busy || unit.next == unit.order->tasks.size()) return;
    // The operands of the last task but one have been read.
    if (unit.next >= 2 && nth(is_released_, unit.order->tasks[unit.next - 2]) == 0) return;
    const int task = unit.order->tasks[unit.next];
    if (nth(waits_, task) > 0) return;
    if (unit.order->opens > now_) return events_.push({unit.order->opens, number, Kind::kOpens});
    ++unit.next, unit.busy = true;
    const TaskCost& cost = nth(tasks_, task).cost;
    expect_end(unit, cost);
    if (cost.requests.count > 0) {
      copies_.start(number, task, cost.requests, now_);
      return take_outcomes();
    }
    if (cost.dram_bytes > 0) read_tables(cost);
    const double end = now_ + std::max(cost.cycles, 1.0);
    events_.push({end, task, Kind::kFree});
    events_.push({end + cost.release, task, Kind::kReleased});
    events_.push({end + cost.latency, task, Kind::kDone});
  }
  // Notes before which cycle the replay does not end when a unit starts its next task.
  void expect_end(UnitState& unit, const TaskCost& cost) {
    constexpr double kSurely = 1 - 1e-6;  // sums are rounded
    double& left = unit.left_of(cost);
    least_ = std::max(
        {least_, now_ + kSurely * left, kSurely * bytes_left_ / machine_.requests.bytes_per_clock + now_});
    left -= port_cycles(cost);
    bytes_left_ -= cost.requests.all_bytes();
  }
  void take_outcomes() {
    copies_.each_outcome([this](const CopyRequests::Outcome& outcome) {
      const Kind kind = outcome.step == CopyRequests::Step::kFree   ? Kind::kFree
                        : outcome.step == CopyRequests::Step::kRead ? Kind::kReleased
                                                                    : Kind::kDone;
      events_.push({std::max(outcome.time, now_), outcome.task, kind});
    });
  }

  void happen(int number, Kind kind) {
    if (kind == Kind::kOpens) return start_next(number);
    if (kind == Kind::kToken) return take_token(number);
    const auto task = to_size(number);
    UnitState& unit = nth(units_, unit_of_[task]);
    if (kind == Kind::kFree) {
      unit.busy = false;
    } else if (kind == Kind::kReleased) {
      is_released_[task] = 1;
      wake(number, scheduled_.released.of(task));
    } else {
      --left_;
      cycles_ = now_;
      wake(number, scheduled_.completed.of(task));
    }
    start_next(unit_of_[task]);
  }
  void wake(int from, Followers::Range later) {
    for (const int number : later) {
      const bool far = nth(tasks_, from).processor != nth(tasks_, number).processor;
      if (far && machine_.signal_cycles > 0)
        events_.push({now_ + machine_.signal_cycles, number, Kind::kToken});
      else
        take_token(number);
    }
  }
  void take_token(int number) {
    if (--nth(waits_, number) == 0) start_next(nth(unit_of_, number));
  }

  void fetch_instructions(const InstructionFetch& fetch) {
    constexpr double kRequest = 256, kTrip = 40;  // bytes, and cycles from the request to its answer
    constexpr int kOutstanding = 2;               // of a processor
    if (fetch.bytes > 0)
      copies_.read_in_background(read_cost(fetch.bytes, kRequest, kOutstanding * fetch.processors, kTrip),
                                 fetch.cycles, 0);
  }
  // Tables that a matrix unit reads by a port of its own.
  void read_tables(const TaskCost& cost) {
    constexpr double kRequest = 1024, kTrip = 40;
    constexpr int kOutstanding = 8;
    copies_.read_in_background(read_cost(cost.dram_bytes, kRequest, kOutstanding, kTrip), cost.cycles, now_);
  }
  static RequestCost read_cost(double bytes, double request, int outstanding, double trip) {
    RequestCost cost;
    cost.count = to_int(static_cast<std::int64_t>(std::ceil(bytes / request)));
    cost.outstanding = outstanding;
    cost.bytes = static_cast<float>(bytes / cost.count);
    cost.buffer = cost.bytes * static_cast<float>(outstanding);
    cost.dram_trip = static_cast<float>(trip);
    return cost;
  }

  const ScheduledTasks& scheduled_;
  const std::vector<Task>& tasks_;
  const Machine& machine_;
  CopyRequests copies_;
  std::vector<int> waits_;         // by task: number of events that it still waits for
  std::vector<char> is_released_;  // by task
  std::vector<int> unit_of_;       // by task
  std::vector<UnitState> units_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t left_ = tasks_.size();  // tasks that are not complete
  double bytes_left_ = 0;             // over DRAM, of tasks that have not started
  double now_ = 0, cycles_ = 0;
  double least_ = 0;  // lower bound of the replay's cycles
};

}  // namespace

double replayed_cycles(const ScheduledTasks& scheduled, const Machine& machine, double limit) {
  return Replay(scheduled, machine).run(limit);
}

}  // namespace tilebeat
