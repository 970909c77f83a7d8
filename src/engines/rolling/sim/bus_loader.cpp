#include "tilebeat/engines/rolling/sim/bus_loader.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <string>

namespace tilebeat::rolling {
namespace {

constexpr std::uint64_t kBurstBoundary = 4096;  // that no burst crosses

// Half of the queue at most: while some lines wait, others are requested.
int batch_of(const RollingConfig& config) {
  const int lanes = std::min(config.rows, config.columns);
  return std::max(1, std::min(config.line_queue / 2, config.request_bytes / lanes));
}

}  // namespace

BusLoader::BusLoader(OperandName operand, const SimContext& context, const RollingConfig& config,
                     int max_outstanding, sc_core::sc_event& changed)
    : OperandLoader(operand, config),
      port(std::string(kOperandNames[static_cast<std::size_t>(operand)]).c_str(), context, max_outstanding,
           changed),
      batch_(batch_of(config)) {}

void BusLoader::take(Cycle now) {
  while (port.front_ready(now)) {
    std::vector<std::uint8_t> data = port.take_front();
    std::vector<Fragment> fragments = std::move(bursts_.front());
    bursts_.pop_front();
    auto from = data.cbegin();
    for (const Fragment& f : fragments) {
      Line& filled = line(f.line);
      std::copy_n(from, f.bytes, filled.bytes.begin() + f.at);
      from += f.bytes;
      filled.missing -= f.bytes;
      if (filled.missing == 0) filled.ready = now;
    }
    fragments.clear();
    spare_.push_back(std::move(fragments));
    port.recycle(std::move(data));
  }
}

// Lines that have entered by cycle `now`.
std::int64_t BusLoader::left(Cycle now) {
  while (left_ < entered_ && line(left_).leaves <= now) ++left_;
  return left_;
}

// The next line has its turn: its pieces are to be requested. False when there is none, or no room for it.
bool BusLoader::prepare_next(Rounds& rounds, Cycle now) {
  if (prepared_ - left(now) >= config_.line_queue) return false;
  Round* round = next_round(rounds);
  if (round == nullptr) return false;
  const std::int64_t number = prepared_;
  Line& made = prepare(*round);
  find_pieces(*round, operand_, made);
  for (const Piece& piece : made.pieces) {
    pending_.push_back({{number, piece.at, piece.bytes}, piece.address});
    made.missing += piece.bytes;
  }
  made.clocks = std::max(1, ceil_div(made.missing, config_.port_bytes));
  if (made.missing == 0) made.ready = now + 1;
  return true;
}

void BusLoader::request(Rounds& rounds, Cycle now, Activity idle) {
  if (!port.granted(now)) {
    port.ledger.enter(port.waits_for(), now);
    return;
  }
  while (pending_.empty()) {
    const bool room = prepared_ - left(now) + batch_ <= config_.line_queue;
    if (room && prepare_next(rounds, now)) continue;
    const bool more = next_round(rounds) != nullptr;
    port.ledger.enter(more ? Activity::kLanding : port.empty() ? idle : Activity::kMemory, now);
    return;
  }
  if (!port.has_room()) {
    port.ledger.enter(Activity::kOutstanding, now);
    return;
  }
  const std::uint64_t address = pending_.front().address;
  const int most =
      std::min(config_.request_bytes, static_cast<int>(kBurstBoundary - address % kBurstBoundary));
  std::vector<Fragment> fragments;
  if (!spare_.empty()) {
    fragments = std::move(spare_.back());
    spare_.pop_back();
  }
  int bytes = 0;
  while (bytes < most) {
    if (pending_.empty() && !prepare_next(rounds, now)) break;
    if (pending_.empty()) continue;  // a line of padding
    Pending& next = pending_.front();
    if (next.address != address + static_cast<std::uint64_t>(bytes)) break;
    const int taken = std::min(next.fragment.bytes, most - bytes);
    fragments.push_back({next.fragment.line, next.fragment.at, taken});
    bytes += taken;
    next.address += static_cast<std::uint64_t>(taken);
    next.fragment.at += taken, next.fragment.bytes -= taken;
    if (next.fragment.bytes == 0) pending_.pop_front();
  }
  bursts_.push_back(std::move(fragments));
  ++stats.requests;
  stats.bytes += bytes;
  port.issue(tlm::TLM_READ_COMMAND, address, bytes, port.buffer(bytes), now);
}

void BusLoader::schedule(NextClock& next) const {
  // The cycle in which there is room for a batch of lines.
  const std::int64_t surplus = prepared_ - left_ + batch_ - config_.line_queue;
  if (surplus > 0 && left_ + surplus <= entered_) next.at(line(left_ + surplus - 1).leaves);
  if (port.ledger.current() == Activity::kBusy) next.at(port.ledger.settled_at() + 1);
}

}  // namespace tilebeat::rolling
