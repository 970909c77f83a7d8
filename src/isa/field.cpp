#include "tilebeat/isa/field.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::int64_t parse_number(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.substr(0, 2) == "0x";
  if (hex) digits.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
    throw UserError(fmt::format("\"{}\" is not a number", text));
  return negative ? -value : value;
}

double parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw UserError(fmt::format("\"{}\" is not a finite number", text));
  return value;
}

double as_real(std::uint64_t pattern) {
  double value = 0;
  std::memcpy(&value, &pattern, sizeof value);
  return value;
}

std::uint64_t parse_choice(std::string_view text, const FieldChoices& choices) {
  const std::string_view* const end = choices.names + choices.count;
  for (std::size_t i = 0; i < choices.count; ++i) {
    if (text == choices.names[i]) return i;
  }
  throw UserError(
      fmt::format("\"{}\" is no {}; there are {}", text, choices.what, fmt::join(choices.names, end, ", ")));
}

}  // namespace

// The 64-bit pattern of a value that is encoded as `code`.
std::uint64_t Field::extended(std::uint64_t code) const {
  const std::uint64_t sign = type_->is_signed ? std::uint64_t{1} << (bits_ - 1) : 0;
  return (code ^ sign) - sign;
}

std::uint64_t Field::encoded() const {
  const std::uint64_t pattern = type_->load(value_);
  if (type_->is_real) return pattern;
  const std::uint64_t code = pattern & ((std::uint64_t{1} << bits_) - 1);
  if (extended(code) != pattern) {
    const auto value =
        type_->is_signed ? fmt::format("{}", static_cast<std::int64_t>(pattern)) : fmt::format("{}", pattern);
    throw SimulationError(fmt::format("instruction field {} = {} needs over {} bits", name_, value, bits_));
  }
  return code;
}

void Field::set_encoded(std::uint64_t code) const {
  const FieldChoices& choices = type_->choices;
  if (choices.count != 0 && code >= choices.count)
    throw SimulationError(fmt::format("illegal {} {}", name_, code));
  if (type_->is_real && !std::isfinite(as_real(code)))
    throw SimulationError(fmt::format("illegal {} {}: no finite number", name_, as_real(code)));
  type_->store(value_, type_->is_real ? code : extended(code));
}

std::int64_t Field::least() const {
  return std::max(range_.least, type_->is_signed ? -(std::int64_t{1} << (bits_ - 1)) : 0);
}

std::int64_t Field::most() const {
  return std::min(range_.most, (std::int64_t{1} << (type_->is_signed ? bits_ - 1 : bits_)) - 1);
}

FieldInfo Field::info() const {
  FieldInfo info{name_, bits_, type_->is_real, 0, 0, {}};
  const FieldChoices& choices = type_->choices;
  info.names.assign(choices.names, choices.names + choices.count);
  if (!info.is_real && choices.count == 0) info.least = least(), info.most = most();
  return info;
}

std::string Field::fault() const {
  if (type_->is_real || type_->choices.count != 0) return {};
  const auto value = static_cast<std::int64_t>(type_->load(value_));
  if (value >= least() && value <= most()) return {};
  return fmt::format("{} is {}, allowed are {} to {}", name_, value, least(), most());
}

std::string Field::text() const {
  const std::uint64_t pattern = type_->load(value_);
  if (pattern < type_->choices.count) return std::string(type_->choices.names[pattern]);
  if (type_->is_real) return fmt::format("{}", as_real(pattern));
  if (type_->is_address) return fmt::format("{:#x}", pattern);
  return fmt::format("{}", static_cast<std::int64_t>(pattern));
}

void Field::set_text(std::string_view text) const {
  if (type_->choices.count != 0) {
    type_->store(value_, parse_choice(text, type_->choices));
    return;
  }
  if (type_->is_real) {
    const double value = parse_real(text);
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, &value, sizeof pattern);
    type_->store(value_, pattern);
    return;
  }
  const std::int64_t value = parse_number(text);
  if (value < least() || value > most())
    throw UserError(fmt::format("{} is {}, allowed are {} to {}", name_, value, least(), most()));
  type_->store(value_, static_cast<std::uint64_t>(value));
}

}  // namespace tilebeat
