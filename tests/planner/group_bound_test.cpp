// The lower bound of a fusion group counts what its output needs (SPEC UI-4, FU-2).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "planner/fusion/fusion_group.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// A map of 6 x 8 pixels of 1024 channels, of which a resize to one pixel takes the four in the middle.
Workload to_one_pixel() {
  const TemporaryFolder folder;
  return load_workload(folder.write("network.json", R"({"name": "net",
      "inputs": [{"name": "x", "shape": [1, 6, 8, 1024], "dtype": "uint8", "random": {"seed": 1}}],
      "layers": [
        {"name": "wide", "op": "conv2d", "inputs": ["x"], "out_channels": 1024, "kernel": [1, 1],
         "weights": {"random": {"seed": 2}}, "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}},
        {"name": "middle", "op": "resize", "inputs": ["wide"], "size": [1, 1], "mode": "bilinear",
         "coordinate_mode": "half_pixel"},
        {"name": "last", "op": "conv2d", "inputs": ["middle"], "out_channels": 1024, "kernel": [1, 1],
         "weights": {"random": {"seed": 4}}, "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}}],
      "outputs": ["last"]})"));
}

TEST(UnitBound, UI_4_FU_2_pixels_that_no_output_needs_do_not_count) {
  HardwareConfig hardware;
  hardware.dram = dram_preset(hardware.dram.preset);
  hardware.chip.emplace();
  hardware.chip->clusters = 1, hardware.chip->cores_per_cluster = 1;
  hardware.chip->core.wram.size_bytes = 4 << 20, hardware.chip->core.nram.size_bytes = 1 << 20;
  const Workload workload = to_one_pixel();
  GroupRequest request;
  request.layers = {"wide", "middle", "last"};
  GroupTrials parts(workload, hardware);
  FusionGroup group(parts.index(), hardware, request);
  group.place_for_trial(parts);
  const std::int64_t peak = hardware.macs_per_clock();
  EXPECT_EQ(group.bound().compute, (4 + 1) * std::int64_t{1024} * 1024 / peak);
}

}  // namespace
}  // namespace tilebeat::testing
