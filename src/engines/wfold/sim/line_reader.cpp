#include "engines/wfold/sim/line_reader.h"

#include "engines/wfold/config.h"

#include <algorithm>

namespace tilebeat::wfold {

LineReader::LineReader(const std::string& name, const SimContext& context, const WfoldConfig& config,
                       int master, int max_outstanding, std::uint64_t nram, sc_core::sc_event& changed)
    : port(name.c_str(), context, max_outstanding, changed), config_(config), master_(master), nram_(nram) {}

void LineReader::begin(const WfoldJob& job) {
  job_ = &job;
  const WfoldReadMode mode = job.run.read_mode;
  reader_.emplace(job.schedule, mode, config_.transit_bytes / 2, master_);
  limit_ = mode == WfoldReadMode::kTransit ? 2 : to_size(config_.line_queue);
  next_tile_ = 0;
  next_refill_ = next_line_ = 0;
  tile_ = job.schedule.tile(0);
  exists_ = job.schedule.line_exists(tile_, job.schedule.refill(0), 0, master_);
  needed_.reset();
}

void LineReader::take(Cycle now) {
  while (port.front_ready(now)) {
    Window& window = windows_[order_.front() - first_window_];
    order_.pop_front();
    window.data.push_back(port.take_front());
    window.arrived.push_back(now);
    stats.bytes += ssize(window.data.back());
  }
}

void LineReader::forget_left(Cycle now) {
  while (!left_.empty() && left_.front() <= now) left_.pop_front();
}

Cycle LineReader::next_room(Cycle now) const {
  if (!reader_ || reader_->done() || windows_.size() >= limit_) return -1;
  const auto later = std::find_if(left_.begin(), left_.end(), [now](Cycle at) { return at > now; });
  return later != left_.end() ? *later : -1;
}

bool LineReader::request(Cycle now, Activity idle) {
  forget_left(now);
  if (windows_.empty() || windows_.back().issued == windows_.back().fetch.requests.size()) {
    if (!reader_ || reader_->done()) {
      port.ledger.enter(port.empty() ? idle : Activity::kMemory, now);
      return false;
    }
    if (windows_.size() + left_.size() >= limit_) {
      port.ledger.enter(Activity::kLanding, now);
      return false;
    }
    Window window;
    window.fetch = reader_->fetch();
    window.lines_left = window.fetch.lines;
    reader_->advance();
    windows_.push_back(std::move(window));
  }
  if (!port.granted(now) || !port.has_room()) {
    port.ledger.enter(port.granted(now) ? Activity::kOutstanding : port.waits_for(), now);
    return false;
  }
  Window& window = windows_.back();
  const WfoldRequest& request = window.fetch.requests[window.issued++];
  order_.push_back(first_window_ + windows_.size() - 1);
  const auto bytes = to_int(request.bytes.end - request.bytes.begin);
  const std::uint64_t address =
      nram_ + job_->run.map +
      to_unsigned(request.row * job_->schedule.geometry().row_bytes + request.bytes.begin);
  ++stats.requests;
  port.issue(tlm::TLM_READ_COMMAND, address, bytes, port.buffer(bytes), now);
  return true;
}

Cycle LineReader::line_ready() const {
  if (windows_.empty()) return -1;
  const Window& window = windows_.front();
  if (!needed_)
    needed_ = requests_of_line(job_->schedule, window.fetch, tile_, job_->schedule.refill(next_refill_),
                               next_line_, master_);
  return *needed_ <= window.arrived.size() ? window.arrived[*needed_ - 1] : -1;
}

void LineReader::form(std::uint8_t* line) {
  const WfoldSchedule& schedule = job_->schedule;
  const int granularity = schedule.geometry().granularity;
  std::fill_n(line, config_.line_bytes, static_cast<std::uint8_t>(job_->setup.input_zero_point));
  const Window& window = windows_.front();
  const auto& requests = window.fetch.requests;
  const WfoldRefill& refill = schedule.refill(next_refill_);
  const auto [begin, end] = schedule.line_channels(refill, next_line_, master_);
  const std::int64_t pixel = schedule.geometry().pixel_bytes;
  std::size_t from = 0;
  for (int position = 0; position < schedule.fold(); ++position) {
    const int column = schedule.line_column(tile_, refill, next_line_) + position;
    const ByteRange bytes = schedule.bytes_of(column, column, begin, end);
    if (bytes.empty()) continue;
    while (from < requests.size() && requests[from].bytes.end <= bytes.begin) ++from;
    if (from == requests.size()) return;
    // The position's first byte as it would be if the row's edge did not cut it off.
    const std::int64_t whole =
        column * pixel + schedule.geometry().first_channel + begin - schedule.geometry().lead_bytes;
    std::copy_n(window.data[from].begin() + (bytes.begin - requests[from].bytes.begin),
                bytes.end - bytes.begin, line + position * granularity + (bytes.begin - whole));
  }
}

void LineReader::leave(Cycle at) {
  ++stats.lines;
  Window& window = windows_.front();
  if (--window.lines_left == 0) {
    for (auto& data : window.data) port.recycle(std::move(data));
    windows_.pop_front();
    ++first_window_;
    left_.push_back(at);
  }
  move_on();
}

// The line behind it is the next one.
void LineReader::move_on() {
  const WfoldSchedule& schedule = job_->schedule;
  needed_.reset();
  if (++next_line_ == schedule.lines(schedule.refill(next_refill_).part)) {
    next_line_ = 0;
    if (++next_refill_ == schedule.refills()) {
      next_refill_ = 0;
      if (++next_tile_ < schedule.tiles()) tile_ = schedule.tile(next_tile_);
    }
  }
  exists_ = more_lines() && schedule.line_exists(tile_, schedule.refill(next_refill_), next_line_, master_);
}

}  // namespace tilebeat::wfold
