#include "tilebeat/engines/rolling/sim/operand_loader.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat::rolling {
namespace {

constexpr std::uint64_t kBurstBoundary = 4096;  // that no burst crosses

// Half of the queue at most: while some lines wait, others are requested.
int batch_of(const RollingConfig& config) {
  const int lanes = std::min(config.rows, config.columns);
  return std::max(1, std::min(config.line_queue / 2, config.request_bytes / lanes));
}

}  // namespace

OperandLoader::OperandLoader(const char* name, OperandName operand, const SimContext& context,
                             const RollingConfig& config, int max_outstanding, sc_core::sc_event& changed)
    : port(name, context, max_outstanding, changed),
      config_(config),
      operand_(operand),
      batch_(batch_of(config)),
      lines_(static_cast<std::size_t>(config.line_queue)) {}

void OperandLoader::take(Cycle now) {
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

// Lines that have entered by clock `now`.
std::int64_t OperandLoader::left(Cycle now) {
  while (!leaves_.empty() && leaves_.front() <= now) leaves_.pop_front();
  return entered_ - static_cast<std::int64_t>(leaves_.size());
}

// The next line has its turn: its pieces are to be requested. False when there is none, or no room for it.
bool OperandLoader::prepare(Rounds& rounds, Cycle now) {
  if (prepared_ - left(now) >= config_.line_queue) return false;
  Round* round = rounds.at(round_);
  if (round == nullptr) return false;
  if (next_load_ == 0) {
    loads_ = round->job->lines.loads(operand_, round->block, round->round,
                                     operand_ == OperandName::kB && round->brings_records);
  }
  Line& made = line(prepared_);
  made.begins_round = next_load_ == 0;
  made.load = loads_[next_load_++];
  made.round = round_;
  made.ends_round = next_load_ == loads_.size();
  made.bytes.resize(static_cast<std::size_t>(made.load.filled.size));
  made.missing = 0;
  round->job->lines.find(operand_, round->block, round->round, made.load, made.pieces);
  for (const Piece& piece : made.pieces) {
    pending_.push_back({{prepared_, piece.at, piece.bytes}, piece.address});
    made.missing += piece.bytes;
  }
  made.clocks = std::max(1, ceil_div(made.missing, config_.port_bytes));
  if (made.missing == 0) made.ready = now + 1;
  ++prepared_;
  if (made.ends_round) ++round_, next_load_ = 0;
  return true;
}

void OperandLoader::request(Rounds& rounds, Cycle now, Activity idle) {
  if (!port.granted(now)) {
    port.ledger.enter(port.waits_for(), now);
    return;
  }
  while (pending_.empty()) {
    const bool room = prepared_ - left(now) + batch_ <= config_.line_queue;
    if (room && prepare(rounds, now)) continue;
    const bool more = rounds.at(round_) != nullptr;
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
    if (pending_.empty() && !prepare(rounds, now)) break;
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

const OperandLoader::Line* OperandLoader::front() const {
  if (entered_ == prepared_) return nullptr;
  const Line& front = lines_[static_cast<std::size_t>(entered_ % config_.line_queue)];
  return front.missing == 0 ? &front : nullptr;
}

void OperandLoader::enter(Cycle at, Activity release) {
  const Line& front = line(entered_);
  const Cycle ready = std::max(ledger.settled_at(), std::min(front.ready, at));
  ledger.spend(Activity::kMemory, ready - ledger.settled_at());
  ledger.spend(release, at - ready);
  ledger.spend(Activity::kBusy, front.clocks);
  next_entry_ = at + front.clocks;
  leaves_.push_back(at + front.clocks - 1);
  ++entered_;
  ++stats.lines;
}

void OperandLoader::schedule(NextClock& next) const {
  // The clock in which there is room for a batch of lines.
  const std::int64_t queued = prepared_ - entered_ + static_cast<std::int64_t>(leaves_.size());
  const std::int64_t surplus = queued + batch_ - config_.line_queue;
  if (surplus > 0 && surplus <= static_cast<std::int64_t>(leaves_.size()))
    next.at(leaves_[static_cast<std::size_t>(surplus - 1)]);
  if (port.ledger.current() == Activity::kBusy) next.at(port.ledger.settled_at() + 1);
}

}  // namespace tilebeat::rolling
