#pragma once

#include "config/dram_config.h"
#include "fabric/dram_timing.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tilebeat::testing {

/// The rules of the JEDEC standards over a log of commands of one channel, computed apart from the product's
/// code: it keeps the times of all commands and looks back at them.
class JedecRules {
 public:
  explicit JedecRules(const DramConfig& config) : config_(config) {}

  /// The name of the rule that `command` breaks, or nothing.
  std::string broken_by(const DramCommand& command) {
    const std::string rule = look(command);
    if (rule.empty()) apply(command);
    return rule;
  }
  std::int64_t refreshes() const { return refreshes_; }
  /// Cycles that cover a duration.
  Cycle clocks(Picoseconds duration) const {
    Cycle count = duration / config_.clock_ps;
    return count * config_.clock_ps < duration ? count + 1 : count;
  }
  Cycle data() const { return config_.burst_length / config_.transfers_per_clock; }
  /// A read's data, and two cycles in which the bus turns round, before a write's.
  Cycle read_to_write() const { return clocks(config_.tCL_ps) + data() + 2 - clocks(config_.tCWL_ps); }
  /// From WR to what follows its last data beat by `duration`.
  Cycle behind_write(Picoseconds duration) const {
    return clocks(config_.tCWL_ps) + data() + clocks(duration);
  }

 private:
  struct Event {
    Cycle at;
    int bank;
  };
  using Events = std::vector<Event>;

  int group(int bank) const { return bank % config_.bank_groups; }
  bool is_open(int bank) const { return open_.count(bank) > 0; }
  // The latest of `events` that `of` selects, or long ago.
  template <class Of>
  static Cycle latest(const Events& events, Of of) {
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if (of(event->bank)) return event->at;
    }
    return -1'000'000'000;
  }

  std::string look(const DramCommand& c) const {
    const auto same_bank = [&](int bank) { return bank == c.bank; };
    const auto same_group = [&](int bank) { return group(bank) == group(c.bank); };
    const auto any = [](int) { return true; };
    const auto soon = [&](const Events& events, auto of, Cycle apart) {
      return c.cycle - latest(events, of) < apart;
    };
    if (c.cycle <= last_) return "one command a cycle";
    if (soon(refreshed_, any, clocks(config_.tRFC_ps))) return "tRFC";
    switch (c.kind) {
      case DramCommandKind::kActivate:
        if (is_open(c.bank)) return "ACT of an open bank";
        if (soon(precharged_, same_bank, clocks(config_.tRP_ps))) return "tRP";
        if (soon(activated_, any, clocks(config_.tRRD_ps))) return "tRRD";
        if (soon(activated_, same_group, clocks(config_.tRRD_L_ps))) return "tRRD_L";
        if (activated_.size() >= 4 &&
            c.cycle - activated_[activated_.size() - 4].at < clocks(config_.tFAW_ps))
          return "tFAW";
        return "";
      case DramCommandKind::kPrecharge:
        if (!is_open(c.bank)) return "PRE of a closed bank";
        return look_at_precharge(c.bank, c.cycle);
      case DramCommandKind::kPrechargeAll:
        for (const auto& [bank, row] : open_) {
          const std::string rule = look_at_precharge(bank, c.cycle);
          if (!rule.empty()) return rule;
        }
        return "";
      case DramCommandKind::kRead:
      case DramCommandKind::kWrite:
        if (!is_open(c.bank)) return "access to a closed bank";
        if (open_.at(c.bank) != c.row) return "access to another row";
        if (soon(activated_, same_bank, clocks(config_.tRCD_ps))) return "tRCD";
        if (c.kind == DramCommandKind::kRead) {
          if (soon(read_, any, std::max(clocks(config_.tCCD_ps), data()))) return "tCCD";
          if (soon(read_, same_group, clocks(config_.tCCD_L_ps))) return "tCCD_L";
          if (soon(written_, any, behind_write(config_.tWTR_ps))) return "tWTR";
          if (soon(written_, same_group, behind_write(config_.tWTR_L_ps))) return "tWTR_L";
        } else {
          if (soon(written_, any, std::max(clocks(config_.tCCD_ps), data()))) return "tCCD";
          if (soon(written_, same_group, clocks(config_.tCCD_L_WR_ps))) return "tCCD_L_WR";
          if (soon(read_, any, read_to_write())) return "read to write";
        }
        if (first_beat(c) < data_end_) return "two bursts on the data bus";
        return "";
      case DramCommandKind::kRefresh:
        if (!open_.empty()) return "REF with an open bank";
        if (soon(precharged_, any, clocks(config_.tRP_ps))) return "tRP before REF";
        if (c.cycle < (refreshes_ + 1) * clocks(config_.tREFI_ps)) return "REF before it is due";
        return "";
      case DramCommandKind::kNone:
        break;
    }
    return "not a command";
  }
  std::string look_at_precharge(int precharged, Cycle at) const {
    const auto same_bank = [&](int bank) { return bank == precharged; };
    if (at - latest(activated_, same_bank) < clocks(config_.tRAS_ps)) return "tRAS";
    if (at - latest(read_, same_bank) < clocks(config_.tRTP_ps)) return "tRTP";
    if (at - latest(written_, same_bank) < behind_write(config_.tWR_ps)) return "tWR";
    return "";
  }
  Cycle first_beat(const DramCommand& c) const {
    return c.cycle + clocks(c.kind == DramCommandKind::kRead ? config_.tCL_ps : config_.tCWL_ps);
  }

  void apply(const DramCommand& c) {
    last_ = c.cycle;
    switch (c.kind) {
      case DramCommandKind::kActivate:
        open_[c.bank] = c.row;
        activated_.push_back({c.cycle, c.bank});
        break;
      case DramCommandKind::kPrecharge:
        open_.erase(c.bank);
        precharged_.push_back({c.cycle, c.bank});
        break;
      case DramCommandKind::kPrechargeAll:
        for (const auto& [bank, row] : open_) precharged_.push_back({c.cycle, bank});
        open_.clear();
        break;
      case DramCommandKind::kRead:
      case DramCommandKind::kWrite:
        (c.kind == DramCommandKind::kRead ? read_ : written_).push_back({c.cycle, c.bank});
        data_end_ = first_beat(c) + data();
        break;
      default:
        refreshed_.push_back({c.cycle, -1});
        ++refreshes_;
    }
  }

  DramConfig config_;
  Cycle last_ = -1, data_end_ = 0;
  std::int64_t refreshes_ = 0;
  std::map<int, std::int64_t> open_;
  Events activated_, precharged_, read_, written_, refreshed_;
};

}  // namespace tilebeat::testing
