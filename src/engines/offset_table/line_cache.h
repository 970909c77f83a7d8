#pragma once

#include "base/types.h"
#include "engines/offset_table/config.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilebeat::offset_table {

/// The bytes that a thread gathers in a beat, all neighbours; 0 bytes on padding.
struct Operand {
  std::uint64_t address = 0;
  int bytes = 0;
};

/// Counters of the line cache. A line that several threads need in a beat counts as one hit or one miss.
struct CacheStats {
  std::int64_t hits = 0, misses = 0, evictions = 0;
  std::int64_t words = 0;            ///< bank accesses
  std::int64_t conflict_cycles = 0;  ///< cycles beyond the first one of each beat
};

/// The bank of a word of 4 bytes, by its number (BankOrder, SPEC OT-6).
int bank_of(const CacheConfig& config, int shift, std::uint64_t word);
/// The shift with which the threads of a beat use the most different banks. Their operands of `bytes` bytes
/// begin at `places`, relative to the first one.
int best_bank_shift(const CacheConfig& config, const std::vector<std::int64_t>& places, int bytes);
/// Shifts out all of a line's number within a memory: banks are not rotated.
constexpr int kMostBankShift = 31;

/// A set-associative cache of lines of a memory: tags and timing (SPEC OT-4, OT-6); the owner keeps the
/// bytes.
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
  /// A line takes `line_cycles` accesses of the memory, whose latency is `latency` cycles.
  LineCache(const CacheConfig& config, int line_cycles, int latency);

  /// A line that a beat needs; for a miss also the cycles of its request, of its first possible use, and of
  /// its entry into its place.
  struct Reference {
    std::uint64_t line = 0;  ///< address div line_bytes
    int place = 0;           ///< set * ways + way
    bool missed = false;
    Cycle requested = 0, arrived = 0, entered = 0;
  };
  /// The cycle in which a beat's tags were looked up, the one in which its last miss got an entry, the first
  /// in which all of its lines are present, and the cycles that its words take.
  struct Looked {
    Cycle at = 0, done = 0, ready = 0;
    int cycles = 1;
  };
  /// Looks up the next beat, from cycle `earliest` on; from cycle `front` on it is the next beat for the
  /// lanes. Appends its lines to `references`, in order.
  Looked look(const std::vector<Operand>& operands, Cycle earliest, Cycle front,
              std::vector<Reference>& references);
  /// The lines of a beat's operands, in order, and the words of all banks.
  struct Footprint {
    std::vector<Reference> lines;
    std::int64_t words = 0;  ///< bank accesses
    int cycles = 1;          ///< words of the bank that has the most
  };
  void measure(const std::vector<Operand>& operands, Footprint& footprint) const;
  /// The same for a beat whose footprint is known; its lines become references.
  Looked look(Footprint& footprint, Cycle earliest, Cycle front);
  /// Bytes by which all operands can move up without leaving their lines; negative when an operand already
  /// spans several lines.
  int room(const std::vector<Operand>& operands) const;
  /// Whether the lines `references` of the last beat are all present, so that none has replaced another.
  bool holds(const std::vector<Reference>& references) const;
  /// Looks up the next `beats` beats whose operands are those of the last beat, moved up by the same number
  /// of whole words, in lines that are all present. They hit the same lines in the same order, with as many
  /// bank conflicts, because all banks move on equally. Returns the cycles of each beat; the caller decides
  /// when their tags are looked up.
  int look_again(std::int64_t beats) {
    stats.hits += beats * last_lines_, stats.words += beats * last_words_;
    stats.conflict_cycles += beats * (last_cycles_ - 1);
    return last_cycles_;
  }
  /// The tags are busy up to cycle `next`.
  void looked_until(Cycle next) { next_look_ = next; }
  /// Cycles that the words of the last beat took.
  int last_cycles() const { return last_cycles_; }
  /// Sets the shift of BankOrder::kRotated.
  void set_bank_shift(int shift) { bank_shift_ = shift; }
  /// Discards all lines, because the memory's contents have changed.
  void invalidate();
  /// The first cycle in which the tags are free.
  Cycle next_look() const { return next_look_; }
  /// The first cycle after all requests have been made.
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
  std::deque<Cycle> entered_;  // by the last `misses` misses: cycle in which the line entered
  Footprint footprint_;
  mutable std::vector<std::uint64_t> words_;      // words of a beat
  mutable std::vector<int> of_bank_;              // by bank: number of these words
  std::int64_t last_lines_ = 0, last_words_ = 0;  // lines and words of the last beat
  int last_cycles_ = 1;
};

}  // namespace tilebeat::offset_table
