// The arithmetics of SPEC NU-6 against bytes that the runtimes made themselves (tests/data/runtimes): on
// chips with every matrix engine, in both granularities. A run compares each layer with the recorded bytes,
// and with the reference.
#include "tilebeat_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr std::array<const char*, 4> kConfigs{"cluster4x4", "wfold_cluster4x4", "rolling_cluster4x4",
                                              "offset_cluster4x4"};

std::string workload_of(const std::string& folder, const std::string& arithmetic) {
  return source_path("tests/data/runtimes/" + folder + "/" + arithmetic + ".json");
}

/// Runs a workload on `config` and expects that every layer has its recorded bytes.
void expect_recorded(const std::string& workload, const char* config, const char* granularity) {
  const CommandFolder command;
  const CommandResult result =
      command.run({"run", "--config", source_path(std::string("configs/") + config + ".json"), "--layer",
                   workload, "--granularity", granularity, "--check", "on"});
  EXPECT_EQ(result.status, 0) << workload << " on " << config << ", " << granularity << ": " << result.err;
}

void expect_on_matrix_engines(const std::string& folder, const std::string& arithmetic) {
  for (const char* config : kConfigs) expect_recorded(workload_of(folder, arithmetic), config, "tile");
  expect_recorded(workload_of(folder, arithmetic), kConfigs[0], "clock");
}

void expect_on_vector_units(const std::string& folder, const std::string& arithmetic) {
  for (const char* granularity : {"tile", "clock"})
    expect_recorded(workload_of(folder, arithmetic), kConfigs[0], granularity);
}

TEST(RuntimeBytes, NU_6_float32_convolutions_are_those_of_xnnpack) {
  for (const char* folder : {"conv", "dwconv", "fc"}) expect_on_matrix_engines(folder, "float32");
}

TEST(RuntimeBytes, NU_6_fixed_conv_is_SR_depthwise_DR_and_fully_connected_has_a_float_product) {
  for (const char* folder : {"conv", "dwconv", "fc"}) expect_on_matrix_engines(folder, "fixed");
}

TEST(RuntimeBytes, NU_6_float32_vector_operators_are_those_of_xnnpack) {
  for (const char* folder : {"mean", "add", "softmax"}) expect_on_vector_units(folder, "float32");
}

TEST(RuntimeBytes, NU_6_fixed_vector_operators_are_those_of_the_built_in_kernels) {
  for (const char* folder : {"mean", "add", "softmax"}) expect_on_vector_units(folder, "fixed");
}

TEST(RuntimeBytes, NU_6_float32_ort_convolutions_and_products) {
  for (const char* folder :
       {"qconv_u8s8u8", "qconv_grp_s8", "qconv_dw_u8s8", "qmatmul_u8s8_percol", "qgemm_s8", "matmulinteger"})
    expect_on_matrix_engines(folder, "float32_ort");
}

TEST(RuntimeBytes, NU_6_float32_ort_vector_operators) {
  for (const char* folder : {"qlinearadd_uint8_6", "qlinearadd_int8_0", "qlinearmul_int8_10", "qavgpool_2",
                             "qgap_4", "qgap_nhwc", "qsoftmax_2", "qsoftmax_8"})
    expect_on_vector_units(folder, "float32_ort");
}

TEST(RuntimeBytes, NU_6_quantize_and_dequantize) {
  for (const char* folder : {"quantize_u8_0", "dequantize_s8", "dynquant_0"})
    expect_on_vector_units(folder, "float32_ort");
}

// Were the arithmetics alike, the tests above would prove nothing.
TEST(RuntimeBytes, NU_6_the_recorded_bytes_tell_the_arithmetics_apart) {
  const CommandFolder command;
  for (const char* folder : {"conv", "dwconv", "fc", "mean", "add"}) {
    std::string text = read_bytes(workload_of(folder, "fixed"));
    const std::string fixed = R"("arithmetic": "fixed")";
    text.replace(text.find(fixed), fixed.size(), R"("arithmetic": "float32")");
    const std::string copy = command.path(std::string("copied_") + folder);
    std::filesystem::copy(source_path(std::string("tests/data/runtimes/") + folder), copy);
    std::ofstream(copy + "/other.json") << text;
    const CommandResult result = command.run({"run", "--config", source_path("configs/cluster4x4.json"),
                                              "--layer", copy + "/other.json", "--check", "on"});
    EXPECT_EQ(result.status, 1) << folder;
    EXPECT_NE((result.out + result.err).find("expected"), std::string::npos) << result.out << result.err;
  }
}

}  // namespace
}  // namespace tilebeat::testing
