#pragma once

#include "base/types.h"
#include "observe/held_bytes.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tilebeat {

/// `count` runs of `run` neighbouring bytes (or words, of memories that are counted in words), `stride`
/// apart.
struct BytePattern {
  std::uint64_t begin = 0, run = 0, stride = 0, count = 1;

  /// A run begins before the one before it ends.
  bool overlaps_itself() const { return count > 1 && stride < run; }
  std::uint64_t end() const { return count == 0 ? begin : begin + (count - 1) * stride + run; }
  /// Whether any of [from, to) belongs to it.
  bool meets(std::uint64_t from, std::uint64_t to) const;
  bool meets(const BytePattern& other) const;
};

/// What an engine's instructions use of a memory, each for as long as it works (SPEC HI-2, CY-3).
///
/// In clock granularity a word is read or written in its cycle, in tile granularity at some time while the
/// instruction works. Both give the same bytes as long as nobody else touches what the instruction uses: who
/// does, without having waited for its signal, has a race, and the run ends with an error that names both.
/// Which one of two comes first makes no difference, so that the order of processes in a cycle makes none.
class Holds {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };
  static constexpr Cycle kOpen = std::numeric_limits<Cycle>::max();

  /// `memory` is its name in messages: "the output buffer".
  explicit Holds(std::string memory) : memory_(std::move(memory)) {}
  /// Tells `held` what instructions use: as long as a pattern is open, the memory holds it. Addresses of
  /// patterns count from `base` there; `held` lives as long as this.
  void report_to(HeldBytes& held, std::uint64_t base) {
    held_ = &held;
    base_ = base;
  }

  /// `user`, an instruction of the engine, uses the pattern from cycle `now` on, until it is closed. Throws
  /// SimulationError when somebody else has accessed it in this cycle, when the engine itself writes it for
  /// an instruction that has not closed it (reads it, for a write), and when what is written overlaps itself,
  /// as the order of writes is not defined.
  std::uint64_t open(std::string user, Access access, const BytePattern& pattern, Cycle now);
  /// Cycle `end` is the first in which it is not used any more. Others may access it from the next one on: in
  /// cycle `end` they may come before this call or behind it. Nothing for an unknown number.
  void close(std::uint64_t number, Cycle end);
  /// The oldest that is open.
  void close_oldest(Cycle end);

  /// The engine keeps a copy of these bytes, besides those that it has copies of: from now on it is noted
  /// whether anybody writes them.
  void watch(const BytePattern& pattern) { watched_.push_back(pattern); }
  /// The engine has no copies any more.
  void end_watch() {
    watched_.clear();
    changed_ = false;
  }
  /// Whether bytes that are watched were written, or are by an instruction of the engine.
  bool changed() const { return changed_; }

  /// `user`, no instruction of the engine, accesses [begin, end) in cycle `now`. Throws SimulationError when
  /// an instruction of the engine writes there (reads there, for a write).
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

/// One of them, open.
struct OpenHold {
  Holds* memory;
  std::uint64_t number;
};
inline void close_all(std::vector<OpenHold>& open, Cycle end) {
  for (const OpenHold& hold : open) hold.memory->close(hold.number, end);
  open.clear();
}

}  // namespace tilebeat
