#pragma once

#include "isa/field.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tilebeat {

/// The units that execute instructions; each has an in-order queue of its own in the command processor.
/// The first four are the matrix unit and its channels, the next ones the vector unit, the DMA engines of
/// cores and memory cores (SPEC HI-2, HI-3), the engine that folds maps inside NRAM (SPEC WF-5), and the DMA
/// engine that a core may have for stores alone.
enum class Unit : std::uint8_t {
  kLoad,
  kParameter,
  kMatrix,
  kStore,
  kVector,
  kIodma,
  kMvdma,
  kGdma,
  kCdma,
  kFold,
  kIostore,
  kSync
};
constexpr int kQueuedUnits = 11;  ///< all but kSync, which the command processor executes itself
constexpr std::array<const char*, kQueuedUnits + 1> kUnitNames{"load",   "parameter", "matrix",  "store",
                                                               "vector", "iodma",     "mvdma",   "gdma",
                                                               "cdma",   "fold",      "iostore", "sync"};

/// Bytes of one instruction: sixteen little-endian 32-bit words (docs/isa.md).
constexpr int kInstructionBytes = 64;
using InstructionBytes = std::array<std::uint8_t, kInstructionBytes>;
/// Bits before the fields of the operation: opcode word, waits, release signals, done signals.
constexpr int kHeaderBits = 128;

class Operation;
template <class Op>
struct OperationTraits;

/// Name, encoding and unit of one kind of operation.
struct OperationKind {
  const char* name = "";  ///< the mnemonic: "conv.run"
  std::uint8_t opcode = 0;
  Unit unit = Unit::kSync;
};

/// Everything that can be done with operations of one kind without knowing their C++ type. It is made from
/// the declarations in the operation's struct:
///
///     struct Barrier {
///       static constexpr OperationKind kKind{"barrier", 0x22, Unit::kSync};
///       std::uint16_t id = 0;
///       std::uint16_t participants = 1;
///       void describe(FieldVisitor& visit) { visit("id", id, 16), visit("participants", participants, 16); }
///       std::string subject() const;  // may be left out: what follows the name in a summary
///       std::string fault() const;    // may be left out: what is wrong with fields that each are in range
///     };
///
/// An operation that exists for several units has an array `kKinds` in place of `kKind` and a member `unit`
/// that chooses.
class OperationType {
 public:
  const char* name() const { return kind_.name; }
  std::uint8_t opcode() const { return kind_.opcode; }
  Unit unit() const { return kind_.unit; }

  /// An operation of this kind whose fields have their defaults.
  Operation default_value() const;
  /// The operation encoded behind the header of `bytes`. Throws SimulationError for an illegal field, for
  /// contradicting fields and for set bits beyond the last field.
  Operation decode(const InstructionBytes& bytes) const;
  /// The fields, in the order in which they are packed.
  std::vector<FieldInfo> fields() const;
  /// Bits that the fields take together. Throws std::logic_error when a field has no width that Field allows.
  int field_bits() const;

 private:
  friend class Operation;
  template <class Op>
  friend struct OperationTraits;
  constexpr OperationType() = default;

  // Kind number I of the C++ type that `Traits` (OperationTraits) is about.
  template <class Traits, std::size_t I>
  static constexpr OperationType of() {
    OperationType type;
    type.kind_ = Traits::kKinds[I];
    type.structure_ = &Traits::kStructure;
    type.make_ = &Traits::template make<I>;
    type.describe_ = &Traits::describe;
    type.subject_ = &Traits::subject;
    type.fault_ = &Traits::fault;
    return type;
  }

  OperationKind kind_;
  const void* structure_ = nullptr;                                   // identity of the C++ type
  Operation (*make_)() = nullptr;                                     // default_value()
  void (*describe_)(void* operation, FieldVisitor& visit) = nullptr;  // shows the fields
  std::string (*subject_)(const void* operation) = nullptr;           // text of a summary
  std::string (*fault_)(const void* operation) = nullptr;             // error in the combination of fields
};

/// A value that holds any one of the operations in the InstructionSet. It holds the operation itself and can
/// be copied byte by byte.
class Operation {
 public:
  static constexpr std::size_t kBytes = 64;  ///< largest operation; 48 bytes encoded leave room for padding

  /// Makes a `halt`: a processor that meets an instruction nobody filled in stops.
  Operation();
  /// Any operation. Throws SimulationError when its `unit` executes none of its kinds.
  template <class Op, class = decltype(&Op::describe)>
  Operation(const Op& operation);  // NOLINT(google-explicit-constructor): `instruction.operation = Halt{}`

  const OperationType& type() const { return *type_; }
  template <class Op>
  bool is() const;
  /// The operation if it is an `Op`, null otherwise. An `Op` of several kinds cannot be edited in place,
  /// only replaced, because its `unit` belongs to its type.
  template <class Op>
  const Op* get_if() const;
  template <class Op>
  typename OperationTraits<Op>::Editable* get_if();
  /// The operation, which must be an `Op`; throws SimulationError for another one.
  template <class Op>
  const Op& get() const;
  template <class Op>
  typename OperationTraits<Op>::Editable& get();

  /// Packs the fields behind the header of `bytes`, where all bits are zero. Throws SimulationError for a
  /// field that does not fit.
  void encode_fields(InstructionBytes& bytes) const;
  /// The fields that differ from their defaults: " rows=1 columns=2".
  std::string fields_text() const;
  /// Sets the field `name` from text. Throws UserError for an unknown field or an invalid value.
  void set_field(std::string_view name, std::string_view text);
  /// The error in the fields, each by itself or together; empty: no error.
  std::string fault() const;
  /// Name and size of the operation in a few words: "conv.run 20x56x16".
  std::string summary() const;

 private:
  friend class OperationType;
  void visit(FieldVisitor& visitor) { type_->describe_(bytes_, visitor); }
  [[noreturn]] void refuse_get() const;

  alignas(std::uint64_t) unsigned char bytes_[kBytes] = {};
  const OperationType* type_;
};
static_assert(std::is_trivially_copyable_v<Operation>);

/// The only place that makes OperationType and Operation from the declarations of the C++ type Op. Op has one
/// OperationType, or one for each of its kinds.
template <class Op>
struct OperationTraits {
  static_assert(std::is_trivially_copyable_v<Op>, "operations are copied byte by byte");
  static_assert(sizeof(Op) <= Operation::kBytes, "an operation must fit into Operation");
  static_assert(alignof(Op) <= alignof(std::uint64_t), "an operation must fit into Operation");

  template <class T, class = void>
  struct Kinds {
    static constexpr std::array<OperationKind, 1> kAll{T::kKind};
  };
  template <class T>
  struct Kinds<T, std::void_t<decltype(T::kKinds)>> {
    static constexpr auto kAll = T::kKinds;
  };
  template <class T, class = void>
  struct HasSubject : std::false_type {};
  template <class T>
  struct HasSubject<T, std::void_t<decltype(&T::subject)>> : std::true_type {};

  template <class T, class = void>
  struct HasFault : std::false_type {};
  template <class T>
  struct HasFault<T, std::void_t<decltype(&T::fault)>> : std::true_type {};

  static constexpr auto kKinds = Kinds<Op>::kAll;
  static constexpr bool kSeveral = kKinds.size() > 1;
  using Editable = std::conditional_t<kSeveral, const Op, Op>;
  static constexpr char kStructure = 0;  ///< its address stands for Op

  template <std::size_t I>
  static Operation make() {
    Op operation{};
    if constexpr (kSeveral) operation.unit = kKinds[I].unit;
    return operation;
  }
  static std::string subject(const void* operation) {
    if constexpr (HasSubject<Op>::value) return static_cast<const Op*>(operation)->subject();
    return {};
  }
  static std::string fault([[maybe_unused]] const void* operation) {
    if constexpr (HasFault<Op>::value) return static_cast<const Op*>(operation)->fault();
    return {};
  }
  static void describe(void* operation, FieldVisitor& visit) { static_cast<Op*>(operation)->describe(visit); }
  template <std::size_t... I>
  static constexpr std::array<OperationType, sizeof...(I)> types(std::index_sequence<I...>) {
    return {OperationType::of<OperationTraits, I>()...};
  }
};
/// The OperationTypes of Op, in the order of Op::kKinds.
template <class Op>
inline constexpr auto kOperationTypes =
    OperationTraits<Op>::types(std::make_index_sequence<OperationTraits<Op>::kKinds.size()>());

/// The OperationTypes of several C++ types, for an engine's list of operations.
template <class... Ops>
std::vector<const OperationType*> operation_types() {
  std::vector<const OperationType*> types;
  const auto append = [&types](const auto& of_one) {
    for (const OperationType& type : of_one) types.push_back(&type);
  };
  (append(kOperationTypes<Ops>), ...);
  return types;
}

/// Throws SimulationError: `unit` does not execute the operation `name`.
[[noreturn]] void refuse_unit(const char* name, Unit unit);

/// The OperationType of an operation.
template <class Op>
const OperationType& type_of([[maybe_unused]] const Op& operation) {
  if constexpr (OperationTraits<Op>::kSeveral) {
    for (const OperationType& type : kOperationTypes<Op>) {
      if (type.unit() == operation.unit) return type;
    }
    refuse_unit(kOperationTypes<Op>[0].name(), operation.unit);
  } else {
    return kOperationTypes<Op>[0];
  }
}

template <class Op, class>
Operation::Operation(const Op& operation) : type_(&type_of(operation)) {
  ::new (static_cast<void*>(bytes_)) Op(operation);
}

template <class Op>
bool Operation::is() const {
  return type_->structure_ == &OperationTraits<Op>::kStructure;
}
template <class Op>
const Op* Operation::get_if() const {
  return is<Op>() ? std::launder(reinterpret_cast<const Op*>(bytes_)) : nullptr;
}
template <class Op>
typename OperationTraits<Op>::Editable* Operation::get_if() {
  return is<Op>() ? std::launder(reinterpret_cast<Op*>(bytes_)) : nullptr;
}
template <class Op>
const Op& Operation::get() const {
  const Op* operation = get_if<Op>();
  if (operation == nullptr) refuse_get();
  return *operation;
}
template <class Op>
typename OperationTraits<Op>::Editable& Operation::get() {
  auto* operation = get_if<Op>();
  if (operation == nullptr) refuse_get();
  return *operation;
}

}  // namespace tilebeat
