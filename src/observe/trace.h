#pragma once

#include "base/types.h"
#include "observe/record_lane.h"
#include "observe/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// A signal of a trace, as handed out by `Trace::add_signal`. Negative: filtered out, nothing is recorded.
using SignalId = int;

/// The form in which a viewer shows the values of a signal.
enum class Radix : std::uint8_t { kHexadecimal, kDecimal, kSigned, kText };

/// Whether a signal is recorded when no pattern names signals (SPEC UI-12): ports, states, banks and lanes
/// are; registers, products and sums of single PEs only where a pattern names them.
enum class Shown : std::uint8_t { kAlways, kWhenNamed };

/// The declaration of a signal.
struct SignalInfo {
  std::string scope;   ///< a dotted path such as `soc.engine.banks`
  std::string name;    ///< unique within the scope, and an identifier of IEEE 1364
  int width_bits = 1;  ///< 1 or more; unused for texts
  Radix radix = Radix::kHexadecimal;
  Shown shown = Shown::kAlways;
  /// A name that registers share which mostly change together; empty: of no such bank.
  std::string bank = {};
};

class Trace;

/// Signals whose values come together, in the order of their declaration.
struct SignalGroup {
  std::vector<SignalId> signals;   ///< negative: filtered out
  std::vector<std::size_t> bytes;  ///< of the value of each
  std::size_t total_bytes = 0;
  mutable int place = -1;  ///< for the trace that records them: where it keeps what it knows of the group

  /// Declares a signal and adds it.
  void add(Trace& trace, const SignalInfo& info);
  /// Adds a signal of so many bits that is declared already.
  void add(SignalId signal, int width_bits) {
    signals.push_back(signal);
    bytes.push_back((to_size(width_bits) + 7) / 8);
    total_bytes += bytes.back();
  }
};

/// Receives value changes. Modules hold a pointer that is null when nothing is traced, so that an untraced
/// run pays one branch. Signals are declared during elaboration; changes may be recorded ahead of simulated
/// time, in any order, as long as none lies before the present.
class Trace {
 public:
  virtual ~Trace() = default;
  /// Declares a signal. Until its first change a signal of one bit is 0, any other unknown (x).
  virtual SignalId declare(const SignalInfo& info) = 0;
  SignalId add_signal(const std::string& scope, const std::string& name, int width_bits,
                      Radix radix = Radix::kHexadecimal, Shown shown = Shown::kAlways) {
    return declare({scope, name, width_bits, radix, shown});
  }
  /// The signal, of at most 64 bits, has `value` from `at` on. Of several changes at one instant the one
  /// recorded last counts.
  virtual void change(SignalId signal, Picoseconds at, std::uint64_t value) = 0;
  /// The same for a signal of any width: its bytes, the lowest one first.
  virtual void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) = 0;
  /// All signals of the group change: `packed` has the bytes of each behind those of the one before, the
  /// lowest one first, and no bits beyond a signal's width.
  virtual void change(const SignalGroup& group, Picoseconds at, const std::uint8_t* packed);
  /// The same with the pulse of their strobe. Another pulse of it is told before changes of its signals.
  virtual void carry(SignalId strobe, const SignalGroup& group, Picoseconds begin, Picoseconds end,
                     const std::uint8_t* packed) {
    pulse(strobe, begin, end);
    change(group, begin, packed);
  }
  /// Whether nothing is kept of a strobe and the values that it carries, so that they need not be told. Asked
  /// when all signals are declared.
  virtual bool ignores(SignalId strobe, const SignalGroup& group);
  /// Where the values that a strobe carries may be put instead, while there is room; null: nowhere. Asked
  /// when all signals are declared.
  virtual RecordLane* lane(SignalId, const SignalGroup&) { return nullptr; }
  /// The signal is unknown (x) from `at` on.
  virtual void unknown(SignalId signal, Picoseconds at) = 0;
  /// The signal, of one bit, is high from `begin` to `end`, and low around it where nothing else is said.
  virtual void pulse(SignalId signal, Picoseconds begin, Picoseconds end) {
    change(signal, begin, 1);
    change(signal, end, 0);
  }
  /// A signal of Radix::kText has the value `text`, without spaces, from `at` on. Changes of one signal come
  /// in rising order, possibly after their time: the cause of a wait is known when the wait ends.
  virtual void text(SignalId signal, Picoseconds at, std::string_view text) = 0;
  /// Whether recording has ended because the size limit is reached or the window has passed.
  bool is_over() const { return over_; }

 protected:
  bool over_ = false;
};

/// The valid strobe of a port: high in the cycles in which the port carries something (SPEC UI-7).
class Strobe {
 public:
  Strobe() = default;
  /// Declares `scope.name`; `trace` may be null.
  Strobe(Trace* trace, const std::string& scope, const std::string& name, Shown shown = Shown::kAlways)
      : signal_(trace != nullptr ? trace->declare({scope, name, 1, Radix::kHexadecimal, shown}) : -1) {}
  /// The port carries something from `begin` to `end`.
  void high(Trace* trace, Picoseconds begin, Picoseconds end) const {
    if (signal_ >= 0 && trace != nullptr) trace->pulse(signal_, begin, end);
  }
  /// The port carries the values of a group, all the signals that belong to it, from `begin` to `end`.
  void high(Trace* trace, Picoseconds begin, Picoseconds end, const SignalGroup& group,
            const std::uint8_t* packed) const {
    if (trace == nullptr || is_ignored(*trace, group)) return;
    if (std::uint8_t* const place = record(*trace, begin, end, group); place != nullptr)
      std::memcpy(place, packed, group.total_bytes);
    else
      trace->carry(signal_, group, begin, end, packed);
  }
  /// The place in which the observer keeps the values that the port carries from `begin` to `end`, to be
  /// filled now; null: they are to be told by `high`.
  std::uint8_t* record(Trace& trace, Picoseconds begin, Picoseconds end, const SignalGroup& group) const {
    ask(trace, group);
    return lane_ != nullptr ? lane_->add(begin, end) : nullptr;
  }
  /// Whether the observer keeps nothing of the strobe and the group.
  bool is_ignored(Trace& trace, const SignalGroup& group) const {
    ask(trace, group);
    return ignored_;
  }

 private:
  // A lane has the records of the first group.
  void ask(Trace& trace, const SignalGroup& group) const {
    if (group_ == &group) return;
    const bool is_first = group_ == nullptr;
    group_ = &group, ignored_ = trace.ignores(signal_, group);
    lane_ = is_first && !ignored_ ? trace.lane(signal_, group) : nullptr;
  }

  SignalId signal_ = -1;
  mutable bool ignored_ = false;
  mutable const SignalGroup* group_ = nullptr;  // the one that was asked about last
  mutable RecordLane* lane_ = nullptr;
};

/// The observers that modules report to; each may be null.
struct Observers {
  Trace* trace = nullptr;
  Timeline* timeline = nullptr;
  ProgramLog* programs = nullptr;
};

inline void SignalGroup::add(Trace& trace, const SignalInfo& info) {
  add(trace.declare(info), info.width_bits);
}

inline void Trace::change(const SignalGroup& group, Picoseconds at, const std::uint8_t* packed) {
  for (std::size_t i = 0; i < group.signals.size(); packed += group.bytes[i++]) {
    if (group.signals[i] >= 0) change(group.signals[i], at, packed, group.bytes[i]);
  }
}

inline bool Trace::ignores(SignalId strobe, const SignalGroup& group) {
  return strobe < 0 &&
         std::all_of(group.signals.begin(), group.signals.end(), [](SignalId signal) { return signal < 0; });
}

/// Whether `a` comes before `b` where runs of digits compare as numbers: b2 before b10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace tilebeat
