#pragma once

#include "base/types.h"
#include "observe/activity_log.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilebeat {

/// A counter of a timeline, as handed out by `Timeline::add_counter`.
using CounterId = int;

/// A slice of a timeline: one piece of work (SPEC UI-7).
struct Slice {
  std::string what;
  Picoseconds begin = 0, end = 0;
  std::optional<std::uint64_t> instruction = {};  ///< address of the instruction that caused it
  std::optional<std::int64_t> bytes = {};         ///< bytes moved
  std::optional<std::int64_t> macs = {};          ///< useful multiply-accumulates
};

/// A counter of a timeline, and the form in which it is shown.
struct CounterInfo {
  enum class Kind : std::uint8_t {
    kSum,   ///< counted amounts, as a rate: units a cycle
    kWork,  ///< useful multiply-accumulates of a PE array, as utilisation: per cent of its peak
    kLevel  ///< a value that holds until the next one; of several in a short time the largest is shown
  };
  std::string module;  ///< name in reports
  std::string name;
  std::string unit;
  Kind kind = Kind::kSum;
};

/// Receives the contents of a timeline (SPEC UI-7). Modules hold a pointer that is null when there is none,
/// so that a run without one pays a branch.
class Timeline {
 public:
  virtual ~Timeline() = default;
  /// `track` did a piece of work. Tracks and modules have their names in reports: `cluster0.core1.iodma`.
  virtual void slice(const std::string& track, const Slice& slice) = 0;
  /// Returns a listener for the activities of `module`, in cycles of `period`; it lives as long as the
  /// timeline.
  virtual ActivityListener& activities(const std::string& module, Picoseconds period) = 0;
  virtual CounterId add_counter(const CounterInfo& info) = 0;
  /// Counts `amount` evenly between two instants.
  virtual void count(CounterId counter, Picoseconds begin, Picoseconds end, std::int64_t amount) = 0;
  /// Sets the counter's value from `at` on.
  virtual void level(CounterId counter, Picoseconds at, std::int64_t value) = 0;
  /// Whether recording has ended because the size limit is reached.
  bool is_over() const { return over_; }

 protected:
  bool over_ = false;
};

/// The stages of an instruction, in order; `kFlush` ends one that was fetched and not decoded.
enum class ProgramStage : std::uint8_t {
  kFetch,    ///< its first byte is requested
  kDecode,   ///< it is at the head of the decoder; stays there while its queue is full, or a fence holds it
  kWait,     ///< it waits in its unit's queue, for the unit and its semaphores
  kExecute,  ///< a unit works on it
  kRetire,   ///< its results are complete
  kFlush
};

/// Receives the progress of the command processors through their programs, by instruction. Modules hold a
/// pointer that is null when there is none.
class ProgramLog {
 public:
  virtual ~ProgramLog() = default;
  /// Adds a processor by its name in reports; returns its number.
  virtual int add_processor(const std::string& name) = 0;
  /// Instruction `number` of a processor, in the order in which it fetches them, begins a stage in cycle
  /// `at`, which is the present one or the next.
  virtual void begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) = 0;
  /// The text of an instruction, known when it is decoded.
  virtual void name(int processor, std::uint64_t number, const std::string& text) = 0;
};

}  // namespace tilebeat
