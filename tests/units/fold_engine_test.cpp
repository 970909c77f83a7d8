// The fold engine of a W-fold core: copies over their own source, refusals, and whole runs with the width
// folded in each of the three places (SPEC WF-5, CY-1, UI-5; document 003 [0208]-[0220]).
#include "engines/wfold/config.h"
#include "fabric/scratchpad.h"
#include "parameter_names.h"
#include "random_cases.h"
#include "reference/reference.h"
#include "simulated_run.h"
#include "unit_driver.h"
#include "units/copy_engine.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::FoldPlace;
using wfold::WfoldConfig;

namespace {

using ::testing::HasSubstr;

constexpr Picoseconds kFoldPeriod = 1000;
constexpr std::uint64_t kNram = std::uint64_t{1} << 42;
constexpr std::int64_t kNramBytes = 1 << 16;

/// A map that is folded in place: rows of `left` + `width` pixels, aligned to `stride` at the right.
struct Fold {
  int stride = 2, width = 11, rows = 5, channels = 3, left = 1;
  std::uint64_t head = kNram + 40;
  std::uint64_t gap = 0;  ///< from the head to the source

  std::int64_t raw() const { return std::int64_t{width} * channels; }
  std::int64_t row() const { return ceiling(left + width, stride) * stride * channels; }
  /// With the source at the tail of the result.
  std::uint64_t tail() const { return static_cast<std::uint64_t>((row() - raw()) * rows); }
  /// The least gap with which no byte is overwritten before it was read: that of the last row.
  std::uint64_t least() const {
    return static_cast<std::uint64_t>((row() - raw()) * (rows - 1) + std::int64_t{left} * channels);
  }
  Copy copy() const {
    Copy c;
    c.unit = Unit::kFold;
    c.source = head + gap, c.destination = head;
    c.run_bytes = c.source_inner_stride = c.destination_inner_stride = static_cast<std::uint32_t>(channels);
    c.inner_count = static_cast<std::uint16_t>(width), c.outer_count = static_cast<std::uint16_t>(rows);
    c.source_outer_stride = static_cast<std::uint32_t>(raw());
    c.destination_outer_stride = static_cast<std::uint32_t>(row());
    c.pad_left = static_cast<std::uint8_t>(left);
    c.pad_right = static_cast<std::uint8_t>(row() / channels - width - left);
    c.fill = 0xee;
    return c;
  }
  std::uint8_t pixel(std::int64_t at) const { return static_cast<std::uint8_t>(at * 7 + at / 251 + 1); }
  std::vector<std::uint8_t> folded() const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(row() * rows), 0xee);
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < raw(); ++i)
        bytes[static_cast<std::size_t>(r * row() + left * channels + i)] = pixel(r * raw() + i);
    }
    return bytes;
  }
};

struct FoldSetting {
  DmaConfig copy{64, 8, 4096, 8};
  InterconnectConfig bus{16, 1, 1, 16};
  MemoryConfig nram{kNramBytes, 4, 4, 1};
};

/// What lies at the head after the copy, or "error: " and what the engine says.
std::string run_copy(const Fold& fold, const Copy& copy, const FoldSetting& setting) {
  return in_child([&]() -> std::string {
    strict_systemc();
    SimContext context{ClockDomain(kFoldPeriod)};
    CopyEngine engine("fold", context, setting.copy, Unit::kFold,
                      {{kNram, kNram + static_cast<std::uint64_t>(kNramBytes), 0}});
    Interconnect bus("bus", setting.bus, context, {"read", "write", "host"},
                     {{kNram, kNram + static_cast<std::uint64_t>(kNramBytes), 0}});
    Scratchpad nram("nram", context, setting.nram, kNramBytes, kNram, setting.bus.bytes_per_clock);
    UnitDriver driver("driver", context);
    ScriptedInitiator host("host", context);
    engine.outer.socket.bind(bus.initiator_ports[0]);
    engine.inner.socket.bind(bus.initiator_ports[1]);
    host.socket.bind(bus.initiator_ports[2]);
    bus.target_ports[0].bind(nram.socket);
    driver.command.bind(engine.command);
    engine.completion.bind(driver.completion);
    const auto access = [&](tlm::tlm_command command, std::uint64_t address,
                            std::vector<std::uint8_t>& bytes) {
      tlm::tlm_generic_payload payload;
      payload.set_command(command);
      payload.set_address(address);
      payload.set_data_ptr(bytes.data());
      payload.set_data_length(static_cast<unsigned>(bytes.size()));
      host.socket->transport_dbg(payload);
    };
    std::vector<std::uint8_t> map;
    for (std::int64_t i = 0; i < fold.raw() * fold.rows; ++i) map.push_back(fold.pixel(i));
    access(tlm::TLM_WRITE_COMMAND, fold.head + fold.gap, map);
    driver.send(10, copy);
    const std::string error = error_of_run(200000, kFoldPeriod);
    if (!error.empty()) return "error: " + error;
    if (driver.done(1) < 0) return "error: not done";
    if (engine.bytes != fold.row() * fold.rows) return "error: bytes";
    std::vector<std::uint8_t> result(static_cast<std::size_t>(fold.row() * fold.rows));
    access(tlm::TLM_READ_COMMAND, fold.head, result);
    return {result.begin(), result.end()};
  });
}
std::string text(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(FoldEngine, WF_5_in_place_for_every_stride) {
  for (int stride = 1; stride <= 8; ++stride) {
    for (const int left : {0, 1, 3}) {
      Fold fold;
      fold.stride = stride, fold.left = left;
      for (const std::uint64_t gap : {fold.least(), fold.tail(), fold.tail() + 100}) {
        fold.gap = gap;
        EXPECT_TRUE(run_copy(fold, fold.copy(), {}) == text(fold.folded()))
            << "stride " << stride << ", left " << left << ", gap " << gap;
      }
    }
  }
}

TEST(FoldEngine, WF_5_in_place_on_slow_buses_with_small_buffers) {
  check_cases(150, [] {
    Fold fold;
    fold.stride = number(1, 8), fold.width = skewed(60), fold.rows = number(1, 9), fold.channels = skewed(40);
    fold.left = number(0, 4), fold.head = kNram + static_cast<std::uint64_t>(number(0, 200));
    fold.gap = one_in(3) ? fold.least() : fold.tail() + static_cast<std::uint64_t>(one_in(2) * number(0, 64));
    FoldSetting setting;
    setting.bus = {16 << number(0, 2), number(1, 4), number(1, 4), number(1, 16)};
    setting.copy.burst_bytes = setting.bus.bytes_per_clock << number(0, 3);
    setting.copy.buffer_bytes = 2 * setting.copy.burst_bytes + number(0, 300);
    setting.copy.max_outstanding = number(1, 8);
    setting.nram = {kNramBytes, 1 << number(0, 4), 4 << number(0, 2), number(1, 4)};
    RC_LOG() << "stride " << fold.stride << ", " << fold.rows << " x " << fold.width << " x " << fold.channels
             << ", left " << fold.left << ", gap " << fold.gap << "\n";
    const std::string result = run_copy(fold, fold.copy(), setting);
    if (result.rfind("error: ", 0) == 0) RC_LOG() << result << "\n";
    RC_ASSERT(result == text(fold.folded()));
  });
}

TEST(FoldEngineRefusal, WF_5_a_destination_inside_what_is_still_to_be_read) {
  Fold fold;
  fold.gap = 2000;
  Copy copy = fold.copy();
  copy.destination = copy.source + 1;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("runs into what is still to be read from"));
  copy.destination = copy.source + static_cast<std::uint64_t>(fold.raw() * fold.rows) - 1;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("runs into what is still to be read from"));
}

// Rows grow: a destination that begins before the source runs past it.
TEST(FoldEngineRefusal, WF_5_a_destination_that_overtakes_its_source) {
  for (int stride = 2; stride <= 8; ++stride) {
    Fold fold;
    fold.stride = stride;
    fold.gap = fold.least() - 1;
    EXPECT_THAT(run_copy(fold, fold.copy(), {}), HasSubstr("runs into what is still to be read from"))
        << "stride " << stride;
    fold.gap = static_cast<std::uint64_t>(fold.left * fold.channels);
    EXPECT_THAT(run_copy(fold, fold.copy(), {}), HasSubstr("runs into what is still to be read from"))
        << "stride " << stride;
  }
}

// Of a single row whose pixels move apart the last pixel decides.
TEST(FoldEngineRefusal, WF_5_the_last_pixel_of_a_row_decides) {
  Fold fold;
  Copy copy;
  copy.unit = Unit::kFold;
  copy.run_bytes = copy.source_inner_stride = 3, copy.destination_inner_stride = 4;
  copy.inner_count = 6;
  copy.destination = fold.head;
  copy.source = fold.head + 4;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("runs into what is still to be read from"));
  copy.source = fold.head + 5;
  EXPECT_THAT(run_copy(fold, copy, {}), ::testing::Not(HasSubstr("runs into")));
}

TEST(FoldEngineRefusal, UI_5_addresses_outside_nram) {
  Fold fold;
  fold.gap = fold.tail();
  Copy copy = fold.copy();
  copy.destination = 64;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("lies outside NRAM"));
  copy = fold.copy();
  copy.source = 64;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("lies outside NRAM"));
  copy = fold.copy();
  copy.run_bytes = 0;
  EXPECT_THAT(run_copy(fold, copy, {}), HasSubstr("fold.copy: nothing to copy"));
}

// ---- whole runs ----

/// One row of outputs: one tile whose map has 3 rows of 23 pixels, 8 folded columns of 3 x 5 bytes with the
/// padding.
ConvShape one_row() {
  ConvShape shape;
  shape.height = 3, shape.width = 23, shape.channels = 5, shape.out_channels = 20;
  shape.kernel = {3, 4}, shape.stride = {1, 3}, shape.pads = {0, 1, 0, 0};
  shape.input_zero_point = 9;
  return shape;
}
constexpr std::int64_t kFolded = 3 * 8 * 3 * 5;

HardwareConfig with_place(FoldPlace place) {
  HardwareConfig hardware = load_hardware(TILEBEAT_SOURCE_DIR "/configs/wfold16x4.json");
  hardware.engine<WfoldConfig>().fold_place = place;
  // Kernels come in one copy, which hides nothing of what maps take.
  hardware.engine<WfoldConfig>().kernel_place = wfold::KernelPlace::kOffline;
  hardware.chip->core.copy.burst_bytes = 64;
  return hardware;
}

class FoldPlaces : public ::testing::TestWithParam<Granularity> {};
INSTANTIATE_TEST_SUITE_P(Wfold, FoldPlaces, ::testing::Values(Granularity::kClock, Granularity::kTile),
                         [](const auto& test) {
                           return test.param == Granularity::kClock ? "clock" : "tile";
                         });

TEST_P(FoldPlaces, WF_5_three_places_give_the_same_outputs) {
  for (int stride = 1; stride <= 8; ++stride) {
    ConvShape shape = one_row();
    shape.height = 9, shape.width = 40, shape.stride = {2, stride}, shape.pads = {1, 2, 0, 3};
    const Workload workload = conv_workload(shape);
    const Tensor expected = run_reference(workload).at("conv");
    for (const FoldPlace place : {FoldPlace::kOnChip, FoldPlace::kDram, FoldPlace::kInPlace}) {
      const SimulatedRun run = simulate_in_child(workload, with_place(place), GetParam());
      EXPECT_EQ(run.failures, std::vector<std::string>{});
      EXPECT_TRUE(run.outputs.at("conv").bytes == expected.bytes)
          << "stride " << stride << ", place " << static_cast<int>(place);
    }
  }
}

TEST_P(FoldPlaces, WF_5_initialising_the_destination_is_charged) {
  const auto run = [&](FoldPlace place) {
    return simulate_in_child(conv_workload(one_row()), with_place(place), GetParam());
  };
  const SimulatedRun chip = run(FoldPlace::kOnChip), dram = run(FoldPlace::kDram),
                     in_place = run(FoldPlace::kInPlace);
  const std::string write = "cluster0.core0.fold.write";
  EXPECT_EQ(chip.module(write).at("busy"), 0);
  EXPECT_EQ(chip.counter("cluster0.core0.fold", "written"), 0);
  EXPECT_EQ(dram.counter("cluster0.core0.fold", "written"), kFolded);
  EXPECT_EQ(dram.module(write).at("busy"), ceiling(kFolded, 64)) << "a burst of 64 bytes a request";
  EXPECT_EQ(dram.module("cluster0.core0.fold.read").at("busy"), ceiling(kFolded, 64))
      << "zeros take the place of read requests";
  EXPECT_EQ(in_place.counter("cluster0.core0.fold", "written"), kFolded) << "borders and pixels";
  EXPECT_GT(dram.cycles(), chip.cycles()) << "the initialisation comes before the load";
  EXPECT_GT(in_place.cycles(), chip.cycles());
}

// A slave whose last kernel does not exist has nothing to fold in place; what there is takes as many bytes a
// kernel.
TEST_P(FoldPlaces, WF_5_only_kernels_that_exist_are_folded_in_place) {
  HardwareConfig hardware = with_place(FoldPlace::kOnChip);
  hardware.engine<WfoldConfig>().kernel_place = wfold::KernelPlace::kInPlace;
  const auto moved = [&](int kernels, const char* direction) {
    ConvShape shape = one_row();
    shape.out_channels = kernels;
    const SimulatedRun run = simulate_in_child(conv_workload(shape), hardware, GetParam());
    EXPECT_EQ(run.failures, std::vector<std::string>{});
    return run.layer().at("bytes").at("wram").at(direction).get<std::int64_t>();
  };
  for (const char* direction : {"read", "write"}) {
    const std::int64_t one = moved(1, direction);
    for (const int kernels : {15, 16, 17}) EXPECT_EQ(moved(kernels, direction), kernels * one) << direction;
  }
}

}  // namespace
}  // namespace tilebeat::testing
