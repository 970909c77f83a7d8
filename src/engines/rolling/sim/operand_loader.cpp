#include "engines/rolling/sim/operand_loader.h"

#include "base/types.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace tilebeat::rolling {

OperandLoader::OperandLoader(OperandName operand, const RollingConfig& config)
    : config_(config), operand_(operand), lines_(to_size(config.line_queue)) {}

OperandLoader::Line& OperandLoader::prepare(Round& round) {
  if (next_load_ == 0) {
    round.job->lines.loads(operand_, round.block, round.round,
                           operand_ == OperandName::kB ? round.records : Records::kNone, loads_);
  }
  Line& made = lines_[prepared_slot_];
  if (++prepared_slot_ == lines_.size()) prepared_slot_ = 0;
  ++prepared_;
  made.begins_round = next_load_ == 0;
  made.load = loads_[next_load_++];
  made.round = &round;
  made.ends_round = next_load_ == loads_.size();
  made.ends_operand = made.load.kind != Load::Kind::kRecord &&
                      (made.ends_round || loads_[next_load_].kind == Load::Kind::kRecord);
  made.missing = 0;
  made.clocks = ceil_div(made.load.filled.size, config_.port_bytes);
  if (made.ends_round) ++round_, next_load_ = 0, next_round_ = nullptr;
  return made;
}

void OperandLoader::find_pieces(const Round& round, OperandName operand, Line& line) {
  line.bytes.resize(to_size(line.load.filled.size));
  round.job->lines.find(operand, round.block, round.round, line.load, line.pieces);
}

void OperandLoader::count_elements(const Job& job, std::int64_t elements) {
  stats.elements += elements;
  if (operand_ == OperandName::kB && job.kernels.is_packed()) stats.decoded += elements;
}

void OperandLoader::enter(Cycle at, Activity release) {
  Line& front = lines_[entered_slot_];
  const Cycle ready = std::max(ledger.settled_at(), std::min(front.ready, at));
  ledger.spend(Activity::kLineLoad, ready - ledger.settled_at(), CycleOrder::kMixed);
  ledger.spend(release, at - ready, CycleOrder::kMixed);
  ledger.spend(Activity::kBusy, front.clocks, CycleOrder::kMixed);
  next_entry_ = at + front.clocks;
  front.leaves = next_entry_ - 1;
  if (++entered_slot_ == lines_.size()) entered_slot_ = 0;
  ++entered_;
  ++stats.lines;
  if (front.load.kind != Load::Kind::kRecord) count_elements(*front.round->job, front.load.filled.size);
}

namespace {

constexpr std::uint64_t kBurstBoundary = 4096;  // a boundary that no burst crosses

// At most half of the queue: some lines wait while others are requested.
int batch_of(const RollingConfig& config) {
  const int lanes = std::min(config.rows, config.columns);
  return std::max(1, std::min(config.line_queue / 2, config.request_bytes / lanes));
}

}  // namespace

BusLoader::BusLoader(OperandName operand, const SimContext& context, const RollingConfig& config,
                     int max_outstanding, sc_core::sc_event& changed)
    : OperandLoader(operand, config),
      port(std::string(nth(kOperandNames, operand)).c_str(), context, max_outstanding, changed),
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

// Number of lines that have entered by cycle `now`.
std::int64_t BusLoader::left(Cycle now) {
  while (left_ < entered_ && line(left_).leaves <= now) ++left_;
  return left_;
}

// Prepares the next line: finds its pieces. False when there is none, or no room for it.
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
  const int most = std::min(config_.request_bytes, to_int(kBurstBoundary - address % kBurstBoundary));
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
    if (next.address != address + to_unsigned(bytes)) break;
    const int taken = std::min(next.fragment.bytes, most - bytes);
    fragments.push_back({next.fragment.line, next.fragment.at, taken});
    bytes += taken;
    next.address += to_unsigned(taken);
    next.fragment.at += taken, next.fragment.bytes -= taken;
    if (next.fragment.bytes == 0) pending_.pop_front();
  }
  bursts_.push_back(std::move(fragments));
  ++stats.requests;
  stats.bytes += bytes;
  port.issue(tlm::TLM_READ_COMMAND, address, bytes, port.buffer(bytes), now);
}

void BusLoader::schedule(NextClock& next) const {
  // The next cycle with room for a batch of lines.
  const std::int64_t surplus = prepared_ - left_ + batch_ - config_.line_queue;
  if (surplus > 0 && left_ + surplus <= entered_) next.at(line(left_ + surplus - 1).leaves);
  if (port.ledger.current() == Activity::kBusy) next.at(port.ledger.settled_at() + 1);
}

ScratchpadLoader::ScratchpadLoader(OperandName operand, const SimContext& context,
                                   const RollingConfig& config, const MemoryConfig& memory,
                                   Granularity granularity)
    : OperandLoader(operand, config),
      port(std::string(nth(kOperandNames, operand)), context, memory, config.port_bytes),
      context_(context),
      granularity_(granularity),
      reads_images_(granularity == Granularity::kTile),
      departures_(config.line_queue) {}

void ScratchpadLoader::declare_signals(const std::string& scope) {
  Trace& trace = *context_.observers.trace;
  port.declare_signals(trace, scope + ".port");
  if (operand_ == OperandName::kB) transposing_ = Strobe(&trace, scope, "transposing");
}

// Key of everything that the lines of B depend on, besides the memory's contents.
ScratchpadLoader::KernelsKey ScratchpadLoader::key_of(const Job& job) {
  return {to_signed(job.run.weights), job.run.kernels,
          job.schedule.product().n,   job.schedule.lanes(),
          job.setup.block_kernels,    to_signed(job.setup.transposition),
          job.conv.weight_zero_point, to_signed(job.conv.weight_type),
          job.run.packed ? 1 : 0};
}

void ScratchpadLoader::begin(Job& job, Cycle now) {
  if (requests_.settled_at() <= now) requests_.enter(Activity::kLanding, now);
  next_turn_ = std::max(next_turn_, now);
  if (granularity_ == Granularity::kClock) return;
  const bool unchanged = port.open_direct() == ScratchpadPort::Contents::kUnchanged;
  if (!reads_images_) return;
  if (operand_ == OperandName::kB) {
    begin_kernels(job, unchanged);
  } else {
    const int last = job.run.first_kernel + job.run.kernels - 1;
    maps_.resize(to_size(last / job.setup.group_kernels - job.first_group() + 1));
    for (OperandImage& image : maps_) image.invalidate();
    OperandImage::read_map(source_of(job), elements_);
  }
}

void ScratchpadLoader::transpose(const Job& job, Cycle now) {
  const bool tile = granularity_ == Granularity::kTile;
  if (tile) port.open_direct();
  requests_.enter(Activity::kBusy, now);
  std::vector<std::uint8_t> lines, columns;
  for (int first = 0; first < job.run.kernels; first += job.setup.block_kernels) {
    const int kernels = std::min<int>(job.setup.block_kernels, job.run.kernels - first);
    for (int cut = 0; cut < job.schedule.cuts(); ++cut) {
      const Span elements = job.schedule.cut(cut);
      const int bytes = elements.size * kernels;
      const std::uint64_t address =
          job.run.weights + to_unsigned(std::int64_t{first} * job.schedule.product().n +
                                        std::int64_t{elements.begin} * kernels);
      lines.resize(to_size(bytes)), columns.resize(to_size(bytes));
      const auto delay = [&] { return to_int(requests_.settled_at() - now); };
      const int accesses = port.accesses(address, bytes);
      if (tile)
        read_directly(address, lines.data(), bytes, requests_.settled_at());
      else
        port.read(address, lines.data(), bytes, delay());
      requests_.spend(Activity::kBusy, accesses);
      requests_.spend(Activity::kDataLatency, port.latency());
      for (int element = 0; element < elements.size; ++element) {
        for (int kernel = 0; kernel < kernels; ++kernel)
          nth(columns, kernel * elements.size + element) = nth(lines, element * kernels + kernel);
      }
      if (tile)
        port.direct_write(address, columns.data(), bytes, requests_.settled_at());
      else
        port.write(address, columns.data(), bytes, delay());
      requests_.spend(Activity::kBusy, accesses);
      stats.requests += 2 * std::int64_t{accesses};
      stats.bytes += bytes, stats.written += bytes;
    }
  }
  next_turn_ = requests_.settled_at();
  transposing_.high(context_.trace(), context_.clock.at(now), context_.clock.at(next_turn_));
  for (Kernels& kernels : kernels_) kernels.image.invalidate();
}

void ScratchpadLoader::load_image(Job& job, Cycle now) {
  if (granularity_ == Granularity::kTile && port.open_direct() == ScratchpadPort::Contents::kWritten) {
    for (Kernels& kernels : kernels_) kernels.image.invalidate();
  }
  next_turn_ = job.kernels.load(port, job.run.weights, {now, now, granularity_, most_scales});
  requests_.enter(Activity::kBusy, now);
  requests_.spend(Activity::kBusy, job.kernels.load_accesses());
  requests_.spend(Activity::kDataLatency, next_turn_ - now - job.kernels.load_accesses());
  stats.requests += job.kernels.load_accesses(), stats.bytes += job.kernels.load_bytes();
}

// Runs of the same kernels follow one another: kernels that were read stay valid until the memory is written.
void ScratchpadLoader::begin_kernels(const Job& job, bool unchanged) {
  const KernelsKey key = key_of(job);
  if (!unchanged) {
    for (Kernels& kernels : kernels_) kernels.image.invalidate();
  }
  const auto known = std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernels& kernels) {
    return !kernels.image.empty() && kernels.key == key;
  });
  if (known != kernels_.end()) {
    current_ = to_size(known - kernels_.begin());
    return;
  }
  current_ = oldest_;
  if (++oldest_ == kernels_.size()) oldest_ = 0;
  kernels_[current_].key = key;
  kernels_[current_].image.read_kernels(source_of(job));
}

void ScratchpadLoader::request(Rounds& rounds, Cycle now, Activity idle) {
  if (granularity_ == Granularity::kClock) request_until(rounds, now);
  // In tile granularity all requests have been made already.
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
    const int accesses = access(*round, made, turn);
    stats.requests += accesses;
    requests_.spend(Activity::kLanding, turn - requests_.settled_at(), CycleOrder::kMixed);
    requests_.spend(Activity::kBusy, std::max(1, accesses), CycleOrder::kMixed);
    next_turn_ = requests_.settled_at();
    made.ready = next_turn_ + latency_of(*round->job);
    if (next_round(rounds) == nullptr) requests_.enter(Activity::kNoWork, next_turn_);
  }
}

// Reads bytes through direct memory access, with the first access in cycle `at`; returns the number of
// accesses.
int ScratchpadLoader::read_directly(std::uint64_t address, std::uint8_t* to, int bytes, Cycle at) const {
  const int accesses = port.accesses(address, bytes);
  port.direct_read(address, to, bytes, at);
  port.use(at, at + accesses, accesses, address);
  return accesses;
}

// Reads a piece of packed kernels, with the first access in cycle `at`, `delay` cycles from now; returns the
// number of accesses.
int ScratchpadLoader::access_packed(const KernelView& kernels, const Piece& piece, std::uint8_t* to, Cycle at,
                                    int delay) {
  if (granularity_ == Granularity::kClock) return kernels.read(port, piece.address, to, piece.bytes, delay);
  const int accesses = kernels.accesses(port, piece.address, piece.bytes);
  kernels.direct_read(port, piece.address, to, piece.bytes, at);
  port.use(at, at + accesses, accesses, kernels.begin());
  return accesses;
}

// Makes the accesses of a line, one a cycle from cycle `turn` on, which is the present one in clock
// granularity.
int ScratchpadLoader::access(Round& round, Line& made, Cycle turn) {
  find_pieces(round, operand_, made);
  int accesses = 0, bytes = 0;
  const bool is_packed = is_kernel(made.load) && round.job->kernels.is_packed();
  for (const Piece& piece : made.pieces) {
    std::uint8_t* to = made.bytes.data() + piece.at;
    if (is_packed) {
      const KernelView& kernels = round.job->kernels;
      bytes += kernels.bytes_for(piece.address, piece.bytes);
      accesses += access_packed(kernels, piece, to, turn + accesses, accesses);
      continue;
    }
    if (granularity_ == Granularity::kClock) {
      accesses += port.read(piece.address, to, piece.bytes, accesses);
    } else {
      accesses += read_directly(piece.address, to, piece.bytes, turn + accesses);
    }
    bytes += piece.bytes;
  }
  stats.bytes += bytes;
  return accesses;
}

const OperandImage& ScratchpadLoader::image_of(const Round& round) {
  if (operand_ == OperandName::kB) return kernels_[current_].image;
  const Job& job = *round.job;
  const int group = job.lines.group_of(round.block);
  OperandImage& image = nth(maps_, group - job.first_group());
  if (image.empty()) image.read_pixels(source_of(job), group, elements_);
  return image;
}

Cycle ScratchpadLoader::load_round(Round& round, Cycle free, Cycle slot_free, Activity release) {
  const bool is_b = operand_ == OperandName::kB;
  const bool across = is_b && round.job->setup.transposition == Transposition::kWhileLoading;
  const LineFlow::Port way{latency_of(*round.job), config_.port_bytes};
  if (round.round == 0) block_from_ = next_turn_;
  LineFlow flow(departures_, way, free, next_turn_, ledger.settled_at());
  OperandImage::Sum read;
  if (across)
    pass_others(round, Load::Kind::kAcross, flow, read);
  else
    pass_lines(round, flow, read);
  settle(flow, read, release);
  Cycle in_place = flow.entry() - 1;
  nth(round.loaded, operand_) = in_place;
  if (is_b && round.records == Records::kLoaded) {
    LineFlow records(departures_, way, slot_free, next_turn_, ledger.settled_at());
    OperandImage::Sum read_records;
    pass_others(round, Load::Kind::kRecord, records, read_records);
    settle(records, read_records, release);
    round.column->in_place = in_place = records.entry() - 1;
  }
  nth(round.entered, operand_) = true;
  if (round.round + 1 == round.job->schedule.rounds_per_block()) {
    const RollingRun& run = round.job->run;
    port.use(block_from_, next_turn_, std::exchange(of_block_, 0), is_b ? run.weights : run.map);
  }
  if (round.ends_job) {
    requests_.enter(Activity::kNoWork, next_turn_);
    ledger.enter(Activity::kNoWork, in_place + 1);
  }
  return in_place;
}

void ScratchpadLoader::settle(const LineFlow& flow, const OperandImage::Sum& read, Activity release) {
  of_block_ += read.accesses;
  requests_.spend(Activity::kLanding, flow.landing(), CycleOrder::kMixed);
  requests_.spend(Activity::kBusy, flow.turn() - next_turn_ - flow.landing(), CycleOrder::kMixed);
  next_turn_ = flow.turn();
  ledger.spend(Activity::kLineLoad, flow.memory(), CycleOrder::kMixed);
  ledger.spend(release, flow.waited(), CycleOrder::kMixed);
  ledger.spend(Activity::kBusy, flow.entry() - ledger.settled_at(), CycleOrder::kMixed);
  stats.lines += flow.lines();
  stats.requests += read.accesses, stats.bytes += read.bytes;
}

// Passes lines in the order of OperandLines::loads.
void ScratchpadLoader::pass_lines(const Round& round, LineFlow& flow, OperandImage::Sum& read) {
  const RollingSchedule& schedule = round.job->schedule;
  const OperandImage& image = image_of(round);
  const Span cuts = schedule.cuts_of_round(round.round);
  const bool is_a = operand_ == OperandName::kA;
  const Span all = is_a ? round.block.rows : round.block.columns;
  count_elements(*round.job, schedule.elements_of(cuts) * all.size);
  if (image.short_lines()) {
    flow.pass_short(all.size * cuts.size);
    read = image.short_accesses(cuts, all);
    return;
  }
  const auto pass = [&](int cut, int line) {
    const OperandImage::Access& access = image.access(cut, line);
    flow.pass(access.count, schedule.cut(cut).size);
    read.accesses += access.count, read.bytes += access.bytes;
  };
  for (int part = 0; part < round.block.parts; ++part) {
    const Span lines = schedule.lines_of(round.block, operand_, part);
    const int begin = all.begin + lines.begin, end = begin + lines.size;
    if (is_a) {
      for (int line = begin; line < end; ++line)
        for (int cut = cuts.begin; cut < cuts.end(); ++cut) pass(cut, line);
    } else {
      for (int cut = cuts.begin; cut < cuts.end(); ++cut)
        for (int line = begin; line < end; ++line) pass(cut, line);
    }
  }
}

// Passes elements of several lines, or records.
void ScratchpadLoader::pass_others(const Round& round, Load::Kind kind, LineFlow& flow,
                                   OperandImage::Sum& read) {
  std::vector<Load> loads;
  round.job->lines.loads(operand_, round.block, round.round, round.records, loads);
  std::vector<Piece> pieces;
  const KernelView as_they_are;
  for (const Load& load : loads) {
    if (load.kind != kind) continue;
    round.job->lines.find(operand_, round.block, round.round, load, pieces);
    int accesses = 0, bytes = 0;
    for (const Piece& piece : pieces) {
      const KernelView& kernels = is_kernel(load) ? round.job->kernels : as_they_are;
      accesses += kernels.accesses(port, piece.address, piece.bytes);
      bytes += kernels.bytes_for(piece.address, piece.bytes);
    }
    flow.pass(accesses, load.filled.size);
    read.accesses += accesses, read.bytes += bytes;
    if (kind == Load::Kind::kAcross) {
      count_elements(*round.job, load.filled.size);
      continue;
    }
    std::array<std::uint8_t, OperandLines::kRecordBytes> record{};
    port.direct_read(pieces.front().address, record.data(), OperandLines::kRecordBytes, next_turn_);
    round.column->records.push_back(decode_post_parameter(record.data()));
  }
}

}  // namespace tilebeat::rolling
