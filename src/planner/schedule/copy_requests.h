#pragma once

#include "base/types.h"
#include "planner/language/task_graph.h"
#include "planner/schedule/schedule.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace tilebeat {

/// The requests of DMA engines at DRAM, one by one. An engine reads the bytes of its copies, in their order,
/// into its buffer and writes them in the same order. Its port has `outstanding` requests under way, whose
/// answers are taken in order; a write that waits for its turn keeps reads from the port. DRAM serves
/// requests in the order of their arrival, one at a time.
class CopyRequests {
 public:
  /// What happens to a task: its engine is free for the next copy, its source has been read, it is complete.
  enum class Step { kFree, kRead, kDone };
  struct Outcome {
    int task;
    Step step;
    double time;  ///< in cycles; not before the cycle in which it becomes known
  };

  CopyRequests(const Machine::Requests& dram, std::size_t engines)
      : dram_(dram), next_refresh_(dram.refresh_interval), engines_(engines) {}

  /// Starts a copy on engine `engine`, whose earlier copies have all been freed. The cost outlives it.
  void start(int engine, int task, const RequestCost& cost, double now);
  /// Reads bytes by such requests, which are nobody's copy, evenly in `cycles` cycles or more.
  void read_in_background(const RequestCost& cost, double cycles, double now);
  /// The time of the next event; the largest double: there is none.
  double next() const {
    if (soon_) return soon_->time;
    return events_.empty() ? std::numeric_limits<double>::max() : events_.top().time;
  }
  /// Carries out the next event.
  void step();
  /// Calls `happens` with what has become known since the last call.
  template <class Function>
  void each_outcome(const Function& happens) {
    for (const Outcome& outcome : outcomes_) {
      if (outcome.task != kNobody) happens(outcome);
    }
    outcomes_.clear();
  }

 private:
  static constexpr int kNobody = -1;
  enum class Kind { kRead, kWrite, kWriteArrives };
  struct Event {
    double time;
    int number;  // of events at the same time, the one that was added first comes first
    int engine;
    Kind kind;
    friend bool operator>(const Event& a, const Event& b) {
      return a.time > b.time || (a.time == b.time && a.number > b.number);
    }
  };
  // The bytes of a request, between the two sides of an engine.
  struct Part {
    int task;
    bool last;     // of its task
    double ready;  // when they have been read
    const RequestCost* cost;
  };
  struct Room {
    double time, bytes;
  };
  struct Engine {
    int task = kNobody;
    int left = 0;                       // requests of the task that have not been read
    double interval = 1;                // cycles between two of its reads, at least
    const RequestCost* cost = nullptr;  // of the task
    bool waits_for_room = false, waits_for_answer = false;
    bool writes = false;  // a write is at the port, from `wanted` on and until `granted`
    double wanted = 0, granted = 0;
    double next_read = 0, written = 0;  // when the next request may read; when the last one is written
    double returned = 0, answered = 0;  // the last byte of reads so far; the last answer to a write so far
    double held = 0;                    // bytes of the buffer, those in `rooms` included
    std::deque<Part> stream;            // not written yet
    std::deque<Part> sent;              // writes that have not arrived at DRAM
    std::vector<double> answers;        // times of the latest ones, in order
    std::deque<Room> rooms;             // bytes that become free, in order
  };

  void add_event(double time, int engine, Kind kind) {
    const Event event{time, added_++, engine, kind};
    if (soon_ && *soon_ > event) {
      events_.push(*soon_);
      soon_ = event;
    } else if (!soon_ && (events_.empty() || events_.top() > event)) {
      soon_ = event;
    } else {
      events_.push(event);
    }
  }
  Event take_event();
  double served(double arrival, double bytes);
  static std::optional<double> place_at_port(Engine& engine, int outstanding, double time);
  static void add_answer(Engine& engine, double time);
  static bool reserve(Engine& engine, double& time);
  void add_part(Engine& engine, double ready);
  void go_on_reading(int number, double time);
  void go_on_writing(int number, double now);
  void read(int number, double now);
  void write(int number, double now);
  void arrive(int number, double now);

  Machine::Requests dram_;
  double dram_free_ = 0, next_refresh_;
  std::vector<Engine> engines_;
  std::deque<RequestCost> in_background_;  // costs of reads that are nobody's copy
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::optional<Event> soon_;  // the next event, in front of all others; most requests follow one another
  int added_ = 0;
  std::vector<Outcome> outcomes_;
};

}  // namespace tilebeat
