// What an engine says that a run reads: no byte more than the run needs, so that checks of reads refuse no
// planned program (SPEC HI-2, CY-3).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/wfold/config.h"
#include "simulated_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct Layer {
  const char* name;
  const char* config;
  int channels, out_channels, groups, stride;
  bool has_records;  // whether results are requantised with a record of each kernel
};
void PrintTo(const Layer& layer, std::ostream* out) {
  *out << layer.name;
}

class DeclaredReads : public ::testing::TestWithParam<Layer> {};

TEST_P(DeclaredReads, HI_2_CY_3_of_a_planned_layer_are_bytes_that_somebody_wrote) {
  const Layer& layer = GetParam();
  HardwareConfig hardware =
      load_hardware(fmt::format("{}/configs/{}.json", TILEBEAT_SOURCE_DIR, layer.config));
  hardware.engine<wfold::WfoldConfig>().kernel_place = wfold::KernelPlace::kInPlace;
  ConvShape shape;
  shape.height = 9, shape.width = 9, shape.kernel = {3, 3}, shape.stride = {layer.stride, layer.stride};
  shape.channels = layer.channels, shape.out_channels = layer.out_channels, shape.groups = layer.groups;
  if (layer.has_records) shape.requant = Requant{{0.01}, 0, DType::kInt8};
  const Plan plan = make_plan(conv_workload(shape), hardware);
  for (const Granularity granularity : {Granularity::kTile, Granularity::kClock}) {
    SimulationOptions options;
    options.granularity = granularity;
    options.check_reads = UninitialisedReads::kRefused;
    EXPECT_THAT(simulate_in_child(hardware, plan, options).failures, ::testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, DeclaredReads,
    ::testing::Values(Layer{"switch_array_blocks_of_groups", "core1", 64, 64, 64, 1, true},
                      Layer{"switch_array_last_block_of_few_kernels", "core1", 24, 20, 1, 1, true},
                      Layer{"wfold_without_records", "wfold16x4", 64, 64, 1, 1, false},
                      Layer{"wfold_kernels_for_some_slaves_folded_in_place", "wfold16x4", 8, 20, 1, 2, true}),
    [](const auto& layer) { return layer.param.name; });

/// A resize of a map to so many rows and columns.
class DeclaredReadsOfResize : public ::testing::TestWithParam<const char*> {};

TEST_P(DeclaredReadsOfResize, HI_2_OP_2_are_rows_and_columns_of_its_map) {
  const HardwareConfig hardware = load_hardware(std::string(TILEBEAT_SOURCE_DIR) + "/configs/core1.json");
  const TemporaryFolder folder;
  const Workload workload = load_workload(folder.write("resize.json", fmt::format(R"({{
    "inputs": [{{"name": "x", "shape": [2, 5, 7, 8], "random": {{"seed": 1}}}}],
    "layers": [{{"name": "y", "op": "resize", "inputs": ["x"], "size": [9, 4], "mode": "{}"}}]}})",
                                                                                  GetParam())));
  const Plan plan = make_plan(workload, hardware);
  SimulationOptions options;
  options.check_reads = UninitialisedReads::kRefused;
  EXPECT_THAT(simulate_in_child(hardware, plan, options).failures, ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Modes, DeclaredReadsOfResize, ::testing::Values("nearest", "bilinear"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace tilebeat::testing
