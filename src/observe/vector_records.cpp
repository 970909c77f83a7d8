#include "observe/vector_records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A file is opened for each piece that is passed on: the more bytes, the fewer calls of the system.
constexpr std::size_t kLeast = 1 << 15, kMost = 1 << 18, kRecords = 256;

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    text += fmt::format("{:02x}", static_cast<unsigned char>(*byte));
  return text;
}

}  // namespace

VectorRecords::VectorRecords(std::string name, std::vector<std::size_t> fields, bool text)
    : name_(std::move(name)), fields_(std::move(fields)), text_(text), record_bytes_(sizeof(Cycle)) {
  for (const std::size_t bytes : fields_) record_bytes_ += bytes;
  pass_on_at_ = std::clamp(record_bytes_ * kRecords, kLeast, kMost);
}

void VectorRecords::grow() {
  constexpr std::size_t kFirst = 1 << 10;
  const std::size_t used = filled();
  set_room(std::max({kFirst, 2 * waiting_.size(), used + record_bytes_}), used);
}

void VectorRecords::set_room(std::size_t bytes, std::size_t used) {
  if (waiting_.size() < bytes + RecordLane::kSlack) waiting_.resize(bytes + RecordLane::kSlack);
  lane_.next = waiting_.data() + used, lane_.end = waiting_.data() + waiting_.size() - RecordLane::kSlack;
}

Cycle VectorRecords::clock_at(std::size_t end) const {
  Cycle clock = 0;
  std::memcpy(&clock, waiting_.data() + end - record_bytes_, sizeof clock);
  return clock;
}

char* VectorRecords::put(Cycle clock) {
  std::size_t end = filled();
  while (end > 0 && clock_at(end) > clock) end -= record_bytes_;
  if (end == 0 || clock_at(end) < clock) {
    if (end == filled()) return add(clock);
    const Cycle last = lane_.last;
    const std::size_t behind = filled() - end;
    add(last);
    std::memmove(waiting_.data() + end + record_bytes_, waiting_.data() + end, behind);
    end += record_bytes_;
  }
  char* const to = waiting_.data() + end - record_bytes_;
  std::memcpy(to, &clock, sizeof clock);
  return to + sizeof clock;
}

void VectorRecords::pass_on(Cycle end, const VectorSink& sink) {
  std::size_t last = filled();
  while (last > 0 && clock_at(last) >= end) last -= record_bytes_;
  if (last == 0) return;
  const std::string kept(waiting_.data() + last, filled() - last);
  last_passed_on_.assign(waiting_.data() + last - record_bytes_, record_bytes_);
  if (text_) tilebeat::pass_on(sink, name_ + ".txt", lines({waiting_.data(), last}));
  sink(name_ + ".bin", waiting_, last);
  passed_on_ += to_signed(last / record_bytes_);
  set_room(std::max(pass_on_at_, kept.size()) + record_bytes_, kept.size());
  std::memcpy(waiting_.data(), kept.data(), kept.size());
}

void VectorRecords::finish(Cycle end, const VectorSink& sink) {
  pass_on(end, sink);
  waiting_ = {};
  lane_.next = lane_.end = waiting_.data();
  tilebeat::pass_on(sink, name_ + ".bin", "");
  if (text_) tilebeat::pass_on(sink, name_ + ".txt", "");
}

RecordLane& VectorRecords::lane(ClockNumbers& clocks, std::size_t bytes, std::string_view tail) {
  tail_ = tail;
  tail_.resize(std::max(tail.size(), RecordLane::kSlack));
  lane_.clocks = &clocks, lane_.bytes = bytes, lane_.tail_bytes = tail.size(), lane_.tail = tail_.data();
  return lane_;
}

std::string VectorRecords::lines(std::string_view records) const {
  std::string text;
  while (!records.empty()) {
    Cycle clock = 0;
    std::memcpy(&clock, records.data(), sizeof clock);
    records.remove_prefix(sizeof clock);
    text += fmt::format("{}", clock);
    for (const std::size_t bytes : fields_) {
      text += ' ' + hexadecimal(records.substr(0, bytes));
      records.remove_prefix(bytes);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tilebeat
