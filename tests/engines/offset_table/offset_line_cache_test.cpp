// The line cache against a machine that is stepped clock by clock, and its latencies (SPEC OT-4, OT-6).
#include "engines/offset_table/line_cache.h"
#include "plain_line_cache.h"
#include "random_cases.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using offset_table::BankOrder;
using offset_table::CacheConfig;
using offset_table::LineCache;
using offset_table::Operand;
using offset_table::Replacement;

PlainCacheSizes random_sizes() {
  PlainCacheSizes s;
  s.line_bytes = 4 << number(0, 5), s.sets = 1 << number(0, 4), s.ways = number(1, 4);
  s.fifo = one_in(2), s.banks = 1 << number(0, 4), s.rotated = one_in(2), s.shift = number(0, 3);
  s.misses = number(1, 8), s.hit_latency = number(1, 4);
  s.line_clocks = number(1, 3), s.memory_latency = number(1, 5);
  return s;
}

CacheConfig config_of(const PlainCacheSizes& s) {
  CacheConfig c;
  c.line_bytes = s.line_bytes, c.ways = s.ways, c.bytes = s.line_bytes * s.ways * s.sets;
  c.replacement = s.fifo ? Replacement::kFifo : Replacement::kLru;
  c.banks = s.banks, c.bank_order = s.rotated ? BankOrder::kRotated : BankOrder::kPlain;
  c.misses = s.misses, c.hit_latency_cycles = s.hit_latency;
  return c;
}

/// Threads that walk side by side, jump, or lie on padding.
std::vector<PlainBeat> random_stream(int beats) {
  std::vector<PlainBeat> stream;
  std::int64_t base = number(0, 4000), step = number(1, 200), earliest = 0;
  const int threads = number(1, 16), bytes = number(1, 8);
  for (int i = 0; i < beats; ++i) {
    PlainBeat beat;
    if (one_in(6)) base = number(0, 4000), step = number(1, 200);
    for (int t = 0; t < threads; ++t) {
      const bool padding = one_in(7);
      beat.operands.emplace_back(static_cast<std::uint64_t>(base + t * step), padding ? 0 : bytes);
    }
    base += bytes;
    earliest += one_in(5) ? number(0, 12) : 0;
    beat.earliest = earliest;
    stream.push_back(beat);
  }
  return stream;
}

/// The product's cache in front of lanes that take every beat as soon as it is there.
struct Passed {
  std::vector<std::int64_t> looked, begun;
};
Passed pass(LineCache& cache, const std::vector<PlainBeat>& stream) {
  Passed passed;
  Cycle free = 0;
  std::vector<LineCache::Reference> references;
  for (const PlainBeat& beat : stream) {
    std::vector<Operand> operands;
    for (const auto& [address, bytes] : beat.operands) operands.push_back({address, bytes});
    const LineCache::Looked looked = cache.look(operands, beat.earliest, free, references);
    passed.looked.push_back(looked.at);
    passed.begun.push_back(std::max(free, looked.ready));
    free = passed.begun.back() + looked.cycles;
  }
  return passed;
}

TEST(OffsetLineCache, OT_4_OT_6_equals_a_plain_machine_clock_by_clock) {
  std::int64_t evictions = 0, conflicts = 0;
  check_cases(1000, [&] {
    const PlainCacheSizes sizes = random_sizes();
    const std::vector<PlainBeat> stream = random_stream(number(1, 60));
    PlainCache plain(sizes);
    plain.run(stream);
    LineCache cache(config_of(sizes), sizes.line_clocks, sizes.memory_latency);
    cache.set_bank_shift(sizes.shift);
    const Passed passed = pass(cache, stream);
    RC_ASSERT(cache.stats.hits == plain.hits);
    RC_ASSERT(cache.stats.misses == plain.misses);
    RC_ASSERT(cache.stats.evictions == plain.evictions);
    RC_ASSERT(cache.stats.conflict_cycles == plain.conflicts);
    RC_ASSERT(passed.looked == plain.looked);
    RC_ASSERT(passed.begun == plain.begun);
    evictions += plain.evictions, conflicts += plain.conflicts;
  });
  EXPECT_GT(evictions, 10'000);
  EXPECT_GT(conflicts, 10'000);
}

/// When a beat of one operand can begin whose tags are looked up in cycle 10.
Cycle begins(LineCache& cache, std::uint64_t address, Cycle front = 0) {
  std::vector<LineCache::Reference> references;
  return cache.look({{address, 4}}, 10, front, references).ready;
}

TEST(OffsetLineCache, OT_6_a_hit_takes_its_latency_and_a_miss_that_of_the_memory) {
  const CacheConfig config;
  LineCache cache(config, 2, 3);
  // Two accesses, in cycles 10 and 11; the bytes are there 3 later; the line enters in 15.
  EXPECT_EQ(begins(cache, 0), 16);
  EXPECT_EQ(begins(cache, 4), 11 + config.hit_latency_cycles) << "tags are looked up in cycle 11";
}

TEST(OffsetLineCache, OT_6_a_line_waits_in_the_miss_buffer_until_its_beat_is_next) {
  LineCache cache(CacheConfig{}, 1, 1);
  EXPECT_EQ(begins(cache, 0, 40), 41) << "the lanes are at the beats before until cycle 40";
}

TEST(OffsetLineCache, OT_6_so_many_misses_are_under_way_and_no_more) {
  for (const int more : {0, 1}) {
    CacheConfig config;
    config.misses = 4;
    LineCache cache(config, 1, 20);
    std::vector<Operand> operands;
    for (int t = 0; t < config.misses + more; ++t)
      operands.push_back({static_cast<std::uint64_t>(t) * 64, 4});
    std::vector<LineCache::Reference> references;
    const LineCache::Looked looked = cache.look(operands, 0, 0, references);
    if (more == 0)
      EXPECT_EQ(looked.done, 0) << "all have an entry at once";
    else
      EXPECT_EQ(looked.done, references.front().entered + 1) << "the last one waits for the first to enter";
  }
}

TEST(OffsetLineCache, OT_6_a_beat_takes_as_many_clocks_as_its_worst_bank) {
  CacheConfig config;
  config.bank_order = BankOrder::kPlain;
  const auto cycles = [&](std::int64_t distance, int shift) {
    LineCache cache(config, 1, 1);
    cache.set_bank_shift(shift);
    std::vector<Operand> operands;
    for (int t = 0; t < 16; ++t) operands.push_back({static_cast<std::uint64_t>(t * distance), 4});
    std::vector<LineCache::Reference> references;
    return cache.look(operands, 0, 0, references).cycles;
  };
  EXPECT_EQ(cycles(4, 0), 1) << "neighbouring words lie in different banks";
  EXPECT_EQ(cycles(0, 0), 1) << "one word is accessed once";
  EXPECT_EQ(cycles(8, 0), 2);
  EXPECT_EQ(cycles(64, 0), 16) << "the same word of 16 lines";
  config.bank_order = BankOrder::kRotated;
  EXPECT_EQ(cycles(64, 0), 1);
  EXPECT_EQ(cycles(256, 0), 4);
  EXPECT_EQ(cycles(256, 2), 1);
  for (const std::int64_t channels : {64, 128, 192, 256, 512, 1024}) {
    std::vector<std::int64_t> places;
    for (int t = 0; t < 16; ++t) places.push_back(t * channels);
    EXPECT_EQ(cycles(channels, offset_table::best_bank_shift(config, places, 4)), 1) << channels;
  }
}

TEST(OffsetLineCache, OT_6_lines_that_make_room) {
  const auto missed = [](Replacement replacement) {
    CacheConfig config;
    config.ways = 2, config.bytes = 128, config.replacement = replacement;
    LineCache cache(config, 1, 1);
    for (const std::uint64_t line : {0, 1, 0, 2, 0}) begins(cache, line * 64);
    return cache.stats.misses;
  };
  EXPECT_EQ(missed(Replacement::kLru), 3) << "line 0 was used last and stays";
  EXPECT_EQ(missed(Replacement::kFifo), 4) << "line 0 is the oldest and goes";
}

}  // namespace
}  // namespace tilebeat::testing
