// The tables of document 000 read back from the waveforms of whole runs (SPEC SW-1, SW-2, NU-1, UI-3).
#include "config/hardware_config.h"
#include "program/plan.h"
#include "reference/reference.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"
#include "worked_tables.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr std::int64_t kArrayPeriod = 1000;  // ps, of configs/switch16.json
constexpr int kTaps = 9;
constexpr int kKernels = 16;
constexpr int kMapChannels = 3;
constexpr int kLanes = 8;  // of one of two row groups

/// What a layer on the worked map (14 wide, 8 high, 3 channels) reads and multiplies.
struct WorkedData {
  explicit WorkedData(const std::string& file) : workload(load_workload(file)) {}

  const Conv2d& conv() const { return std::get<Conv2d>(workload.layers.at(0).operation); }
  std::int32_t x(int h, int w, int channel) const {
    return workload.input_data.at("x").at((std::int64_t{h} * kTableWidth + w) * kMapChannels + channel);
  }
  std::int32_t weight(int kernel, int tap, int channel) const {
    return conv().weights.int8()->at((std::int64_t{kernel} * kTaps + tap) * kMapChannels + channel);
  }
  /// The word of a pixel: three channels and one that is filled up with the zero point, 0.
  std::uint64_t word(int h, int w) const {
    std::uint64_t bytes = 0;
    for (int c = 0; c < kMapChannels; ++c)
      bytes |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(x(h, w, c))) << (8 * c);
    return bytes;
  }

  Workload workload;
};

/// A beat of a run: when the switch delivers it, its operation cycle and tap.
struct TimedBeat {
  std::int64_t time = 0;
  int row_block = 0, column_block = 0, tap = 0;

  /// The output that lane `lane` computes; no pixel: the lane is surplus.
  std::optional<Pixel> output(int lane, int rows, int columns) const {
    const int row = row_block * 2 + lane / kLanes, column = column_block * kLanes + lane % kLanes;
    if (row >= rows || column >= columns) return std::nullopt;
    return Pixel{row, column};
  }
};

/// A worked example: its workload, and the waveform of a run on configs/switch16.json with accumulators.
class WorkedWaveform : public ::testing::TestWithParam<int> {
 protected:
  WorkedWaveform() : data_(source_path(model())) {
    const CommandResult result = folder_.run_layer(
        "configs/switch16.json", model(), {"--vcd", "wave.vcd", "--vcd-accumulators", "--vcd-signals", "*"});
    if (result.status != 0) throw std::runtime_error("the run failed: " + result.err);
    vcd_ = std::make_unique<Vcd>(read_bytes(folder_.path("wave.vcd")));
    out_height_ = kTableHeight - 2 * GetParam();
    out_width_ = kTableWidth - 2 * GetParam();
    find_beats();
  }

  static std::string model() {
    return GetParam() == 1 ? "models/worked_dense.json" : "models/worked_dilated.json";
  }

  /// The map is one tile: its beats, owb innermost (SPEC SW-2), follow one another without a gap.
  void find_beats() {
    std::int64_t time = vcd_->signal("sw0_w").first_known();
    for (int row_block = 0; row_block < (out_height_ + 1) / 2; ++row_block) {
      for (int column_block = 0; column_block < (out_width_ + kLanes - 1) / kLanes; ++column_block) {
        for (int tap = 0; tap < kTaps; ++tap, time += kArrayPeriod)
          beats_.push_back({time, row_block, column_block, tap});
      }
    }
  }
  std::optional<Pixel> output_of(const TimedBeat& beat, int lane) const {
    return beat.output(lane, out_height_, out_width_);
  }
  /// The pixel that lies under a beat's tap.
  Pixel input_of(const Pixel& output, int tap) const {
    return {output.first + tap / 3 * GetParam(), output.second + tap % 3 * GetParam()};
  }

  CommandFolder folder_;
  WorkedData data_;
  int out_height_ = 0, out_width_ = 0;
  std::unique_ptr<Vcd> vcd_;
  std::vector<TimedBeat> beats_;
};

TEST_P(WorkedWaveform, SW_1_bank_contents_equal_table_1) {
  const auto table = table1();
  for (int bank = 0; bank < kTableBanks; ++bank) {
    const VcdSignal& words = vcd_->signal(fmt::format("b{}_write", bank));
    const VcdSignal& address = vcd_->signal(fmt::format("b{}_write_addr", bank));
    std::map<std::uint64_t, std::uint64_t> contents;
    for (const VcdSignal* signal : {&words, &address}) {
      for (const auto& [when, value] : signal->changes) {
        if (words.at(when) && address.at(when)) contents[*address.at(when)] = *words.at(when);
      }
    }
    ASSERT_EQ(contents.size(), static_cast<std::size_t>(kTableWords)) << "words written to b" << bank;
    for (int at = 0; at < kTableWords; ++at) {
      const auto [h, w] = table.at(static_cast<std::size_t>(bank)).at(static_cast<std::size_t>(at));
      EXPECT_EQ(contents.at(static_cast<std::uint64_t>(at)), data_.word(h, w))
          << "b" << bank << " addr" << at << " holds d" << h << "." << w;
    }
  }
}

TEST_P(WorkedWaveform, SW_2_selections_equal_tables_2_and_3) {
  const auto table = GetParam() == 1 ? table2() : table3();
  for (int lane = 0; lane < kTableBanks; ++lane) {
    const VcdSignal& row = vcd_->signal(fmt::format("sw{}_h", lane));
    const VcdSignal& column = vcd_->signal(fmt::format("sw{}_w", lane));
    const VcdSignal& delivered = vcd_->signal(fmt::format("sw{}", lane));
    for (int clock = 0; clock < kTableClocks; ++clock) {
      const auto [h, w] = table.at(static_cast<std::size_t>(lane)).at(static_cast<std::size_t>(clock));
      const std::int64_t time = row.first_known() + clock * kArrayPeriod;
      EXPECT_EQ(row.at(time), static_cast<std::uint64_t>(h)) << "row of sw" << lane << " in clk" << clock + 1;
      EXPECT_EQ(column.at(time), static_cast<std::uint64_t>(w))
          << "column of sw" << lane << " in clk" << clock + 1;
      EXPECT_EQ(delivered.at(time), data_.word(h, w)) << "what sw" << lane << " delivers in clk" << clock + 1;
    }
  }
}

TEST_P(WorkedWaveform, SW_2_selections_of_all_operation_cycles) {
  for (int lane = 0; lane < kTableBanks; ++lane) {
    const VcdSignal& row = vcd_->signal(fmt::format("sw{}_h", lane));
    const VcdSignal& column = vcd_->signal(fmt::format("sw{}_w", lane));
    const VcdSignal& delivered = vcd_->signal(fmt::format("sw{}", lane));
    for (const TimedBeat& beat : beats_) {
      const auto output = output_of(beat, lane);
      if (!output) {
        EXPECT_FALSE(row.at(beat.time).has_value() || column.at(beat.time).has_value())
            << "sw" << lane << " is surplus";
        continue;
      }
      const auto [h, w] = input_of(*output, beat.tap);
      EXPECT_EQ(row.at(beat.time), static_cast<std::uint64_t>(h))
          << "row of sw" << lane << " at " << beat.time;
      EXPECT_EQ(column.at(beat.time), static_cast<std::uint64_t>(w))
          << "column of sw" << lane << " at " << beat.time;
      EXPECT_EQ(delivered.at(beat.time), data_.word(h, w)) << "word of sw" << lane << " at " << beat.time;
    }
  }
}

TEST_P(WorkedWaveform, NU_1_pe1500_multiplies_what_sw15_delivers) {
  const VcdSignal& pe = vcd_->signal("pe1500");  // row 15, column 0
  for (const TimedBeat& beat : beats_) {
    std::int32_t sum = 0;
    if (const auto output = output_of(beat, 15)) {
      const auto [h, w] = input_of(*output, beat.tap);
      for (int c = 0; c < kMapChannels; ++c) sum += data_.x(h, w, c) * data_.weight(0, beat.tap, c);
    }
    EXPECT_EQ(pe.at(beat.time + kArrayPeriod), static_cast<std::uint32_t>(sum))
        << "the MAC stage follows the switch by one cycle";
  }
}

TEST_P(WorkedWaveform, NU_1_accumulators_end_at_the_raw_sums) {
  Workload raw = data_.workload;
  auto& conv = std::get<Conv2d>(raw.layers.at(0).operation);
  conv.bias.clear();
  conv.activation = {};
  conv.requant.reset();
  raw.layers.at(0).output.dtype = DType::kInt32;
  const Tensor sums = run_reference(raw).at("conv1");
  int outputs = 0;
  for (const TimedBeat& beat : beats_) {
    if (beat.tap != kTaps - 1) continue;
    for (int row = 0; row < kTableBanks; ++row) {
      const auto output = output_of(beat, row);
      if (!output) continue;
      ++outputs;
      const std::int64_t pixel = std::int64_t{output->first} * out_width_ + output->second;
      for (int kernel = 0; kernel < kKernels; ++kernel) {
        EXPECT_EQ(vcd_->signal(fmt::format("pe{}{:02}_acc", row, kernel)).at(beat.time + kArrayPeriod),
                  static_cast<std::uint32_t>(sums.at(pixel * kKernels + kernel)))
            << "output " << pixel << " of kernel " << kernel;
      }
    }
  }
  EXPECT_EQ(outputs, out_height_ * out_width_);
}

TEST_P(WorkedWaveform, UI_3_names_timescale_and_no_date) {
  EXPECT_EQ(vcd_->timescale(), "1ps");
  EXPECT_FALSE(vcd_->dated()) << "a date would make two runs differ";
  EXPECT_TRUE(vcd_->comments().empty()) << "the dump is whole";
  for (int i = 0; i < kTableBanks; ++i) {
    EXPECT_EQ(vcd_->signal(fmt::format("b{}", i)).width, 32) << "a word of four channels";
    EXPECT_EQ(vcd_->signal(fmt::format("sw{}", i)).width, 32);
  }
  const std::int64_t cycles = folder_.report().at("total").at("cycles").get<std::int64_t>();
  EXPECT_GE(vcd_->last_time(), cycles * kArrayPeriod) << "the dump goes on to the end of the run";
}

INSTANTIATE_TEST_SUITE_P(Dilation, WorkedWaveform, ::testing::Values(1, 2));

/// The names that `run` of the dilated example traces with `options`, without the cycle.
std::set<std::string> traced(const std::vector<std::string>& options, std::unique_ptr<Vcd>* vcd = nullptr) {
  const CommandFolder folder;
  std::vector<std::string> all{"--vcd", "wave.vcd"};
  all.insert(all.end(), options.begin(), options.end());
  const CommandResult result = folder.run_layer("configs/switch16.json", "models/worked_dilated.json", all);
  EXPECT_EQ(result.status, 0) << result.err;
  Vcd read(read_bytes(folder.path("wave.vcd")));
  std::set<std::string> names = read.paths();
  names.erase("soc.clk");
  if (vcd != nullptr) *vcd = std::make_unique<Vcd>(read_bytes(folder.path("wave.vcd")));
  return names;
}

TEST(Waveform, UI_3_signals_are_limited_by_pattern) {
  std::set<std::string> lanes;
  for (int i = 0; i < kTableBanks; ++i) {
    for (const char* what : {"", "_h", "_w", "_valid"})
      lanes.insert(fmt::format("soc.engine.switch.sw{}{}", i, what));
  }
  EXPECT_EQ(traced({"--vcd-signals", "sw*"}), lanes);
  lanes.insert("soc.engine.pe.pe1500");
  EXPECT_EQ(traced({"--vcd-signals", "soc.engine.switch.sw*", "pe1500"}), lanes);
}

TEST(Waveform, UI_12_products_of_pes_only_when_a_pattern_names_them) {
  const std::set<std::string> usual = traced({}), all = traced({"--vcd-signals", "*"});
  EXPECT_EQ(usual.count("soc.engine.pe.pe1500"), 0U);
  EXPECT_EQ(usual.count("soc.engine.switch.sw15"), 1U);
  EXPECT_EQ(all.count("soc.engine.pe.pe1500"), 1U);
  for (const std::string& name : usual) EXPECT_EQ(all.count(name), 1U) << name;
}

TEST(Waveform, UI_3_accumulators_only_on_request) {
  EXPECT_EQ(traced({"--vcd-signals", "pe1500*"}), (std::set<std::string>{"soc.engine.pe.pe1500"}));
  EXPECT_EQ(traced({"--vcd-signals", "pe1500*", "--vcd-accumulators"}),
            (std::set<std::string>{"soc.engine.pe.pe1500", "soc.engine.pe.pe1500_acc"}));
}

TEST(Waveform, UI_3_a_window_shows_what_the_whole_trace_shows_there) {
  std::unique_ptr<Vcd> whole, window;
  const auto names = traced({}, &whole);
  const std::int64_t begin = whole->signal("sw0_h").first_known() / kArrayPeriod + 4, end = begin + 20;
  EXPECT_EQ(traced({"--vcd-from", std::to_string(begin), "--vcd-to", std::to_string(end)}, &window), names);
  EXPECT_GE(window->first_time(), begin * kArrayPeriod);
  EXPECT_LT(window->last_time(), end * kArrayPeriod);
  for (const std::string& name : names) {
    for (std::int64_t clock = begin; clock < end; ++clock) {
      ASSERT_EQ(window->signal(name).at(clock * kArrayPeriod), whole->signal(name).at(clock * kArrayPeriod))
          << name << " in cycle " << clock;
    }
  }
}

TEST(Waveform, UI_3_a_window_behind_the_end_is_named) {
  for (const auto& [from, said] : {std::pair(304, false), std::pair(100000, true)}) {
    const CommandFolder folder;
    const CommandResult result = folder.run_layer("configs/switch16.json", "models/worked_dilated.json",
                                                  {"--vcd", "wave.vcd", "--vcd-from", std::to_string(from)});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err.find("wave.vcd shows nothing: the run ended at clock") != std::string::npos, said)
        << result.err;
  }
}

TEST(Waveform, UI_3_the_size_cap_ends_the_trace_validly) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(
      "configs/switch16.json", "models/small_chain.json",
      {"--vcd", "wave.vcd", "--vcd-max-mb", "1", "--vcd-accumulators", "--vcd-signals", "*"});
  EXPECT_EQ(result.status, 0) << "a trace that ends early is no failure";
  EXPECT_NE(result.err.find("1 MB"), std::string::npos) << "the cap is named on the terminal: " << result.err;
  const std::string text = read_bytes(folder.path("wave.vcd"));
  EXPECT_LE(text.size(), std::size_t{1} << 20);
  EXPECT_GT(text.size(), (std::size_t{1} << 20) - 4096) << "the cap is used";
  const Vcd vcd(text);
  ASSERT_EQ(vcd.comments().size(), 1U);
  EXPECT_NE(vcd.comments()[0].find("size cap"), std::string::npos);
  // From there on the simulation runs as if nothing were traced, and measures the same.
  const CommandFolder untraced;
  untraced.run_layer("configs/switch16.json", "models/small_chain.json", {"--granularity", "clock"});
  EXPECT_EQ(folder.report(), untraced.report());
}

}  // namespace
}  // namespace tilebeat::testing
