#include "tilebeat/engines/rolling/sim/scratchpad_loader.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace tilebeat::rolling {
namespace {

constexpr std::size_t kImages = 4;  // of kernels that are kept

}  // namespace

ScratchpadLoader::ScratchpadLoader(OperandName operand, const SimContext& context,
                                   const RollingConfig& config, const MemoryConfig& memory,
                                   Granularity granularity, int stride)
    : OperandLoader(operand, config),
      port(std::string(kOperandNames[static_cast<std::size_t>(operand)]), context, memory, config.port_bytes),
      granularity_(granularity),
      reads_images_(granularity == Granularity::kTile),
      stride_(stride),
      leaves_(static_cast<std::size_t>(config.line_queue)) {}

// What the lines of B depend on, besides the memory.
ScratchpadLoader::KernelsKey ScratchpadLoader::key_of(const Job& job) {
  return {static_cast<std::int64_t>(job.run.weights),
          job.run.kernels,
          job.schedule.product().n,
          job.schedule.lanes(),
          job.setup.block_kernels,
          static_cast<std::int64_t>(job.setup.transposition),
          job.conv.weight_zero_point,
          static_cast<std::int64_t>(job.conv.weight_type)};
}

void ScratchpadLoader::begin(Job& job, Cycle now) {
  requests_.enter(Activity::kLanding, now);
  next_turn_ = std::max(next_turn_, now);
  if (granularity_ == Granularity::kClock) return;
  const bool unchanged = port.open_direct() == ScratchpadPort::Contents::kUnchanged;
  if (!reads_images_) return;
  if (operand_ == OperandName::kB) {
    // Runs of the same kernels follow one another: what was read is valid until the memory is written.
    const KernelsKey key = key_of(job);
    if (!unchanged) images_b_.clear();
    auto known =
        std::find_if(images_b_.begin(), images_b_.end(), [&](const auto& i) { return i.first == key; });
    if (known == images_b_.end()) {
      if (images_b_.size() == kImages) images_b_.pop_front();
      images_b_.emplace_back(key, std::make_shared<OperandImage>());
      known = std::prev(images_b_.end());
      known->second->read(operand_, 0, job.schedule, job.lines, job.conv, job.setup.transposition, port,
                          stride_);
    }
    job.image_b = known->second;
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
    requests_.spend(Activity::kLanding, turn - requests_.settled_at(), CycleOrder::kMixed);
    requests_.spend(Activity::kBusy, std::max(1, accesses), CycleOrder::kMixed);
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
  if (operand_ == OperandName::kB) return *job.image_b;
  const int group = job.lines.group_of(round.block);
  OperandImage& image = job.image_a[static_cast<std::size_t>(group - job.first_group())];
  if (image.empty())
    image.read(operand_, group, job.schedule, job.lines, job.conv, job.setup.transposition, port, stride_);
  return image;
}

// Lines on their way from the address generator into registers, one after the other.
class ScratchpadLoader::Flow {
 public:
  Flow(ScratchpadLoader& loader, Cycle free)
      : leaves_(loader.leaves_.data()),
        places_(loader.leaves_.size()),
        oldest_(loader.oldest_),
        latency_(loader.port.latency()),
        port_bytes_(loader.config_.port_bytes),
        free_(free),
        turn_(loader.next_turn_),
        entry_(loader.ledger.settled_at()) {}

  /// A line of `bytes` bytes that takes `accesses`.
  void pass(int accesses, int bytes) {
    Cycle& leaves = leaves_[oldest_];
    if (++oldest_ == places_) oldest_ = 0;
    const Cycle begins = std::max(turn_, leaves);
    landing_ += begins - turn_;
    turn_ = begins + std::max(1, accesses);
    const Cycle ready = std::max(turn_ + latency_, entry_);
    memory_ += ready - entry_;
    const Cycle at = std::max(ready, free_);
    waited_ += at - ready;
    entry_ = at + (bytes <= port_bytes_ ? 1 : ceil_div(bytes, port_bytes_));
    leaves = entry_ - 1;
    requests_ += accesses;
    bytes_ += bytes;
    ++lines_;
  }
  /// `lines` lines of `bytes` bytes in all, each of one access and with one cycle to enter.
  void pass_short(int lines, std::int64_t bytes) {
    Cycle turn = turn_, entry = entry_, landing = 0, memory = 0, waited = 0;
    for (int i = 0; i < lines; ++i) {
      Cycle& leaves = leaves_[oldest_];
      if (++oldest_ == places_) oldest_ = 0;
      const Cycle begins = std::max(turn, leaves);
      landing += begins - turn;
      turn = begins + 1;
      const Cycle ready = std::max(turn + latency_, entry);
      memory += ready - entry;
      leaves = std::max(ready, free_);
      waited += leaves - ready;
      entry = leaves + 1;
    }
    turn_ = turn, entry_ = entry;
    landing_ += landing, memory_ += memory, waited_ += waited;
    requests_ += lines, lines_ += lines;
    bytes_ += bytes;
  }
  /// The cycle in which the last line is in place.
  Cycle in_place() const { return entry_ - 1; }
  /// Tells the loader what happened.
  void settle(ScratchpadLoader& loader, Activity release) const {
    loader.oldest_ = oldest_;
    loader.requests_.spend(Activity::kLanding, landing_, CycleOrder::kMixed);
    loader.requests_.spend(Activity::kBusy, turn_ - loader.next_turn_ - landing_, CycleOrder::kMixed);
    loader.next_turn_ = turn_;
    loader.ledger.spend(Activity::kLineLoad, memory_, CycleOrder::kMixed);
    loader.ledger.spend(release, waited_, CycleOrder::kMixed);
    loader.ledger.spend(Activity::kBusy, entry_ - loader.ledger.settled_at(), CycleOrder::kMixed);
    loader.stats.requests += requests_;
    loader.stats.bytes += bytes_;
    loader.stats.lines += lines_;
  }

 private:
  Cycle* leaves_;
  std::size_t places_, oldest_;
  int latency_, port_bytes_;
  Cycle free_;
  Cycle turn_;   // the address generator is free from it on
  Cycle entry_;  // and so is the way into the registers
  Cycle landing_ = 0, memory_ = 0, waited_ = 0;
  std::int64_t requests_ = 0, bytes_ = 0, lines_ = 0;
};

Cycle ScratchpadLoader::load_round(Round& round, Cycle free, Activity release,
                                   std::vector<PostParameter>& records) {
  const bool is_b = operand_ == OperandName::kB;
  const bool across = is_b && round.job->setup.transposition == Transposition::kWhileLoading;
  Flow flow(*this, free);
  if (!across) pass_lines(round, flow);
  if (across || (is_b && round.records == Records::kLoaded)) pass_others(round, flow, records);
  flow.settle(*this, release);
  if (round.ends_job) {
    requests_.enter(Activity::kNoWork, next_turn_);
    ledger.enter(Activity::kNoWork, flow.in_place() + 1);
  }
  return flow.in_place();
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
    const int begin = first + lines.begin;
    stats.elements += elements * lines.size;
    if (image.short_lines()) {
      flow.pass_short(lines.size * cuts.size, elements * lines.size);
      continue;
    }
    const int outer = is_a ? lines.size : cuts.size, inner = is_a ? cuts.size : lines.size;
    for (int i = 0; i < outer; ++i) {
      const OperandImage::Access* access = image.access(cuts.begin + (is_a ? 0 : i), begin + (is_a ? i : 0));
      const std::size_t step = is_a ? 1 : image.cuts();
      for (int j = 0; j < inner; ++j, access += step) flow.pass(access->count, access->bytes);
    }
  }
}

// Elements of several lines, and records.
void ScratchpadLoader::pass_others(Round& round, Flow& flow, std::vector<PostParameter>& records) {
  std::vector<Load> loads;
  round.job->lines.loads(operand_, round.block, round.round, round.records, loads);
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
