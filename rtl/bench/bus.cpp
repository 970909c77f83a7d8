#include "bus.h"

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {
namespace {

// Which requests the beats of a bus answer: memories may answer out of order, and `rdone` tells which request
// has been answered.
class Answers {
 public:
  Answers(const Port& done, std::uint64_t bus) : done_(done), bus_(bus) {}

  void ask(std::uint64_t address, std::uint64_t bytes) { asked_.push_back({number_++, address, bytes}); }
  // A beat: the number of its request, and whether it is the last one.
  std::pair<int, bool> take(std::uint64_t clock) {
    if (left_ == 0) {
      const std::uint64_t address = answer_ < done_.records() ? done_.number(answer_, 0) : 0;
      for (current_ = 0; current_ < asked_.size() && asked_[current_].address != address;) current_++;
      if (current_ == asked_.size())
        throw std::runtime_error("a beat in clock " + std::to_string(clock) + " answers no request");
      answer_++;
      left_ = (asked_[current_].bytes + bus_ - 1) / bus_;
    }
    const int number = asked_[current_].number;
    const bool last = --left_ == 0;
    if (last) asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(current_));
    return {number, last};
  }

 private:
  struct Request {
    int number;
    std::uint64_t address, bytes;
  };

  const Port& done_;
  std::uint64_t bus_;
  std::vector<Request> asked_;
  std::size_t answer_ = 0, current_ = 0;
  std::uint64_t left_ = 0;
  int number_ = 0;
};

}  // namespace

BusPort read_bus(const Folder& folder, const std::string& port, std::uint64_t bus_bytes) {
  const Port& requests = folder.at(port + ".req").port;
  const Port& beats = folder.at(port + ".rbeat").port;
  Register outstanding(folder.at(port + ".registers"), "outstanding");
  BusPort bus;
  if (requests.records() == 0) return bus;
  Answers answers(folder.at(port + ".rdone").port, bus_bytes);
  std::size_t request = 0, beat = 0;
  std::uint64_t under_way = 0;
  const std::uint64_t end = requests.clock(requests.records() - 1) + 4096;  // answers come later
  for (std::uint64_t clock = requests.clock(0); clock < end; clock++) {
    while (request < requests.records() && requests.clock(request) < clock) request++;
    const std::uint64_t next = outstanding.at(clock + 1);
    bool answered = false;
    if (beat < beats.records() && beats.clock(beat) == clock + 1) {
      const auto [number, last] = answers.take(clock + 1);
      beat++;
      bus.beats.push_back(number);
      answered = last;
    }
    const bool requested = request < requests.records() && requests.clock(request) == clock;
    const bool reads = requested && requests.number(request, 2) == 0;
    bool granted = false;
    if (reads) {
      granted = next + answered > under_way;
      if (granted) answers.ask(requests.number(request, 0), requests.number(request, 1));
    } else if (requested) {
      const bool again = request + 1 < requests.records() && requests.clock(request + 1) == clock + 1 &&
                         requests.number(request + 1, 0) == requests.number(request, 0);
      granted = !again;
    }
    if (beats.records() == 0) answered = under_way + granted > next;
    if (granted) bus.granted.insert(clock);
    if (answered) bus.answered.insert(clock + 1);
    under_way = next;
  }
  return bus;
}

}  // namespace bench
