#include "fabric/dram_channel.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::uint64_t bit(int bank) {
  return std::uint64_t{1} << bank;
}

bool is_column(DramCommandKind kind) {
  return kind == DramCommandKind::kRead || kind == DramCommandKind::kWrite;
}

}  // namespace

DramChannel::DramChannel(const DramConfig& config, int index)
    : index_(index),
      queue_depth_(config.queue_depth),
      starvation_cap_(config.starvation_cap),
      burst_bytes_(config.burst_length * config.data_bits / 8),
      ecc_(config.ecc_bits > 0),
      clocks_(dram_clocks(config)),
      banks_(clocks_, config.banks, config.bank_groups),
      queue_(std::max(config.queue_depth, 1)),
      next_refresh_(clocks_.refi > 0 ? clocks_.refi : kNever) {
  if (config.banks < 1 || config.banks > kMaxBanks) {
    throw UserError(fmt::format("dram: banks {} must be 1 to {}", config.banks, kMaxBanks));
  }
  if (config.bank_groups < 1 || config.bank_groups > config.banks ||
      (config.bank_groups & (config.bank_groups - 1)) != 0) {
    throw UserError(fmt::format("dram: bank_groups {} must be a power of two up to banks ({})",
                                config.bank_groups, config.banks));
  }
  if (clocks_.refi > 0 && clocks_.refi <= clocks_.refresh_and_burst()) {
    throw UserError(fmt::format("dram: refreshes every {} cycles leave no time for bursts, which take {}",
                                clocks_.refi, clocks_.refresh_and_burst()));
  }
  if (queue_depth_ < 1) throw UserError(fmt::format("dram: queue_depth {} must be at least 1", queue_depth_));
  if (starvation_cap_ < 0)
    throw UserError(fmt::format("dram: starvation_cap {} must not be negative", starvation_cap_));
  arrivals_.reserve(to_size(queue_depth_));
}

bool DramChannel::has_room(Cycle edge) const {
  const int leaving = edge >= 0 && edge == last_served_at_ ? 1 : 0;
  return fill() + leaving < queue_depth_;
}

void DramChannel::enter(const DramBurst& burst, Cycle visible_from) {
  arrivals_.push_back({burst, visible_from});
  wake_ = std::min(wake_, visible_from);
}

std::optional<DramChannel::Served> DramChannel::step(Cycle now) {
  refresh_due_before(now + 1);
  account(now);
  const auto hidden = std::find_if(arrivals_.begin(), arrivals_.end(),
                                   [now](const Arrival& arrival) { return arrival.visible_from > now; });
  for (auto arrival = arrivals_.begin(); arrival != hidden; ++arrival) {
    Entry& entry = queue_.push();
    entry.burst = arrival->burst;
    const int bank = arrival->burst.bank;
    const bool first = ++nth(waiting_, bank) == 1;
    if (first) waiting_banks_ |= bit(bank);
    std::size_t& next = nth(next_of_, bank);
    if (first || (!hits(next) && banks_.open_row(bank) == arrival->burst.row)) next = queue_.size() - 1;
    entry.read_first =
        ecc_ && arrival->burst.write && arrival->burst.bytes < static_cast<std::uint32_t>(burst_bytes_);
  }
  if (hidden != arrivals_.begin()) planned_valid_ = false;
  arrivals_.erase(arrivals_.begin(), hidden);

  std::optional<Served> served;
  if (!planned_valid_) planned_ = choose(now);
  if (planned_.at == now) {
    served = issue(planned_);
    planned_ = choose(now + 1);
  }
  planned_valid_ = true;
  wake_ = queue_.empty() ? kNever : std::min(planned_.at, next_refresh_);
  if (!arrivals_.empty()) wake_ = std::min(wake_, arrivals_.front().visible_from);
  return served;
}

DramChannel::Choice DramChannel::choose(Cycle from) const {
  Choice best;
  const bool starved = overtaken_ >= starvation_cap_;
  for_each_bit(waiting_banks_, [&](int bank) {
    // The bank of the oldest burst may be precharged despite hits when the burst has waited too long.
    const bool of_oldest = starved && queue_[0].burst.bank == bank;
    consider_entry(best, of_oldest ? 0 : nth(next_of_, bank), from, starved);
  });
  return best;
}

// Further hits of a bank wait for the oldest one, even if a hit of the other direction could be issued
// earlier: bursts to one address keep their order.
void DramChannel::consider_entry(Choice& best, std::size_t index, Cycle from, bool starved) const {
  const Entry& entry = queue_[index];
  const int bank = entry.burst.bank;
  const std::int64_t open_row = banks_.open_row(bank);
  if (open_row == entry.burst.row) {
    if (starved && index != 0) return;
    const auto kind = entry.writes() ? DramCommandKind::kWrite : DramCommandKind::kRead;
    DramEarliest earliest = banks_.earliest_column(bank, entry.writes());
    if (entry.ready > earliest.at) earliest = {entry.ready, Activity::kPartialWrite};
    consider(best, kind, index, from, earliest);
  } else if (open_row == DramBanks::kClosed) {
    consider(best, DramCommandKind::kActivate, index, from, banks_.earliest_activate(bank));
  } else {
    consider(best, DramCommandKind::kPrecharge, index, from, banks_.earliest_precharge(bank));
  }
}

void DramChannel::consider(Choice& best, DramCommandKind kind, std::size_t index, Cycle from,
                           DramEarliest earliest) {
  const Cycle at = std::max(from, earliest.at);
  if (at > best.at) return;
  if (at == best.at) {
    const bool column = is_column(kind), other = is_column(best.kind);
    if (column != other ? other : index > best.index) return;
  }
  best = {kind, index, at, earliest.at > from ? earliest.rule : Activity::kDataLatency};
}

bool DramChannel::hits(std::size_t index) const {
  const DramBurst& burst = queue_[index].burst;
  return burst.row == banks_.open_row(burst.bank);
}

void DramChannel::find_next_of(int bank) {
  if ((waiting_banks_ & bit(bank)) == 0) return;
  std::size_t index = 0, oldest = queue_.size();
  for (; index < queue_.size(); ++index) {
    if (queue_[index].burst.bank != bank) continue;
    if (hits(index)) break;
    oldest = std::min(oldest, index);
  }
  nth(next_of_, bank) = index < queue_.size() ? index : oldest;
}

void DramChannel::tell_wait(const Choice& choice) {
  const std::uint32_t request = queue_[choice.index].burst.request;
  if (wait_listener_) {
    const bool others = last_command_at_ >= 0 && last_request_ != request;
    wait_listener_({request, others ? last_command_at_ + 1 : -1, refresh_done_, choice.at, choice.waits_for});
  }
  last_request_ = request;
  last_command_at_ = choice.at;
}

std::optional<DramChannel::Served> DramChannel::issue(const Choice& choice) {
  tell_wait(choice);
  Entry& entry = queue_[choice.index];
  const int bank = entry.burst.bank;
  switch (choice.kind) {
    case DramCommandKind::kActivate:
      banks_.activate(bank, entry.burst.row, choice.at);
      find_next_of(bank);
      entry.activated = true;
      report(choice.kind, choice.at, bank, entry.burst.row);
      return std::nullopt;
    case DramCommandKind::kPrecharge:
      report(choice.kind, choice.at, bank, banks_.open_row(bank));
      banks_.precharge(bank, choice.at);
      find_next_of(bank);
      entry.precharged = true;
      return std::nullopt;
    default:
      banks_.column(bank, choice.kind == DramCommandKind::kWrite, choice.at);
      report(choice.kind, choice.at, bank, entry.burst.row, entry.burst.column);
      if (!entry.read_first) return serve(choice.index, choice.at);
      entry.read_first = false;
      entry.ready = transfer(false, choice.at);
      ++statistics_.partial_writes;
      return std::nullopt;
  }
}

Cycle DramChannel::transfer(bool write, Cycle now) {
  const Cycle first = now + (write ? clocks_.cwl : clocks_.cl);
  statistics_.bus_bytes += burst_bytes_;
  ledger_.add_beats(first, clocks_.data);
  return first + clocks_.data;
}

DramChannel::Served DramChannel::serve(std::size_t index, Cycle now) {
  const Entry entry = queue_[index];
  queue_.erase(index);
  if (--nth(waiting_, entry.burst.bank) == 0) waiting_banks_ &= ~bit(entry.burst.bank);
  for_each_bit(waiting_banks_, [&](int bank) {
    std::size_t& next = nth(next_of_, bank);
    if (next > index) --next;
  });
  find_next_of(entry.burst.bank);
  overtaken_ = index == 0 ? 0 : overtaken_ + 1;
  last_served_at_ = now;
  if (entry.precharged) {
    ++statistics_.row_conflicts;
  } else if (entry.activated) {
    ++statistics_.row_misses;
  } else {
    ++statistics_.row_hits;
  }
  (entry.burst.write ? statistics_.write_bytes : statistics_.read_bytes) += entry.burst.bytes;
  return {entry.burst, transfer(entry.burst.write, now)};
}

void DramChannel::refresh_due_before(Cycle end) {
  while (next_refresh_ < end) {
    account(next_refresh_);
    const DramBanks::RefreshTimes times = banks_.refresh(next_refresh_);
    for_each_bit(waiting_banks_, [this](int bank) { find_next_of(bank); });
    if (times.precharge_at >= 0) report(DramCommandKind::kPrechargeAll, times.precharge_at, -1, -1);
    report(DramCommandKind::kRefresh, times.refresh_at, -1, -1);
    refresh_at_ = times.refresh_at;
    refresh_done_ = times.done;
    refresh_counted_ = false;
    planned_valid_ = false;
    next_refresh_ += clocks_.refi;
  }
}

void DramChannel::account(Cycle upto) {
  if (!refresh_counted_ && refresh_at_ < upto) {
    ++statistics_.refreshes;
    refresh_counted_ = true;
  }
  // A refresh is in progress since it fell due; the ledger was settled up to that cycle.
  ledger_.advance(std::min(upto, refresh_done_), Activity::kRefresh);
  if (queue_.empty()) {
    ledger_.advance(std::min(upto, ledger_.beats_end()), Activity::kDataLatency);
    ledger_.advance(upto, Activity::kNoWork);
  } else {
    ledger_.advance(upto, planned_.waits_for);
  }
}

void DramChannel::settle(Cycle end) {
  refresh_due_before(end);
  account(end);
  statistics_.settled_at = ledger_.settled_at();
  statistics_.cycles = ledger_.cycles();
}

void DramChannel::report(DramCommandKind kind, Cycle cycle, int bank, std::int64_t row, int column) const {
  if (listener_) listener_({cycle, index_, kind, bank, row, column});
}

}  // namespace tilebeat
