// From the bytes of a case to hardware and a network of up to three layers, both mostly possible, and to
// planned programs: whatever is accepted is planned or refused, and every planned instruction can be encoded
// and means the same when it is read back.
#include "config/hardware_config.h"
#include "fuzz_target.h"
#include "isa/instruction.h"
#include "planner/program/planner.h"
#include "workload/workload.h"

#include <array>

#include <fuzzer/FuzzedDataProvider.h>
#include <nlohmann/json.hpp>

namespace tilebeat::fuzz {
namespace {

using json = nlohmann::json;

class Case {
 public:
  Case(const std::uint8_t* data, std::size_t size) : data_(data, size) {}

  json hardware() {
    constexpr std::array<const char*, 4> kDataflows{"dilated", "wfold", "rolling", "offset"};
    json file{{"name", "h"}, {"dataflow", kDataflows[static_cast<std::size_t>(number(0, 3))]}};
    if (one_in(4))
      file["switch_array"] = {{"rows", 1 << number(0, 4)}, {"columns", number(1, 20)}, {"groups", 1}};
    if (one_in(8)) file["planner"] = {{"map_layout", one_in(2) ? "nchw" : "nchwc"}};
    if (one_in(3)) return file;  // a board without cores
    const int bytes = 16 << number(0, 2);
    file["chip"] = {{"clusters", number(1, 2)}, {"cores_per_cluster", number(1, 2)}};
    if (one_in(2)) {
      file["chip"]["core"] = {
          {"nram", memory(bytes)}, {"wram", memory(bytes)}, {"bus", {{"bytes_per_clock", bytes}}}};
      if (one_in(3)) file["chip"]["core"]["vector"] = {{"lanes", number(1, 100)}};
      file["chip"]["sram"] = memory(64);
    }
    if (one_in(3)) file["fused"] = true;
    return file;
  }

  json workload() {
    json file{{"name", "w"}, {"layers", json::array()}};
    file["inputs"] = {{{"name", "t0"},
                       {"shape", {number(1, 2), extent(), extent(), number(1, 40)}},
                       {"dtype", "int8"},
                       {"random", {{"seed", 1}}}}};
    const int layers = number(1, 3);
    for (int i = 1; i <= layers; ++i) file["layers"].push_back(layer(i));
    file["outputs"] = {"t" + std::to_string(layers)};
    return file;
  }

 private:
  int number(int low, int high) { return data_.ConsumeIntegralInRange<int>(low, high); }
  bool one_in(int n) { return number(1, n) == 1; }
  // Small, or anything.
  int extent() { return one_in(12) ? number(0, 300) : number(1, 10); }
  json memory(int bytes) {
    return {{"size_bytes", bytes * 16 * number(1, 200)}, {"banks", 16}, {"bank_bytes", std::min(16, bytes)}};
  }
  std::string earlier(int layer) {
    return "t" + std::to_string(one_in(3) ? number(0, layer - 1) : layer - 1);
  }
  json pair(int most) { return {number(one_in(20) ? 0 : 1, most), number(1, most)}; }

  json layer(int i) {
    json made{{"name", "t" + std::to_string(i)}, {"inputs", {earlier(i)}}};
    const json requant{
        {"scale", number(1, 100) * 1e-3}, {"zero_point", number(-128, 127)}, {"dtype", "int8"}};
    switch (number(0, 9)) {
      default:
        made.update({{"op", "conv2d"},
                     {"out_channels", number(1, 40)},
                     {"weights", {{"random", {{"seed", i}}}}},
                     {"requant", requant}});
        made.update({{"kernel", pair(5)},
                     {"stride", pair(4)},
                     {"dilation", pair(4)},
                     {"groups", one_in(4) ? number(1, 16) : 1}});
        made["pads"] = {number(0, 4), number(0, 4), number(0, 4), number(0, 4)};
        if (one_in(2))
          made["activation"] = one_in(2) ? json("relu") : json{{"leaky_relu", {{"slope", 0.125}}}};
        break;
      case 0:
        made.update(
            {{"op", one_in(2) ? "max_pool" : "average_pool"}, {"kernel", pair(4)}, {"stride", pair(3)}});
        break;
      case 1:
        made.update({{"op", one_in(2) ? "add" : "mul"}, {"requant", requant}, {"input_scales", {0.5, 0.25}}});
        made["inputs"].push_back(earlier(i));
        break;
      case 2:
        made["op"] = "concat";
        made["inputs"].push_back(earlier(i));
        break;
      case 3:
        made["op"] = one_in(2) ? "global_average_pool" : "global_max_pool";
        break;
      case 4:
        made.update({{"op", "fully_connected"},
                     {"out_features", number(1, 64)},
                     {"weights", {{"random", {{"seed", i}}}}},
                     {"requant", requant}});
    }
    return made;
  }

  FuzzedDataProvider data_;
};

void check_programs(const Plan& plan) {
  for (const ProgramImage& program : plan.programs) {
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes bytes = encode(instruction);
      require(encode(decode(bytes)) == bytes);
    }
  }
}

}  // namespace
}  // namespace tilebeat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  fuzz::Case made(data, size);
  return fuzz::tried([&] {
    const std::string text = made.workload().dump();
    const HardwareConfig hardware = parse_hardware(made.hardware(), "hardware");
    const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    fuzz::check_programs(make_plan(load_workload(file.path()), hardware));
  });
}
