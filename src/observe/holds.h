#pragma once

#include "base/byte_set.h"
#include "base/types.h"
#include "observe/held_bytes.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace tilebeat {

/// The parts of a memory that an engine's running instructions use (SPEC HI-2, CY-3).
///
/// In clock granularity a word is read or written in its cycle, in tile granularity at some time while the
/// instruction runs. Both give the same bytes as long as nobody else touches what the instruction uses: an
/// access that has not waited for the instruction's signal is a race, and the run ends with an error that
/// names both sides. The check does not depend on which of the two comes first, so it does not depend on the
/// order of processes in a cycle.
class Holds {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };
  static constexpr Cycle kOpen = std::numeric_limits<Cycle>::max();

  /// `memory` is the memory's name in messages: "the output buffer".
  explicit Holds(std::string memory) : memory_(std::move(memory)) {}
  /// Reports to `held` what instructions use: while a pattern is open, the memory holds it. Addresses of
  /// patterns count from `base`; `held` outlives this object.
  void report_to(HeldBytes& held, std::uint64_t base) {
    held_ = &held;
    base_ = base;
  }
  /// Another name in messages.
  void rename(std::string memory) { memory_ = std::move(memory); }
  /// Address of the memory's first byte.
  std::uint64_t base() const { return base_; }

  /// The engine's instruction `user` uses the pattern from cycle `now` until it is closed. Returns its
  /// number. Throws SimulationError when somebody else has accessed it in this cycle, when the engine itself
  /// writes it (reads it, for a write) in an instruction that has not closed it, or when a written pattern
  /// overlaps itself, as the order of its writes is undefined.
  std::uint64_t open(std::string user, Access access, const BytePattern& pattern, Cycle now);
  /// The pattern is unused from cycle `end` on. Others may access it from the next cycle on, because in cycle
  /// `end` they may come before or after this call. An unknown number is ignored.
  void close(std::uint64_t number, Cycle end);
  /// Closes the oldest open pattern.
  void close_oldest(Cycle end);

  /// The engine keeps a copy of these bytes, in addition to those that it already watches: from now on writes
  /// to them are noted.
  void watch(const BytePattern& pattern) { watched_.push_back(pattern); }
  /// The engine has no copies any more.
  void end_watch() {
    watched_.clear();
    changed_ = false;
  }
  /// Whether watched bytes have been written, or are being written by an instruction of the engine.
  bool changed() const { return changed_; }

  /// `user`, not an instruction of the engine, accesses [begin, end) in cycle `now`. Throws SimulationError
  /// when an instruction of the engine writes there (or reads there, for a write).
  void access(const char* user, Access access, std::uint64_t begin, std::uint64_t end, Cycle now);

 private:
  struct Hold {
    std::uint64_t number;
    std::string user;
    Access access;
    BytePattern pattern;
    Cycle end;
  };
  struct Touch {
    const char* user;
    Access access;
    std::uint64_t begin, end;
  };
  static bool clash(Access a, Access b) { return a == Access::kWrite || b == Access::kWrite; }
  [[noreturn]] void refuse(const std::string& user, Access access, std::uint64_t begin, std::uint64_t end,
                           const std::string& other, Access others_access) const;
  void forget_closed(Cycle now);
  void close(Hold& hold, Cycle end);
  void tell(HeldBytes::Access kind, const BytePattern& pattern, Cycle at) const;

  std::string memory_;
  HeldBytes* held_ = nullptr;
  std::uint64_t base_ = 0;
  std::vector<Hold> holds_;  // oldest first
  std::uint64_t next_number_ = 1;
  void note_write(const BytePattern& pattern);

  std::vector<BytePattern> watched_;
  bool changed_ = false;
  std::vector<Touch> touches_;  // of cycle `touched_at_`
  Cycle touched_at_ = -1;
};

/// The observer that finds races (SPEC HI-9): what instructions use of each memory of a core or board.
/// Modules that share a memory are built with the same observer; each asks it for the memory by name.
class Races {
 public:
  /// The uses of the memory that the core or board calls `name`.
  Holds& memory(const std::string& name) { return memories_.try_emplace(name, name).first->second; }

 private:
  std::map<std::string, Holds> memories_;
};

/// An open pattern of a memory.
struct OpenHold {
  Holds* memory;
  std::uint64_t number;
};
inline void close_all(std::vector<OpenHold>& open, Cycle end) {
  for (const OpenHold& hold : open) hold.memory->close(hold.number, end);
  open.clear();
}

}  // namespace tilebeat
