#include "engines/offset_table/line_cache.h"

#include <algorithm>

namespace tilebeat::offset_table {

int bank_of(const CacheConfig& config, int shift, std::uint64_t word) {
  const auto width = to_unsigned(config.line_bytes / kWordBytes);
  std::uint64_t bank = word % width;
  if (config.bank_order == BankOrder::kRotated) bank += (word / width) >> shift;
  return to_int(bank % to_unsigned(config.banks));
}

int best_bank_shift(const CacheConfig& config, const std::vector<std::int64_t>& places, int bytes) {
  constexpr int kShifts = 10;  // number of shifts that matter for threads which are close together
  int best = kMostBankShift;
  std::int64_t fewest = -1;
  CacheConfig small = config;  // its lines do not matter
  small.ways = 1, small.bytes = config.line_bytes;
  std::vector<Operand> operands(places.size());
  for (int i = 0; i <= kShifts; ++i) {
    const int shift = i == 0 ? kMostBankShift : i - 1;
    LineCache cache(small, 1, 1);
    cache.set_bank_shift(shift);
    std::vector<LineCache::Reference> references;
    // Beats begin anywhere in a line.
    for (int start = 0; start < config.line_bytes; start += kWordBytes) {
      for (std::size_t t = 0; t < operands.size(); ++t) operands[t] = {to_unsigned(start + places[t]), bytes};
      cache.look(operands, 0, 0, references);
    }
    if (fewest >= 0 && cache.stats.conflict_cycles >= fewest) continue;
    best = shift, fewest = cache.stats.conflict_cycles;
  }
  return best;
}

LineCache::LineCache(const CacheConfig& config, int line_cycles, int latency)
    : config_(config),
      line_cycles_(line_cycles),
      latency_(latency),
      set_mask_(to_unsigned(config.sets()) - 1),
      ways_(to_size(config.sets()) * to_size(config.ways)),
      of_bank_(to_size(config.banks)) {
  while ((1 << line_shift_) < config.line_bytes) ++line_shift_;
}

void LineCache::invalidate() {
  for (Way& way : ways_) way.valid = false;
}

// A line is often still in the place where it was found before.
bool LineCache::found_again(Reference& reference) {
  Way& way = nth(ways_, reference.place);
  if (!way.valid || way.line != reference.line) return false;
  ++uses_;
  if (config_.replacement == Replacement::kLru) way.used = uses_;
  ++stats.hits;
  reference.missed = false;
  return true;
}

// Finds the place of a line, or assigns one.
void LineCache::find(Reference& reference) {
  const auto ways = to_size(config_.ways);
  const std::size_t first = to_size(reference.line & set_mask_) * ways;
  ++uses_;
  for (std::size_t i = first; i < first + ways; ++i) {
    if (!ways_[i].valid || ways_[i].line != reference.line) continue;
    if (config_.replacement == Replacement::kLru) ways_[i].used = uses_;
    reference.place = to_int(i);
    reference.missed = false;
    ++stats.hits;
    return;
  }
  std::size_t chosen = first;
  for (std::size_t i = first; i < first + ways; ++i) {
    if (!ways_[i].valid) {
      chosen = i;
      break;
    }
    if (ways_[i].used < ways_[chosen].used) chosen = i;
  }
  ++stats.misses;
  stats.evictions += ways_[chosen].valid ? 1 : 0;
  ways_[chosen] = {true, reference.line, uses_};
  reference.place = to_int(chosen);
  reference.missed = true;
}

void LineCache::find_lines(const std::vector<Operand>& operands, std::vector<Reference>& lines) const {
  lines.clear();
  std::uint64_t behind = 0;  // all lines that are known
  for (const Operand& operand : operands) {
    if (operand.bytes == 0) continue;
    const std::uint64_t last = (operand.address + to_unsigned(operand.bytes) - 1) >> line_shift_;
    for (std::uint64_t line = operand.address >> line_shift_; line <= last; ++line) {
      const bool known = line < behind && std::any_of(lines.rbegin(), lines.rend(),
                                                      [line](const Reference& r) { return r.line == line; });
      if (!known) lines.emplace_back().line = line;  // no copy of what was just written in parts
      behind = std::max(behind, line + 1);
    }
  }
}

void LineCache::measure(const std::vector<Operand>& operands, Footprint& footprint) const {
  find_lines(operands, footprint.lines);
  count_words(operands, footprint);
}

LineCache::Looked LineCache::look(const std::vector<Operand>& operands, Cycle earliest, Cycle front,
                                  std::vector<Reference>& references) {
  footprint_.lines.swap(references);
  measure(operands, footprint_);
  const Looked looked = look(footprint_, earliest, front);
  footprint_.lines.swap(references);
  return looked;
}

LineCache::Looked LineCache::look(Footprint& footprint, Cycle earliest, Cycle front) {
  Looked looked;
  looked.at = looked.done = std::max(earliest, next_look_);
  looked.ready = looked.at + config_.hit_latency_cycles;
  for (Reference& reference : footprint.lines) {
    if (!found_again(reference)) find(reference);
    if (!reference.missed) continue;
    if (count_of(entered_) == config_.misses) {
      looked.done = std::max(looked.done, entered_.front() + 1);
      entered_.pop_front();
    }
    reference.requested = std::max(looked.done, port_free_);
    port_free_ = reference.requested + line_cycles_;
    reference.arrived = port_free_ + latency_;
    reference.entered = last_entered_ = std::max({reference.arrived, front, last_entered_ + 1});
    entered_.push_back(reference.entered);
    looked.ready = std::max(looked.ready, reference.entered + 1);
  }
  next_look_ = looked.done + 1;
  last_lines_ = ssize(footprint.lines);
  last_words_ = footprint.words;
  looked.cycles = last_cycles_ = footprint.cycles;
  stats.words += last_words_;
  stats.conflict_cycles += last_cycles_ - 1;
  return looked;
}

int LineCache::room(const std::vector<Operand>& operands) const {
  int room = config_.line_bytes;
  const std::uint64_t within = (std::uint64_t{1} << line_shift_) - 1;
  for (const Operand& operand : operands) {
    if (operand.bytes == 0) continue;
    room = std::min(room, config_.line_bytes - operand.bytes - to_int(operand.address & within));
  }
  return room;
}

bool LineCache::holds(const std::vector<Reference>& references) const {
  return std::all_of(references.begin(), references.end(), [&](const Reference& reference) {
    return nth(ways_, reference.place).line == reference.line;
  });
}

// The same as bank_of without divisions: lines and banks are powers of two, and a beat has about a hundred
// words.
std::size_t LineCache::bank_of_word(std::uint64_t word) const {
  const int width_shift = line_shift_ - 2;
  std::uint64_t bank = word & ((std::uint64_t{1} << width_shift) - 1);
  if (config_.bank_order == BankOrder::kRotated) bank += (word >> width_shift) >> bank_shift_;
  return to_size(bank & (to_unsigned(config_.banks) - 1));
}

// Counts words; one that several threads need is accessed once.
void LineCache::count_words(const std::vector<Operand>& operands, Footprint& footprint) const {
  words_.clear();
  std::fill(of_bank_.begin(), of_bank_.end(), 0);
  int most = 1;
  std::uint64_t before = ~std::uint64_t{0}, behind = 0;  // the last word, and all of them
  for (const Operand& operand : operands) {
    if (operand.bytes == 0) continue;
    const std::uint64_t last = (operand.address + to_unsigned(operand.bytes) - 1) / kWordBytes;
    for (std::uint64_t word = operand.address / kWordBytes; word <= last; ++word) {
      if (word == before) continue;
      before = word;
      if (word < behind && std::find(words_.rbegin(), words_.rend(), word) != words_.rend()) continue;
      behind = std::max(behind, word + 1);
      words_.push_back(word);
      most = std::max(most, ++of_bank_[bank_of_word(word)]);
    }
  }
  footprint.words = ssize(words_);
  footprint.cycles = most;
}

}  // namespace tilebeat::offset_table
