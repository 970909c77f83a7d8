#include "tilebeat/engines/rolling/sim/scratchpad_loader.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <limits>
#include <string>

namespace tilebeat::rolling {

ScratchpadLoader::ScratchpadLoader(OperandName operand, const SimContext& context,
                                   const RollingConfig& config, const MemoryConfig& memory,
                                   Granularity granularity, int stride)
    : OperandLoader(operand, config),
      port(std::string(kOperandNames[static_cast<std::size_t>(operand)]), context, memory, config.port_bytes),
      granularity_(granularity),
      reads_ahead_(granularity == Granularity::kTile),
      stride_(stride) {}

void ScratchpadLoader::begin(Job& job, Cycle now) {
  requests_.enter(Activity::kLanding, now);
  next_turn_ = std::max(next_turn_, now);
  if (granularity_ == Granularity::kClock) return;
  port.open_direct();
  if (!reads_ahead_) return;
  if (operand_ == OperandName::kB) {
    job.image_b.read(operand_, 0, job.schedule, job.lines, job.conv, job.setup.transposition, port, stride_);
  } else {
    const int last = job.run.first_kernel + job.run.kernels - 1;
    job.image_a.resize(static_cast<std::size_t>(last / job.setup.group_kernels - job.first_group() + 1));
  }
}

void ScratchpadLoader::request(Rounds& rounds, Cycle now, Activity idle) {
  if (granularity_ == Granularity::kClock) request_until(rounds, now);
  if (next_round(rounds) == nullptr && requests_.settled_at() <= now) requests_.enter(idle, now);
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
    const int accesses = reads_ahead_ && made.load.kind == Load::Kind::kLine ? access_image(*round, made)
                                                                             : access(*round, made);
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

int ScratchpadLoader::access_image(Round& round, Line& made) {
  Job& job = *round.job;
  const int cut = job.schedule.cuts_of_round(round.round).begin + made.load.cut;
  const OutputBlock& block = round.block;
  const Span lines = job.schedule.lines_of(block, operand_, made.load.part);
  const OperandImage* image = &job.image_b;
  int number = lines.begin + made.load.number;
  if (operand_ == OperandName::kA) {
    const int group = job.lines.group_of(block);
    OperandImage& of_group = job.image_a[static_cast<std::size_t>(group - job.first_group())];
    if (of_group.empty())
      of_group.read(operand_, group, job.schedule, job.lines, job.conv, job.setup.transposition, port,
                    stride_);
    image = &of_group;
    number += block.rows.begin;
  } else {
    number += block.columns.begin;
  }
  const int bytes = image->bytes(cut, number);
  stats.bytes += bytes;
  made.clocks = bytes <= config_.port_bytes ? 1 : ceil_div(bytes, config_.port_bytes);
  return image->accesses(cut, number);
}

}  // namespace tilebeat::rolling
