#include "tilebeat/isa/operation.h"

#include "tilebeat/base/error.h"
#include "tilebeat/isa/operations.h"

#include <stdexcept>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kBits = kInstructionBytes * 8;

class Packer : public FieldVisitor {
 public:
  explicit Packer(InstructionBytes& bytes) : bytes_(bytes) {}

 private:
  void field(const Field& field) override {
    const std::uint64_t code = field.encoded();
    for (int i = 0; i < field.bits(); ++i, ++at_) {
      if ((code >> i) & 1)
        bytes_.at(static_cast<std::size_t>(at_ / 8)) |= static_cast<std::uint8_t>(1 << (at_ % 8));
    }
  }
  InstructionBytes& bytes_;
  int at_ = kHeaderBits;
};

class Unpacker : public FieldVisitor {
 public:
  explicit Unpacker(const InstructionBytes& bytes) : bytes_(bytes) {}
  // What lies beyond the fields must be zero: a stray bit is an encoding error, not a feature.
  void expect_zero_tail() const {
    for (int i = at_; i < kBits; ++i) {
      if (bit(i)) throw SimulationError(fmt::format("bit {} is reserved and must be zero", i));
    }
  }

 private:
  void field(const Field& field) override {
    std::uint64_t code = 0;
    for (int i = 0; i < field.bits(); ++i, ++at_) code |= std::uint64_t{bit(at_)} << i;
    field.set_encoded(code);
  }
  unsigned bit(int at) const { return (bytes_.at(static_cast<std::size_t>(at / 8)) >> (at % 8)) & 1U; }
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
