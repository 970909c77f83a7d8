// The waveform writer: valid dumps, the same bytes in any order of declaration and recording (SPEC UI-3,
// CY-4).
#include "observe/waveform_writer.h"

#include "fst_reader.h"
#include "observe/fst_output.h"
#include "observe/waveform_output.h"
#include "vcd_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kDumpPeriod = 1000;

/// A waveform that becomes a dump in a string, and the same in GTKWave's format.
struct Dump {
  explicit Dump(TraceFilter filter = {})
      : output(filter.max_bytes, [this](std::string_view piece) { text += piece; }),
        fst_output([this](std::string_view piece) { fst += piece; },
                   [this](std::string_view header) { fst.replace(0, header.size(), header); }),
        writer(std::move(filter), kDumpPeriod, [this] { return now; }) {}
  /// Both forms show the same.
  void finish(Picoseconds end) {
    writer.finish(end, {&output, &fst_output});
    if (truncated()) return;
    EXPECT_EQ(Fst(fst).signals(), Vcd(text).changes_by_path());
  }
  bool truncated() const { return writer.truncated() || output.truncated(); }
  Picoseconds now = 0;
  std::string text, fst;
  VcdOutput output;
  FstOutput fst_output;
  WaveformWriter writer;
};

TEST(VcdWriter, UI_3_values_scopes_and_clock) {
  Dump dump;
  const SignalId a = dump.writer.add_signal("soc.engine", "a", 8), b = dump.writer.add_signal("soc", "b", 1);
  dump.writer.change(a, 1000, 0x5a);
  dump.writer.change(b, 2000, 1);
  dump.writer.unknown(a, 3000);
  dump.finish(5000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.timescale(), "1ps");
  EXPECT_FALSE(vcd.dated());
  EXPECT_EQ(vcd.paths(), (std::set<std::string>{"soc.clk", "soc.b", "soc.engine.a"}));
  EXPECT_EQ(vcd.signal("a").width, 8);
  EXPECT_FALSE(vcd.signal("a").at(999).has_value()) << "unknown until the first change";
  EXPECT_EQ(vcd.signal("a").at(1000), 0x5aU);
  EXPECT_EQ(vcd.signal("b").at(2000), 1U);
  EXPECT_EQ(vcd.signal("a").at(2999), 0x5aU);
  EXPECT_FALSE(vcd.signal("a").at(3000).has_value());
  for (Picoseconds edge = 0; edge < 5000; edge += kDumpPeriod) {
    EXPECT_EQ(vcd.signal("soc.clk").at(edge), 1U) << "clk rises at " << edge;
    EXPECT_EQ(vcd.signal("soc.clk").at(edge + kDumpPeriod / 2), 0U)
        << "clk falls at " << edge + kDumpPeriod / 2;
  }
}

TEST(VcdWriter, UI_3_of_two_changes_at_an_instant_the_later_one_stands) {
  Dump dump;
  const SignalId a = dump.writer.add_signal("soc", "a", 4);
  dump.writer.change(a, 1000, 3);
  dump.writer.change(a, 1000, 4);
  dump.writer.change(a, 2000, 4);
  dump.finish(3000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.signal("a").at(1000), 4U);
  int changes = 0;
  for (const auto& [when, value] : vcd.signal("a").changes) changes += value.has_value();
  EXPECT_EQ(changes, 1) << "only what changes is written";
}

TEST(VcdWriter, UI_12_no_path_is_a_scope_and_a_variable) {
  const auto refuses = [](const char* scope, const char* name) {
    Dump dump;
    dump.writer.add_signal("soc.unit", "a", 1);
    dump.writer.add_signal(scope, name, 1);
    try {
      dump.finish(1000);
    } catch (const std::logic_error&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses("soc.unit.a", "b"));
  EXPECT_TRUE(refuses("soc.unit.a.deep", "b"));
  EXPECT_TRUE(refuses("soc", "unit"));
  EXPECT_TRUE(refuses("soc.unit", "a")) << "two variables";
  EXPECT_FALSE(refuses("soc.unit.b", "a"));
  EXPECT_FALSE(refuses("soc.unit", "b"));
}

TEST(VcdWriter, UI_12_activity_counts_changes_and_the_time_of_busy) {
  Dump dump;
  const SignalId a = dump.writer.add_signal("soc", "a", 8);
  dump.writer.add_signal("soc", "idle", 1);
  const SignalId state = dump.writer.add_signal("soc.unit", "state", 1, Radix::kText);
  for (Picoseconds at = 0; at < 3000; at += kDumpPeriod) dump.writer.change(a, at, to_unsigned(at));
  dump.writer.text(state, 0, "host");
  dump.writer.text(state, 1000, "busy");
  dump.writer.text(state, 2500, "no_work");
  dump.writer.text(state, 5000, "busy");
  dump.finish(7000);
  EXPECT_EQ(dump.writer.activity(), (std::vector<std::int64_t>{0, 3, 0, 3500})) << "clk, a, idle, state";
}

using Texts = std::vector<std::pair<std::int64_t, std::string>>;

TEST(VcdWriter, UI_7_texts_stand_where_they_belong_though_they_come_late) {
  Dump dump;
  const SignalId a = dump.writer.add_signal("soc", "a", 8);
  const SignalId state = dump.writer.add_signal("soc.unit", "state", 1, Radix::kText);
  const SignalId other = dump.writer.add_signal("soc.other", "state", 1, Radix::kText);
  for (Picoseconds now = 0; now < 6000; now += kDumpPeriod) {
    dump.now = now;
    dump.writer.change(a, now, static_cast<std::uint64_t>(now / kDumpPeriod));
  }
  dump.writer.text(state, 0, "no_work");
  dump.writer.text(state, 1250, "row_miss");
  dump.writer.text(state, 4000, "busy");
  dump.writer.text(other, 1250, "busy");
  dump.finish(7000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.signal("soc.unit.state").texts, (Texts{{0, "no_work"}, {1250, "row_miss"}, {4000, "busy"}}));
  EXPECT_EQ(vcd.signal("soc.other.state").texts, (Texts{{1250, "busy"}}));
  EXPECT_EQ(vcd.signal("a").at(3000), 3U);
  EXPECT_EQ(vcd.last_time(), 7000);
  const std::vector<SignalInfo> signals = dump.writer.signals();
  ASSERT_EQ(signals.size(), 4U);
  EXPECT_EQ(signals[0].scope + "." + signals[0].name, "soc.clk");
}

TEST(VcdWriter, UI_7_a_window_begins_with_the_texts_that_hold) {
  TraceFilter filter;
  filter.begin = 2000, filter.end = 5000;
  Dump dump(filter);
  const SignalId state = dump.writer.add_signal("soc.unit", "state", 1, Radix::kText);
  for (const auto& [at, text] : Texts{{0, "host"}, {1000, "busy"}, {3000, "output_drain"}, {5000, "busy"}})
    dump.writer.text(state, at, text);
  dump.now = 8000;
  dump.finish(8000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.signal("soc.unit.state").texts, (Texts{{2000, "busy"}, {3000, "output_drain"}}));
  EXPECT_EQ(vcd.signal("soc.unit.state").times(5000),
            (std::map<std::string, std::int64_t>{{"busy", 1000}, {"output_drain", 2000}}));
}

TEST(VcdWriter, UI_7_a_cap_counts_texts_and_nothing_is_recorded_behind_it) {
  TraceFilter filter;
  filter.max_bytes = 20'000;
  Dump dump(filter);
  const SignalId a = dump.writer.add_signal("soc", "a", 32);
  const SignalId state = dump.writer.add_signal("soc.unit", "state", 1, Radix::kText);
  // Many more than are kept before they are written.
  for (; dump.now < 200'000 * kDumpPeriod && !dump.writer.is_over(); dump.now += kDumpPeriod) {
    dump.writer.change(a, dump.now, static_cast<std::uint64_t>(dump.now));
    dump.writer.text(state, dump.now, dump.now / kDumpPeriod % 2 == 0 ? "busy" : "no_work");
  }
  EXPECT_TRUE(dump.writer.is_over());
  dump.finish(dump.now);
  EXPECT_TRUE(dump.truncated());
  EXPECT_LE(static_cast<std::int64_t>(dump.text.size()), filter.max_bytes);
  const Vcd vcd(dump.text);
  ASSERT_EQ(vcd.comments().size(), 1U);
  EXPECT_NE(vcd.comments()[0].find("size cap"), std::string::npos);
  EXPECT_FALSE(vcd.signal("soc.unit.state").texts.empty());
}

TEST(VcdWriter, UI_3_values_are_cut_to_their_width) {
  Dump dump;
  const SignalId a = dump.writer.add_signal("soc", "a", 4), wide = dump.writer.add_signal("soc", "wide", 64);
  dump.writer.change(a, 0, 0x1f);
  dump.writer.change(wide, 0, ~std::uint64_t{0});
  dump.finish(1000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.signal("a").at(0), 0xfU);
  EXPECT_EQ(vcd.signal("wide").at(0), ~std::uint64_t{0});
}

TEST(VcdWriter, UI_12_words_of_any_width) {
  Dump dump;
  const SignalId word = dump.writer.add_signal("soc", "word", 256),
                 odd = dump.writer.add_signal("soc", "odd", 68);
  std::array<std::uint8_t, 32> bytes{};
  bytes[0] = 5, bytes[8] = 1, bytes[31] = 0x80;
  dump.writer.change(word, 1000, bytes.data(), bytes.size());
  dump.writer.change(odd, 1000, bytes.data(), 9);
  dump.writer.change(word, 2000, bytes.data(), bytes.size());
  dump.finish(3000);
  const std::string wide = "b1" + std::string(190, '0') + "1" + std::string(61, '0') + "101 ";
  const std::size_t found = dump.text.find(wide);
  ASSERT_NE(found, std::string::npos) << dump.text;
  EXPECT_EQ(dump.text.find(wide, found + 1), std::string::npos) << "only what changes is written";
  EXPECT_NE(dump.text.find("\nb1" + std::string(61, '0') + "101 "), std::string::npos);
  EXPECT_NE(dump.text.find("word [255:0]"), std::string::npos);
}

TEST(VcdWriter, UI_12_details_only_where_a_pattern_names_them) {
  TraceFilter named;
  named.patterns = {"a*"};
  for (const bool pattern : {false, true}) {
    Dump dump(pattern ? named : TraceFilter{});
    EXPECT_EQ(dump.writer.add_signal("soc", "a1", 8, Radix::kSigned, Shown::kWhenNamed) >= 0, pattern);
    EXPECT_GE(dump.writer.add_signal("soc", "a2", 8), 0);
  }
}

TEST(VcdWriter, UI_12_names_are_identifiers) {
  Dump dump;
  for (const char* name : {"a.b", "0a", "", "a b", "a-b"})
    EXPECT_THROW(dump.writer.add_signal("soc", name, 1), std::logic_error) << name;
  EXPECT_THROW(dump.writer.add_signal("soc.0", "a", 1), std::logic_error);
  EXPECT_GE(dump.writer.add_signal("soc._x", "a$1", 1), 0);
}

TEST(VcdWriter, UI_12_many_changes_at_one_instant_ahead_of_the_present) {
  Dump dump;
  std::vector<SignalId> all;
  for (int i = 0; i < 300'000; ++i) all.push_back(dump.writer.add_signal("soc", "s" + std::to_string(i), 8));
  for (std::size_t i = 0; i < all.size(); ++i) dump.writer.change(all[i], 5000, i);
  dump.writer.change(all[0], 6000, 7);
  dump.now = 7000;
  dump.writer.finish(7000, {&dump.output});
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.signal("s299999").at(5000), 299'999U & 0xFFU);
  EXPECT_EQ(vcd.signal("s0").at(6000), 7U);
}

using Change = std::tuple<int, Picoseconds, std::uint64_t>;  ///< signal, instant, value

/// The dump of `changes` to `signals` signals, declared and recorded in the orders given.
std::string dump_of(int signals, const std::vector<int>& declared, const std::vector<Change>& changes) {
  Dump dump;
  std::vector<SignalId> ids(static_cast<std::size_t>(signals));
  for (const int i : declared) {
    ids[static_cast<std::size_t>(i)] =
        dump.writer.add_signal(i % 2 ? "soc.odd" : "soc.even", "s" + std::to_string(i), 1 + i % 64);
  }
  for (const auto& [signal, at, value] : changes)
    dump.writer.change(ids[static_cast<std::size_t>(signal)], at, value);
  dump.finish(200000);
  return dump.text;
}

TEST(VcdWriter, CY_4_bytes_do_not_depend_on_any_order) {
  constexpr int kSignals = 200;  // codes of one and of two characters
  std::mt19937 random(7);
  std::vector<int> declared(kSignals);
  for (int i = 0; i < kSignals; ++i) declared[static_cast<std::size_t>(i)] = i;
  std::vector<Change> changes;
  for (int i = 0; i < 3000; ++i) {
    changes.emplace_back(static_cast<int>(random() % kSignals),
                         static_cast<Picoseconds>(random() % 200) * 500, random());
  }
  // One value an instant and signal: which of two stands is decided by the order.
  std::sort(changes.begin(), changes.end());
  changes.erase(std::unique(changes.begin(), changes.end(),
                            [](const Change& a, const Change& b) {
                              return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
                            }),
                changes.end());
  const std::string plain = dump_of(kSignals, declared, changes);
  const Vcd vcd(plain);
  for (const auto& [signal, at, value] : changes) {
    const int width = 1 + signal % 64;
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    ASSERT_EQ(vcd.signal("s" + std::to_string(signal)).at(at), value & mask);
  }
  for (int round = 0; round < 5; ++round) {
    std::shuffle(declared.begin(), declared.end(), random);
    std::shuffle(changes.begin(), changes.end(), random);
    EXPECT_TRUE(dump_of(kSignals, declared, changes) == plain) << "round " << round;
  }
}

TEST(FstOutput, UI_12_blocks_of_changes_go_on_where_the_last_one_ended) {
  constexpr int kInstants = 1000;
  Dump dump;
  const SignalId wide = dump.writer.add_signal("soc.a", "wide", 300),
                 bit = dump.writer.add_signal("soc.a", "bit", 1);
  const SignalId state = dump.writer.add_signal("soc.b", "state", 1, Radix::kText),
                 still = dump.writer.add_signal("soc", "still", 7);
  dump.writer.change(still, 1500, 5);
  std::mt19937_64 random(3);
  for (Picoseconds i = 1; i < kInstants; ++i) {
    dump.now = i * 700;
    std::array<std::uint64_t, 5> words{};
    for (std::uint64_t& word : words) word = random() >> random() % 64;
    if (random() % 50 == 0)
      dump.writer.unknown(wide, dump.now);
    else
      dump.writer.change(wide, dump.now, reinterpret_cast<const std::uint8_t*>(words.data()), sizeof(words));
    if (random() % 3 == 0) dump.writer.unknown(bit, dump.now);
    dump.writer.change(bit, dump.now + 350, random() % 2);
    if (random() % 9 == 0)
      dump.writer.text(state, dump.now, std::string(200'000, random() % 2 == 0 ? 'b' : 'i'));
  }
  dump.finish(kInstants * 700);
  EXPECT_GT(Fst(dump.fst).blocks(), 1U);
}

TEST(VcdWriter, UI_7_pulses_that_meet_are_one_in_whatever_order_they_come) {
  Dump dump;
  const SignalId meeting = dump.writer.add_signal("soc", "meeting", 1),
                 early = dump.writer.add_signal("soc", "early", 1);
  dump.writer.pulse(meeting, 1000, 2000);
  dump.writer.pulse(meeting, 2000, 3000);
  dump.writer.pulse(meeting, 5000, 9000);
  dump.writer.pulse(early, 4000, 5000);
  dump.writer.pulse(early, 1000, 2000);
  dump.now = 6000;
  for (int i = 0; i < 100'000; ++i) dump.writer.change(early, 6000, 0);  // what lies before is collected
  dump.writer.pulse(meeting, 7000, 11000);
  dump.finish(20000);
  using Changes = Fst::Changes;
  const auto changes = Vcd(dump.text).changes_by_path();
  EXPECT_EQ(changes.at("soc.meeting"),
            (Changes{{0, "0"}, {1000, "1"}, {3000, "0"}, {5000, "1"}, {11000, "0"}}));
  EXPECT_EQ(changes.at("soc.early"), (Changes{{0, "0"}, {1000, "1"}, {2000, "0"}, {4000, "1"}, {5000, "0"}}));
}

TEST(VcdWriter, UI_3_patterns_without_signals_are_told) {
  TraceFilter filter;
  filter.patterns = {"b?", "c*", "soc.x.*", "clk", "soc.y.*"};
  Dump dump(filter);
  dump.writer.add_signal("soc", "b1", 1);
  dump.writer.add_signal("soc.x", "b2", 1);
  EXPECT_EQ(dump.writer.unmatched_patterns(), (std::vector<std::string>{"soc.y.*"}))
      << "clk is there without being declared";
  EXPECT_EQ(Dump().writer.unmatched_patterns(), std::vector<std::string>{});
}

TEST(VcdWriter, UI_3_patterns_choose_signals) {
  TraceFilter filter;
  filter.patterns = {"b1", "soc.x.*"};
  Dump dump(filter);
  EXPECT_GE(dump.writer.add_signal("soc.banks", "b1", 1), 0) << "by name";
  EXPECT_LT(dump.writer.add_signal("soc.banks", "b10", 1), 0);
  EXPECT_GE(dump.writer.add_signal("soc.x", "a", 1), 0) << "by path";
  const SignalId none = dump.writer.add_signal("soc.y", "a", 1);
  EXPECT_LT(none, 0);
  dump.writer.change(none, 0, 1);
  dump.finish(1000);
  EXPECT_EQ(Vcd(dump.text).paths(), (std::set<std::string>{"soc.clk", "soc.banks.b1", "soc.x.a"}));
}

TEST(VcdWriter, UI_3_a_window_begins_with_the_values_that_hold_there) {
  TraceFilter filter;
  filter.begin = 5000, filter.end = 8000;
  Dump dump(filter);
  const SignalId a = dump.writer.add_signal("soc", "a", 8);
  dump.writer.change(a, 1000, 17);
  dump.writer.change(a, 6000, 18);
  dump.writer.change(a, 8000, 19);
  dump.finish(10000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.first_time(), 5000);
  EXPECT_LT(vcd.last_time(), 8000) << "the end is not shown any more";
  EXPECT_EQ(vcd.signal("a").at(5000), 17U);
  EXPECT_EQ(vcd.signal("a").at(6000), 18U);
  EXPECT_EQ(vcd.signal("a").changes.back().second, 18U);
}

TEST(VcdWriter, UI_3_the_size_cap_holds_and_leaves_a_valid_dump) {
  for (const std::int64_t cap : {1000, 1001, 1500, 4096}) {
    TraceFilter filter;
    filter.max_bytes = cap;
    Dump dump(filter);
    const SignalId a = dump.writer.add_signal("soc", "a", 32);
    for (int i = 0; i < 1000; ++i) dump.writer.change(a, i * kDumpPeriod, static_cast<std::uint64_t>(i));
    dump.finish(1000 * kDumpPeriod);
    EXPECT_TRUE(dump.truncated());
    EXPECT_LE(static_cast<std::int64_t>(dump.text.size()), cap);
    EXPECT_EQ(dump.output.bytes(), static_cast<std::int64_t>(dump.text.size()));
    const Vcd vcd(dump.text);
    ASSERT_EQ(vcd.comments().size(), 1U);
    EXPECT_NE(vcd.comments()[0].find(std::to_string(cap)), std::string::npos) << "the cap is named";
  }
}

TEST(VcdWriter, UI_3_a_dump_without_changes_is_valid) {
  Dump dump;
  dump.writer.add_signal("soc.engine", "a", 3);
  dump.finish(3000);
  const Vcd vcd(dump.text);
  EXPECT_EQ(vcd.paths().count("soc.engine.a"), 1U);
  EXPECT_EQ(vcd.last_time(), 3000);
}

}  // namespace
}  // namespace tilebeat::testing
