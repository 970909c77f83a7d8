// Lines on their way into registers, a stretch at a time, against the same lines one by one (SPEC RO-6).
#include "engines/rolling/sim/job.h"
#include "random_cases.h"

#include <deque>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using rolling::Departures;
using rolling::LineFlow;

/// What a round's lines did.
struct Told {
  Cycle turn, entry, landing, memory, waited;
  bool operator==(const Told& o) const {
    return turn == o.turn && entry == o.entry && landing == o.landing && memory == o.memory &&
           waited == o.waited;
  }
};

/// SPEC RO-6, line by line: a line is requested when the one `queue` lines before it is in place.
class PlainFlow {
 public:
  PlainFlow(int queue, int latency, int port_bytes)
      : latency_(latency), port_bytes_(port_bytes), in_place_(static_cast<std::size_t>(queue), -1) {}
  void begin(Cycle free, Cycle now) {
    free_ = free;
    told_ = {std::max(told_.turn, now), std::max(told_.entry, now), 0, 0, 0};
  }
  void line(int accesses, int elements) {
    while (told_.turn < in_place_.front()) ++told_.turn, ++told_.landing;
    in_place_.pop_front();
    told_.turn += std::max(accesses, 1);
    Cycle at = told_.entry;
    for (; at < told_.turn + latency_; ++at) ++told_.memory;
    for (; at < free_; ++at) ++told_.waited;
    const int clocks = (elements + port_bytes_ - 1) / port_bytes_;
    told_.entry = at + clocks;
    in_place_.push_back(told_.entry - 1);
  }
  const Told& told() const { return told_; }

 private:
  int latency_, port_bytes_;
  std::deque<Cycle> in_place_;
  Cycle free_ = 0;
  Told told_{};
};

TEST(RollingLineFlow, RO_6_stretches_of_lines_take_the_cycles_of_their_lines) {
  std::int64_t landed = 0, waited = 0, missed = 0;
  check_cases(2000, [&] {
    const int queue = number(1, 40), latency = number(0, 12), port_bytes = number(1, 16);
    PlainFlow plain(queue, latency, port_bytes);
    Departures departures(queue);
    Cycle turn = 0, entry = 0, free = 0;
    for (int round = 0; round < 12; ++round) {
      // Groups become free later and later; at times a run begins anew.
      free += number(0, 60);
      const Cycle now = one_in(4) ? entry + number(0, 30) : 0;
      turn = std::max(turn, now), entry = std::max(entry, now);
      plain.begin(free, now);
      LineFlow flow(departures, {latency, port_bytes}, free, turn, entry);
      std::int64_t lines = 0;
      for (int part = number(1, 3); part > 0; --part) {
        const int count = number(1, 60), accesses = number(0, 3), elements = number(1, 3 * port_bytes);
        const bool is_short = one_in(2);
        for (int i = 0; i < count; ++i)
          plain.line(is_short ? number(0, 1) : accesses, is_short ? number(1, port_bytes) : elements);
        if (is_short)
          flow.pass_short(count);
        else
          for (int i = 0; i < count; ++i) flow.pass(accesses, elements);
        lines += count;
      }
      RC_ASSERT(plain.told() ==
                (Told{flow.turn(), flow.entry(), flow.landing(), flow.memory(), flow.waited()}));
      RC_ASSERT(flow.lines() == lines);
      turn = flow.turn(), entry = flow.entry();
      landed += flow.landing(), waited += flow.waited(), missed += flow.memory();
    }
  });
  EXPECT_GT(landed, 10'000);
  EXPECT_GT(waited, 10'000);
  EXPECT_GT(missed, 10'000);
}

}  // namespace
}  // namespace tilebeat::testing
