#include "base/types.h"
#include "engines/wfold/config.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>

namespace tilebeat::wfold {

WfoldWriter::WfoldWriter(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
                         int max_outstanding, std::uint64_t nram, Granularity granularity)
    : sc_module(name),
      tiles("tiles"),
      results("results", to_size(config.slaves)),
      port("port", context, max_outstanding, wake_),
      drained("drained"),
      completion("completion", Unit::kMatrix),
      context_(context),
      config_(config),
      nram_(nram),
      granularity_(granularity),
      kernels_per_slice_(config.line_bytes / 4) {
  tiles.register_b_transport(this, &WfoldWriter::take_tile);
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) declare_signals(*trace);
}

void WfoldWriter::take_tile(WriterMessage& message, sc_core::sc_time&) {
  const Cycle now = context_.clock.cycle_of(now_ps());
  const auto take_results = [&](const TileResults& tile) {
    tiles_.push_back(tile);
    tiles_.back().sent = now;
    notify_at(wake_, context_.clock, std::max(tile.ready, now + 1));
  };
  const auto take_news = [&](const WaitsFor& idle) {
    // Takes effect from the next cycle on, whichever of the two modules acts first in this one.
    hear_news(now);
    news_ = idle.activity, news_at_ = now + 1;
    notify_at(wake_, context_.clock, now + 1);
  };
  std::visit(Overloaded{take_results, take_news}, message.content);
}

void WfoldWriter::hear_news(Cycle now) {
  if (now >= news_at_) idle_ = news_;
}

void WfoldWriter::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  hear_news(now);
  take_responses(now);
  const bool issued = request(now);
  drain(now);
  tell_drained(now);
  if (!issued) port.ledger.enter(request_blocker(now), now);
  schedule(now);
}

void WfoldWriter::take_responses(Cycle now) {
  while (port.front_ready(now)) {
    port.recycle(port.take_front());
    const std::shared_ptr<const WfoldJob> job = std::move(under_way_.front());
    under_way_.pop_front();
    if (job == nullptr) continue;
    completion.tell(UnitMessage::Kind::kDone, job->instruction.done_signals);
  }
}

// Makes the front tile's requests in the order of document 003 [0152]-[0155]: lines of Wso columns, in each
// the blocks of Pco bytes, in each column after column; or a whole line at once where its columns are
// contiguous.
void WfoldWriter::begin_tile() {
  const TileResults& front = tiles_.front();
  const WfoldRun& run = front.job->run;
  const WfoldTile& tile = front.tile;
  const int element = dtype_size(front.job->setup.output_type);
  const int bytes = tile.kernels * element;
  const int before = tile.kernel_tile * front.job->schedule.shape().tile_kernels() * element;
  const int granularity = run.result_granularity;
  const int fold = config_.line_bytes / granularity;
  const bool gapless = bytes <= granularity && run.result_pixel == static_cast<std::uint32_t>(bytes);
  column_slices_ = ceil_div(tile.kernels, kernels_per_slice_);
  requests_.clear();
  std::int64_t slices = 0;
  const auto add = [&](int column, int columns, int begin, int end) {
    Request request;
    const std::int64_t pixel = std::int64_t{tile.row} * run.columns + tile.column + column;
    request.address =
        nram_ + run.result + to_unsigned(pixel) * run.result_pixel + to_unsigned(before + begin);
    request.column = column, request.columns = columns;
    request.begin = begin, request.end = end;
    slices = std::max(slices, std::int64_t{column + columns - 1} * column_slices_ +
                                  ceil_div(end, kernels_per_slice_ * element));
    request.slices = slices;
    requests_.push_back(request);
  };
  for (int line = 0; line < tile.columns; line += fold) {
    const int columns = std::min(fold, tile.columns - line);
    if (gapless) {
      add(line, columns, 0, bytes);
      continue;
    }
    for (int begin = 0; begin < bytes;) {
      const int end = std::min(bytes, begin + granularity - (before + begin) % granularity);
      for (int column = line; column < line + columns; ++column) add(column, 1, begin, end);
      begin = end;
    }
  }
  tile_bytes_.resize(to_size(tile.columns * bytes));
  next_request_ = 0;
  slices_out_ = 0;
  begun_ = true;
}

// Slices [first, end) of the front tile leave the third buffers, one a cycle: column after column, its
// kernels in the order of the channels.
void WfoldWriter::read_slices(std::int64_t first, std::int64_t end) {
  const TileResults& front = tiles_.front();
  const int element = dtype_size(front.job->setup.output_type);
  ResultRead read{*front.job, front.half, front.record_set};
  const WfoldSchedule& schedule = front.job->schedule;
  const auto keep = [&](int column, int kernel, std::int64_t value) {
    std::memcpy(tile_bytes_.data() + (to_signed(column) * front.tile.kernels + kernel) * element, &value,
                to_size(element));
  };
  if (granularity_ == Granularity::kTile) {
    if (first > 0) return;  // the whole tile came with the first slice
    read.end_column = front.tile.columns;
    for (int slave = 0; slave < std::min(config_.slaves, front.tile.kernels); ++slave) {
      read.end_kernel = 0;
      while (read.end_kernel < front.tile.kernels_per_slave &&
             schedule.kernel_of(slave, read.end_kernel) < front.tile.kernels)
        ++read.end_kernel;
      read_.resize(to_size(read.end_column * read.end_kernel));
      read.results = read_.data();
      nth(results, slave).send(read);
      for (int column = 0; column < read.end_column; ++column) {
        for (int k = 0; k < read.end_kernel; ++k)
          keep(column, schedule.kernel_of(slave, k), nth(read_, column * read.end_kernel + k));
      }
    }
    return;
  }
  for (std::int64_t slice = first; slice < end; ++slice) {
    const auto column = to_int(slice / column_slices_);
    const auto begin = to_int(slice % column_slices_) * kernels_per_slice_;
    trace_slice(column, begin, now_ps() + (slice - first) * context_.clock.period_ps());
    for (int kernel = begin; kernel < std::min(begin + kernels_per_slice_, front.tile.kernels); ++kernel) {
      std::int64_t value = 0;
      read.first_column = column, read.end_column = column + 1;
      const auto [slave, number] = schedule.slave_kernel(kernel);
      read.first_kernel = number, read.end_kernel = number + 1;
      read.results = &value;
      nth(results, slave).send(read, to_sc_time((slice - first) * context_.clock.period_ps()));
      keep(column, kernel, value);
    }
  }
}

void WfoldWriter::drain(Cycle now) {
  if (now < drain_free_) return;
  while (now >= drain_free_) {
    if (tiles_.empty() || tiles_.front().ready > now) {
      drain_ledger.enter(result_blocker(now), now);
      return;
    }
    if (!begun_) begin_tile();
    if (staged_.size() >= to_size(config_.write_queue)) {
      drain_ledger.enter(request_blocker(now), now);
      return;
    }
    const TileResults& front = tiles_.front();
    const int element = dtype_size(front.job->setup.output_type);
    const Request& next = requests_[next_request_++];
    if (next.slices > slices_out_) {
      read_slices(slices_out_, next.slices);
      drain_ledger.enter(Activity::kBusy, now);
      drain_free_ = now + next.slices - slices_out_;
      slices_out_ = next.slices;
      if (Trace* trace = context_.trace(); trace != nullptr) {
        trace->change(drain_signal_, context_.clock.at(now), 1);
        trace->change(drain_signal_, context_.clock.at(drain_free_), 0);
      }
      if (slices_out_ == std::int64_t{front.tile.columns} * column_slices_) told_ = false;
      tell_drained(now);
    }
    const bool tile_ends = next_request_ == requests_.size();
    Staged staged;
    staged.address = next.address;
    for (int column = next.column; column < next.column + next.columns; ++column) {
      const auto from = tile_bytes_.begin() + to_signed(column) * front.tile.kernels * element;
      staged.data.insert(staged.data.end(), from + next.begin, from + next.end);
    }
    staged.ready = drain_free_ + config_.post_latency_cycles;
    if (tile_ends && front.last) staged.completes = front.job;
    stats.results += ssize(staged.data) / element;
    staged_.push_back(std::move(staged));
    if (!tile_ends) continue;
    begun_ = false;
    tiles_.pop_front();
  }
}

// Tells the master in the cycle of a tile's last slice that its half is drained.
void WfoldWriter::tell_drained(Cycle now) {
  if (told_ || now < drain_free_ - 1) return;
  told_ = true;
  HalfDrained message{drain_free_ - 1};
  drained.send(message);
}

// The cause that keeps the front request from being sent; kBusy when nothing does.
// The cause while there are no results. Like news, a tile counts from the cycle after it was sent on.
Activity WfoldWriter::result_blocker(Cycle now) const {
  return !tiles_.empty() && tiles_.front().sent < now ? Activity::kOutputReady : idle_;
}

Activity WfoldWriter::request_blocker(Cycle now) const {
  if (!port.granted(now)) return port.waits_for();
  if (staged_.empty()) return port.empty() ? result_blocker(now) : Activity::kMemory;
  if (staged_.front().ready > now) return Activity::kStaging;
  if (!port.has_room()) return Activity::kOutstanding;
  return Activity::kBusy;
}

bool WfoldWriter::request(Cycle now) {
  if (request_blocker(now) != Activity::kBusy) return false;
  Staged staged = std::move(staged_.front());
  staged_.pop_front();
  under_way_.push_back(std::move(staged.completes));
  const int bytes = count_of(staged.data);
  trace_request(staged, now);
  ++stats.requests;
  stats.bytes += bytes;
  port.issue(tlm::TLM_WRITE_COMMAND, staged.address, bytes, std::move(staged.data), now);
  return true;
}

void WfoldWriter::schedule(Cycle now) {
  NextClock next(now);
  next.at(news_at_);
  next.at(drain_free_);
  if (!told_) next.at(drain_free_ - 1);
  if (!tiles_.empty()) next.at(tiles_.front().ready);
  if (!staged_.empty()) next.at(staged_.front().ready);
  if (port.ledger.current() == Activity::kBusy) next.at(now + 1);
  notify_at(wake_, context_.clock, next);
}

}  // namespace tilebeat::wfold
