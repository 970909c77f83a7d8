// The rolling-register unit read back from the waveform of a whole run of the shipped configuration with
// stacked storage, at the size of document 002's example (SPEC RO-4, RO-5, RO-6, RO-7, UI-12).
#include "npy_file.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr std::int64_t kRollingPeriod = 1000;  // ps, of configs/rolling16_stacked.json
constexpr int kProductSize = 4, kArraySide = 2, kRings = 4;
constexpr std::uint64_t kBeatStep = 0, kCorrectionStep = 3;  // values of `step`
using RegisterGroups = std::vector<std::string>;

/// C = A x B of 4 x 4 elements on 2 x 2 PEs. Elements name themselves: 11 for the first one of the first row.
class RollingWaveform : public ::testing::Test {
 protected:
  RollingWaveform() { run("in_memory"); }

  void run(const char* transposition) {
    nlohmann::json hardware =
        nlohmann::json::parse(read_bytes(source_path("configs/rolling16_stacked.json")));
    hardware["rolling"].update({{"rows", kArraySide},
                                {"columns", kArraySide},
                                {"variant", "right_b_up"},
                                {"blocking", "whole_rolling"},
                                {"stacked_blocks", 2},
                                {"stacked_cuts", 2},
                                {"transposition", transposition}});
    std::vector<std::int8_t> elements;
    for (int row = 0; row < kProductSize; ++row) {
      for (int column = 0; column < kProductSize; ++column) elements.push_back(named(row, column));
    }
    folder_.write("hw.json", hardware.dump());
    folder_.write("m.npy", npy_of(kProductSize, kProductSize, elements));
    folder_.write("product.json", R"({"name": "product",
        "inputs": [{"name": "a", "shape": [4, 4], "dtype": "int8", "file": "m.npy"}],
        "layers": [{"name": "c", "op": "matmul", "inputs": ["a"], "out_features": 4,
                    "weights": {"file": "m.npy"}}], "outputs": ["c"]})");
    const CommandResult result = folder_.run(
        {"run", "--config", "hw.json", "--layer", "product.json", "--vcd", "wave.vcd", "--vcd-signals", "*"});
    ASSERT_EQ(result.status, 0) << result.err;
    vcd_ = std::make_unique<Vcd>(read_bytes(folder_.path("wave.vcd")));
    for (const auto& [at, value] : signal("array.valid").changes) {
      if (value != 1U) continue;
      begin_ = at;
      break;
    }
  }
  static std::int8_t named(int row, int column) {
    return static_cast<std::int8_t>(10 * (row + 1) + column + 1);
  }
  static int product(int row, int column) {
    int sum = 0;
    for (int i = 0; i < kProductSize; ++i) sum += named(row, i) * named(i, column);
    return sum;
  }
  const VcdSignal& signal(const std::string& name) const {
    return vcd_->signal("chip.cluster0.core0.rolling." + name);
  }
  /// The time of cycle `cycle` from the first beat on.
  std::int64_t time(int cycle) const { return begin_ + cycle * kRollingPeriod; }
  std::string text(const std::string& name, std::int64_t at) const {
    const auto value = signal(name).at(at);
    return value ? std::to_string(*value) : "x";
  }
  /// The registers of one operand, group by group, rows of PEs one after the other.
  RegisterGroups registers(char operand, std::int64_t at) const {
    RegisterGroups groups;
    for (int group = 0; group < kRings; ++group) {
      std::string all;
      for (int row = 0; row < kArraySide; ++row) {
        if (row > 0) all += " / ";
        for (int column = 0; column < kArraySide; ++column)
          all += (column > 0 ? " " : "") +
                 text(fmt::format("array.pe{}_{}.{}{}", row, column, operand, group), at);
      }
      groups.push_back(all);
    }
    return groups;
  }
  /// The tags of the lines of one operand, group by group.
  RegisterGroups tags(char operand, std::int64_t at) const {
    RegisterGroups groups;
    for (int group = 0; group < kRings; ++group)
      groups.push_back(text(fmt::format("array.tags.{}{}_0", operand, group), at) + " " +
                       text(fmt::format("array.tags.{}{}_1", operand, group), at));
    return groups;
  }
  /// The line in the result buffer, as numbers.
  std::vector<std::int32_t> line(int half, int number, std::int64_t at) const {
    const std::vector<std::uint8_t> bytes =
        signal(fmt::format("results.half{}.line{}", half, number)).bytes_at(at, kProductSize * 4);
    std::vector<std::int32_t> sums;
    for (std::size_t i = 0; i < kProductSize; ++i)
      sums.push_back(bytes[4 * i] | bytes[4 * i + 1] << 8 | bytes[4 * i + 2] << 16 | bytes[4 * i + 3] << 24);
    return sums;
  }

  CommandFolder folder_;
  std::unique_ptr<Vcd> vcd_;
  std::int64_t begin_ = 0;
};

TEST_F(RollingWaveform, UI_12_RO_5_table_4_of_document_002_from_the_waveform) {
  EXPECT_EQ(registers('a', time(0)),
            (RegisterGroups{"11 12 / 21 22", "13 14 / 23 24", "31 32 / 41 42", "33 34 / 43 44"}))
      << "table 1";
  EXPECT_EQ(registers('b', time(0)),
            (RegisterGroups{"11 21 / 12 22", "31 41 / 32 42", "13 23 / 14 24", "33 43 / 34 44"}))
      << "table 2";
  EXPECT_EQ(tags('b', time(0)), (RegisterGroups{"0 1", "0 1", "2 3", "2 3"}));
  for (int cycle = 0; cycle < 4; ++cycle) EXPECT_EQ(signal("array.step").at(time(cycle)), kBeatStep) << cycle;
  // Four beats, then all four rings have rolled at one edge, each block within itself.
  EXPECT_EQ(registers('b', time(4)),
            (RegisterGroups{"12 22 / 11 21", "32 42 / 31 41", "14 24 / 13 23", "34 44 / 33 43"}))
      << "table 4";
  EXPECT_EQ(tags('b', time(4)), (RegisterGroups{"1 0", "1 0", "3 2", "3 2"}));
  const RegisterGroups wrapped{"11 21", "31 41", "13 23", "33 43"};
  for (int ring = 0; ring < kRings; ++ring) {
    EXPECT_EQ(text(fmt::format("array.spare{}.e0", ring), time(4)) + " " +
                  text(fmt::format("array.spare{}.e1", ring), time(4)),
              wrapped[static_cast<std::size_t>(ring)])
        << "spare register " << ring;
  }
  EXPECT_EQ(registers('a', time(4)), registers('a', time(0))) << "A stays";
}

TEST_F(RollingWaveform, UI_12_RO_5_table_5_of_document_002_from_the_waveform) {
  EXPECT_EQ(signal("array.step").at(time(4)), kCorrectionStep);
  EXPECT_EQ(registers('b', time(5)),
            (RegisterGroups{"12 22 / 13 23", "32 42 / 33 43", "14 24 / 11 21", "34 44 / 31 41"}))
      << "table 5";
  EXPECT_EQ(tags('b', time(5)), (RegisterGroups{"1 2", "1 2", "3 0", "3 0"}));
  // [0200]: c12 c23 c34 c41, in lines of their own.
  EXPECT_EQ(tags('a', time(5)), (RegisterGroups{"0 1", "0 1", "2 3", "2 3"}));
}

TEST_F(RollingWaveform, UI_12_RO_6_every_line_is_there_in_the_cycle_after_it_entered) {
  const std::map<char, std::vector<std::pair<int, int>>> order{
      {'a', {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}, {2, 1}, {3, 1}}},
      {'b', {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}}}};
  for (const auto& [operand, lines] : order) {
    const RegisterGroups full = registers(operand, time(0));
    std::size_t entered = 0;
    for (std::int64_t at = begin_ - 60 * kRollingPeriod; at < begin_; at += kRollingPeriod) {
      if (signal(fmt::format("array.load_{}", operand)).at(at) != 1U) continue;
      ASSERT_LT(entered, lines.size());
      const auto [group, number] = lines[entered++];
      EXPECT_EQ(text(fmt::format("array.load_{}_group", operand), at), std::to_string(group)) << entered;
      EXPECT_EQ(text(fmt::format("array.load_{}_line", operand), at), std::to_string(number)) << entered;
      const auto line_of = [&, g = static_cast<std::size_t>(group),
                            n = number](const RegisterGroups& groups) {
        return groups[g].substr(n == 0 ? 0 : groups[g].find('/') + 2, n == 0 ? groups[g].find('/') - 1 : 99);
      };
      EXPECT_EQ(line_of(registers(operand, at)), "x x") << "entering: " << entered;
      EXPECT_EQ(line_of(registers(operand, at + kRollingPeriod)), line_of(full)) << "entered: " << entered;
    }
    EXPECT_EQ(entered, lines.size());
  }
}

// One row of A: two pixels of padding and one of the map, of two channels. Its first cut of five elements has
// four on padding, and its last one goes through a port of four elements a cycle behind them, as any other
// does.
TEST(RollingPort, RO_6_elements_on_padding_take_their_place_behind_a_narrow_port) {
  const CommandFolder folder;
  folder.write("hw.json", R"({
    "name": "narrow", "clock_mhz": 1000, "dataflow": "rolling",
    "rolling": {"rows": 5, "columns": 3, "groups": 2, "port_bytes": 4, "variant": "left_b_left"},
    "chip": {"clusters": 1, "cores_per_cluster": 1}})");
  folder.write("layer.json", R"({
    "name": "padded", "inputs": [{"name": "x", "shape": [1, 1, 1, 2], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [{"name": "conv", "op": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel": [1, 3],
                "pads": [0, 2, 0, 0], "weights": {"random": {"seed": 2}}}], "outputs": ["conv"]})");
  std::vector<std::int64_t> done;
  for (const char* granularity : {"clock", "tile"}) {
    std::vector<std::string> arguments{"run",        "--config",      "hw.json",  "--layer",
                                       "layer.json", "--granularity", granularity};
    if (done.empty()) arguments.insert(arguments.end(), {"--vcd", "wave.vcd", "--vcd-signals", "*"});
    const CommandResult run = folder.run(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
    done.push_back(folder.report().at("layers").at(0).at("cycles"));
    if (done.size() > 1) continue;
    const Vcd vcd(read_bytes(folder.path("wave.vcd")));
    const auto signal = [&](const std::string& name) -> const VcdSignal& {
      return vcd.signal("chip.cluster0.core0.rolling.array." + name);
    };
    std::vector<std::int64_t> entered;
    for (std::int64_t at = 0; at < vcd.last_time(); at += kRollingPeriod)
      if (signal("load_a").at(at) == 1U) entered.push_back(at);
    ASSERT_EQ(entered.size(), 2U);
    EXPECT_EQ(entered[1], entered[0] + 2 * kRollingPeriod) << "the first line takes two cycles";
    const auto element = [&](int row, int cycles) {
      return signal(fmt::format("pe{}_0.a0", row)).at(entered[0] + cycles * kRollingPeriod);
    };
    EXPECT_EQ(element(0, 1), 0U);
    EXPECT_EQ(element(4, 1), 0U) << "goes over the port in this cycle";
    EXPECT_NE(element(4, 2), 0U);
  }
  EXPECT_EQ(done[0], done[1]);
}

TEST_F(RollingWaveform, UI_12_RO_2_sums_realign_and_leave_row_by_row) {
  // Sums are stored one computation after the other, line p of computation t: c[p, p + t].
  const VcdSignal& realign = signal("results.realign");
  std::int64_t first = 0, end = 0;
  for (const auto& [at, value] : realign.changes) (value == 1U ? first : end) = at;
  ASSERT_EQ(end - first, (kProductSize - 1) * kRollingPeriod) << "L - 1 cycles";
  for (int p = 0; p < kProductSize; ++p) {
    std::vector<std::int32_t> stored, aligned;
    for (int t = 0; t < kProductSize; ++t) stored.push_back(product(p, (p + t) % kProductSize));
    for (int column = 0; column < kProductSize; ++column) aligned.push_back(product(p, column));
    EXPECT_EQ(line(0, p, first), stored) << "line " << p;
    EXPECT_EQ(line(0, p, end), aligned) << "line " << p;
  }
  int row = 0;
  for (std::int64_t at = end; at < vcd_->last_time(); at += kRollingPeriod) {
    if (signal("results.drain").at(at) != 1U) continue;
    EXPECT_EQ(text("results.row", at), std::to_string(row));
    const std::vector<std::uint8_t> bytes = signal("results.out").bytes_at(at, kProductSize * 4);
    for (int column = 0; column < kProductSize; ++column) {
      const auto i = static_cast<std::size_t>(4 * column);
      EXPECT_EQ(bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24, product(row, column));
    }
    ++row;
  }
  EXPECT_EQ(row, kProductSize);
}

TEST_F(RollingWaveform, UI_12_RO_6_sums_are_written_where_their_computation_says) {
  // The adder trees have two lanes and one multiplier a PE: two cycles.
  std::map<std::pair<int, int>, int> writes;
  for (std::int64_t at = begin_; at < vcd_->last_time(); at += kRollingPeriod) {
    if (signal("results.add").at(at) != 1U) continue;
    EXPECT_EQ(text("results.half", at), "0");
    EXPECT_EQ(text("array.sums", at), "1");
    for (int lane = 0; lane < kArraySide; ++lane) {
      const auto place = signal(fmt::format("results.w{}_line", lane)).at(at);
      const auto index = signal(fmt::format("results.w{}_index", lane)).at(at);
      ASSERT_TRUE(place && index);
      ++writes[{static_cast<int>(*place), static_cast<int>(*index)}];
    }
  }
  ASSERT_EQ(writes.size(), 16U);
  for (const auto& [place, count] : writes) EXPECT_EQ(count, 2) << "two cuts add to each sum";
  EXPECT_EQ(signal("results.add").at(time(1)), 0U);
  EXPECT_EQ(signal("results.add").at(time(2)), 1U);
}

TEST_F(RollingWaveform, UI_12_RO_7_the_step_of_transposition_reads_and_writes_through_the_port) {
  run("step");
  const VcdSignal& transposing = signal("b.transposing");
  std::int64_t first = 0, end = 0;
  for (const auto& [at, value] : transposing.changes) (value == 1U ? first : end) = at;
  ASSERT_GT(end, first);
  std::multiset<std::vector<std::uint8_t>> read, written;
  for (std::int64_t at = first; at < end; at += kRollingPeriod) {
    if (signal("b.port.req").at(at) != 1U) continue;
    const std::vector<std::uint8_t> bytes = signal("b.port.data").bytes_at(at, 8);
    (signal("b.port.write").at(at) == 1U ? written : read).insert(bytes);
  }
  // Four kernels of each cut of two elements of n: read as B's rows lie, written as its columns.
  EXPECT_EQ(read, (std::multiset<std::vector<std::uint8_t>>{{11, 12, 13, 14, 21, 22, 23, 24},
                                                            {31, 32, 33, 34, 41, 42, 43, 44}}));
  EXPECT_EQ(written, (std::multiset<std::vector<std::uint8_t>>{{11, 21, 12, 22, 13, 23, 14, 24},
                                                               {31, 41, 32, 42, 33, 43, 34, 44}}));
  EXPECT_EQ(registers('b', time(4)).front(), "12 22 / 11 21") << "the same products";
}

// NRAM has an access in each cycle in which the unit says that its write port is busy.
TEST_F(RollingWaveform, RO_6_UI_3_results_reach_nram_while_the_write_port_is_busy) {
  std::set<std::int64_t> accesses, busy;
  for (int bank = 0; bank < 16; ++bank) {
    const auto& changes =
        vcd_->signal(fmt::format("chip.cluster0.core0.nram.engine.p1b{}_valid", bank)).changes;
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
      if (changes[i].second != 1U) continue;
      for (std::int64_t at = changes[i].first; at < changes[i + 1].first; at += kRollingPeriod)
        accesses.insert(at);
    }
  }
  const auto& states = signal("write.state").texts;
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    if (states[i].second != "busy") continue;
    for (std::int64_t at = states[i].first; at < states[i + 1].first; at += kRollingPeriod) busy.insert(at);
  }
  EXPECT_FALSE(busy.empty());
  EXPECT_EQ(accesses, busy);
}

}  // namespace
}  // namespace tilebeat::testing
