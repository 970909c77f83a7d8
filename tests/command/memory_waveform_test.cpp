// The ports of on-chip memories in the waveform (SPEC UI-7), and what memories hold over time (UI-8), of
// whole runs on every engine.
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr std::int64_t kMemoryPeriod = 1000;  // ps, of the configurations

class MemoriesOf : public ::testing::TestWithParam<const char*> {
 protected:
  // The sum of a signal's values over the cycles before `end`; of a one-bit signal the cycles in which it is
  // high.
  template <class Value>
  static std::int64_t sum(const VcdSignal& signal, std::int64_t end, Value value) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < signal.changes.size() && signal.changes[i].first < end; ++i) {
      const auto& [at, to] = signal.changes[i];
      const std::int64_t until =
          std::min(end, i + 1 < signal.changes.size() ? signal.changes[i + 1].first : end);
      total += value(to.value_or(0)) * ((until - at) / kMemoryPeriod);
    }
    return total;
  }
  static std::int64_t sum(const VcdSignal& signal, std::int64_t end) {
    return sum(signal, end, [](std::uint64_t v) { return static_cast<std::int64_t>(v); });
  }
  // The counters of a module by name.
  static std::map<std::string, std::int64_t> counters(const nlohmann::json& report,
                                                      const std::string& module) {
    std::map<std::string, std::int64_t> found;
    for (const auto& counter : report.at("counters")) {
      if (counter.at("module") == module) found[counter.at("name")] = counter.at("value");
    }
    return found;
  }
};

TEST_P(MemoriesOf, UI_7_ports_show_requests_banks_and_waits_as_they_are_counted) {
  const CommandFolder folder;
  const CommandResult result =
      folder.run_layer(GetParam(), "models/worked_dense.json", {"--vcd", "wave.vcd"});
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json report = folder.report();
  const Vcd vcd(read_bytes(folder.path("wave.vcd")));
  const std::int64_t end = report.at("total").at("cycles").get<std::int64_t>() * kMemoryPeriod;
  std::int64_t waits = 0;
  for (const char* memory : {"core0.nram", "core0.wram", "memory.sram"}) {
    const std::string module = fmt::format("cluster0.{}", memory);
    auto counted = counters(report, module);
    const auto signal = [&](const std::string& name) -> const VcdSignal& {
      return vcd.signal(fmt::format("chip.{}.{}", module, name));
    };
    const std::int64_t words = sum(signal("read_words"), end) + sum(signal("write_words"), end);
    EXPECT_EQ(words, counted.at("bank_accesses")) << module;
    EXPECT_EQ(sum(signal("banks"), end,
                  [](std::uint64_t v) { return static_cast<std::int64_t>(std::bitset<64>(v).count()); }),
              words)
        << module << ": every word is one bank's";
    // A cycle in which several requests wait counts once here.
    for (const auto& [name, counter] :
         {std::pair("bank_conflict", "bank_conflicts"), std::pair("port_taken", "port_taken")}) {
      const std::int64_t cycles = sum(signal(name), end);
      EXPECT_LE(cycles, counted.at(counter)) << module;
      EXPECT_EQ(cycles == 0, counted.at(counter) == 0) << module << " " << name;
      waits += cycles;
    }
    EXPECT_EQ(sum(signal("req"), end) == 0, counted.at("read") + counted.at("written") == 0) << module;
    EXPECT_EQ(sum(signal("queue"), end) == 0, words == 0) << module;
    EXPECT_EQ(signal("queue").at(end).value_or(0), 0U) << module << " has answered all";
  }
  if (GetParam() != std::string("configs/offset16.json")) {
    EXPECT_GT(waits, 0) << "something is shown";
  }
}

TEST_P(MemoriesOf, UI_8_what_is_moved_through_a_memory_is_held_in_it) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(GetParam(), "models/worked_dense.json").status, 0);
  const nlohmann::json report = folder.report();
  const nlohmann::json& over_time = report.at("memory_over_time");
  const std::int64_t slice = over_time.at("slice_cycles"), cycles = report.at("total").at("cycles");
  const std::int64_t slices = (cycles + slice - 1) / slice;
  EXPECT_LE(slices, 64);
  std::map<std::string, std::int64_t> peaks;
  for (const auto& memory : over_time.at("memories")) {
    const auto held = memory.at("held_bytes").get<std::vector<std::int64_t>>();
    EXPECT_EQ(static_cast<std::int64_t>(held.size()), slices);
    const std::int64_t peak = *std::max_element(held.begin(), held.end());
    EXPECT_LE(peak, memory.at("bytes").get<std::int64_t>());
    peaks[memory.at("module")] = peak;
  }
  for (const char* memory : {"cluster0.core0.nram", "cluster0.core0.wram"}) {
    const auto counted = counters(report, memory);
    ASSERT_EQ(peaks.count(memory) == 1, counted.at("written") > 0) << memory;
    if (peaks.count(memory) == 0) continue;
    EXPECT_GT(peaks[memory], 0) << memory;
    // In lines of 64 bytes, or of 128 where the memory has more than 4096 lines.
    EXPECT_LE(peaks[memory], counted.at("written") + 64 * 256) << memory << ": nothing else lies there";
  }
}
INSTANTIATE_TEST_SUITE_P(Configs, MemoriesOf,
                         ::testing::Values("configs/core1.json", "configs/wfold16x4.json",
                                           "configs/rolling_cluster4x4.json", "configs/offset16.json"));

TEST(MemoryWaveform, UI_7_ports_of_engines_are_shown_in_their_cycles) {
  const CommandFolder folder;
  ASSERT_EQ(
      folder.run_layer("configs/wfold16x4.json", "models/worked_dense.json", {"--vcd", "wave.vcd"}).status,
      0);
  const nlohmann::json report = folder.report();
  const Vcd vcd(read_bytes(folder.path("wave.vcd")));
  std::int64_t busy = 0;
  for (const auto& counter : report.at("counters")) {
    if (counter.at("name") == "region_port_busy" && counter.at("module") == "cluster0.core0.engine.sl3")
      busy = counter.at("value");
  }
  ASSERT_GT(busy, 0);
  std::int64_t high = 0, since = 0;
  for (const auto& [at, to] : vcd.signal("chip.cluster0.core0.wram.engine.b3_valid").changes) {
    if (to == 1U)
      since = at;
    else if (to == 0U && at > since)
      high += (at - since) / kMemoryPeriod;
  }
  EXPECT_EQ(high, busy);
}

}  // namespace
}  // namespace tilebeat::testing
