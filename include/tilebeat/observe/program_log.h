#pragma once

#include "tilebeat/base/types.h"

#include <cstdint>
#include <string>

namespace tilebeat {

/// What happens to an instruction, in this order; `kFlush` ends what was fetched and not decoded.
enum class ProgramStage : std::uint8_t {
  kFetch,    ///< its first byte is requested
  kDecode,   ///< it is at the head of the decoder; stays there while its queue is full, or a fence holds it
  kWait,     ///< it waits in its unit's queue, for the unit and its semaphores
  kExecute,  ///< a unit works on it
  kRetire,   ///< its results are complete
  kFlush
};

/// Receives what the command processors do with their programs, instruction by instruction. Modules hold a
/// pointer that is null when there is none.
class ProgramLog {
 public:
  virtual ~ProgramLog() = default;
  /// A processor as reports call it; returns its number.
  virtual int add_processor(const std::string& name) = 0;
  /// Instruction `number` of a processor, in the order in which it fetches them, begins a stage in cycle
  /// `at`, which is the present one or the next.
  virtual void begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) = 0;
  /// What it is, known when it is decoded.
  virtual void name(int processor, std::uint64_t number, const std::string& text) = 0;
};

}  // namespace tilebeat
