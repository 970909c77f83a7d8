#include "tilebeat/engines/rolling/sim/scratchpad_loader.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace tilebeat::rolling {

ScratchpadLoader::ScratchpadLoader(OperandName operand, const SimContext& context,
                                   const RollingConfig& config, const MemoryConfig& memory,
                                   Granularity granularity, int stride)
    : OperandLoader(operand, config),
      port(std::string(kOperandNames[static_cast<std::size_t>(operand)]), context, memory, config.port_bytes),
      granularity_(granularity),
      reads_images_(granularity == Granularity::kTile),
      stride_(stride),
      leaves_(static_cast<std::size_t>(config.line_queue)) {}

void ScratchpadLoader::begin(Job& job, Cycle now) {
  requests_.enter(Activity::kLanding, now);
  next_turn_ = std::max(next_turn_, now);
  if (granularity_ == Granularity::kClock) return;
  port.open_direct();
  if (!reads_images_) return;
  if (operand_ == OperandName::kB) {
    job.image_b.read(operand_, 0, job.schedule, job.lines, job.conv, job.setup.transposition, port, stride_);
  } else {
    const int last = job.run.first_kernel + job.run.kernels - 1;
    job.image_a.resize(static_cast<std::size_t>(last / job.setup.group_kernels - job.first_group() + 1));
  }
}

void ScratchpadLoader::request(Rounds& rounds, Cycle now, Activity idle) {
  if (granularity_ == Granularity::kClock) request_until(rounds, now);
  // In tile granularity nothing is left to be requested.
  const bool more = granularity_ == Granularity::kClock && next_round(rounds) != nullptr;
  if (!more && requests_.settled_at() <= now) requests_.enter(idle, now);
}

void ScratchpadLoader::request_ahead(Rounds& rounds) {
  request_until(rounds, std::numeric_limits<Cycle>::max());
}

void ScratchpadLoader::request_until(Rounds& rounds, Cycle last) {
  for (;;) {
    if (prepared_ - entered_ >= config_.line_queue) return;
    Round* round = next_round(rounds);
    if (round == nullptr) return;
    const Cycle room = prepared_ < config_.line_queue ? 0 : line(prepared_).leaves;
    const Cycle turn = std::max(next_turn_, room);
    if (turn > last) return;
    Line& made = prepare(*round);
    const int accesses = access(*round, made);
    stats.requests += accesses;
    requests_.spend(Activity::kLanding, turn - requests_.settled_at());
    requests_.spend(Activity::kBusy, std::max(1, accesses));
    next_turn_ = requests_.settled_at();
    made.ready = next_turn_ + port.latency();
    if (next_round(rounds) == nullptr) requests_.enter(Activity::kNoWork, next_turn_);
  }
}

// The accesses of a line, one a cycle from the present one on.
int ScratchpadLoader::access(Round& round, Line& made) {
  find_pieces(round, operand_, made);
  int accesses = 0, bytes = 0;
  for (const Piece& piece : made.pieces) {
    std::uint8_t* to = made.bytes.data() + piece.at;
    if (granularity_ == Granularity::kClock) {
      accesses += port.read(piece.address, to, piece.bytes, accesses);
    } else {
      port.direct_read(piece.address, to, piece.bytes);
      accesses += port.accesses(piece.address, piece.bytes);
    }
    bytes += piece.bytes;
  }
  stats.bytes += bytes;
  made.clocks = std::max(1, ceil_div(bytes, config_.port_bytes));
  return accesses;
}

const OperandImage& ScratchpadLoader::image_of(Round& round) {
  Job& job = *round.job;
  if (operand_ == OperandName::kB) return job.image_b;
  const int group = job.lines.group_of(round.block);
  OperandImage& image = job.image_a[static_cast<std::size_t>(group - job.first_group())];
  if (image.empty())
    image.read(operand_, group, job.schedule, job.lines, job.conv, job.setup.transposition, port, stride_);
  return image;
}

// Lines on their way from the address generator into registers, one after the other.
class ScratchpadLoader::Flow {
 public:
  Flow(ScratchpadLoader& loader, Cycle free, Activity release)
      : loader_(loader),
        free_(free),
        release_(release),
        turn_(loader.next_turn_),
        entry_(loader.ledger.settled_at()) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  Flow(Flow&&) = delete;
  Flow& operator=(Flow&&) = delete;
  ~Flow() {
    loader_.requests_.spend(Activity::kLanding, landing_);
    loader_.requests_.spend(Activity::kBusy, turn_ - loader_.next_turn_ - landing_);
    loader_.next_turn_ = turn_;
    loader_.ledger.spend(Activity::kMemory, memory_);
    loader_.ledger.spend(release_, waited_);
    loader_.ledger.spend(Activity::kBusy, entry_ - loader_.ledger.settled_at());
  }
  /// A line of `bytes` bytes that takes `accesses`.
  void pass(int accesses, int bytes) {
    Cycle& leaves = loader_.leaves_[loader_.oldest_];
    if (++loader_.oldest_ == loader_.leaves_.size()) loader_.oldest_ = 0;
    const Cycle begins = std::max(turn_, leaves);
    landing_ += begins - turn_;
    turn_ = begins + std::max(1, accesses);
    const Cycle ready = std::max(turn_ + loader_.port.latency(), entry_);
    memory_ += ready - entry_;
    const Cycle at = std::max(ready, free_);
    waited_ += at - ready;
    entry_ = at + (bytes <= loader_.config_.port_bytes ? 1 : ceil_div(bytes, loader_.config_.port_bytes));
    leaves = entry_ - 1;
    loader_.stats.requests += accesses;
    loader_.stats.bytes += bytes;
    ++loader_.stats.lines;
  }
  Cycle in_place() const { return entry_ - 1; }

 private:
  ScratchpadLoader& loader_;
  Cycle free_;
  Activity release_;
  Cycle turn_;   // the address generator is free from it on
  Cycle entry_;  // and so is the way into the registers
  Cycle landing_ = 0, memory_ = 0, waited_ = 0;
};

Cycle ScratchpadLoader::load_round(Round& round, Cycle free, Activity release,
                                   std::vector<PostParameter>& records) {
  const bool is_b = operand_ == OperandName::kB;
  const bool across = is_b && round.job->setup.transposition == Transposition::kWhileLoading;
  Cycle in_place = 0;
  {
    Flow flow(*this, free, release);
    if (!across) pass_lines(round, flow);
    if (across || (is_b && round.brings_records)) pass_others(round, flow, records);
    in_place = flow.in_place();
  }
  if (round.ends_job) {
    requests_.enter(Activity::kNoWork, next_turn_);
    ledger.enter(Activity::kNoWork, in_place + 1);
  }
  return in_place;
}

// In the order of OperandLines::loads.
void ScratchpadLoader::pass_lines(Round& round, Flow& flow) {
  const RollingSchedule& schedule = round.job->schedule;
  const OperandImage& image = image_of(round);
  const Span cuts = schedule.cuts_of_round(round.round);
  const bool is_a = operand_ == OperandName::kA;
  const int first = is_a ? round.block.rows.begin : round.block.columns.begin;
  std::int64_t elements = 0;
  for (int cut = cuts.begin; cut < cuts.end(); ++cut) elements += schedule.cut(cut).size;
  for (int part = 0; part < round.block.parts; ++part) {
    const Span lines = schedule.lines_of(round.block, operand_, part);
    const int begin = first + lines.begin, end = first + lines.end();
    stats.elements += elements * lines.size;
    if (is_a) {
      for (int line = begin; line < end; ++line) {
        for (int cut = cuts.begin; cut < cuts.end(); ++cut)
          flow.pass(image.accesses(cut, line), image.bytes(cut, line));
      }
    } else {
      for (int cut = cuts.begin; cut < cuts.end(); ++cut) {
        for (int line = begin; line < end; ++line)
          flow.pass(image.accesses(cut, line), image.bytes(cut, line));
      }
    }
  }
}

// Elements of several lines, and records.
void ScratchpadLoader::pass_others(Round& round, Flow& flow, std::vector<PostParameter>& records) {
  std::vector<Load> loads;
  round.job->lines.loads(operand_, round.block, round.round, round.brings_records, loads);
  std::vector<Piece> pieces;
  for (const Load& load : loads) {
    if (load.kind == Load::Kind::kLine) continue;
    round.job->lines.find(operand_, round.block, round.round, load, pieces);
    int accesses = 0, bytes = 0;
    for (const Piece& piece : pieces) {
      accesses += port.accesses(piece.address, piece.bytes);
      bytes += piece.bytes;
    }
    flow.pass(accesses, bytes);
    if (load.kind == Load::Kind::kAcross) {
      stats.elements += load.filled.size;
      continue;
    }
    std::array<std::uint8_t, OperandLines::kRecordBytes> record{};
    port.direct_read(pieces.front().address, record.data(), OperandLines::kRecordBytes);
    records.push_back(decode_post_parameter(record.data()));
  }
}

}  // namespace tilebeat::rolling
