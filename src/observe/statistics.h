#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "observe/activity_log.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// Cycles of one module, by activity.
using ActivityCycles = std::array<Cycle, kActivityCount>;

/// Accounts for every cycle of one module. A module either switches (`enter`) when its activity changes or,
/// when it knows a stretch in advance, spends it in one go (`spend`). Time never runs backwards and no cycle
/// is counted twice.
///
/// The cause of a wait for memory is known only with the answer: `explain` then divides the cycles of
/// `kMemory`.
class CycleLedger {
 public:
  /// The module changes to `activity` from cycle `at` on (`at` not before the previous change).
  void enter(Activity activity, Cycle at) {
    settle(at);
    current_ = activity;
  }
  /// The next `cycles` cycles, starting where the ledger stands, belong to `activity`; the current activity
  /// goes on afterwards. `order` is what the engine knows of these and the neighbouring cycles.
  void spend(Activity activity, Cycle cycles, CycleOrder order = CycleOrder::kAsTold) {
    if (activity == Activity::kMemory) await(since_ + cycles);
    if (log_ != nullptr) log_->add(activity, since_, since_ + cycles, order);
    nth(cycles_, activity) += cycles;
    since_ += cycles;
  }
  /// Accounts for the current activity up to cycle `at`, which may not lie before what is already accounted
  /// for.
  void settle(Cycle at);
  /// The answer to a request arrived before cycle `now`: unexplained cycles of `kMemory` from cycle `from` on
  /// get the causes in `trail`. Does nothing when `trail` is empty.
  void explain(const WaitTrail& trail, Cycle now, Cycle from = 0);
  /// The cycles so far have been reported and do not change any more.
  void close() {
    unexplained_.clear();
    if (log_ != nullptr) log_->close();
  }
  /// From now on reports cycles to `log`, which outlives the ledger's use; null: to nobody.
  void report_to(ActivityLog* log) { log_ = log; }
  /// The cycle up to which everything is accounted for.
  Cycle settled_at() const { return since_; }
  Activity current() const { return current_; }
  /// The cycles accounted for so far, by activity; they sum to `settled_at()`.
  const ActivityCycles& cycles() const { return cycles_; }

 private:
  struct Stretch {
    Cycle begin, end;
  };
  void await(Cycle end);

  ActivityCycles cycles_{};
  Activity current_ = Activity::kHost;
  Cycle since_ = 0;
  std::vector<Stretch> unexplained_;  // stretches of kMemory that are not explained yet
  ActivityLog* log_ = nullptr;
};

/// Bytes moved, by memory level and direction.
struct MemoryBytes {
  std::int64_t dram_read = 0, dram_write = 0;
  std::int64_t input_buffer_write = 0, input_buffer_read = 0;
  std::int64_t parameter_buffer_write = 0, parameter_buffer_read = 0;
  std::int64_t output_buffer_write = 0, output_buffer_read = 0;
  std::int64_t nram_write = 0, nram_read = 0, wram_write = 0, wram_read = 0, sram_write = 0, sram_read = 0;
  std::int64_t bus_read = 0, bus_write = 0;  ///< over interconnects, each of them
};

/// All counts of MemoryBytes.
constexpr std::array kMemoryCounts{&MemoryBytes::dram_read,
                                   &MemoryBytes::dram_write,
                                   &MemoryBytes::input_buffer_write,
                                   &MemoryBytes::input_buffer_read,
                                   &MemoryBytes::parameter_buffer_write,
                                   &MemoryBytes::parameter_buffer_read,
                                   &MemoryBytes::output_buffer_write,
                                   &MemoryBytes::output_buffer_read,
                                   &MemoryBytes::nram_write,
                                   &MemoryBytes::nram_read,
                                   &MemoryBytes::wram_write,
                                   &MemoryBytes::wram_read,
                                   &MemoryBytes::sram_write,
                                   &MemoryBytes::sram_read,
                                   &MemoryBytes::bus_read,
                                   &MemoryBytes::bus_write};

/// A kind of accesses of matrix engines to a core's memory through ports of their own, and its counter.
struct OwnAccess {
  std::string_view counter;
  std::int64_t MemoryBytes::*level;
};
/// The counter of weights of four bits that a DMA engine has decoded.
constexpr const char* kDecodedCounter = "decoded";
constexpr OwnAccess kOwnNramRead{"nram_read", &MemoryBytes::nram_read},
    kOwnNramWrite{"nram_written", &MemoryBytes::nram_write},
    kOwnWramRead{"wram_read", &MemoryBytes::wram_read};

inline MemoryBytes operator+(MemoryBytes a, const MemoryBytes& b) {
  for (const auto count : kMemoryCounts) a.*count += b.*count;
  return a;
}
inline MemoryBytes operator-(MemoryBytes a, const MemoryBytes& b) {
  for (const auto count : kMemoryCounts) a.*count -= b.*count;
  return a;
}

/// The reason why a multiplier has nothing useful to do in a beat of its array. A multiplier is counted once,
/// under the first reason that applies.
enum class MacLoss {
  kNoPixel,   ///< its lane, thread or line has no output element: edges of maps and blocks
  kNoKernel,  ///< its column has no kernel
  kNoChannel  ///< output and kernel exist, the product is none of the layer's: fill of channels, other
              ///< groups, inserted zeros
};
constexpr std::array<std::string_view, 3> kMacLossNames{"no_pixel", "no_kernel", "no_channel"};
/// Multiply-accumulates by MacLoss.
using MacLosses = std::array<std::int64_t, kMacLossNames.size()>;

inline MacLosses operator+(MacLosses a, const MacLosses& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
inline MacLosses operator-(MacLosses a, const MacLosses& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

/// Units that explain the cycles of layers without multiply-accumulates.
enum class HelperUnit : std::uint8_t {
  kVector,  ///< the vector units
  kCopies   ///< the DMA engines, by their write sides
};
constexpr std::array<std::string_view, 2> kHelperUnitNames{"vector", "dma"};
/// Cycles of all units of a kind together, by HelperUnit.
using HelperCycles = std::array<ActivityCycles, kHelperUnitNames.size()>;

/// Receives the counts of a part of the hardware since reset. Names of modules are relative to the part:
/// "engine.array".
class StatVisitor {
 public:
  virtual ~StatVisitor() = default;
  /// Visits the ledger of a module; the visitor may settle it.
  virtual void ledger(const std::string& module, CycleLedger& ledger) = 0;
  virtual void counter(const std::string& module, const std::string& name, const std::string& unit,
                       std::int64_t value) = 0;
  /// Adds `moved` bytes to a level of memory: `bytes(&MemoryBytes::wram_read, 64)`.
  virtual void bytes(std::int64_t MemoryBytes::*level, std::int64_t moved) = 0;
  /// Adds the bytes of a module that accesses a core's memory through ports of its own, also as a counter, so
  /// that the energy of the accesses is the module's (SPEC UI-10).
  void own_bytes(const std::string& module, const OwnAccess& access, std::int64_t moved) {
    counter(module, std::string(access.counter), "bytes", moved);
    bytes(access.level, moved);
  }
  /// The ledger of a PE array, which has been visited before, with its beats and useful multiply-accumulates.
  virtual void array(const CycleLedger& ledger, std::int64_t beats, std::int64_t macs) = 0;
  /// The ledger of a unit that layers without multiply-accumulates use; it has been visited before.
  virtual void helper(HelperUnit /*unit*/, const CycleLedger& /*ledger*/) {}
  /// Results that were requantised or made by a vector unit.
  virtual void results(std::int64_t /*elements*/) {}
  virtual void decoded(std::int64_t /*weights*/) {}
  /// The lost multiply-accumulates of the same PE array's beats, from arrays that count them. With the useful
  /// ones they sum to the beats at the array's peak.
  virtual void losses(const MacLosses& /*losses*/) {}
};

}  // namespace tilebeat
