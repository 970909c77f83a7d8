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
  waiting_.resize(std::max({kFirst, 2 * waiting_.size(), filled_ + record_bytes_}));
}

Cycle VectorRecords::clock_at(std::size_t end) const {
  Cycle clock = 0;
  std::memcpy(&clock, waiting_.data() + end - record_bytes_, sizeof clock);
  return clock;
}

char* VectorRecords::put(Cycle clock) {
  std::size_t end = filled_;
  while (end > 0 && clock_at(end) > clock) end -= record_bytes_;
  if (end == 0 || clock_at(end) < clock) {
    if (end == filled_) return add(clock);
    const Cycle last = last_;
    add(last);
    last_ = last;
    std::memmove(waiting_.data() + end + record_bytes_, waiting_.data() + end, filled_ - record_bytes_ - end);
    end += record_bytes_;
  }
  char* const to = waiting_.data() + end - record_bytes_;
  std::memcpy(to, &clock, sizeof clock);
  return to + sizeof clock;
}

void VectorRecords::pass_on(Cycle end, const VectorSink& sink) {
  std::size_t last = filled_;
  while (last > 0 && clock_at(last) >= end) last -= record_bytes_;
  if (last == 0) return;
  const std::string_view records(waiting_.data(), last);
  sink(name_ + ".bin", records);
  if (text_) sink(name_ + ".txt", lines(records));
  std::memmove(waiting_.data(), waiting_.data() + last, filled_ - last);
  filled_ -= last;
}

void VectorRecords::finish(Cycle end, const VectorSink& sink) {
  pass_on(end, sink);
  count_ -= to_signed(filled_ / record_bytes_);
  waiting_ = {};
  filled_ = 0;
  sink(name_ + ".bin", "");
  if (text_) sink(name_ + ".txt", "");
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
