// Operators and a network of int16 maps as TensorFlow Lite runs them: imported, run on a chip of every
// engine, and compared with what the runtime recorded, activation by activation (SPEC DT-2).
#include "../data/temporary_folder.h"
#include "tilebeat_command.h"
#include "workload/npy.h"
#include "workload/tensor.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The folder of the recordings, unpacked once a process.
const fs::path& recordings() {
  static const TemporaryFolder folder;
  static const fs::path path = [] {
    const std::string archive = source_path("tests/data/int16.tar.gz");
    const std::string command = "tar -xzf '" + archive + "' -C '" + folder.path("") + "'";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(archive + " cannot be unpacked");
    return fs::path(folder.path(""));
  }();
  return path;
}

/// The holder of a source's tensor in an imported workload.
std::string holder_of(const json& tensors, int index) {
  for (const auto& tensor : tensors) {
    if (tensor.at("index") == index) return tensor.at("holder");
  }
  return "";
}

/// Imports a recorded model, runs it on `config` and compares all that was recorded.
void check_recording(const fs::path& recorded, const json& variant, const std::string& config) {
  const CommandFolder folder;
  std::vector<std::string> arguments{"import", (recorded / variant.at("model")).string(), "--keep-all",
                                     "--out", "net"};
  for (const auto& argument : variant.at("import_args")) arguments.push_back(argument);
  const CommandResult imported = folder.run(arguments);
  ASSERT_EQ(imported.status, 0) << imported.err;
  const json tensors = json::parse(read_bytes(folder.path("net/tensors.json")));
  arguments = {"run",     "--config",          source_path("configs/" + config + ".json"),
               "--layer", "net/workload.json", "--out",
               "out"};
  for (const auto& [name, file] : variant.at("inputs").items())
    arguments.insert(arguments.end(), {"--input", name + "=" + (recorded / file).string()});
  const CommandResult run = folder.run(arguments);
  ASSERT_EQ(run.status, 0) << run.err;
  for (const auto& [index, expected] : variant.at("expected").items()) {
    const std::string holder = holder_of(tensors, std::stoi(index));
    const Tensor made = read_npy(folder.path("out/outputs/" + holder + ".npy"));
    const Tensor wanted = read_npy((recorded / expected.at("file")).string());
    ASSERT_EQ(made.dtype, wanted.dtype) << "tensor " << index;
    EXPECT_EQ(made.bytes, wanted.bytes) << "tensor " << index << ", layer " << holder;
  }
}

class Int16Recordings : public ::testing::TestWithParam<std::string> {};

TEST_P(Int16Recordings, DT_2_RN_2_every_activation_has_the_runtimes_bytes) {
  const fs::path folder = recordings() / GetParam();
  const json recorded = json::parse(read_bytes((folder / "case.json").string()));
  ASSERT_FALSE(recorded.at("variants").empty());
  for (const auto& variant : recorded.at("variants")) {
    SCOPED_TRACE(GetParam() + "/" + variant.at("name").get<std::string>());
    check_recording(folder, variant, "core1");
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Int16Recordings,
                         ::testing::Values("add", "average_pool", "conv", "depthwise", "fully_connected",
                                           "leaky_relu", "logistic", "max_pool", "mean", "moves", "mul",
                                           "network", "quantize", "relu", "relu6", "softmax", "sub", "tanh",
                                           "transpose_conv"),
                         [](const auto& one) { return one.param; });

TEST(Int16Network, DT_2_DT_4_a_network_on_every_engine) {
  const fs::path folder = recordings() / "network";
  const json recorded = json::parse(read_bytes((folder / "case.json").string()));
  for (const char* config : {"cluster4x4", "wfold_cluster4x4", "rolling_cluster4x4", "offset_cluster4x4"}) {
    SCOPED_TRACE(config);
    for (const auto& variant : recorded.at("variants")) check_recording(folder, variant, config);
  }
}

}  // namespace
}  // namespace tilebeat::testing
