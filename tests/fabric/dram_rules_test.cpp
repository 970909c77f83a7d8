// An independent checker of the timing rules over the command log of random traffic (SPEC HI-6).
#include "tilebeat/fabric/dram_channel.h"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

/// Cycles that cover a duration, computed apart from the product's code.
Cycle clocks(Picoseconds duration, Picoseconds period) {
  Cycle count = 0;
  while (count * period < duration) ++count;
  return count;
}

/// Replays a log and complains about the first command that breaks a rule.
class RuleChecker {
 public:
  explicit RuleChecker(const DramConfig& config) : config_(config) {}

  void check(const DramCommand& command) {
    RC_ASSERT(command.cycle > last_command_);
    last_command_ = command.cycle;
    RC_ASSERT(apart(refresh_, config_.tRFC_ps, command.cycle));
    switch (command.kind) {
      case DramCommandKind::kActivate:
        RC_ASSERT(open_.count(command.bank) == 0);
        RC_ASSERT(apart(latest(precharged_, command.bank), config_.tRP_ps, command.cycle));
        open_[command.bank] = command.row;
        activated_[command.bank] = command.cycle;
        break;
      case DramCommandKind::kPrecharge:
        close(command.bank, command.cycle);
        break;
      case DramCommandKind::kPrechargeAll:
        while (!open_.empty()) close(open_.begin()->first, command.cycle);
        break;
      case DramCommandKind::kRead:
      case DramCommandKind::kWrite:
        RC_ASSERT(open_.count(command.bank) == 1 && open_[command.bank] == command.row);
        RC_ASSERT(apart(latest(activated_, command.bank), config_.tRCD_ps, command.cycle));
        RC_ASSERT(apart(column_, config_.tCCD_ps, command.cycle));
        RC_ASSERT(column_ < 0 || command.cycle - column_ >= config_.burst_length / 2);
        column_ = command.cycle;
        break;
      case DramCommandKind::kRefresh:
        RC_ASSERT(open_.empty());
        for (const auto& [bank, at] : precharged_) RC_ASSERT(apart(at, config_.tRP_ps, command.cycle));
        RC_ASSERT(command.cycle >= (refreshes_ + 1) * clocks(config_.tREFI_ps, config_.clock_ps));
        refresh_ = command.cycle;
        ++refreshes_;
        break;
      case DramCommandKind::kNone:
        RC_FAIL("not a command");
    }
  }
  std::int64_t refreshes() const { return refreshes_; }

 private:
  static Cycle latest(const std::map<int, Cycle>& times, int bank) {
    const auto found = times.find(bank);
    return found == times.end() ? -1 : found->second;
  }
  bool apart(Cycle before, Picoseconds duration, Cycle after) const {
    return before < 0 || after - before >= clocks(duration, config_.clock_ps);
  }
  void close(int bank, Cycle at) {
    RC_ASSERT(open_.erase(bank) == 1);
    RC_ASSERT(apart(latest(activated_, bank), config_.tRAS_ps, at));
    precharged_[bank] = at;
  }

  DramConfig config_;
  Cycle last_command_ = -1;
  Cycle column_ = -1;
  Cycle refresh_ = -1;
  std::int64_t refreshes_ = 0;
  std::map<int, std::int64_t> open_;
  std::map<int, Cycle> activated_;
  std::map<int, Cycle> precharged_;
};

DramConfig random_config() {
  DramConfig config = dram_preset(static_cast<DramPreset>(*rc::gen::inRange(0, 4)));
  config.starvation_cap = *rc::gen::inRange(0, 6);
  config.queue_depth = *rc::gen::inRange(1, 33);
  config.tREFI_ps = *rc::gen::element<Picoseconds>(800000, 1200000, 3900000);
  config.refresh = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) config.tCCD_ps = *rc::gen::inRange<Picoseconds>(0, 12000);
  return config;
}

RC_GTEST_PROP(DramRules, HI_6_random_traffic_obeys_every_rule, ()) {
  const DramConfig config = random_config();
  DramChannel channel(config, 0);
  RuleChecker checker(config);
  std::int64_t commands = 0;
  channel.listen([&](const DramCommand& command) {
    checker.check(command);
    ++commands;
  });
  const auto total = static_cast<std::uint32_t>(*rc::gen::inRange(1, 150));
  const int rows = *rc::gen::inRange(1, 5);
  const int banks = *rc::gen::inRange(1, config.banks + 1);
  const Cycle longest_gap = *rc::gen::element<Cycle>(1, 20, 400, 20000);
  std::vector<int> overtakings(total);
  std::vector<bool> served(total);
  std::uint32_t entered = 0;
  std::uint32_t done = 0;
  Cycle next_arrival = 0;
  Cycle now = 0;
  while (done < total) {
    if (entered < total && next_arrival <= now && channel.has_room(-1)) {
      const int bank = *rc::gen::inRange(0, banks);
      const std::int64_t row = *rc::gen::inRange(0, rows);
      channel.enter({bank, row, *rc::gen::arbitrary<bool>(), entered++, 0, 64}, now + 1);
      next_arrival = now + *rc::gen::inRange<Cycle>(0, longest_gap);
      continue;
    }
    const bool can_enter = entered < total && channel.has_room(-1);
    const Cycle next = std::min(channel.wake(), can_enter ? next_arrival : DramChannel::kNever);
    RC_ASSERT(next != DramChannel::kNever);
    now = next;
    if (channel.wake() != now) continue;
    const auto result = channel.step(now);
    if (!result) continue;
    const std::uint32_t tag = result->burst.request;
    served[tag] = true;
    ++done;
    const auto oldest =
        static_cast<std::uint32_t>(std::find(served.begin(), served.end(), false) - served.begin());
    if (oldest < tag) RC_ASSERT(++overtakings[oldest] <= config.starvation_cap);
  }
  const Cycle end = now + 100000;
  channel.settle(end);
  const DramChannelStatistics& stats = channel.statistics();
  Cycle sum = 0;
  for (const Cycle part : stats.cycles) sum += part;
  RC_ASSERT(sum == end);
  RC_ASSERT(stats.row_hits + stats.row_misses + stats.row_conflicts == total);
  RC_ASSERT(stats.refreshes == checker.refreshes());
  RC_ASSERT(stats.cycles[static_cast<std::size_t>(Activity::kBusy)] == total * (config.burst_length / 2));
  RC_ASSERT(commands >= total);
}

}  // namespace
}  // namespace tilebeat
