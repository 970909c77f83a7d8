// Every way to get a file wrong that the specification forbids (SPEC UI-2, UI-6, NU-4): one line, with the
// file's name and what is wrong with it.
#include "../data/malformed_file.h"
#include "config/hardware_config.h"
#include "schema/json_file.h"
#include "workload/npy.h"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using namespace std::string_literals;
using nlohmann::json;

class MalformedFile : public Malformed {
 protected:
  void expect_hardware_refused(const std::string& text, const std::string& wanted) {
    expect_refused(text.substr(0, 100), folder_.write("hw.json", text), wanted, load_hardware);
  }
};

TEST_F(MalformedFile, UI_2_texts_that_are_not_json) {
  const std::vector<std::pair<std::string, std::string>> texts{
      {"", "is empty"},
      {" \n\t", "is empty"},
      {"{", "line 1, column 2"},
      {"{\n \"name\": }", "line 2, column 10"},
      {"{} {}", "line 1, column 4"},
      {"{}x", "line 1, column 3"},
      {"{\"name\" \"a\"}", "line 1"},
      {"{\"name\": 'a'}", "line 1"},
      {"{\"clock_mhz\": NaN}", "line 1"},
      {"{\"clock_mhz\": Infinity}", "line 1"},
      {"{\"clock_mhz\": 1e999}", "/clock_mhz: 1e999 is not allowed, allowed is a number up to 1.8e308"},
      {"{\"dma\": {}, \"x\": [1, {\"a\": 2}, [], -1e400]}", "/x/3: -1e400 is not allowed"},
      {"1e999", "/: 1e999 is not allowed"},
      {"{\"clock_mhz\": 01}", "line 1"},
      {"{\"clock_mhz\": 5,}", "line 1"},
      {"{} /* no end", "line 1"},
      {"{\"name\": \"\xff\xfe\"}", "UTF-8"},
      {"\xff\xfe{\0}"s, "byte 3 is zero"},
      {"{}\0{}"s, "byte 2 is zero"},
      {"{\"name\": \"a\nb\"}", "line 2"},
      {std::string(100000, '['), "nested more than 64 deep"},
      {"{\"name\": " + std::string(100, '{'), "line 1"},
      {"[]", "/: [] is not allowed, allowed is an object"},
      {"3", "/: 3 is not allowed"},
      {"null", "/: null is not allowed"},
      {R"({"name": "a", "name": "a"})", "/name: this key appears twice"},
      {R"({"dma": {"burst_bytes": 64, "burst_bytes": 64}})", "/dma/burst_bytes: this key appears twice"},
      {R"({"dma": {}, "dma": {}})", "/dma: this key appears twice"},
      {R"({"x": [1, {"a": 1, "a": 2}]})", "/x/1/a: this key appears twice"},
  };
  for (const auto& [text, wanted] : texts) expect_hardware_refused(text, wanted);
}

TEST_F(MalformedFile, UI_2_yaml_is_told_from_broken_json) {
  for (const char* text :
       {"name: chip\nclock_mhz: 1000\n", "---\nname: chip\n", "# a chip\n\nchip:\n  clusters: 4\n",
        "- name: chip\n", "%YAML 1.2\n---\nname: a\n", "clock_mhz:\r\n"}) {
    const std::string wanted = "is YAML, JSON is read here; YAML is read of files whose names end with .yaml";
    expect_refused(text, folder_.write("hw.json", text), wanted, load_hardware);
    expect_refused(text, folder_.write("w.json", text), wanted, load_file);
  }
  for (const char* text : {"name", ":", "name:chip", "// a comment\n{", "x: {"})
    expect_refused(text, folder_.write("hw.json", text), *text == 'x' ? "is YAML" : "line ", load_hardware);
}

TEST_F(MalformedFile, UI_2_a_model_is_no_hardware_file) {
  for (const char* name : {"net.onnx", "net.tflite"})
    expect_refused(name, folder_.write(name, "\x1c\0TFL3"s),
                   "is a model, JSON is read here; `tilebeat import`", load_hardware);
}

TEST_F(MalformedFile, UI_2_yaml_that_is_json_as_well_is_read) {
  EXPECT_EQ(load_hardware(folder_.write("hw.yaml", "{\"name\": \"a\"}")).name, "a");
}

// With a parser whose time grows with the square of a list's length this takes a minute.
TEST_F(MalformedFile, UI_2_a_long_list_of_objects) {
  std::string text = R"({"layers": [{})";
  for (int i = 1; i < 400'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]}", "w.json").at("layers").size(), 400'000U);
}

TEST_F(MalformedFile, UI_2_files_that_are_not_there) {
  expect_refused("missing", folder_.path("missing.json"), "cannot be opened: No such file", load_hardware);
  expect_refused("directory", folder_.path(""), "is a directory", load_hardware);
  expect_refused("file as folder", folder_.write("f", "") + "/hw.json", "cannot be opened", load_hardware);
  expect_refused("endless", "/dev/zero", "is larger than 67108864 bytes", load_hardware);
  expect_refused("missing workload", folder_.path("missing.json"), "cannot be opened", load_file);
  expect_refused("missing npy", folder_.path("missing.npy"), "cannot be opened", read_npy);
  expect_refused("npy directory", folder_.path(""), "is a directory", read_npy);
  expect_refused("npy device", "/dev/null", "is not a regular file", read_npy);
}

TEST_F(MalformedFile, UI_2_hardware_fields) {
  const std::vector<std::pair<std::string, std::string>> texts{
      {R"({"name": 3})", "/name: 3 is not allowed"},
      {R"({"name": ""})", "/name: \"\" is not allowed"},
      {R"({"name": "../a"})", "/name: \"../a\" is not allowed"},
      {R"({"name": "a\nb"})", "/name"},
      {R"({"clock_mhz": 0})", "/clock_mhz: 0 is not allowed, allowed is a number from 1 to 10000"},
      {R"({"clock_mhz": 10001})", "/clock_mhz: 10001"},
      {R"({"clock_mhz": "fast"})", "/clock_mhz: \"fast\""},
      {R"({"clock_mhz": true})", "/clock_mhz: true"},
      {R"({"dataflow": "wfold"})",
       "/dataflow: \"wfold\" is not allowed, allowed is dilated, or a file with `chip`"},
      {R"({"dataflow": "systolic"})", "/dataflow: \"systolic\" is not allowed"},
      {R"({"wfold": {"pci": 24}})", "/wfold/pci: 24 is not allowed, allowed is a power of two"},
      {R"({"offset": {"port_bytes": 3}})", "/offset/port_bytes: 3 is not allowed, allowed is a power of two"},
      {R"({"offset": {"address_queue": 0}})",
       "/offset/address_queue: 0 is not allowed, allowed is a whole number from 1 to 64"},
      {R"({"wfold": {"pci": 128}})", "/wfold/pci: 128 is not allowed, allowed is at most line_bytes (64)"},
      {R"({"wfold": {"first_buffer_lines": 4}})", "/wfold/first_buffer_lines: 4 is not allowed"},
      {R"({"wfold": {"read_mode": "random"}})", "/wfold/read_mode: \"random\""},
      {R"({"dataflow": "wfold", "wfold": {"slaves": 8}, "chip": {}})",
       "/chip/core/wram/banks: 16 is not allowed, allowed is wfold.slaves (8)"},
      {R"({"dataflow": null})", "/dataflow: null"},
      {R"({"fused": true})",
       "/fused: true is not allowed, allowed is false: layers are fused in the memories of a chip, which is "
       "not there"},
      {R"({"fused": "no"})", "/fused: \"no\" is not allowed, allowed is true or false"},
      {R"({"fused": 0})", "/fused: 0"},
      {R"({"switch_aray": {}})", "unknown key \"switch_aray\", the nearest known name is \"switch_array\""},
      {R"({"switch_array": {"row": 16}})",
       "/switch_array/row: unknown key \"row\", the nearest known name is \"rows\""},
      {R"({"dma": {"$schema": "x"}})", "/dma/$schema: unknown key"},
      {R"({"a/b~c": 1})", "/a~1b~0c: unknown key"},
      {R"({"switch_array": []})", "/switch_array: [] is not allowed, allowed is an object"},
      {R"({"switch_array": {"rows": 0}})",
       "/switch_array/rows: 0 is not allowed, allowed is a whole number from 1 to 256"},
      {R"({"switch_array": {"rows": 257}})", "/switch_array/rows: 257"},
      {R"({"switch_array": {"rows": 3.5}})", "/switch_array/rows: 3.5"},
      {R"({"switch_array": {"rows": "16"}})", "/switch_array/rows: \"16\""},
      {R"({"switch_array": {"rows": -16}})", "/switch_array/rows: -16"},
      {R"({"switch_array": {"rows": 9223372036854775808}})", "/switch_array/rows: 9223372036854775808"},
      {R"({"switch_array": {"rows": -9223372036854775809}})", "/switch_array/rows: -9.22337203685477"},
      {R"({"switch_array": {"rows": 4294967312}})", "/switch_array/rows: 4294967312"},
      {R"({"switch_array": {"rows": 1e300}})", "/switch_array/rows: 1e+300"},
      {R"({"switch_array": {"rows": [16]}})", "/switch_array/rows: [16]"},
      {R"({"switch_array": {"rows": 15}})",
       "/switch_array/rows: 15 is not allowed, allowed is a multiple of groups (2)"},
      {R"({"switch_array": {"groups": 32}})",
       "/switch_array/rows: 16 is not allowed, allowed is a multiple of groups (32)"},
      {R"({"switch_array": {"port_channels": 65}})", "/switch_array/port_channels: 65"},
      {R"({"switch_array": {"arrangement": "table2"}})",
       "/switch_array/arrangement: \"table2\" is not allowed, allowed is one of \"stride_aware\", "
       "\"table1\""},
      {R"({"switch_array": {"output_buffer_bytes": 2047}})",
       "/switch_array/output_buffer_bytes: 2047 is not allowed, allowed is at least 2048"},
      {R"({"switch_array": {"drain_clocks_per_lane": 0}})", "/switch_array/drain_clocks_per_lane: 0"},
      {R"({"interconnect": {"bytes_per_clock": 24}})",
       "/interconnect/bytes_per_clock: 24 is not allowed, allowed is a power of two"},
      {R"({"interconnect": {"bytes_per_clock": 256}})", "/interconnect/bytes_per_clock: 256"},
      {R"({"dma": {"burst_bytes": 40}})",
       "/dma/burst_bytes: 40 is not allowed, allowed is a multiple of interconnect.bytes_per_clock (16)"},
      {R"({"dma": {"burst_bytes": 8192}})", "/dma/burst_bytes: 8192"},
      {R"({"dma": {"burst_bytes": 32}, "chip": {}})",
       "/dma/burst_bytes: 32 is not allowed, allowed is at least 64, the width of the core's bus"},
      {R"({"switch_array": {"arrangement_queue_words": 64}, "chip": {}})",
       "/switch_array/arrangement_queue_words: 64 is not allowed, allowed is at least 65: what one beat of "
       "64 "
       "bytes can have for a bank"},
      {R"({"dma": {"burst_bytes": 48}})", "/dma/burst_bytes: 48 is not allowed, allowed is a power of two"},
      {R"({"switch_array": {"parameter_slots": 65}})", "/switch_array/parameter_slots: 65"},
      {R"({"switch_array": {"arrangement_queue_words": 16}})",
       "/switch_array/arrangement_queue_words: 16 is not allowed, allowed is at least 17"},
      {R"({"switch_array": {"bank_depth_words": 16777216}})",
       "/switch_array/bank_depth_words: 16777216 is not allowed"},
      {R"({"switch_array": {"parameter_depth_words": 16777216, "port_channels": 64}})",
       "/switch_array/parameter_depth_words: 16777216 is not allowed"},
      {R"({"interconnect": {"request_cycles": 0}})", "/interconnect/request_cycles: 0"},
      {R"({"interconnect": {"response_cycles": 0}})", "/interconnect/response_cycles: 0"},
      {R"({"dma": {"buffer_bytes": 128}})",
       "/dma/buffer_bytes: 128 is not allowed, allowed is at least burst_bytes (1024)"},
      {R"({"dram": {"preset": "ddr5"}})", "/dram/preset: \"ddr5\""},
      {R"({"dram": {"channels": 3}})", "/dram/channels: 3 is not allowed, allowed is a power of two"},
      {R"({"dram": {"banks": 12}})", "/dram/banks: 12"},
      {R"({"dram": {"row_bytes": 1000}})", "/dram/row_bytes: 1000"},
      {R"({"dram": {"row_bytes": 32}})",
       "/dram/row_bytes: 32 is not allowed, allowed is a multiple of the burst of 64 bytes"},
      {R"({"dram": {"size_bytes": 1048576, "banks": 64, "row_bytes": 32768}})",
       "/dram/size_bytes: 1048576 is not allowed, allowed is at least 2097152"},
      {R"({"dram": {"tRFC_ps": 7800000}})",
       "/dram/tRFC_ps: 7800000 is not allowed, allowed is less than tREFI_ps (7800000)"},
      {R"({"dram": {"burst_length": 1}})",
       "/dram/burst_length: 1 is not allowed, allowed is a whole number from 2 to 64"},
      {R"({"dram": {"tREFI_ps": 350001}})",
       "/dram/tREFI_ps: 350001 is not allowed, allowed is more than 448154: in 538 cycles of 833 ps a row is "
       "closed"},
      {R"({"dram": {"tRCD_ns": 14}})",
       "/dram/tRCD_ns: unknown key \"tRCD_ns\", the nearest known name is \"tRCD_ps\""},
      {R"({"planner": {"loop_order": "inner"}})", "/planner/loop_order: \"inner\""},
      {R"({"planner": {"max_tile_rows": -1}})", "/planner/max_tile_rows: -1"},
  };
  for (const auto& [text, wanted] : texts) expect_hardware_refused(text, wanted);
}

/// A good workload of two layers, to be spoilt at one place.
json good_workload() {
  return json::parse(R"({"name": "w",
    "inputs": [{"name": "x", "shape": [1, 6, 7, 4], "random": {"seed": 1}},
               {"name": "flat", "shape": [24], "random": {"seed": 1}}],
    "layers": [
      {"name": "a", "op": "conv2d", "inputs": ["x"], "out_channels": 6, "kernel": [3, 3], "groups": 2,
       "weights": {"random": {"seed": 2}}, "bias": {"random": {"seed": 3}}, "requant": {"scale": 0.01}},
      {"name": "b", "op": "conv2d", "inputs": ["a"], "out_channels": 2, "kernel": [2, 2],
       "weights": {"random": {"seed": 4}}}],
    "outputs": ["b"]})");
}

const Spoilt kSpoiltFields[] = {
    {"/inputs", nullptr, "/inputs: is missing, it has no default"},
    {"/layers", nullptr, "/layers: is missing"},
    {"/layers", "[]", "/layers: [] is not allowed, allowed is a list of 1 to"},
    {"/layers", "{}", "/layers: {}"},
    {"/layers/0", "7", "/layers/0: 7 is not allowed, allowed is an object"},
    {"/inputs/0/name", nullptr, "/inputs/0/name: is missing"},
    {"/inputs/0/shape", "[1, 6, 0, 4]", "/inputs/0/shape/2: 0"},
    {"/inputs/0/shape", "[]", "/inputs/0/shape: []"},
    {"/inputs/0/shape", "[1, 6, 7, -4]", "/inputs/0/shape/3: -4"},
    {"/inputs/0/shape", "[1, 1048577, 7, 4]", "/inputs/0/shape/1: 1048577"},
    {"/inputs/0/shape", "[1048576, 1048576, 1048576, 1048576]", "at most 2147483648 elements"},
    {"/inputs/0/shape", "[2.5, 6, 7, 4]", "/inputs/0/shape/0: 2.5"},
    {"/inputs/0/dtype", "\"int32\"",
     "/inputs/0/dtype: \"int32\" is not allowed, allowed is one of \"int8\", \"uint8\""},
    {"/inputs/0/dtype", "\"float32\"", "/inputs/0/random: random elements of float32"},
    {"/inputs/0/zero_point", "128", "/inputs/0/zero_point: 128 is not allowed, allowed is -128 to 127"},
    {"/inputs/0/zero_point", "256", "/inputs/0/zero_point: 256"},
    {"/inputs/0/random", nullptr, "/inputs/0: 0 of the keys \"file\", \"random\""},
    {"/inputs/0/file", "\"x.npy\"", "/inputs/0: 2 of the keys \"file\", \"random\""},
    {"/inputs/0/random/seed", nullptr, "/inputs/0/random/seed: is missing"},
    {"/inputs/0/random/seed", "-1", "/inputs/0/random/seed: -1"},
    {"/inputs/0/random/min", "-129", "/inputs/0/random/min: -129 is not allowed, allowed is -128 to 127"},
    {"/inputs/0/random/max", "128", "/inputs/0/random/max: 128"},
    {"/inputs/0/random", R"({"seed": 1, "min": 5, "max": 4})", "/inputs/0/random/max: 4"},
    {"/inputs/0/random/sead", "1", "unknown key \"sead\", the nearest known name is \"seed\""},
    {"/inputs/1/name", "\"x\"", "/inputs/1/name: \"x\" is not allowed, allowed is a name that no other"},
    {"/layers/0/name", "\"x\"", "/layers/0/name: \"x\""},
    {"/layers/1/name", "\"a\"", "/layers/1/name: \"a\""},
    {"/layers/0/name", "\"a/b\"", "/layers/0/name: \"a/b\""},
    {"/layers/0/op", "\"attention\"",
     "/layers/0/op: \"attention\" is not allowed, allowed is one of \"conv2d\", \"fully_connected\", "
     "\"matmul\", \"max_pool\", "},
    {"/layers/0/op", nullptr, "/layers/0/op: is missing"},
    {"/layers/0/scene", "\"\"", "/layers/0/scene: \"\""},
    {"/layers/0/inputs", "[\"y\"]",
     "/layers/0/inputs/0: \"y\" is not allowed, allowed is a workload input or a layer"},
    {"/layers/0/inputs", "[\"x\", \"x\"]", "/layers/0/inputs: [\"x\",\"x\"]"},
    {"/layers/0/inputs", "[\"b\"]", "in a cycle"},
    {"/layers/0/inputs", "[\"flat\"]", "/layers/0/inputs/0: \"flat\" with shape [24]"},
    {"/layers/0/requant", nullptr, "/layers/1/inputs/0: \"a\" with int32 accumulators"},
    {"/layers/0/out_channels", nullptr, "/layers/0/out_channels: is missing"},
    {"/layers/0/out_channels", "0", "/layers/0/out_channels: 0"},
    {"/layers/0/out_channels", "5",
     "/layers/0/groups: 2 is not allowed, allowed is a divisor of 4 channels and 5"},
    {"/layers/0/groups", "3", "/layers/0/groups: 3"},
    {"/layers/0/kernel", "[3]", "/layers/0/kernel: [3] is not allowed, allowed is a list of 2 entries"},
    {"/layers/0/kernel", "3", "/layers/0/kernel: 3"},
    {"/layers/0/kernel", "[0, 3]", "/layers/0/kernel/0: 0"},
    {"/layers/0/kernel", "[7, 3]", "/layers/0/kernel/0: 7 with dilation 1, a window of 7,"},
    {"/layers/0/kernel", "[65535, 65535]", "a window that fits the padded map of 6"},
    {"/layers/0/kernel", "[3, 65536]",
     "/layers/0/kernel/1: 65536 is not allowed, allowed is a whole number from 1"},
    {"/layers/0/dilation", "[1, 4]", "/layers/0/kernel/1: 3 with dilation 4, a window of 9,"},
    {"/layers/0/dilation", "[0, 1]", "/layers/0/dilation/0: 0"},
    {"/layers/0/dilation", "[1, 65536]", "/layers/0/dilation/1: 65536"},
    {"/layers/0/stride", "[1, -1]", "/layers/0/stride/1: -1"},
    {"/layers/0/stride", "[65536, 1]",
     "/layers/0/stride/0: 65536 is not allowed, allowed is a whole number from 1 to 65535"},
    {"/layers/0/pads", "[0, 0]", "/layers/0/pads: [0,0] is not allowed, allowed is a list of 4 entries"},
    {"/layers/0/pads", "[0, 0, -1, 0]", "/layers/0/pads/2: -1"},
    {"/layers/0/pads", "[0, 32768, 0, 0]",
     "/layers/0/pads/1: 32768 is not allowed, allowed is a whole number from 0 to 32767"},
    {"/layers/0/pads", "[32767, 32767, 32767, 32767]", "/layers/0: shape [1, 65538, 65539, 6]"},
    {"/layers/0/weights", nullptr, "/layers/0/weights: is missing"},
    {"/layers/0/weights/zero_point", "-129", "/layers/0/weights/zero_point: -129"},
    {"/layers/0/weights/zero_point", "200",
     "/layers/0/weights/zero_point: 200 is not allowed, allowed is -128 to 127"},
    {"/layers/0/bias/random/min", "-2147483649", "/layers/0/bias/random/min: -2147483649"},
    {"/layers/0/bias", R"({"random": {"seed": 1, "min": 2147483647, "max": 2147483647}})",
     "layer \"a\" with accumulators"},
    {"/layers/0/activation", "\"gelu\"",
     R"(/layers/0/activation: "gelu" is not allowed, allowed is "none", "relu", {"clamp": [low, high]} or a function)"},
    {"/layers/0/activation", R"({"gelu": {"output_scale": 0}})",
     "/layers/0/activation/gelu/output_scale: 0 is not"},
    {"/layers/0/activation", R"({"gelu": {"slope": 1}})", "/layers/0/activation/gelu/slope"},
    {"/layers/0/activation", R"({"gelu": {}, "tanh": {}})", "allowed is an object with one function"},
    {"/layers/1/activation", "\"sigmoid\"", R"(/layers/1/activation: "sigmoid")"},
    {"/layers/0/activation", R"({"clamp": [3, 2]})", "/layers/0/activation/clamp: [3,2]"},
    {"/layers/0/activation", R"({"clamp": [0.5, 2]})", "/layers/0/activation/clamp/0: 0.5"},
    {"/layers/0/activation", R"({"clam": [0, 2]})", "/layers/0/activation/clamp: is missing"},
    {"/layers/0/requant/scale", nullptr, "/layers/0/requant/scale: is missing"},
    {"/layers/0/requant/scale", "0", "/layers/0/requant/scale: 0"},
    {"/layers/0/requant/scale", "-0.5", "/layers/0/requant/scale: -0.5"},
    {"/layers/0/requant/scale", "\"1\"", "/layers/0/requant/scale: \"1\""},
    {"/layers/0/requant/scale", "[1, 1, 0, 1, 1, 1]", "/layers/0/requant/scale/2: 0"},
    {"/layers/0/requant/scale", "[1, 1]", "/layers/0/requant/scale: a list of 2 entries"},
    {"/layers/0/requant/zero_point", "-129", "/layers/0/requant/zero_point: -129"},
    {"/layers/0/requant/zero_point", "200",
     "/layers/0/requant/zero_point: 200 is not allowed, allowed is -128 to 127"},
    {"/layers/0/requant/dtype", "\"int32\"", "/layers/0/requant/dtype: \"int32\""},
    {"/layers/0/kernl", "[3, 3]", "unknown key \"kernl\", the nearest known name is \"kernel\""},
    {"/outputs", "[\"c\"]", "/outputs/0: \"c\" is not allowed, allowed is the name of a layer"},
    {"/outputs", "[\"x\"]", "/outputs/0: \"x\""},
    {"/outputs", "[\"b\", \"b\"]", "/outputs/1: \"b\" is not allowed, allowed is each name once"},
    {"/outputs", "[]", "/outputs: []"},
    {"/expected", R"({"c": "c.npy"})", "/expected/c: \"c\""},
    {"/expected", R"({"b": 3})", "/expected/b: 3"},
    {"/expected", R"([])", "/expected: []"},
};

TEST_F(MalformedFile, UI_6_workload_fields) {
  EXPECT_EQ(refusal([&] { load_workload(folder_.write("good.json", good_workload().dump())); }), "");
  for (const Spoilt& spoilt : kSpoiltFields) expect_spoilt_refused(good_workload(), spoilt);
}

TEST_F(MalformedFile, UI_6_tensor_files_that_do_not_fit) {
  write_npy(folder_.path("short.npy"), Tensor{{1, 6, 7}, DType::kInt8, std::vector<std::uint8_t>(42)});
  write_npy(folder_.path("uint8.npy"), Tensor{{1, 6, 7, 4}, DType::kUint8, std::vector<std::uint8_t>(168)});
  write_npy(folder_.path("int32.npy"), Tensor{{6, 3, 3, 2}, DType::kInt32, std::vector<std::uint8_t>(432)});
  folder_.write("junk.npy", "junk of some length");
  const Spoilt files[] = {
      {"/inputs/0", "short.npy",
       "\"short.npy\" with shape [1, 6, 7] of int8 is not allowed, allowed is shape [1, 6, 7, 4]"},
      {"/inputs/0", "uint8.npy", "of uint8 is not allowed, allowed is shape [1, 6, 7, 4] of int8"},
      {"/inputs/0", "junk.npy", "junk.npy: is not a .npy file"},
      {"/inputs/0", "missing.npy", "missing.npy: cannot be opened"},
      {"/layers/0/weights", "int32.npy", "/layers/0/weights/file: a file of int32 is not allowed"},
      {"/layers/0/weights", "short.npy", "allowed is shape [6, 3, 3, 2]"},
      {"/layers/0/bias", "short.npy", "allowed is shape [6] of int32"},
  };
  for (const Spoilt& spoilt : files) {
    json file = good_workload();
    json& place = file[json::json_pointer(spoilt.pointer)];
    place.erase("random");
    place["file"] = spoilt.value;
    const std::string path = folder_.write("w.json", file.dump());
    expect_refused(spoilt.value, path, spoilt.wanted, load_file);
    expect_refused(spoilt.value, path, spoilt.pointer + "/file: "s, load_file);
  }
  json hidden = good_workload();
  hidden["inputs"][0].erase("random");
  hidden["inputs"][0]["file"] = "short.npy\0.txt"s;
  expect_refused(
      "zero byte", folder_.write("w.json", hidden.dump()),
      "/inputs/0/file: \"short.npy\\u0000.txt\" is not allowed, allowed is a text without control characters",
      load_file);
  json file = good_workload();
  file["expected"] = {{"b", "short.npy"}};
  expect_refused("expected", folder_.write("w.json", file.dump()), "/expected/b: \"short.npy\"", load_file);
}

std::string npy(const std::string& header, std::size_t data_bytes) {
  return "\x93NUMPY\x01\0"s + static_cast<char>(header.size()) + '\0' + header +
         std::string(data_bytes, '\0');
}

TEST_F(MalformedFile, NU_4_npy_files) {
  const std::string good = "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }";
  const auto with_shape = [](const std::string& shape) {
    return npy("{'descr': '|i1', 'fortran_order': False, 'shape': " + shape + "}", 6);
  };
  const auto with_type = [](const std::string& type) {
    return npy("{'descr': " + type + ", 'fortran_order': False, 'shape': (2, 3)}", 6);
  };
  const std::vector<std::pair<std::string, std::string>> files{
      {"", "ends in the magic number"},
      {"\x93NUMP", "ends in the magic number"},
      {"PK\x03\x04" + std::string(90, 'x'), "is not a .npy file"},
      {"\x93NUMPY\x04\0\x01\0x"s, "has .npy version 4, allowed is 1 to 3"},
      {"\x93NUMPY\x00\0\x01\0x"s, "has .npy version 0"},
      {"\x93NUMPY\x01\0\x01"s, "ends in the header length"},
      {"\x93NUMPY\x01\0\xff\xff{}"s, "ends in the header: 65535 bytes are needed, 2 are left"},
      {"\x93NUMPY\x02\0\xff\xff\xff\xff{}"s, "has a header of 4294967295 bytes"},
      {npy(good, 5), "has 5 bytes of data, its shape [2, 3] of int8 needs 6"},
      {npy(good, 7), "has 7 bytes of data"},
      {npy(good, 0), "has 0 bytes of data"},
      {npy("", 6), "a '{' is missing"},
      {npy("{'descr': '|i1'}", 6), "lacks one of"},
      {npy("{'descr': '|i1', 'descr': '|i1'}", 6), "names 'descr' twice"},
      {npy("{'descr': '|i1', 'order': 'C'}", 6), "has the key 'order'"},
      {npy("{'descr': '|i1' 'shape': (2, 3)}", 6), "a ',' or '}' is missing"},
      {npy("{'descr", 6), "has no end"},
      {npy("{descr: '|i1'}", 6), "a text is missing"},
      {npy(good + " x", 6), "goes on behind"},
      {npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3)}", 6), "Fortran order"},
      {npy("{'descr': '|i1', 'fortran_order': 0, 'shape': (2, 3)}", 6), "neither True nor False"},
      {with_type("'|b1'"), "'|b1' are not allowed, allowed are '|i1', '|u1', '<i2', '<i4', '<i8', '<f4'"},
      {with_type("'<f8'"), "'<f8'"},
      {with_type("'>i4'"), "'>i4'"},
      {with_type("'<u8'"), "'<u8'"},
      {with_type("'<U3'"), "'<U3'"},
      {with_type("'|O'"), "'|O'"},
      {with_type("[('a', '|i1')]"), "elements are records"},
      {with_type("3"), "a text is missing"},
      {with_shape("(2, 0)"), "dimension 0"},
      {with_shape("(2, -3)"), "a number is missing"},
      {with_shape("(2, 99999999999999999999999)"), "dimension 99999999999999999999999"},
      {with_shape("(1048576, 1048576, 1048576, 1048576)"), "more than 2147483648 elements"},
      {with_shape("(1, 1, 1, 1, 1, 1, 1, 2, 3)"), "more than 8 dimensions"},
      {with_shape("6"), "a '(' is missing"},
      {with_shape("(2, 3"), "a ',' or ')' is missing"},
      {with_shape("(2 3)"), "a ',' or ')' is missing"},
      {with_shape("(, )"), "a number is missing"},
      {with_shape("(2.0, 3)"), "a ',' or ')' is missing"},
  };
  for (const auto& [bytes, wanted] : files)
    expect_refused(wanted, folder_.write("t.npy", bytes), wanted, read_npy);
}

// What a whole chip takes is known before any of it is there.
TEST_F(MalformedFile, UI_2_memories_of_all_cores_together) {
  const auto file = [](int clusters, int words) {
    return json{{"chip", {{"clusters", clusters}, {"cores_per_cluster", 4}}},
                {"switch_array", {{"bank_depth_words", words}}}}
        .dump();
  };
  expect_hardware_refused(file(8, 1 << 23), "/chip/clusters: 8 is not allowed");
  expect_hardware_refused(file(8, 1 << 23), "bytes in all, 17179869184 are the limit");
  EXPECT_NO_THROW(load_hardware(folder_.write("hw.json", file(8, 1 << 18))));
}

}  // namespace
}  // namespace tilebeat
