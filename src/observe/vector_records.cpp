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

char* VectorRecords::copy(char* to, std::string_view from) {
  std::memcpy(to, from.data(), from.size());
  return to + from.size();
}

Cycle VectorRecords::clock_at(std::size_t end) const {
  Cycle clock = 0;
  std::memcpy(&clock, waiting_.data() + end - record_bytes_, sizeof clock);
  return clock;
}

void VectorRecords::put(Cycle clock, std::string_view fields, std::string_view rest) {
  std::size_t end = waiting_.size();
  while (end > 0 && clock_at(end) > clock) end -= record_bytes_;
  if (end == 0 || clock_at(end) < clock) {
    waiting_.insert(end, record_bytes_, '\0');
    end += record_bytes_, ++count_;
  }
  char* to = waiting_.data() + end - record_bytes_;
  to = copy(to, {reinterpret_cast<const char*>(&clock), sizeof clock});
  copy(copy(to, fields), rest);
}

void VectorRecords::pass_on(Cycle end, const VectorSink& sink) {
  std::size_t last = waiting_.size();
  while (last > 0 && clock_at(last) >= end) last -= record_bytes_;
  if (last == 0) return;
  passed_on_ = clock_at(last);
  const std::string_view records = std::string_view(waiting_).substr(0, last);
  sink(name_ + ".bin", records);
  if (text_) sink(name_ + ".txt", lines(records));
  waiting_.erase(0, last);
}

void VectorRecords::finish(Cycle end, const VectorSink& sink) {
  pass_on(end, sink);
  count_ -= to_signed(waiting_.size() / record_bytes_);
  waiting_ = {};
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
