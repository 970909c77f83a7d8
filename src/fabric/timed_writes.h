#pragma once

#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tilebeat {

/// The cells of a bank that TimedWrites write into.
class TimedCells {
 public:
  TimedCells() = default;
  TimedCells(const TimedCells&) = delete;
  TimedCells& operator=(const TimedCells&) = delete;
  virtual ~TimedCells() = default;

 private:
  friend class TimedWrites;
  /// Called after bytes [begin, end) were written, where they meet the watched ones.
  virtual void written(std::uint64_t begin, std::uint64_t end) = 0;
  /// Changes bytes [begin, end), at `bytes`, to what will lie there after they are written.
  virtual void falsify(std::uint64_t /*begin*/, std::uint64_t /*end*/, std::uint8_t* /*bytes*/) const {}

 protected:
  std::uint8_t* cells_ = nullptr;
  std::uint64_t watched_begin_ = 0, watched_end_ = 0;  ///< bytes whose writes `written` wants to hear of
};

/// Words that one port of a row of banks writes at known times, `together` of them at a time.
struct WriteRun {
  /// The place of the next word: `step` bytes further in the same bank; or at the same address of the next
  /// bank, and behind the row's last bank `step` bytes further in the first one.
  enum class Walk : std::uint8_t { kInBank, kAcrossBanks };

  Picoseconds due = 0;       ///< time of the first words
  Picoseconds interval = 0;  ///< from words to the next words
  std::uint64_t address = 0;
  std::uint64_t step = 0;
  std::uint32_t bank = 0;  ///< number of the first word's bank in its row
  std::uint32_t words = 1;
  std::uint32_t together = 1;
  std::uint32_t word_bytes = 0;
  std::uint8_t port = 0;  ///< number of the port, the same at all banks
  Walk walk = Walk::kInBank;
};

/// The writes of a row of banks that were handed over before their time. Who moves a burst in one call hands
/// all its words over at once; each lies in the cells from its own clock on and not before, for whoever reads
/// them. Banks that are written by one module share one of these, so that a burst is one entry.
///
/// The rule within one clock: writes come before reads. A word that is due at time t is seen by every read at
/// t or later and by none before. Words that are due at the same time are written in the order in which they
/// were handed over.
///
/// Nothing is woken for a write. Every access to the cells first calls `commit` with the present time; one
/// that is made ahead of time asks for what will lie there by `look_ahead`, which changes nothing, so that
/// others do not see words too early.
class TimedWrites {
 public:
  /// For a row of `banks` banks, each of which joins.
  explicit TimedWrites(std::size_t banks) : banks_(banks, nullptr) {}
  void join(std::size_t bank, TimedCells& cells) { banks_[bank] = &cells; }
  std::size_t banks() const { return banks_.size(); }

  /// Hands over a run whose words, one after the other, are `bytes`; they are copied.
  void add(const WriteRun& run, const std::uint8_t* bytes);
  /// Writes what is due at time `now` or earlier.
  void commit(Picoseconds now) {
    if (first_due_ <= now) write_due(now);
  }
  /// Writes the earliest runs, as far as all their words are due at time `now`: for who hands runs over, so
  /// that few of them wait.
  void commit_whole_runs(Picoseconds now);
  /// Changes `length` bytes, which were read from byte `address` of a bank, to what they will be at time `at`
  /// by the writes that have been handed over.
  void look_ahead(std::size_t bank, std::uint64_t address, std::uint8_t* bytes, std::size_t length,
                  Picoseconds at) const {
    for (std::size_t i = first_; i < end_ && turns_[i].due <= at; ++i) {
      if (touches(run_of(turns_[i]), bank, address, length)) return overlay(bank, address, bytes, length, at);
    }
  }

 private:
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();
  struct Pending {
    WriteRun run;              // words that are not written yet
    Picoseconds last_due = 0;  // time of the last words
    std::uint64_t end = 0;     // the address behind the last words, in whichever bank
    std::uint64_t from = 0;    // number of its first byte, counted from the beginning of time
  };
  // A pending run in the order in which runs are written. Runs that were handed over later have higher
  // numbers.
  struct Turn {
    Picoseconds due = 0;
    std::uint64_t number = 0;
    bool operator<(const Turn& other) const {
      return due != other.due ? due < other.due : number < other.number;
    }
  };
  Pending& run_of(const Turn& turn) { return runs_[turn.number - first_number_]; }
  const Pending& run_of(const Turn& turn) const { return runs_[turn.number - first_number_]; }
  bool extend(const WriteRun& run, const std::uint8_t* bytes);
  std::uint64_t keep(const std::uint8_t* bytes, std::size_t count);
  void make_room_for_bytes(std::size_t count);
  void make_room_for_run();
  void make_room_for_turn();
  void write_due(Picoseconds now);
  void write_in_turns(Picoseconds now);
  Picoseconds write_words(Pending& pending, std::uint32_t words);
  std::uint32_t words_until(const Turn& turn, Picoseconds now) const;
  void write(const WriteRun& run, const std::uint8_t* from, std::uint32_t words);
  void write_across(const WriteRun& run, const std::uint8_t* from, std::uint32_t words);
  void tell(std::size_t bank, std::uint64_t begin, std::uint64_t end);
  void advance(WriteRun& run, std::uint32_t words) const;
  void next_place(WriteRun& run) const;
  bool touches(const Pending& pending, std::size_t bank, std::uint64_t address, std::size_t length) const {
    const WriteRun& run = pending.run;
    return run.address < address + length && address < pending.end &&
           (run.bank == bank || run.walk == WriteRun::Walk::kAcrossBanks);
  }
  void overlay(std::size_t bank, std::uint64_t address, std::uint8_t* bytes, std::size_t length,
               Picoseconds at) const;
  const std::uint8_t* bytes_at(std::uint64_t from) const { return bytes_.data() + (from - first_byte_); }

  std::vector<TimedCells*> banks_;
  Picoseconds first_due_ = kNever;
  std::vector<Turn> turns_;  // of pending runs, earliest first, at the indices [first_, end_)
  std::size_t first_ = 0, end_ = 0;
  std::vector<Pending> runs_;        // pending ones, and some that are written (no words), as they came
  std::uint64_t first_number_ = 0;   // number of the run at index 0
  std::uint64_t end_number_ = 0;     // number of the next run
  std::vector<std::uint8_t> bytes_;  // of pending runs, and of some that are written
  std::uint64_t first_byte_ = 0;     // number of the byte at index 0
  std::uint64_t end_byte_ = 0;       // number of the byte behind the last one
  std::vector<Turn> left_;           // of runs that are written in part
  bool several_ports_ = false;       // pending runs may be of several ports
};

}  // namespace tilebeat
