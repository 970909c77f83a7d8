// Beats in the same lines, of which the first one is looked up, against the same beats one by one (SPEC OT-4,
// OT-6).
#include "engines/offset_table/pipeline.h"
#include "engines/offset_table/schedule.h"
#include "random_cases.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using offset_table::Addresses;
using offset_table::BankOrder;
using offset_table::Beat;
using offset_table::CacheStats;
using offset_table::LineCache;
using offset_table::OffsetConfig;
using offset_table::Operand;
using offset_table::Pipeline;
using offset_table::PortTimes;
using offset_table::Replacement;
using offset_table::Stretch;
using offset_table::Stretches;

OffsetConfig random_config() {
  OffsetConfig c;
  c.cache.line_bytes = 4 << number(0, 5), c.cache.ways = number(1, 4);
  c.cache.bytes = c.cache.line_bytes * c.cache.ways << number(0, 4);
  c.cache.replacement = one_in(2) ? Replacement::kFifo : Replacement::kLru;
  c.cache.banks = 1 << number(0, 4);
  c.cache.bank_order = one_in(2) ? BankOrder::kRotated : BankOrder::kPlain;
  c.cache.misses = number(1, 8), c.cache.hit_latency_cycles = number(1, 4);
  c.addresses = one_in(3) ? Addresses::kComputed : Addresses::kTables;
  c.divider_cycles = number(1, 3), c.multiplier_cycles = number(1, 2), c.address_queue = number(1, 4);
  c.vector = 1 << number(0, 4), c.beat_queue = number(1, 20);
  return c;
}

/// A group of threads, side by side or jumping, some of them on padding, and the beats of a slice: taps, in
/// each some channels, seldom with gaps between them.
struct Work {
  std::vector<std::int64_t> places, taps;
  std::vector<bool> outside;  // [tap][thread]
  std::vector<Beat> beats;

  explicit Work(const OffsetConfig& c) {
    const int threads = number(1, 16), step = number(1, 130), channels = number(1, 80), count = number(1, 5);
    for (int t = 0; t < threads; ++t) places.push_back(one_in(5) ? number(0, 3000) : t * step);
    for (int tap = number(1, 5); tap > 0; --tap) taps.push_back(number(0, 600));
    for (std::size_t i = 0; i < taps.size() * places.size(); ++i) outside.push_back(one_in(8));
    for (int tap = 0; tap < static_cast<int>(taps.size()); ++tap) {
      for (int channel = 0; channel < channels; channel += one_in(9) ? number(1, 3 * c.vector) : c.vector)
        beats.push_back({tap, channel, one_in(12) ? 1 : count, 0, tap, channel});
    }
  }
  std::vector<Operand> operands(const Beat& beat) const {
    std::vector<Operand> made;
    for (std::size_t t = 0; t < places.size(); ++t) {
      const auto tap = static_cast<std::size_t>(beat.entry);
      const std::int64_t at = 4096 + places[t] + taps[tap] + beat.beyond;
      made.push_back(outside[tap * places.size() + t] ? Operand{}
                                                      : Operand{static_cast<std::uint64_t>(at), beat.count});
    }
    return made;
  }
};

std::vector<std::int64_t> outcome(const Pipeline& p) {
  const CacheStats& s = p.cache.stats;
  return {p.lanes_free(), p.next_look(), p.read_by(),       p.last_looked(), p.looked_up,     s.hits,
          s.misses,       s.evictions,   s.conflict_cycles, s.words,         p.cycles_saved()};
}

TEST(OffsetStretches, OT_4_OT_6_equal_beats_that_are_looked_up_one_by_one) {
  std::int64_t repeated = 0, kept_from = 0, conflicts = 0;
  check_cases(1500, [&] {
    const OffsetConfig config = random_config();
    const PortTimes times{number(1, 3), number(1, 4), number(1, 4)};
    Pipeline plain(config, times), stretched(config, times);
    const int shift = number(0, 3), accesses = number(1, 3);
    plain.cache.set_bank_shift(shift), stretched.cache.set_bank_shift(shift);
    Stretches stretches;
    std::vector<LineCache::Reference> references;
    for (int group = 0; group < 3; ++group) {
      const Work work(config);
      const Cycle tables = plain.lanes_free() + number(-40, 20);
      const auto threads = static_cast<int>(work.places.size());
      plain.begin_group(threads, std::max<Cycle>(0, tables));
      stretched.begin_group(threads, std::max<Cycle>(0, tables));
      stretches.clear();
      for (int slice = 0; slice < 3; ++slice) {
        plain.begin_slice(true), stretched.begin_slice(true);
        std::vector<Pipeline::BeatTimes> each;
        for (const Beat& beat : work.beats)
          each.push_back(plain.beat(work.operands(beat), std::max<Cycle>(0, tables), accesses, references));
        std::size_t at = 0;
        for (std::size_t stretch = 0; at < work.beats.size(); ++stretch) {
          Stretch& s = stretches.at(stretch, at, work.beats, stretched.cache,
                                    [&](const Beat& beat, std::vector<Operand>& operands) {
                                      operands = work.operands(beat);
                                      return std::numeric_limits<std::int64_t>::max();
                                    });
          RC_ASSERT(s.begin == at);
          const auto t = stretched.beat(s.footprint, std::max<Cycle>(0, tables), accesses);
          RC_ASSERT(t.begin == each[at].begin && t.addresses == each[at].addresses);
          ++at;
          if (stretched.cache.holds(s.footprint.lines)) {
            stretched.beats_again(s.beats - 1, accesses, [&](Cycle addresses, Cycle ready, Cycle begin) {
              const Pipeline::BeatTimes& one = each[at++];
              RC_ASSERT(addresses == one.addresses);
              RC_ASSERT(ready == one.looked.ready);
              RC_ASSERT(begin == one.begin);
              RC_ASSERT(stretched.cache.last_cycles() == one.looked.cycles);
              ++repeated, conflicts += one.looked.cycles - 1;
            });
            continue;
          }
          ++kept_from;
          for (std::size_t i = 1; i < s.beats; ++i, ++at)
            stretched.beat(work.operands(work.beats[at]), std::max<Cycle>(0, tables), accesses, references);
        }
        RC_ASSERT(outcome(plain) == outcome(stretched));
      }
    }
  });
  EXPECT_GT(repeated, 10'000);
  EXPECT_GT(conflicts, 10'000);
  EXPECT_GT(kept_from, 1'000);
}

TEST(OffsetStretches, OT_6_end_where_a_line_a_tap_or_the_room_in_the_map_ends) {
  OffsetConfig config;
  config.cache.line_bytes = 64;
  const Pipeline pipeline(config, PortTimes{1, 1, 1});
  std::vector<Beat> beats;
  for (int tap = 0; tap < 2; ++tap) {
    for (int channel = 0; channel < 40; channel += 4) beats.push_back({tap, channel, 4, 0, tap, channel});
  }
  const auto found = [&](std::uint64_t address, std::int64_t room) {
    Stretches stretches;
    return stretches
        .at(0, 0, beats, pipeline.cache,
            [&](const Beat&, std::vector<Operand>& operands) {
              operands = {{address, 4}, {}, {address + 128, 4}};
              return room;
            })
        .beats;
  };
  constexpr std::int64_t kMuch = 1 << 20;
  EXPECT_EQ(found(0, kMuch), 10U) << "the tap has ten beats";
  EXPECT_EQ(found(40, kMuch), 6U) << "24 bytes of the line";
  EXPECT_EQ(found(62, kMuch), 1U) << "the first one is in two lines";
  EXPECT_EQ(found(0, 11), 3U) << "two moves by a word fit into 11 bytes";
}

}  // namespace
}  // namespace tilebeat::testing
