#pragma once

#include "engines/offset_table/tables.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tilebeat::offset_table {

/// The name of the engine under `dataflow`.
constexpr const char* kDataflow = "offset";

/// The source of addresses (SPEC OT-4): tables compiled ahead, or a generator that divides and multiplies
/// during the run.
enum class Addresses : std::uint8_t { kTables, kComputed };
constexpr std::array<std::string_view, 2> kAddressesNames{"tables", "computed"};

/// The replacement policy: the line of a set that is evicted.
enum class Replacement : std::uint8_t { kLru, kFifo };
constexpr std::array<std::string_view, 2> kReplacementNames{"lru", "fifo"};

/// The bank of word i of a line: bank i, or rotated by the line's number div 2^shift, so that the same word
/// of the lines of neighbouring threads lies in different banks. The program chooses the shift.
enum class BankOrder : std::uint8_t { kPlain, kRotated };
constexpr std::array<std::string_view, 2> kBankOrderNames{"plain", "rotated"};

constexpr int kWordBytes = 4;  ///< bytes of a word of the line cache's banks (SPEC OT-6)

/// The line cache in front of NRAM (SPEC OT-4, OT-6).
struct CacheConfig {
  int bytes = 16384;
  int line_bytes = 64;
  int ways = 4;
  Replacement replacement = Replacement::kLru;
  int banks = 16;  ///< banks of 4-byte words, one access a cycle each
  BankOrder bank_order = BankOrder::kRotated;
  int misses = 8;  ///< most misses in flight
  int hit_latency_cycles = 2;

  int sets() const { return bytes / line_bytes / ways; }
};

class TableLibrary;

/// Sizes of the offset-table engine (SPEC OT-6) and its modes.
struct OffsetConfig {
  int rows = 16, columns = 16;  ///< threads and kernels of a beat
  int vector = 4;               ///< neighbouring elements per thread and beat
  MapLayout layout = MapLayout::kNhwc;
  int block_channels = 16;  ///< of NCHWc
  ThreadOrder thread_order = ThreadOrder::kLinear;
  Addresses addresses = Addresses::kTables;
  int divider_cycles = 8;     ///< cycles of a division of the address generator; not pipelined
  int multiplier_cycles = 1;  ///< cycles of a multiplication; pipelined
  int address_queue = 4;      ///< offsets of the generator that are under way or wait for their beats
  CacheConfig cache;
  int table_bytes = 16384;      ///< bytes of the table cache
  int beat_queue = 16;          ///< most beats between the tags and the lanes
  int port_bytes = 64;          ///< bytes of an access to NRAM or WRAM
  int drain_bytes = 64;         ///< bytes of sums that leave the lanes a cycle
  int write_queue = 16;         ///< most rows of results that wait for NRAM
  int post_latency_cycles = 4;  ///< of the post-processing path
  int record_kernels = 1024;    ///< kernels whose biases and scales the unit holds
  /// Tables compiled before (TableLibrary); none: the planner compiles them. Not a field of the hardware
  /// file.
  std::shared_ptr<TableLibrary> library;
};

}  // namespace tilebeat::offset_table
