#pragma once

#include "base/types.h"
#include "engines/offset_table/config.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilebeat::offset_table {

/// What a thread gathers in a beat: neighbouring bytes; none on padding.
struct Operand {
  std::uint64_t address = 0;
  int bytes = 0;
};

/// What the line cache counts. A line that several threads need in a beat is one hit or one miss.
struct CacheStats {
  std::int64_t hits = 0, misses = 0, evictions = 0;
  std::int64_t words = 0;            ///< bank accesses
  std::int64_t conflict_cycles = 0;  ///< beyond the first of each beat
};

/// The bank of a word of 4 bytes, by its number (BankOrder, SPEC OT-6).
int bank_of(const CacheConfig& config, int shift, std::uint64_t word);
/// The shift with which the threads of a beat, whose operands of `bytes` bytes begin at `places` from the
/// first one's, meet in the fewest banks.
int best_bank_shift(const CacheConfig& config, const std::vector<std::int64_t>& places, int bytes);
constexpr int kMostBankShift =
    31;  ///< nothing of a line's number within a memory is left: banks are not turned

/// A set-associative cache of lines of a memory, its tags and its timing (SPEC OT-4, OT-6); the bytes are
/// the owner's.
///
/// The tags of all lines of a beat are looked up in one cycle, in the order of its threads; beats are looked
/// up in order, one a cycle, ahead of the lanes. A line that misses takes an entry of the miss buffer
/// (`misses`) until it is written into its place; without a free one the tags wait. Lines are requested in
/// order, one access a cycle, and wait in the miss buffer until their beat is the next one for the lanes:
/// then they enter their places, one a cycle, for that takes an access of every bank. So beats before it find
/// the lines that are replaced. A beat can begin `hit_latency_cycles` after its tags, and in the cycle after
/// its last missing line entered; it takes as many cycles as the bank with most of its words.
class LineCache {
 public:
  /// A line is `line_cycles` accesses of the memory, which answers `latency` cycles later.
  LineCache(const CacheConfig& config, int line_cycles, int latency);

  /// A line that a beat needs. Of one that missed: the cycles in which it was requested, could be used, and
  /// entered its place.
  struct Reference {
    std::uint64_t line = 0;  ///< address div line_bytes
    int place = 0;           ///< set * ways + way
    bool missed = false;
    Cycle requested = 0, arrived = 0, entered = 0;
  };
  /// The cycle in which a beat's tags were looked up, the one in which the last of its misses had an entry,
  /// the first in which all of its lines are there, and how many cycles its words take.
  struct Looked {
    Cycle at = 0, done = 0, ready = 0;
    int cycles = 1;
  };
  /// The next beat, looked up from `earliest` on; it is the next one for the lanes from cycle `front` on.
  /// `references` receives its lines, in order.
  Looked look(const std::vector<Operand>& operands, Cycle earliest, Cycle front,
              std::vector<Reference>& references);
  /// What operands need: their lines, in order, and the words of all banks.
  struct Footprint {
    std::vector<Reference> lines;
    std::int64_t words = 0;  ///< bank accesses
    int cycles = 1;          ///< of the bank with most of them
  };
  void measure(const std::vector<Operand>& operands, Footprint& footprint) const;
  /// The same for a beat whose footprint is known; its lines become references.
  Looked look(Footprint& footprint, Cycle earliest, Cycle front);
  /// Bytes by which the operands can all move up without one of them leaving its line; less than 0 when one
  /// is in several already.
  int room(const std::vector<Operand>& operands) const;
  /// The lines of the beat that was looked up last, `references`, are all there: none of them took the place
  /// of another one.
  bool holds(const std::vector<Reference>& references) const;
  /// The next `beats` beats, if the operands of each are those of the last one that are moved up by the same
  /// number of whole words and have not left their lines, which are all there. So they hit the same lines, in
  /// the same order, and as many words of theirs meet in a bank, for all banks have moved on alike. Returns
  /// the cycles of each; when their tags are looked up is up to the caller.
  int look_again(std::int64_t beats) {
    stats.hits += beats * last_lines_, stats.words += beats * last_words_;
    stats.conflict_cycles += beats * (last_cycles_ - 1);
    return last_cycles_;
  }
  /// The tags are busy up to cycle `next`.
  void looked_until(Cycle next) { next_look_ = next; }
  /// Cycles of the words of the last beat.
  int last_cycles() const { return last_cycles_; }
  /// By which part of a line's number banks are turned (BankOrder).
  void set_bank_shift(int shift) { bank_shift_ = shift; }
  /// Lines are no longer those of the memory.
  void invalidate();
  /// The first cycle in which tags are free.
  Cycle next_look() const { return next_look_; }
  /// The first cycle in which all requests have been made.
  Cycle requested_by() const { return port_free_; }

  CacheStats stats;

 private:
  struct Way {
    bool valid = false;
    std::uint64_t line = 0;
    std::int64_t used = 0;  // or filled, by `kFifo`
  };
  bool found_again(Reference& reference);
  void find(Reference& reference);
  std::size_t bank_of_word(std::uint64_t word) const;
  void find_lines(const std::vector<Operand>& operands, std::vector<Reference>& lines) const;
  void count_words(const std::vector<Operand>& operands, Footprint& footprint) const;

  CacheConfig config_;
  int line_cycles_, latency_;
  int line_shift_ = 0, bank_shift_ = 0;
  std::uint64_t set_mask_ = 0;
  std::vector<Way> ways_;
  std::int64_t uses_ = 0;
  Cycle next_look_ = 0, port_free_ = 0, last_entered_ = -1;
  std::deque<Cycle> entered_;  // of the last `misses` misses
  Footprint footprint_;
  mutable std::vector<std::uint64_t> words_;      // of a beat
  mutable std::vector<int> of_bank_;              // how many of them, by bank
  std::int64_t last_lines_ = 0, last_words_ = 0;  // of the last beat
  int last_cycles_ = 1;
};

}  // namespace tilebeat::offset_table
