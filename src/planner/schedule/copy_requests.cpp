#include "planner/schedule/copy_requests.h"

#include <algorithm>

namespace tilebeat {

void CopyRequests::start(int number, int task, const RequestCost& cost, double now) {
  Engine& engine = nth(engines_, number);
  engine.task = task, engine.cost = &cost, engine.left = cost.count;
  go_on_reading(number, now);
}

void CopyRequests::read_in_background(const RequestCost& cost, double cycles, double now) {
  Engine& engine = engines_.emplace_back();
  engine.cost = &in_background_.emplace_back(cost), engine.left = cost.count;
  engine.interval = std::max(1.0, cycles / cost.count);
  go_on_reading(count_of(engines_) - 1, now);
}

CopyRequests::Event CopyRequests::take_event() {
  const Event event = soon_ ? *soon_ : events_.top();
  if (soon_)
    soon_.reset();
  else
    events_.pop();
  return event;
}

void CopyRequests::step() {
  const Event event = take_event();
  switch (event.kind) {
    case Kind::kRead:
      return read(event.engine, event.time);
    case Kind::kWrite:
      return write(event.engine, event.time);
    case Kind::kWriteArrives:
      return arrive(event.engine, event.time);
  }
}

// The cycle in which DRAM has moved the bytes of a request.
double CopyRequests::served(double arrival, double bytes) {
  dram_free_ = std::max(dram_free_, arrival);
  while (dram_.refresh_interval > 0 && dram_free_ >= next_refresh_) {
    dram_free_ = std::max(dram_free_, next_refresh_ + dram_.refresh_cycles);
    next_refresh_ += dram_.refresh_interval;
  }
  return dram_free_ += bytes / dram_.bytes_per_clock;
}

// The first time from `time` on at which a request more may be under way; nothing: not known before a write
// arrives.
std::optional<double> CopyRequests::place_at_port(Engine& engine, int outstanding, double time) {
  const auto most = to_size(outstanding);
  std::vector<double>& answers = engine.answers;
  if (answers.size() > most) answers.erase(answers.begin(), answers.end() - outstanding);
  const std::size_t requests = engine.answers.size() + engine.sent.size();
  if (requests < most) return time;
  if (requests - most >= engine.answers.size()) return {};
  return std::max(time, engine.answers[requests - most]);
}

void CopyRequests::add_answer(Engine& engine, double time) {
  engine.answers.insert(std::upper_bound(engine.answers.begin(), engine.answers.end(), time), time);
}

// Reserves room of the buffer for a request from `time` on, which may become later; false: not known when.
bool CopyRequests::reserve(Engine& engine, double& time) {
  constexpr double kRounding = 1e-3;
  while (engine.held + engine.cost->bytes > engine.cost->buffer + kRounding) {
    // A request that is longer than the buffer passes through.
    if (engine.rooms.empty() && !engine.stream.empty()) return false;
    if (engine.rooms.empty()) break;
    time = std::max(time, engine.rooms.front().time);
    engine.held -= engine.rooms.front().bytes;
    engine.rooms.pop_front();
  }
  engine.held += engine.cost->bytes;
  return true;
}

// Adds what a request has read to the stream.
void CopyRequests::add_part(Engine& engine, double ready) {
  const bool last = --engine.left == 0;
  engine.stream.push_back({engine.task, last, ready, engine.cost});
  if (!last) return;
  outcomes_.push_back({engine.task, Step::kFree, engine.next_read});
  outcomes_.push_back({engine.task, Step::kRead, ready});
}

void CopyRequests::go_on_reading(int number, double time) {
  Engine& engine = nth(engines_, number);
  engine.waits_for_room = false;
  while (engine.left > 0) {
    double at = std::max(time, engine.next_read);
    if (!reserve(engine, at)) {
      engine.waits_for_room = true;
      return;
    }
    if (!engine.cost->to_dram) return add_event(at, number, Kind::kRead);
    engine.next_read = at + engine.cost->other_beats;
    add_part(engine, engine.next_read + engine.cost->other_trip);
    go_on_writing(number, at);
  }
}

void CopyRequests::read(int number, double now) {
  Engine& engine = nth(engines_, number);
  const RequestCost& cost = *engine.cost;
  if (engine.writes && engine.wanted <= now)
    return add_event(std::max(engine.granted, now) + 1, number, Kind::kRead);
  const std::optional<double> place = place_at_port(engine, cost.outstanding, now);
  if (!place) {
    engine.waits_for_answer = true;
    return;
  }
  if (*place > now) return add_event(*place, number, Kind::kRead);
  engine.next_read = now + engine.interval;
  const double from_dram = served(now + cost.request_trip, cost.bytes) + cost.dram_trip;
  engine.returned = std::max(engine.returned, from_dram) + cost.dram_beats;
  add_answer(engine, engine.returned);
  add_part(engine, engine.returned);
  go_on_writing(number, now);
  if (engine.left > 0) go_on_reading(number, engine.next_read);
}

void CopyRequests::go_on_writing(int number, double now) {
  Engine& engine = nth(engines_, number);
  for (; !engine.writes && !engine.stream.empty(); engine.stream.pop_front()) {
    const Part& part = engine.stream.front();
    const RequestCost& cost = *part.cost;
    if (cost.to_dram) {
      const std::optional<double> place = place_at_port(engine, cost.outstanding, std::max(now, part.ready));
      if (!place) return;
      engine.wanted = *place;
      engine.granted = std::max(engine.wanted, engine.written);
      engine.writes = true;
      return add_event(engine.granted, number, Kind::kWrite);
    }
    engine.written = std::max(engine.written + cost.other_beats, part.ready);
    engine.rooms.push_back({engine.written, cost.bytes});
    if (part.last)
      outcomes_.push_back({part.task, Step::kDone, engine.written + cost.other_beats + cost.other_trip});
  }
}

void CopyRequests::write(int number, double now) {
  Engine& engine = nth(engines_, number);
  const RequestCost& cost = *engine.stream.front().cost;
  engine.written = now + cost.dram_beats;
  engine.rooms.push_back({now, cost.bytes});
  add_event(engine.written + cost.request_trip, number, Kind::kWriteArrives);
  engine.sent.push_back(engine.stream.front());
  engine.stream.pop_front();
  engine.writes = false;
  go_on_writing(number, now);
  if (engine.waits_for_room) go_on_reading(number, now);
}

void CopyRequests::arrive(int number, double now) {
  Engine& engine = nth(engines_, number);
  const Part part = engine.sent.front();
  engine.sent.pop_front();
  engine.answered = std::max(engine.answered, served(now, part.cost->bytes) + part.cost->dram_trip);
  add_answer(engine, engine.answered);
  if (part.last) outcomes_.push_back({part.task, Step::kDone, engine.answered});
  if (std::exchange(engine.waits_for_answer, false)) add_event(now, number, Kind::kRead);
  go_on_writing(number, now);
  if (engine.waits_for_room) go_on_reading(number, now);
}

}  // namespace tilebeat
