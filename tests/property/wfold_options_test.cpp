// All options of the W-fold engine at once, on random layers: outputs against the reference operators,
// everything of one granularity against the other (SPEC WF-9, CY-3).
#include "budget.h"
#include "checked_run.h"
#include "random_wfold.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// Channels and kernels in as many groups as can fill groups of slaves, and DRAM that keeps up with them.
void fill_groups(ConvShape& shape, HardwareConfig& hardware) {
  WfoldConfig& config = hardware.engine<WfoldConfig>();
  if (config.kernel_place != KernelPlace::kOffline) config.multicast_groups = config.slaves;
  hardware.dram.channels = 16;
  shape.groups = config.slaves * number(1, 2);
  shape.channels = shape.groups * number(1, 3), shape.out_channels = shape.groups * number(1, 2);
  for (std::size_t axis = 0; axis < 2; ++axis) shape.kernel[axis] = std::min(shape.kernel[axis], 3);
  if (shape.requant) shape.requant->scale.resize(1);
}

TEST(RandomWfoldOptions, WF_9_CY_3_all_options_at_once) {
  Refusals tally;
  std::map<std::string, int> planned;  // cases, by option and choice
  for (const char* option :
       {"first_buffer 0", "first_buffer 1", "storage 0", "storage 1", "masters 0", "masters 1", "adders 0",
        "adders 1", "groups 0", "groups 1", "kernel_place 0", "kernel_place 1", "kernel_place 2",
        "read_mode 0", "read_mode 1", "read_mode 2", "read_mode 3"})
    planned[option] = 0;
  const auto all_planned = [&] {
    return std::all_of(planned.begin(), planned.end(), [](const auto& p) { return p.second > 0; });
  };
  check_cases_until(all_planned, budget(300, kFewest), [&] {
    HardwareConfig hardware = random_wfold_chip(1, 2);
    const WfoldConfig& c = hardware.engine<WfoldConfig>();
    ConvShape shape = random_wfold_layer(200'000);
    if (one_in(2)) fill_groups(shape, hardware);
    RC_LOG() << to_text(shape) << "\n";
    const Workload workload = conv_workload(shape);
    const auto plan = plan_or_refusal(workload, hardware, {"chip.", "wfold.", "dram."}, tally);
    if (!plan) return;
    check_any_order(hardware, plan->plan, check_both_granularities(workload, hardware, plan->plan, 60));
    const auto& choices = plan->plan.layers.at(0).choices;
    const bool grouped = std::any_of(choices.begin(), choices.end(),
                                     [](const auto& choice) { return choice.first == "broadcast"; });
    for (const auto& [option, choice] :
         std::map<std::string, int>{{"first_buffer", static_cast<int>(c.first_buffer)},
                                    {"storage", static_cast<int>(c.storage)},
                                    {"masters", c.masters - 1},
                                    {"adders", c.adder_stages > 1 ? 1 : 0},
                                    {"groups", grouped ? 1 : 0}})
      ++planned[fmt::format("{} {}", option, choice)];
    ++planned[fmt::format("kernel_place {}", static_cast<int>(c.kernel_place))];
    ++planned[fmt::format("read_mode {}", static_cast<int>(c.read_mode))];
  });
  EXPECT_LE(tally.refused * 2, tally.cases) << "layers that cannot fit are the exception";
  for (const auto& [option, count] : planned) EXPECT_GT(count, 0) << option;
}

}  // namespace
}  // namespace tilebeat::testing
