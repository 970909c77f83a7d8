#pragma once

#include "tilebeat/observe/ledger.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilebeat {

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

/// What matrix engines do through ports of their own at a core's memories, and the counter that has it.
struct OwnAccess {
  std::string_view counter;
  std::int64_t MemoryBytes::*level;
};
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

/// Why a multiplier has nothing useful to do in a beat of its array. A multiplier is counted once, under the
/// first reason that holds.
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

/// To whom a part of the hardware tells what it has counted since reset. Modules are named relative to what
/// contains the part: "engine.array".
class StatVisitor {
 public:
  virtual ~StatVisitor() = default;
  /// Where the cycles of a module went; the visitor may settle the ledger.
  virtual void ledger(const std::string& module, CycleLedger& ledger) = 0;
  virtual void counter(const std::string& module, const std::string& name, const std::string& unit,
                       std::int64_t value) = 0;
  /// `moved` bytes more at a level of memory: `bytes(&MemoryBytes::wram_read, 64)`.
  virtual void bytes(std::int64_t MemoryBytes::*level, std::int64_t moved) = 0;
  /// Likewise, of a module that accesses a core's memory through ports of its own: a counter as well, so that
  /// the energy of the accesses is the module's (SPEC UI-10).
  void own_bytes(const std::string& module, const OwnAccess& access, std::int64_t moved) {
    counter(module, std::string(access.counter), "bytes", moved);
    bytes(access.level, moved);
  }
  /// Where the cycles of a PE array went, whose ledger has been visited; its beats and useful
  /// multiply-accumulates.
  virtual void array(const CycleLedger& ledger, std::int64_t beats, std::int64_t macs) = 0;
  /// Results that were requantised, or that a vector unit made.
  virtual void results(std::int64_t /*elements*/) {}
  /// What the beats of the same PE array could have multiplied besides the useful multiply-accumulates; told
  /// by arrays that count it. Both sum to the beats at the array's peak.
  virtual void losses(const MacLosses& /*losses*/) {}
};

}  // namespace tilebeat
