#include "tilebeat/isa/operation.h"

#include "tilebeat/base/error.h"
#include "tilebeat/isa/operations.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kBits = kInstructionBytes * 8;

// A part of a field that lies in one byte.
struct FieldPart {
  std::size_t byte;
  int shift;  // of its lowest bit in the byte
  int first;  // its lowest bit in the field
  unsigned mask;
};

// Calls `each` for the parts of a field of `bits` bits that begins at bit `at`.
template <class Each>
void for_parts(int at, int bits, const Each& each) {
  for (int first = 0; first < bits;) {
    const int shift = (at + first) % 8, size = std::min(8 - shift, bits - first);
    each(FieldPart{static_cast<std::size_t>((at + first) / 8), shift, first, (1U << size) - 1});
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
  // What lies beyond the fields must be zero: a stray bit is an encoding error, not a feature.
  void expect_zero_tail() const {
    for_parts(at_, kBits - at_, [this](const FieldPart& part) {
      const unsigned rest = bytes_.at(part.byte) >> part.shift & part.mask;
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
      code |= std::uint64_t{bytes_.at(part.byte) >> part.shift & part.mask} << part.first;
    });
    at_ += field.bits();
    field.set_encoded(code);
  }
  const InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

// Fields and their texts.
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

// The first field whose value is out of range.
class Checker : public FieldVisitor {
 public:
  std::string fault;

 private:
  void field(const Field& field) override {
    if (fault.empty()) fault = field.fault();
  }
};

// Takes the field that is named, if the operation has it.
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
  throw SimulationError(fmt::format("{} and its like: the {} unit has none", name,
                                    kUnitNames.at(static_cast<std::size_t>(unit))));
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
