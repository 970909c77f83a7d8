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

/// Where addresses come from (SPEC OT-4): from tables that were compiled ahead, or from a generator that
/// divides and multiplies during the run.
enum class Addresses : std::uint8_t { kTables, kComputed };
constexpr std::array<std::string_view, 2> kAddressesNames{"tables", "computed"};

/// Which line of a set makes room.
enum class Replacement : std::uint8_t { kLru, kFifo };
constexpr std::array<std::string_view, 2> kReplacementNames{"lru", "fifo"};

/// Which bank word i of a line lies in: bank i, or turned by the line's number div 2^shift, where the program
/// chooses the shift: so that the same word of the lines of neighbouring threads lies in different banks.
enum class BankOrder : std::uint8_t { kPlain, kRotated };
constexpr std::array<std::string_view, 2> kBankOrderNames{"plain", "rotated"};

constexpr int kWordBytes = 4;  ///< of a bank of the line cache (SPEC OT-6)

/// The line cache in front of NRAM (SPEC OT-4, OT-6).
struct CacheConfig {
  int bytes = 16384;
  int line_bytes = 64;
  int ways = 4;
  Replacement replacement = Replacement::kLru;
  int banks = 16;  ///< of words of 4 bytes, one access a cycle each
  BankOrder bank_order = BankOrder::kRotated;
  int misses = 8;  ///< that are under way at a time
  int hit_latency_cycles = 2;

  int sets() const { return bytes / line_bytes / ways; }
};

class TableLibrary;

/// Sizes of the offset-table engine (SPEC OT-6), and how it is used.
struct OffsetConfig {
  int rows = 16, columns = 16;  ///< threads and kernels of a beat
  int vector = 4;               ///< neighbouring elements of a thread and beat
  MapLayout layout = MapLayout::kNhwc;
  int block_channels = 16;  ///< of NCHWc
  ThreadOrder thread_order = ThreadOrder::kLinear;
  Addresses addresses = Addresses::kTables;
  int divider_cycles = 8;     ///< of the generator; not pipelined
  int multiplier_cycles = 1;  ///< pipelined
  CacheConfig cache;
  int table_bytes = 16384;      ///< of the table cache
  int beat_queue = 16;          ///< beats between the tags and the lanes
  int port_bytes = 64;          ///< of an access to NRAM or WRAM
  int drain_bytes = 64;         ///< of sums that leave the lanes a cycle
  int write_queue = 16;         ///< rows of results that wait for NRAM
  int post_latency_cycles = 4;  ///< of the post-processing path
  int record_kernels = 1024;    ///< kernels whose biases and scales the unit holds
  /// Tables that were compiled before (TableLibrary); none: the planner compiles them. No field of the file.
  std::shared_ptr<TableLibrary> library;
};

}  // namespace tilebeat::offset_table
