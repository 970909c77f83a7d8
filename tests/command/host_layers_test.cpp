// Layers on the host (SPEC RN-7): partly quantised networks as ONNX Runtime computes them, cut around what
// stays float32, and what reports tell of that.
#include "import/emitter.h"
#include "onnx_import.h"
#include "tilebeat_command.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The elements of a .npy file, behind its header.
std::string elements_of(const std::string& path) {
  const std::string bytes = read_bytes(path);
  return bytes.substr(bytes.find('\n') + 1);
}

std::vector<float> floats_of(const std::string& path) {
  const std::string bytes = elements_of(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// A .npy file of float32.
std::string floats_npy(const Extents& shape, const std::vector<double>& values) {
  return constant_npy(make_constant(ElementType::kFloat32, shape, values));
}

/// The holder of a tensor of the source.
std::string holder_of(const CommandFolder& folder, const std::string& name) {
  for (const json& tensor : json::parse(read_bytes(folder.path("net/tensors.json")))) {
    if (tensor["name"] == name && tensor["holder"].is_string()) return tensor["holder"];
  }
  return "nothing holds " + name;
}

/// Imports a model and runs it on a chip; the outputs are in "out".
void run_recorded(const CommandFolder& folder, const std::string& of, const std::string& config,
                  const std::string& granularity) {
  const std::string records = source_path("tests/data/runtimes/" + of + "/");
  const CommandResult imported =
      folder.run({"import", records + "model.onnx", "--float-on-host", "--out", "net"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const CommandResult ran =
      folder.run({"run", "--config", source_path(config), "--layer", "net/workload.json", "--input",
                  "x=" + records + "x.npy", "--out", "out", "--granularity", granularity, "--check", "on"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
}

class HostRecordings : public ::testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(HostRecordings, RN_7_float_parts_have_the_bytes_of_the_runtime) {
  const auto& [of, config, granularity] = GetParam();
  const CommandFolder folder;
  run_recorded(folder, of, config, granularity);
  int compared = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path(std::string("tests/data/runtimes/") + of))) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".npy" || name == "x") continue;
    EXPECT_EQ(elements_of(folder.path("out/outputs/" + holder_of(folder, name) + ".npy")),
              elements_of(entry.path().string()))
        << name;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

INSTANTIATE_TEST_SUITE_P(Networks, HostRecordings,
                         ::testing::Combine(::testing::Values("host_elements", "host_maps", "host_products"),
                                            ::testing::Values("configs/core1.json",
                                                              "configs/cluster4x4.json"),
                                            ::testing::Values("tile", "clock")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  test_name(std::get<1>(test.param)) + "_" + std::get<2>(test.param);
                         });

/// x -> Q -> MaxPool -> Q/DQ -> Sigmoid, Mul (SiLU) -> Q -> MaxPool -> DQ.
OnnxModel cut_in_the_middle() {
  OnnxModel model(17);
  model.input("x", kFloat, {1, 4, 6, 6}).output("y");
  model.floats("s", {}, {0.05F}).integers("z", kInt8, {}, {3}).floats("sy", {}, {0.04F});
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  OnnxModel::attribute(model.node("MaxPool", {"d"}, {"p"}), "kernel_shape", {2, 2});
  model.node("Sigmoid", {"p"}, {"g"});
  model.node("Mul", {"p", "g"}, {"m"});
  model.node("Abs", {"m"}, {"a"});
  model.node("Add", {"a", "m"}, {"t"});
  model.output("t");
  model.node("QuantizeLinear", {"t", "sy", "z"}, {"q2"});
  model.node("DequantizeLinear", {"q2", "sy", "z"}, {"d2"});
  OnnxModel::attribute(model.node("MaxPool", {"d2"}, {"y"}), "kernel_shape", {2, 2});
  return model;
}

class HostLayers : public ::testing::Test {
 protected:
  CommandResult import(const OnnxModel& model, std::vector<std::string> more = {"--float-on-host"}) const {
    folder_.write("model.onnx", model.model_bytes());
    more.insert(more.begin(), {"import", "model.onnx", "--out", "net"});
    return folder_.run(more);
  }
  CommandResult run(const std::string& config, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "--config", source_path(config), "--layer", "net/workload.json",
                               "--out", "out", "--check", "on"});
    return folder_.run(more);
  }
  CommandFolder folder_;
};

TEST_F(HostLayers, RN_7_the_workload_is_cut_and_reports_tell_the_host_apart) {
  ASSERT_EQ(import(cut_in_the_middle()).status, 0);
  const CommandResult ran = run("configs/core1.json");
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("On the host, in no cycles of the chip"));
  EXPECT_THAT(ran.out, HasSubstr("host_sigmoid"));
  const json report = folder_.report("out");
  std::vector<std::string> scenes;
  std::int64_t cycles = 0, written = 0;
  for (const json& layer : report["layers"]) {
    EXPECT_THAT(layer["op"].get<std::string>(), Not(HasSubstr("host_")));
    if (scenes.empty() || scenes.back() != layer["scene"]) scenes.push_back(layer["scene"]);
    cycles += layer["cycles"].get<std::int64_t>();
    written += layer["bytes"]["dram"]["write"].get<std::int64_t>();
  }
  EXPECT_THAT(scenes, ElementsAre("main", "main.2"));
  EXPECT_EQ(report["total"]["cycles"], cycles);
  EXPECT_EQ(report["total"]["dram_write_bytes"], written) << "the chip's own transfers alone";
  const json& host = report["host_layers"];
  const auto sigmoid =
      std::find_if(host.begin(), host.end(), [](const json& layer) { return layer["op"] == "host_sigmoid"; });
  ASSERT_NE(sigmoid, host.end());
  EXPECT_EQ((*sigmoid)["read_bytes"], 4 * 4 * 5 * 5);
  EXPECT_EQ((*sigmoid)["written_bytes"], 4 * 4 * 5 * 5);
  EXPECT_EQ((*sigmoid)["check"], "off") << "there is no second implementation";

  const CommandResult exported = folder_.run({"plan", "--config", source_path("configs/core1.json"),
                                              "--layer", "net/workload.json", "--export", "programs.txt"});
  EXPECT_EQ(exported.status, 2);
  EXPECT_THAT(exported.err, HasSubstr("which programs have nothing of"));
  EXPECT_THAT(
      folder_.run({"plan", "--config", source_path("configs/core1.json"), "--layer", "net/workload.json"})
          .out,
      HasSubstr("400 bytes read, 400 written, in no cycles of the chip"));

  ASSERT_EQ(folder_.run({"report", "out/report.json", "--html", "page.html"}).status, 0);
  const std::string page = read_bytes(folder_.path("page.html"));
  EXPECT_THAT(page, HasSubstr("<h3>On the host</h3>"));
  EXPECT_THAT(page, HasSubstr("host_sigmoid"));
}

TEST_F(HostLayers, RN_7_an_activation_behind_sums_that_nobody_quantises_is_the_hosts) {
  OnnxModel model(17);
  model.input("x", kFloat, {1, 2, 3, 3}).output("y");
  model.floats("s", {}, {0.5F}).integers("z", kInt8, {}, {0}).floats("sw", {}, {0.25F});
  model.integers("w", kInt8, {1, 2, 1, 1}, {4, -8});
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  model.node("DequantizeLinear", {"w", "sw"}, {"wd"});
  model.node("Conv", {"d", "wd"}, {"c"});
  model.node("Relu", {"c"}, {"y"});
  const CommandResult imported = import(model);
  ASSERT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("exact sums, which the runtime computes in float32"));
  const json workload = json::parse(read_bytes(folder_.path("net/workload.json")));
  std::vector<std::string> operators;
  for (const json& layer : workload["layers"]) operators.push_back(layer["op"]);
  EXPECT_EQ(operators.back(), "host_relu");
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "conv2d"), 1);
  std::vector<float> x(18);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5F * static_cast<float>(i) - 3;
  folder_.write("x.npy", floats_npy({1, 2, 3, 3}, {x.begin(), x.end()}));
  ASSERT_EQ(run("configs/core1.json", {"--input", "x=x.npy"}).status, 0);
  const std::vector<float> made = floats_of(folder_.path("out/outputs/y.npy"));
  ASSERT_EQ(made.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(made[i], std::max(0.0F, x[i] - 2 * x[i + 9])) << i;
}

TEST_F(HostLayers, RN_7_the_same_bytes_on_every_chip_and_fused) {
  ASSERT_EQ(import(cut_in_the_middle()).status, 0);
  std::map<std::string, std::string> first;
  for (const char* config : {"configs/core1.json", "configs/cluster4x4.json", "configs/rolling16.json"}) {
    for (const bool fused : {false, true}) {
      json hardware = json::parse(read_bytes(source_path(config)), nullptr, true, true);
      hardware["fused"] = fused;
      hardware["planner"]["map_layout"] = fused ? "nchw" : "nhwc";
      folder_.write("hardware.json", hardware.dump());
      const CommandResult ran = folder_.run({"run", "--config", "hardware.json", "--layer",
                                             "net/workload.json", "--out", "out", "--check", "on"});
      ASSERT_EQ(ran.status, 0) << config << ran.err << ran.out;
      if (first.empty()) first = folder_.tensors("out");
      EXPECT_EQ(folder_.tensors("out"), first) << config << (fused ? ", fused" : "");
    }
  }
}

TEST_F(HostLayers, RN_7_cycles_do_not_depend_on_what_the_host_computes) {
  // A chain of operators on the host takes as many cycles of the chip as a short one.
  const auto cycles = [&](int operators) {
    OnnxModel model(17);
    model.input("x", kFloat, {1, 4, 6, 6}).output("y");
    model.floats("s", {}, {0.05F}).integers("z", kInt8, {}, {3});
    model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
    OnnxModel::attribute(model.node("MaxPool", {"d"}, {"p0"}), "kernel_shape", {2, 2});
    for (int i = 0; i < operators; ++i)
      model.node("Softmax", {"p" + std::to_string(i)}, {"p" + std::to_string(i + 1)});
    model.node("QuantizeLinear", {"p" + std::to_string(operators), "s", "z"}, {"q2"});
    model.node("DequantizeLinear", {"q2", "s", "z"}, {"d2"});
    OnnxModel::attribute(model.node("MaxPool", {"d2"}, {"y"}), "kernel_shape", {2, 2});
    EXPECT_EQ(import(model).status, 0);
    EXPECT_EQ(run("configs/core1.json").status, 0);
    return folder_.report("out")["total"]["cycles"].get<std::int64_t>();
  };
  EXPECT_EQ(cycles(2), cycles(6));
}

TEST_F(HostLayers, RN_7_a_clip_of_one_bound_lets_every_finite_number_pass) {
  OnnxModel model(17);
  model.input("x", kFloat, {1, 1, 2, 3}).output("y");
  model.floats("s", {}, {1}).integers("z", kInt8, {}, {0}).floats("low", {}, {0});
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  OnnxModel::attribute(model.node("MaxPool", {"d"}, {"p"}), "kernel_shape", {2, 2});
  model.node("Exp", {"p"}, {"e"});
  model.node("Clip", {"e", "low"}, {"y"});
  const CommandResult imported = import(model);
  ASSERT_EQ(imported.status, 0) << imported.err;
  folder_.write("x.npy", floats_npy({1, 1, 2, 3}, {28, 0, 100, 0, 0, 0}));
  const CommandResult ran = run("configs/core1.json", {"--input", "x=x.npy"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  const std::vector<float> made = floats_of(folder_.path("out/outputs/y.npy"));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_NEAR(static_cast<double>(made[0]), 1.446257064e12, 1e6);
  EXPECT_EQ(made[1], std::numeric_limits<float>::max()) << "the runtime's bound where none is given";
}

TEST_F(HostLayers, RN_7_what_is_no_number_stays_that) {
  folder_.write("x.npy", floats_npy({1, 2}, {-1, 4}));
  folder_.write("one.npy", floats_npy({1, 2}, {1, 1}));
  json workload = json::parse(R"({"inputs": [
      {"name": "x", "shape": [1, 2], "dtype": "float32", "file": "x.npy"},
      {"name": "one", "shape": [1, 2], "dtype": "float32", "file": "one.npy"},
      {"name": "m", "shape": [1, 2, 2, 8], "random": {"seed": 1}}],
    "layers": [{"name": "c", "op": "relu", "inputs": ["m"]},
      {"name": "root", "op": "host_sqrt", "inputs": ["x"]},
      {"name": "clip", "op": "host_clip", "inputs": ["root"], "low": 0, "high": 1},
      {"name": "max_a", "op": "host_max", "inputs": ["root", "one"]},
      {"name": "max_b", "op": "host_max", "inputs": ["one", "root"]},
      {"name": "min_a", "op": "host_min", "inputs": ["root", "one"]},
      {"name": "min_b", "op": "host_min", "inputs": ["one", "root"]}]})");
  std::vector<std::string> names{"clip", "max_a", "max_b", "min_a", "min_b"};
  for (const char* op : {"relu", "leaky_relu", "hard_sigmoid", "hard_swish", "sigmoid", "tanh", "exp", "erf",
                         "abs", "neg", "softmax"}) {
    workload["layers"].push_back(
        {{"name", op}, {"op", std::string("host_") + op}, {"inputs", json::array({"root"})}});
    names.emplace_back(op);
  }
  folder_.write("w.json", workload.dump());
  const CommandResult ran = folder_.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                         "w.json", "--out", "out", "--check", "on"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  for (const std::string& name : names) {
    const std::vector<float> made = floats_of(folder_.path("out/outputs/" + name + ".npy"));
    ASSERT_EQ(made.size(), 2U) << name;
    EXPECT_TRUE(std::isnan(made[0])) << name << " gives " << made[0];
    // A softmax divides by the sum of its row.
    EXPECT_EQ(std::isnan(made[1]), name == "softmax") << name << " gives " << made[1];
  }
}

TEST_F(HostLayers, RN_7_parts_of_scenes_have_labels_of_their_own) {
  json workload{{"inputs", json::array()}, {"layers", json::array()}, {"outputs", json::array()}};
  for (const char* scene : {"main", "main.2"}) {
    const std::string n = std::to_string(workload["inputs"].size() + 1);
    const auto add = [&](const std::string& name, const char* op, const std::string& input, json more) {
      more.update({{"name", name + n}, {"op", op}, {"inputs", json::array({input + n})}, {"scene", scene}});
      workload["layers"].push_back(more);
    };
    workload["inputs"].push_back(
        {{"name", "x" + n}, {"shape", {1, 2, 2, 8}}, {"random", {{"seed", workload["inputs"].size() + 1}}}});
    add("a", "relu", "x", json::object());
    add("h", "host_dequantize", "a", {{"scale", 0.5}});
    add("q", "host_quantize", "h", {{"scale", 1}});
    add("b", "relu", "q", json::object());
    workload["outputs"].push_back("a" + n), workload["outputs"].push_back("b" + n);
  }
  folder_.write("w.json", workload.dump());
  const CommandResult ran = folder_.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                         "w.json", "--out", "out", "--check", "on"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  std::map<std::string, std::string> programs;  // by label: the layer in it
  const json report = folder_.report("out");
  for (const json& layer : report["layers"]) programs[layer["scene"]] += layer["name"];
  EXPECT_EQ(programs, (std::map<std::string, std::string>{
                          {"main", "a1"}, {"main.2.2", "b1"}, {"main.2", "a2"}, {"main.2.2.2", "b2"}}));
  for (const char* n : {"1", "2"}) {
    const std::string a = elements_of(folder_.path(std::string("out/outputs/a") + n + ".npy"));
    const std::string b = elements_of(folder_.path(std::string("out/outputs/b") + n + ".npy"));
    ASSERT_EQ(b.size(), 32U);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_EQ(b[i], std::nearbyint(a.at(i) * 0.5)) << n << i;
  }
}

TEST_F(HostLayers, RN_7_a_layer_of_the_host_passes_by_an_expected_file_alone) {
  folder_.write("x.npy", floats_npy({1, 2}, {-1, 4}));
  folder_.write("w.json", R"({"inputs": [{"name": "x", "shape": [1, 2], "dtype": "float32", "file": "x.npy"},
      {"name": "m", "shape": [1, 2, 2, 8], "random": {"seed": 1}}],
    "layers": [{"name": "c", "op": "relu", "inputs": ["m"]},
      {"name": "h", "op": "host_relu", "inputs": ["x"]}], "expected": {"h": "h.npy"}})");
  for (const bool right : {true, false}) {
    folder_.write("h.npy", floats_npy({1, 2}, {0, right ? 4.0 : 5.0}));
    const CommandResult ran = folder_.run({"run", "--config", source_path("configs/core1.json"), "--layer",
                                           "w.json", "--out", "out", "--check", "on"});
    EXPECT_EQ(ran.status, right ? 0 : 1) << ran.err << ran.out;
    EXPECT_EQ(folder_.report("out")["host_layers"][0]["check"], right ? "passed" : "failed");
  }
}

TEST_F(HostLayers, RN_10_messages_name_ways_that_work) {
  OnnxModel model(17);
  model.input("x", kFloat, {1, 4, 6, 6}).output("y");
  model.floats("s", {}, {0.05F}).integers("z", kInt8, {}, {3});
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  OnnxModel::attribute(model.node("MaxPool", {"d"}, {"p"}), "kernel_shape", {2, 2});
  model.node("Softmax", {"p"}, {"y"});
  const CommandResult plain = import(model, {});
  EXPECT_EQ(plain.status, 2);
  EXPECT_THAT(plain.err, HasSubstr("--calibrate X.npy quantises such parts of a network"));
  EXPECT_THAT(plain.err, HasSubstr("--float-on-host leaves them to the host"));
  EXPECT_EQ(import(model).status, 0);

  OnnxModel floats(17);
  floats.input("x", kFloat, {1, 4}).output("y");
  floats.node("Softmax", {"x"}, {"y"});
  const CommandResult nothing = import(floats);
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--float-on-host: nothing in it is quantised"));
  EXPECT_THAT(nothing.err, HasSubstr("--calibrate X.npy quantises it"));
}

TEST_F(HostLayers, RN_7_a_workload_file_may_have_layers_of_the_host) {
  const auto refused = [&](const std::string& layers, const std::string& text) {
    folder_.write("x.npy", floats_npy({2, 3}, std::vector<double>(6)));
    folder_.write("w.json",
                  R"({"inputs": [{"name": "x", "shape": [2, 3], "dtype": "float32", "file": "x.npy"},
      {"name": "m", "shape": [1, 2, 2, 8], "random": {"seed": 1}}], "layers": [)" +
                      layers + "]}");
    const CommandResult ran =
        folder_.run({"run", "--config", source_path("configs/core1.json"), "--layer", "w.json"});
    EXPECT_EQ(ran.status, text.empty() ? 0 : 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  const std::string chip = R"({"name": "c", "op": "relu", "inputs": ["m"]})";
  refused(chip + R"(, {"name": "h", "op": "host_softmax", "inputs": ["x"]})", "");
  refused(R"({"name": "h", "op": "host_softmax", "inputs": ["x"]})",
          "w.json: /layers: are all computed by the host, at least one layer of a chip is expected");
  refused(chip + R"(, {"name": "h", "op": "host_softmax", "inputs": ["x"], "axis": 2})",
          "w.json: /layers/1/axis: 2 is not allowed, allowed is -2 to 1, an axis of 2");
  refused(chip + R"(, {"name": "h", "op": "host_softmax", "inputs": ["m"]})",
          "\"m\" of int8 is not allowed, allowed is a float32 tensor");
  refused(chip + R"(, {"name": "h", "op": "host_conv", "inputs": ["x", "x"]})", "allowed is 4 axes");
  refused(chip + R"(, {"name": "h", "op": "host_slice", "inputs": ["x"], "begin": [0, 0], "size": [1, 3],
                       "step": [1, 0]})",
          "w.json: /layers/1/step/1: 0 is not allowed, allowed is a number other than 0");
  refused(chip + R"(, {"name": "h", "op": "host_softmax", "inputs": ["x"]}], "expected": {"h": {"cycles": 5}},
                       "outputs": ["h")",
          "w.json: /expected/h/cycles: the host computes the layer, in no cycles of the chip");
}

}  // namespace
}  // namespace tilebeat::testing
