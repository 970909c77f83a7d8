// Random delta delays and permuted construction do change the order of what happens inside a simulation, and
// nothing else (SPEC CY-4): that reports stay the same would prove nothing if the seeds did nothing.
#include "conv_workload.h"
#include "report_text.h"
#include "simulated_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// Notes in which order modules declare their signals and record changes.
class OrderTrace : public Trace {
 public:
  SignalId declare(const SignalInfo& info) override {
    declared_.push_back(info.scope + "." + info.name);
    return static_cast<SignalId>(declared_.size() - 1);
  }
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override {
    changes_.push_back(std::to_string(at) + " " + declared_[static_cast<std::size_t>(signal)] + " " +
                       std::to_string(value));
  }
  void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) override {
    changes_.push_back(std::to_string(at) + " " + declared_[static_cast<std::size_t>(signal)] + " " +
                       fmt::format("{:02x}", fmt::join(bytes, bytes + count, "")));
  }
  void text(SignalId signal, Picoseconds at, std::string_view text) override {
    changes_.push_back(std::to_string(at) + " " + declared_[static_cast<std::size_t>(signal)] + " " +
                       std::string(text));
  }
  void unknown(SignalId signal, Picoseconds at) override {
    changes_.push_back(std::to_string(at) + " " + declared_[static_cast<std::size_t>(signal)] + " x");
  }
  const std::vector<std::string>& declared() const { return declared_; }
  const std::vector<std::string>& changes() const { return changes_; }

 private:
  std::vector<std::string> declared_, changes_;
};

struct ObservedRun {
  std::vector<std::string> declared, changes;  ///< in the order in which they came
  std::uint64_t delta_cycles = 0;
  std::string report;
};

ObservedRun observe(std::uint32_t jitter_seed, std::uint32_t build_order_seed) {
  ConvShape shape;
  shape.height = 16, shape.width = 16, shape.channels = 8, shape.out_channels = 32, shape.kernel = {3, 3};
  HardwareConfig hardware;
  hardware.planner.max_tile_rows = 4;
  const Workload workload = conv_workload(shape);
  const Plan plan = make_plan(workload, hardware);
  const auto message = nlohmann::json::parse(in_child([&] {
    strict_systemc();
    OrderTrace trace;
    SimulationOptions options;
    options.granularity = Granularity::kClock;
    options.observers.trace = &trace;
    options.jitter_seed = jitter_seed, options.build_order_seed = build_order_seed;
    const RunResult result = simulate(hardware, plan, options);
    const nlohmann::json told{{"declared", trace.declared()},
                              {"changes", trace.changes()},
                              {"delta_cycles", sc_core::sc_delta_count()},
                              {"report", report_text(result, hardware_to_json(hardware))}};
    return told.dump();
  }));
  return {message.at("declared"), message.at("changes"), message.at("delta_cycles"), message.at("report")};
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(ProcessOrder, CY_4_a_jitter_seed_changes_the_order_of_processes_and_nothing_else) {
  const ObservedRun plain = observe(0, 0), again = observe(0, 0);
  EXPECT_TRUE(again.changes == plain.changes) << "without a seed the order is always the same";
  EXPECT_EQ(again.delta_cycles, plain.delta_cycles);
  std::vector<std::vector<std::string>> orders{plain.changes};
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const ObservedRun jittered = observe(seed, 0);
    EXPECT_GT(jittered.delta_cycles, plain.delta_cycles) << "processes are held back";
    EXPECT_TRUE(jittered.declared == plain.declared) << "modules are built as usual";
    for (const auto& order : orders) EXPECT_FALSE(jittered.changes == order) << "seed " << seed;
    EXPECT_TRUE(sorted(jittered.changes) == sorted(plain.changes)) << "the same happens at the same times";
    EXPECT_TRUE(jittered.report == plain.report) << "seed " << seed;
    orders.push_back(jittered.changes);
  }
}

TEST(ProcessOrder, CY_4_a_build_order_seed_changes_the_order_of_construction_and_nothing_else) {
  const ObservedRun plain = observe(0, 0);
  std::vector<std::vector<std::string>> orders{plain.declared};
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const ObservedRun permuted = observe(0, seed);
    for (const auto& order : orders) EXPECT_FALSE(permuted.declared == order) << "seed " << seed;
    EXPECT_TRUE(sorted(permuted.declared) == sorted(plain.declared)) << "the same modules";
    EXPECT_TRUE(sorted(permuted.changes) == sorted(plain.changes)) << "the same happens at the same times";
    EXPECT_TRUE(permuted.report == plain.report) << "seed " << seed;
    orders.push_back(permuted.declared);
  }
}

}  // namespace
}  // namespace tilebeat::testing
