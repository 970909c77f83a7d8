// How the cores of a cluster share a layer of a fusion group (SPEC FU-4; docs/planner.md).
#include "planner/fusion/cluster_split.h"

#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "planner/fusion/fusion_group.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

// A 3 x 3 convolution over maps of 56 columns and 64 channels, with 64 kernels.
class ClusterSplit : public ::testing::Test {
 protected:
  ClusterSplit()
      : workload_(load_workload(folder_.write("network.json", R"({"name": "n",
          "inputs": [{"name": "x", "shape": [1, 56, 56, 64], "dtype": "uint8", "random": {"seed": 1}}],
          "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 64, "kernel": [3, 3],
            "stride": [1, 1], "pads": [1, 1, 1, 1], "weights": {"random": {"seed": 2}},
            "requant": {"scale": 0.002, "zero_point": 2, "dtype": "uint8"}}], "outputs": ["y"]})"))) {
    hardware_.chip.emplace();
    hardware_.chip->cores_per_cluster = 4;
  }
  LayerMapping split(const ClusterShare& share) {
    GroupTrials parts(workload_, hardware_);
    return split_over_cluster(*parts.matrix(workload_.layers.front()), *hardware_.chip, share);
  }

  TemporaryFolder folder_;
  Workload workload_;
  HardwareConfig hardware_;
};

TEST_F(ClusterSplit, FU_4_all_cores_work_on_several_tiles_each) {
  for (const int rows : {8, 16, 32}) {
    const LayerMapping m = split({rows, 56, 4, 150000, 100000});
    EXPECT_EQ(m.cores(), 4) << rows;
    const int of_core = (rows + m.row_parts - 1) / m.row_parts;
    EXPECT_LT(m.tile_rows, of_core) << rows << ": a tile's loads and stores pass while another one computes";
  }
}

TEST_F(ClusterSplit, FU_4_rows_that_cannot_be_shared_evenly_leave_the_kernels) {
  // One row: its four kernel blocks, or its columns, one part for each core.
  const LayerMapping m = split({1, 56, 4, 150000, 100000});
  EXPECT_EQ(m.row_parts, 1);
  EXPECT_EQ(m.cores(), 4);
}

TEST_F(ClusterSplit, FU_4_tiles_fit_the_buffers) {
  for (const int bytes : {3 * 56 * 64, 3 * 56 * 64 - 1, 3 * 3 * 64}) {
    const LayerMapping m = split({16, 56, 4, bytes, 56 * 64});
    EXPECT_LE((m.tile_rows + 2) * std::min(56, m.tile_columns + 2) * 64, bytes);
    EXPECT_LE(m.tile_rows * m.tile_columns * m.blocks_per_load * 16, 56 * 64);
  }
  EXPECT_THROW(split({16, 56, 4, 3 * 3 * 64 - 1, 56 * 64}), UserError) << "not even one output";
}

}  // namespace
}  // namespace tilebeat::testing
