// Layers of a fusion group whose input channels cores of a cluster share: what their tasks add up and
// exchange (SPEC FU-2, NU-2).
#include "../data/temporary_folder.h"
#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "planner/fusion/fusion_group.h"
#include "tilebeat/error.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

// 1 x 1 convolutions over maps of 5 rows of 8 pixels: of 256 channels first 16, then 16 again.
constexpr std::int64_t kRows = 5, kColumns = 8, kInputs = 256, kKernelCount = 16, kCores = 4;
constexpr std::int64_t kPixels = kRows * kColumns;

Workload two_layers(int inputs = kInputs) {
  const auto layer = [](const char* name, const char* input, int seed) {
    return R"({"name": ")" + std::string(name) + R"(", "op": "conv2d", "inputs": [")" + input +
           R"("], "out_channels": 16, "kernel": [1, 1], "weights": {"random": {"seed": )" +
           std::to_string(seed) + R"(}}, "bias": {"random": {"seed": 3}}, "requant": {"scale": 0.002,
           "zero_point": 2, "dtype": "uint8"}})";
  };
  const TemporaryFolder folder;
  return load_workload(folder.write(
      "network.json", R"({"name": "two", "inputs": [{"name": "x", "shape": [1, 5, 8, )" +
                          std::to_string(inputs) + R"(], "dtype": "uint8", "random": {"seed": 1}}],
      "layers": [)" + layer("first", "x", 2) +
                          "," + layer("second", "first", 4) + R"(], "outputs": ["second"]})"));
}

// What the tasks of a group do.
struct Done {
  std::int64_t additions = 0, ends = 0;  // instructions
  std::int64_t added_elements = 0, ended_elements = 0;
  std::int64_t to_sram = 0, from_sram = 0;  // bytes that MVDMAs of cores move
  std::int64_t kernels = 0, wram = 0;       // bytes over DRAM, and of a core's WRAM
};

class UnitSums : public ::testing::Test {
 protected:
  void SetUp() override {
    hardware_.dram = dram_preset(hardware_.dram.preset);
    hardware_.chip.emplace();
    hardware_.chip->clusters = 1, hardware_.chip->cores_per_cluster = kCores;
    request_.layers = {"first", "second"}, request_.step_rows = 1;
  }
  Done done() const {
    GroupTrials parts(workload_, hardware_);
    FusionGroup group(parts.index(), hardware_, request_);
    group.place_for_trial(parts);
    TaskGraph graph;
    const PlannedUse use = group.add_tasks(graph);
    Done done;
    done.kernels = use.bytes.kernels, done.wram = use.wram;
    for (const Task& task : graph.tasks()) {
      if (const auto* run = task.instruction.operation.get_if<VectorRun>()) {
        const std::int64_t elements = std::int64_t{run->rows} * run->columns * run->channels;
        done.additions += run->kind == VectorKind::kAddSums ? 1 : 0;
        done.ends += run->kind == VectorKind::kEndSums ? 1 : 0;
        (run->kind == VectorKind::kAddSums ? done.added_elements : done.ended_elements) += elements;
      }
      const auto* copy = task.instruction.operation.get_if<Copy>();
      if (copy == nullptr || copy->unit != Unit::kMvdma || task.processor == kCores) continue;
      const std::int64_t bytes = std::int64_t{copy->run_bytes} * copy->inner_count * copy->outer_count;
      (copy->source >= sram_address(0) && copy->source < nram_address(0) ? done.from_sram : done.to_sram) +=
          bytes;
    }
    return done;
  }

  HardwareConfig hardware_;
  GroupRequest request_;
  Workload workload_ = two_layers();
};

// A reduction group of four has a row of 8 pixels in a tile: each core ends 2 of them, for which it adds
// three times.
TEST_F(UnitSums, FU_2_NU_2_every_core_adds_up_its_slice_of_a_tile) {
  request_.reductions = {{"first", kCores}};
  const Done of = done();
  EXPECT_EQ(of.ends, kRows * kCores);
  EXPECT_EQ(of.additions, kRows * kCores * (kCores - 2));
  EXPECT_EQ(of.ended_elements, kPixels * kKernelCount) << "every result once";
  EXPECT_EQ(of.added_elements, kPixels * kKernelCount * (kCores - 2));
  request_.reductions["second"] = 2;
  const Done both = done();
  EXPECT_EQ(both.ended_elements, 2 * kPixels * kKernelCount);
  EXPECT_EQ(both.added_elements, of.added_elements) << "with two cores the first addition is the last one";
}

// Cores load the channels that they have, no core those of another, and exchange all sums but their own.
TEST_F(UnitSums, FU_2_FU_4_what_passes_through_the_SRAM) {
  request_.reductions = {{"first", kCores}};
  const std::int64_t exchanged = (kCores - 1) * kPixels * kKernelCount * 4;
  const Done one = done();
  request_.reductions = {{"first", kCores}, {"second", 2}};
  const Done both = done();
  // Two cores share the 16 channels of the second layer.
  const std::int64_t second = kPixels * kKernelCount * 4;
  EXPECT_EQ(both.to_sram, exchanged + second + kPixels * kKernelCount);
  EXPECT_EQ(both.from_sram, exchanged + second + kPixels * (kInputs + kKernelCount));
  EXPECT_EQ(one.to_sram, exchanged + kPixels * kKernelCount);
}

// Bounds and a record of 16 bytes a kernel come once for a cluster, where a layer for itself has records
// alone.
TEST_F(UnitSums, FU_2_FU_4_bytes_over_DRAM_are_those_without_and_the_bounds) {
  for (const GroupKernels kernels : {GroupKernels::kResident, GroupKernels::kStreamed}) {
    request_.kernels = kernels, request_.reductions.clear();
    const std::int64_t alone = done().kernels;
    request_.reductions = {{"first", kCores}};
    const std::int64_t steps = kernels == GroupKernels::kStreamed ? kRows : 1;
    const std::int64_t records = kKernelCount * 16;
    EXPECT_EQ(done().kernels, alone - steps * records + 32 + records);
  }
}

TEST_F(UnitSums, FU_2_kernels_that_fit_no_core_fit_a_reduction_group) {
  std::int64_t& wram = hardware_.chip->core.wram.size_bytes;
  request_.reductions = {{"first", kCores}};
  const std::int64_t least = done().wram;
  EXPECT_LE(least, kInputs * kKernelCount / kCores + kKernelCount * kKernelCount + kKernelCount * 16 + 512);
  wram = least;
  EXPECT_EQ(done().wram, least);
  request_.reductions.clear();
  EXPECT_THROW(done(), UserError);
}

TEST_F(UnitSums, FU_2_maps_that_fit_no_core_fit_a_reduction_group) {
  workload_ = two_layers(4096);
  hardware_.chip->core.nram.size_bytes = 12288, hardware_.chip->sram.size_bytes = 1048576;
  EXPECT_THROW(done(), UserError) << "a pixel has 4096 bytes, a buffer for maps less";
  request_.reductions = {{"first", kCores}};
  EXPECT_EQ(done().ended_elements, kPixels * kKernelCount);
}

// The planner asks for reduction groups only where cores have nothing to do.
TEST_F(UnitSums, FU_2_reduction_groups_are_tried_where_cores_are_idle) {
  const auto idle = [&](int rows, bool to_fit) {
    request_.step_rows = rows;
    GroupTrials parts(workload_, hardware_);
    FusionGroup group(parts.index(), hardware_, request_);
    group.place_for_trial(parts);
    return group.idle_reduction_groups(to_fit);
  };
  // A row is one grain of pixels, 16 kernels one block: one core works.
  EXPECT_EQ(idle(1, false), (std::map<std::string, int>{{"first", 4}, {"second", 4}}));
  EXPECT_EQ(idle(5, true), (std::map<std::string, int>{{"first", 4}, {"second", 4}}));
  hardware_.chip->cores_per_cluster = 1;
  EXPECT_TRUE(idle(1, true).empty());
}

TEST_F(UnitSums, FU_2_UI_2_what_cannot_be_cut_is_refused) {
  const auto message = [&](const std::string& layer, int cores) -> std::string {
    request_.reductions = {{layer, cores}};
    try {
      FusionGroup(LayerIndex(workload_), hardware_, request_).check_reductions();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("first", 4), "");
  EXPECT_THAT(message("first", 5), HasSubstr("reduction_parts 5 is more than 4, chip.cores_per_cluster"));
  hardware_.chip->cores_per_cluster = 8;
  EXPECT_EQ(message("second", 4), "");
  EXPECT_THAT(message("second", 5), HasSubstr("is more than 4, the parts of 16 channels in multiples of 4"));
  EXPECT_THAT(message("third", 2), HasSubstr("reductions: 'third' is not a layer of the group"));
}

}  // namespace
}  // namespace tilebeat::testing
