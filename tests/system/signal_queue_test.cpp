// Signals that wait for their tokens: in a queue of their own, in order, one a cycle (SPEC HI-2, HI-3, CY-1).
#include "chip_run.h"
#include "recording_trace.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSignalSource = 0x44000, kSignalTarget = 0x84000;

std::string signalled_copy(const std::string& unit, std::uint64_t from, std::uint64_t to,
                           const std::string& rest = "") {
  return fmt::format("{}.copy source={:#x} destination={:#x} run_bytes=64 {}", unit, from, to, rest);
}
std::string fetch(const std::string& rest) {
  return signalled_copy("iodma", kSignalSource, nram_address(0), rest);
}
std::string store(const std::string& rest) {
  return signalled_copy("iodma", nram_address(0), kSignalTarget, rest);
}

/// Programs on one cluster of two cores: where copies begin, in cycles.
class SignalQueue : public ::testing::Test {
 protected:
  void run(const std::vector<HandProgram>& programs, int queue = 8) {
    hardware_.dma.command_queue = queue;
    SimulationOptions options;
    options.observers = {nullptr, &timeline_};
    run_ = std::make_unique<ChipRun>(hardware_, plan_of(programs), options);
    run_->write(kSignalSource, data_);
    run_->run();
  }
  Cycle begin(const std::string& engine) const { return span(engine).begin / hardware_.clock_ps(); }
  Cycle end(const std::string& engine) const { return span(engine).end / hardware_.clock_ps(); }

  HardwareConfig hardware_ = small_chip(1, 2);
  const std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(64, 7);
  RecordingTimeline timeline_;
  std::unique_ptr<ChipRun> run_;

 private:
  const RecordingTimeline::Span& span(const std::string& engine) const {
    const auto found = std::find_if(timeline_.spans.begin(), timeline_.spans.end(),
                                    [&](const auto& s) { return s.track == "cluster0." + engine; });
    if (found == timeline_.spans.end()) throw std::runtime_error("nothing ran on " + engine);
    return *found;
  }
};

TEST_F(SignalQueue, HI_2_what_stands_behind_a_waiting_signal_is_decoded) {
  run({{0,
        {"signal waits map_full[0] completes map_full[1]", fetch("completes map_full[0]"),
         store("waits map_full[1]"), "halt"}}});
  EXPECT_EQ(run_->error, "");
  EXPECT_EQ(run_->read(kSignalTarget, 64), data_);
}

TEST_F(SignalQueue, HI_2_as_many_signals_wait_as_commands_of_a_unit) {
  const std::vector<HandProgram> programs{
      {0,
       {"signal waits map_full[0] completes map_full[2]", "signal waits map_full[1] completes map_full[3]",
        fetch("completes map_full[0],map_full[1]"), store("waits map_full[2],map_full[3]"), "halt"}}};
  run(programs, 2);
  EXPECT_EQ(run_->error, "");
  EXPECT_EQ(run_->read(kSignalTarget, 64), data_);
}

TEST_F(SignalQueue, HI_2_one_more_holds_the_decoder) {
  run({{0,
        {"signal waits map_full[0]", "signal waits map_full[1]", fetch("completes map_full[0],map_full[1]"),
         "halt"}}},
      1);
  EXPECT_THAT(run_->error, HasSubstr("deadlock"));
  EXPECT_GT(cycles_of(run_->module("cluster0.core0.control.decode").activity, Activity::kQueueFull), 0);
}

TEST_F(SignalQueue, HI_2_a_report_of_a_deadlock_names_the_signal_that_waits) {
  run({{0, {"signal waits map_full[3]", "signal waits map_full[4]", "halt"}}});
  EXPECT_THAT(run_->error, HasSubstr("signals   2 queued; instruction at 0x1000000 waits for map_full[3]\n"));
}

TEST_F(SignalQueue, HI_3_CY_1_one_signal_a_clock) {
  run({{0,
        {"signal processors=2 semaphore=200 waits map_full[0]",
         "signal processors=2 semaphore=201 waits map_full[1]", fetch("completes map_full[0],map_full[1]"),
         "halt"}},
       {1,
        {signalled_copy("iodma", kSignalSource, nram_address(1), "waits peer[0]"),
         signalled_copy("mvdma", sram_address(0), nram_address(1) + 512, "waits peer[1]"), "halt"}}});
  ASSERT_EQ(run_->error, "");
  // Done in t; the first signal goes out in t, is heard of sync_cycles later, and the copy begins a cycle
  // behind.
  EXPECT_EQ(begin("core1.iodma"), end("core0.iodma") + hardware_.chip->sync_cycles + 1);
  EXPECT_EQ(begin("core1.mvdma"), begin("core1.iodma") + 1);
}

TEST_F(SignalQueue, HI_3_signals_go_out_in_the_order_of_the_program) {
  run({{0,
        {"signal processors=2 semaphore=200 waits map_full[1]",
         "signal processors=2 semaphore=201 waits map_full[0]", fetch("completes map_full[0],map_full[0]"),
         signalled_copy("mvdma", sram_address(0), nram_address(0) + 512,
                        "waits map_full[0] completes map_full[1]"),
         "halt"}},
       {1,
        {signalled_copy("iodma", kSignalSource, nram_address(1), "waits peer[0]"),
         signalled_copy("mvdma", sram_address(0), nram_address(1) + 512, "waits peer[1]"), "halt"}}});
  ASSERT_EQ(run_->error, "");
  EXPECT_EQ(begin("core1.iodma"), end("core0.mvdma") + hardware_.chip->sync_cycles + 1);
  EXPECT_EQ(begin("core1.mvdma"), begin("core1.iodma") + 1) << "though its token was there long before";
}

TEST_F(SignalQueue, HI_3_a_program_ends_behind_its_signals) {
  run({{0, {"signal processors=2 semaphore=200 waits peer[1]", "halt"}},
       {1,
        {"signal processors=1 semaphore=201 waits map_full[0]",
         signalled_copy("iodma", kSignalSource, nram_address(1), "completes map_full[0]"),
         signalled_copy("iodma", nram_address(1), kSignalTarget, "waits peer[0]"), "halt"}}});
  EXPECT_EQ(run_->error, "");
  EXPECT_EQ(run_->read(kSignalTarget, 64), data_);
}

}  // namespace
}  // namespace tilebeat::testing
