#include "isa/operation.h"

#include "base/types.h"
#include "isa/field.h"
#include "isa/operations.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

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

// The 64-bit pattern of a value with the encoding `code`.
std::uint64_t Field::extended(std::uint64_t code) const {
  const std::uint64_t sign = type_->is_signed ? std::uint64_t{1} << (bits_ - 1) : 0;
  return (code ^ sign) - sign;
}

std::uint64_t Field::encoded() const {
  const std::uint64_t pattern = type_->load(value_);
  if (type_->is_real) return pattern;
  const std::uint64_t code = pattern & ((std::uint64_t{1} << bits_) - 1);
  if (extended(code) != pattern) {
    const auto value = type_->is_signed ? fmt::format("{}", to_signed(pattern)) : fmt::format("{}", pattern);
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
  const auto value = to_signed(type_->load(value_));
  if (value >= least() && value <= most()) return {};
  return fmt::format("{} is {}, allowed are {} to {}", name_, value, least(), most());
}

std::string Field::text() const {
  const std::uint64_t pattern = type_->load(value_);
  if (pattern < type_->choices.count) return std::string(type_->choices.names[pattern]);
  if (type_->is_real) return fmt::format("{}", as_real(pattern));
  if (type_->is_address) return fmt::format("{:#x}", pattern);
  return fmt::format("{}", to_signed(pattern));
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
  type_->store(value_, to_unsigned(value));
}

namespace {

constexpr int kBits = kInstructionBytes * 8;

// The part of a field that lies in one byte.
struct FieldPart {
  std::size_t byte;
  int shift;  // position of the part's lowest bit in the byte
  int first;  // its lowest bit in the field
  unsigned mask;
};

// Calls `each` for the parts of a field of `bits` bits that begins at bit `at`.
template <class Each>
void for_parts(int at, int bits, const Each& each) {
  for (int first = 0; first < bits;) {
    const int shift = (at + first) % 8, size = std::min(8 - shift, bits - first);
    each(FieldPart{to_size((at + first) / 8), shift, first, (1U << size) - 1});
    first += size;
  }
}

class Packer : public FieldVisitor {
 public:
  explicit Packer(InstructionBytes& bytes) : bytes_(bytes) {}

 private:
  void field(const Field& field) override {
    const std::uint64_t code = field.encoded();
    for_parts(at_, field.bits(), [&](const FieldPart& part) {
      bytes_.at(part.byte) |= static_cast<std::uint8_t>(((code >> part.first) & part.mask) << part.shift);
    });
    at_ += field.bits();
  }
  InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

class Unpacker : public FieldVisitor {
 public:
  explicit Unpacker(const InstructionBytes& bytes) : bytes_(bytes) {}
  // All bits beyond the fields must be zero: a stray bit is an encoding error, not a feature.
  void expect_zero_tail() const {
    for_parts(at_, kBits - at_, [this](const FieldPart& part) {
      const unsigned byte = bytes_.at(part.byte);
      const unsigned rest = byte >> part.shift & part.mask;
      for (int i = 0; i < 8 && rest != 0; ++i) {
        if ((rest >> i & 1U) != 0)
          throw SimulationError(fmt::format("bit {} is reserved and must be zero", at_ + part.first + i));
      }
    });
  }

 private:
  void field(const Field& field) override {
    std::uint64_t code = 0;
    for_parts(at_, field.bits(), [&](const FieldPart& part) {
      const unsigned byte = bytes_.at(part.byte);
      code |= std::uint64_t{byte >> part.shift & part.mask} << part.first;
    });
    at_ += field.bits();
    field.set_encoded(code);
  }
  const InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

// Lists fields and their texts.
class Listing : public FieldVisitor {
 public:
  std::vector<FieldInfo> fields;
  std::vector<std::string> texts;

 private:
  void field(const Field& field) override {
    fields.push_back(field.info());
    texts.push_back(field.text());
  }
};

// Finds the first field whose value is out of range.
class Checker : public FieldVisitor {
 public:
  std::string fault;

 private:
  void field(const Field& field) override {
    if (fault.empty()) fault = field.fault();
  }
};

// Sets the named field, if the operation has it.
class Setter : public FieldVisitor {
 public:
  Setter(std::string_view name, std::string_view text) : name_(name), text_(text) {}
  bool found = false;

 private:
  void field(const Field& field) override {
    if (name_ != field.name()) return;
    found = true;
    field.set_text(text_);
  }
  std::string_view name_, text_;
};

}  // namespace

void refuse_unit(const char* name, Unit unit) {
  throw SimulationError(
      fmt::format("{} and its like: the {} unit has none", name, kUnitNames.at(to_size(unit))));
}

Operation OperationType::default_value() const {
  return make_();
}

Operation OperationType::decode(const InstructionBytes& bytes) const {
  Operation operation = make_();
  Unpacker unpacker(bytes);
  operation.visit(unpacker);
  unpacker.expect_zero_tail();
  if (const std::string fault = operation.fault(); !fault.empty()) throw SimulationError(fault);
  return operation;
}

std::vector<FieldInfo> OperationType::fields() const {
  Operation operation = make_();
  Listing listing;
  operation.visit(listing);
  return listing.fields;
}

int OperationType::field_bits() const {
  int bits = 0;
  for (const FieldInfo& field : fields()) {
    const int least = field.is_real ? 64 : 1, most = field.is_real ? 64 : 63;
    if (field.bits < least || field.bits > most)
      throw std::logic_error(
          fmt::format("field {} has {} bits, allowed are {} to {}", field.name, field.bits, least, most));
    bits += field.bits;
  }
  return bits;
}

Operation::Operation() : Operation(Halt{}) {}

void Operation::refuse_get() const {
  throw SimulationError(summary() + " where another operation is expected");
}

void Operation::encode_fields(InstructionBytes& bytes) const {
  Operation copy = *this;  // fields are shown for writing
  Packer packer(bytes);
  copy.visit(packer);
}

std::string Operation::fields_text() const {
  Operation copy = *this, untouched = type_->default_value();
  Listing fields, defaults;
  copy.visit(fields);
  untouched.visit(defaults);
  std::string text;
  for (std::size_t i = 0; i < fields.texts.size(); ++i) {
    if (fields.texts[i] != defaults.texts[i])
      text += fmt::format(" {}={}", fields.fields[i].name, fields.texts[i]);
  }
  return text;
}

void Operation::set_field(std::string_view name, std::string_view text) {
  Setter setter(name, text);
  visit(setter);
  if (setter.found) return;
  std::vector<std::string> names;
  for (const FieldInfo& field : type_->fields()) names.push_back(field.name);
  throw UserError(fmt::format("there is no field \"{}\"; there are {}", name,
                              names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::string Operation::fault() const {
  Operation copy = *this;  // fields are shown for writing
  Checker checker;
  copy.visit(checker);
  return checker.fault.empty() ? type_->fault_(bytes_) : checker.fault;
}

std::string Operation::summary() const {
  const std::string subject = type_->subject_(bytes_);
  return subject.empty() ? type_->name() : fmt::format("{} {}", type_->name(), subject);
}

}  // namespace tilebeat
