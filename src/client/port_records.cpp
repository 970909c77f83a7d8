#include "client/port_records.h"

#include <cstring>
#include <utility>

namespace tilebeat {
namespace {

constexpr const char* kKindNames[]{"valid", "bank", "change"};
constexpr std::size_t kMuch = 1 << 16;
// A record of a register begins with its number in two bytes, and a byte that says whether its value is
// known.
constexpr std::size_t kNumberBytes = 2, kChangeBytes = 3;

}  // namespace

PortRecords::PortRecords(std::string name, Kind kind, std::int64_t clock_ps, std::vector<Field> fields,
                         const std::vector<std::string>& registers)
    : name_(std::move(name)), kind_(kind), clock_ps_(clock_ps), fields_(std::move(fields)) {
  for (Field& field : fields_)
    field.at = record_bytes_ - sizeof(std::int64_t), record_bytes_ += field.bytes();
  if (kind_ == Kind::kChanges && !fields_.empty()) {
    const Field value = fields_.back();
    value_bytes_ = value.bytes();
    fields_.clear();
    for (const std::string& each : registers)
      fields_.push_back({each, value.bits, fields_.size() * value_bytes_});
    known_.resize(registers.size());
    values_.resize(registers.size() * value_bytes_);
  } else {
    values_.resize(record_bytes_ - sizeof(std::int64_t));
  }
}

void PortRecords::show() {
  shown_fields_.clear();
  for (const Field& field : fields_) shown_fields_.push_back({field.name.c_str(), field.bits});
  shown_ = {name_.c_str(), kKindNames[static_cast<std::size_t>(kind_)], clock_ps_, shown_fields_.size(),
            shown_fields_.data()};
}

void PortRecords::go_to(std::int64_t clock, std::int64_t clock_ps) {
  now_ = clock_ps == clock_ps_ ? clock : clock * clock_ps / clock_ps_;
  while (taken_ < waiting_.size()) {
    std::int64_t at = 0;
    std::memcpy(&at, waiting_.data() + taken_, sizeof at);
    if (at > now_) break;
    apply(at, waiting_.data() + taken_ + sizeof at);
    taken_ += record_bytes_;
  }
  if (taken_ == waiting_.size() || taken_ > kMuch) waiting_.erase(0, taken_), taken_ = 0;
}

void PortRecords::apply(std::int64_t clock, const char* record) {
  latest_ = clock;
  if (kind_ != Kind::kChanges) {
    std::memcpy(values_.data(), record, values_.size());
    return;
  }
  std::uint16_t number = 0;
  static_assert(sizeof number == kNumberBytes);
  std::memcpy(&number, record, sizeof number);
  if (number >= known_.size()) return;
  known_[number] = record[kNumberBytes] != 0;
  std::memcpy(values_.data() + number * value_bytes_, record + kChangeBytes, value_bytes_);
}

std::optional<std::string_view> PortRecords::value(std::size_t field) const {
  const Field& asked = fields_[field];
  const std::string_view bytes(values_.data() + asked.at, asked.bytes());
  if (kind_ == Kind::kChanges) return known_[field] ? std::optional(bytes) : std::nullopt;
  if (latest_ < 0 || (kind_ == Kind::kStrobed && latest_ != now_)) return std::nullopt;
  const Field& known = fields_.back();
  const bool is_known = &asked == &known || (values_[known.at + field / 8] >> field % 8 & 1) != 0;
  return is_known ? std::optional(bytes) : std::nullopt;
}

}  // namespace tilebeat
