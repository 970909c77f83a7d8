#include "fabric/timed_writes.h"

#include "base/copy_word.h"

#include <algorithm>
#include <cstring>

namespace tilebeat {

void TimedWrites::add(const WriteRun& run, const std::uint8_t* bytes) {
  if (first_ == end_) {
    first_ = end_ = 0;
    first_number_ = end_number_;
    first_byte_ = end_byte_;
    several_ports_ = false;
  } else {
    if (run.words == 1 && extend(run, bytes)) return;
    several_ports_ = several_ports_ || runs_[end_number_ - 1 - first_number_].run.port != run.port;
  }
  const std::uint64_t from = keep(bytes, std::size_t{run.words} * run.word_bytes);
  if (end_number_ - first_number_ == runs_.size()) make_room_for_run();
  Pending& added = runs_[end_number_ - first_number_];
  added.run = run;
  const std::uint32_t times = run.together == 1 ? run.words : (run.words + run.together - 1) / run.together;
  added.last_due = run.due + (times - 1) * run.interval;
  const std::uint64_t steps = run.walk == WriteRun::Walk::kInBank
                                  ? run.words - 1
                                  : (run.bank + std::uint64_t{run.words} - 1) / banks_.size();
  added.end = run.address + steps * run.step + run.word_bytes;
  added.from = from;
  if (end_ == turns_.size()) make_room_for_turn();
  std::size_t place = end_++;
  for (; place > first_ && run.due < turns_[place - 1].due; --place) turns_[place] = turns_[place - 1];
  turns_[place] = {run.due, end_number_++};
  first_due_ = turns_[first_].due;
}

// Adds a word to the latest run if it is the next bank's and written at the same time; the bytes then follow
// one another, too.
bool TimedWrites::extend(const WriteRun& run, const std::uint8_t* bytes) {
  Pending& latest = runs_[end_number_ - 1 - first_number_];
  WriteRun& last = latest.run;
  const bool follows = last.words > 0 && run.due == last.due && run.address == last.address &&
                       last.words == last.together && run.bank == last.bank + last.words &&
                       run.word_bytes == last.word_bytes && run.port == last.port &&
                       (last.words == 1 || last.walk == WriteRun::Walk::kAcrossBanks) &&
                       latest.from + std::uint64_t{last.words} * last.word_bytes == end_byte_;
  if (!follows) return false;
  last.walk = WriteRun::Walk::kAcrossBanks;
  ++last.words, ++last.together;
  keep(bytes, run.word_bytes);
  return true;
}

// Appends bytes and returns the number of the first one.
std::uint64_t TimedWrites::keep(const std::uint8_t* bytes, std::size_t count) {
  if (end_byte_ - first_byte_ + count > bytes_.size()) make_room_for_bytes(count);
  copy_word(bytes_.data() + (end_byte_ - first_byte_), bytes, count);
  end_byte_ += count;
  return end_byte_ - count;
}

// Drops the bytes of runs that are written; takes more memory when that frees less than half of it.
void TimedWrites::make_room_for_bytes(std::size_t count) {
  std::uint64_t live = end_byte_;
  for (std::size_t i = first_; i < end_; ++i) live = std::min(live, run_of(turns_[i]).from);
  const std::size_t kept = end_byte_ - live;
  std::vector<std::uint8_t> more;
  if (2 * (kept + count) > bytes_.size()) more.resize(std::max<std::size_t>(1024, 4 * (kept + count)));
  if (kept > 0) std::memmove(more.empty() ? bytes_.data() : more.data(), bytes_at(live), kept);
  if (!more.empty()) bytes_ = std::move(more);
  first_byte_ = live;
}

// Drops the oldest runs if they are written; takes more memory when they are less than half.
void TimedWrites::make_room_for_run() {
  const auto written = [](const Pending& pending) { return pending.run.words == 0; };
  const auto end = runs_.begin() + to_signed(end_number_ - first_number_);
  const auto live = std::find_if_not(runs_.begin(), end, written);
  const std::size_t kept = to_size(end - live);
  first_number_ = end_number_ - kept;
  std::move(live, end, runs_.begin());
  if (2 * kept >= runs_.size()) runs_.resize(std::max<std::size_t>(16, 4 * kept));
}

void TimedWrites::make_room_for_turn() {
  const std::size_t kept = end_ - first_;
  std::copy(turns_.begin() + to_signed(first_), turns_.begin() + to_signed(end_), turns_.begin());
  if (2 * kept >= turns_.size()) turns_.resize(std::max<std::size_t>(16, 4 * kept));
  first_ = 0, end_ = kept;
}

void TimedWrites::commit_whole_runs(Picoseconds now) {
  for (; first_ < end_ && run_of(turns_[first_]).last_due <= now; ++first_) {
    if (several_ports_ && first_ + 1 < end_ && turns_[first_ + 1].due <= run_of(turns_[first_]).last_due)
      break;
    Pending& earliest = run_of(turns_[first_]);
    write_words(earliest, earliest.run.words);
  }
  first_due_ = first_ < end_ ? turns_[first_].due : kNever;
}

// Runs of several ports are written word by word in the order of time: they may meet. One port writes a
// bank's words in the order in which they come, so that its runs are written one after the other.
void TimedWrites::write_due(Picoseconds now) {
  if (several_ports_) {
    write_in_turns(now);
  } else {
    left_.clear();
    for (; first_ < end_ && turns_[first_].due <= now; ++first_) {
      const Turn& turn = turns_[first_];
      Pending& pending = run_of(turn);
      const Picoseconds next = write_words(pending, words_until(turn, now));
      if (pending.run.words > 0) left_.push_back({next, turn.number});
    }
    // Those that have words left go on among the later ones, nearly always in front of them.
    for (; !left_.empty(); left_.pop_back()) {
      std::size_t place = --first_;
      for (; place + 1 < end_ && turns_[place + 1] < left_.back(); ++place) turns_[place] = turns_[place + 1];
      turns_[place] = left_.back();
    }
  }
  first_due_ = first_ < end_ ? turns_[first_].due : kNever;
}

void TimedWrites::write_in_turns(Picoseconds now) {
  while (first_ < end_ && turns_[first_].due <= now) {
    Turn turn = turns_[first_];
    Pending& earliest = run_of(turn);
    turn.due = write_words(earliest, words_until(turn, now));
    if (earliest.run.words == 0) {
      ++first_;
      continue;
    }
    std::size_t place = first_;
    for (; place + 1 < end_ && turns_[place + 1] < turn; ++place) turns_[place] = turns_[place + 1];
    turns_[place] = turn;
  }
}

// Writes the next words of a run and returns when those behind them are due.
Picoseconds TimedWrites::write_words(Pending& pending, std::uint32_t words) {
  WriteRun& run = pending.run;
  write(run, bytes_at(pending.from), words);
  if (words == run.words) {
    run.words = 0;
  } else {
    advance(run, words);
    pending.from += std::uint64_t{words} * run.word_bytes;
  }
  return run.due;
}

// Number of words of the earliest run that are written by time `now`, of several ports' before any other
// run's.
std::uint32_t TimedWrites::words_until(const Turn& turn, Picoseconds now) const {
  const Pending& pending = run_of(turn);
  const WriteRun& run = pending.run;
  if (several_ports_ && first_ + 1 < end_) {
    const Turn& next = turns_[first_ + 1];
    now = std::min(now, turn.number < next.number ? next.due : next.due - 1);
  }
  if (pending.last_due <= now) return run.words;
  const std::int64_t times = 1 + (now - run.due) / run.interval;
  return static_cast<std::uint32_t>(times * run.together);
}

// Writes the next words of a run, which lie at `from`.
void TimedWrites::write(const WriteRun& run, const std::uint8_t* from, std::uint32_t words) {
  if (run.walk == WriteRun::Walk::kAcrossBanks) return write_across(run, from, words);
  const TimedCells& bank = *banks_[run.bank];
  std::uint8_t* const cell = bank.cells_ + run.address;
  with_word_size(run.word_bytes, [words, step = run.step, cell, from](auto size) {
    for (std::uint32_t i = 0; i < words; ++i) std::memcpy(cell + i * step, from + i * size, size);
  });
  const std::uint64_t end = run.address + (words - 1) * run.step + run.word_bytes;
  if (bank.watched_begin_ >= end || run.address >= bank.watched_end_) return;
  for (std::uint32_t i = 0; i < words; ++i) {
    const std::uint64_t begin = run.address + i * run.step;
    tell(run.bank, begin, begin + run.word_bytes);
  }
}

void TimedWrites::write_across(const WriteRun& run, const std::uint8_t* from, std::uint32_t words) {
  with_word_size(run.word_bytes, [this, words, place = run, from](auto size) {
    TimedCells* const* const banks = banks_.data();
    std::size_t bank = place.bank;
    std::uint64_t address = place.address;
    for (std::uint32_t i = 0; i < words; ++i) {
      std::memcpy(banks[bank]->cells_ + address, from + i * size, size);
      tell(bank, address, address + size);
      if (++bank == banks_.size()) bank = 0, address += place.step;
    }
  });
}

void TimedWrites::tell(std::size_t bank, std::uint64_t begin, std::uint64_t end) {
  TimedCells& cells = *banks_[bank];
  if (cells.watched_begin_ < end && begin < cells.watched_end_) cells.written(begin, end);
}

// Takes `words` words off a run, whole groups of words that are written together.
void TimedWrites::advance(WriteRun& run, std::uint32_t words) const {
  run.words -= words;
  run.due += words / run.together * run.interval;
  if (run.walk == WriteRun::Walk::kInBank) {
    run.address += words * run.step;
    return;
  }
  const std::uint64_t bank = std::uint64_t{run.bank} + words;
  run.address += bank / banks_.size() * run.step;
  run.bank = static_cast<std::uint32_t>(bank % banks_.size());
}

void TimedWrites::next_place(WriteRun& run) const {
  if (run.walk == WriteRun::Walk::kInBank) {
    run.address += run.step;
  } else if (++run.bank == banks_.size()) {
    run.bank = 0, run.address += run.step;
  }
}

void TimedWrites::overlay(std::size_t bank, std::uint64_t address, std::uint8_t* bytes, std::size_t length,
                          Picoseconds at) const {
  struct Part {
    Picoseconds due;
    std::uint64_t order, begin, end;
    const std::uint8_t* from;  // bytes of `begin` on
  };
  std::vector<Part> parts;
  for (std::size_t i = first_; i < end_ && turns_[i].due <= at; ++i) {
    const Pending& pending = run_of(turns_[i]);
    const WriteRun& run = pending.run;
    if (!touches(pending, bank, address, length)) continue;
    const std::uint8_t* from = bytes_at(pending.from);
    WriteRun place = run;
    for (std::uint32_t word = 0; word < run.words; ++word, from += run.word_bytes) {
      if (word > 0 && word % run.together == 0) place.due += run.interval;
      if (place.due > at) break;
      const std::uint64_t begin = std::max(address, place.address);
      const std::uint64_t end = std::min(address + length, place.address + run.word_bytes);
      if (place.bank == bank && begin < end)
        parts.push_back({place.due, turns_[i].number, begin, end, from + (begin - place.address)});
      next_place(place);
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.due != b.due ? a.due < b.due : a.order < b.order;
  });
  for (const Part& part : parts) {
    std::uint8_t* const to = bytes + (part.begin - address);
    std::memcpy(to, part.from, part.end - part.begin);
    banks_[bank]->falsify(part.begin, part.end, to);
  }
}

}  // namespace tilebeat
