// A program with an engine more: the list of engines below is linked instead of the product's.
#include "config/engine_config_of.h"
#include "config/hardware_config.h"
#include "engines/list.h"
#include "engines/switch_array/config.h"
#include "tilebeat/error.h"

#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace tilebeat {

using switch_array::SwitchArrayConfig;

struct ToyConfig {
  int cells = 3;
};

template <class V>
void describe(V& v, ToyConfig& c) {
  v.integer("cells", c.cells, {1, 99}, "cells, an odd number");
}

void check_engine(const ToyConfig& c, const HardwareConfig& hardware, const Place& root) {
  need(c.cells % 2 == 1, root.key("toy").key("cells"), c.cells, "an odd number");
  need(hardware.dataflow != "playing" || hardware.chip.has_value(), root.key("dataflow"), hardware.dataflow,
       "a file with `chip`");
}

std::int64_t results_per_clock(const ToyConfig&) {
  return 1;
}
std::int64_t peak_macs_per_clock(const ToyConfig& c) {
  return 10 * c.cells;
}

FaultSpace fault_space(const ToyConfig& c, const HardwareConfig&) {
  return {c.cells, 7};
}

#define TILEBEAT_DECLARE(NAME)     \
  namespace NAME {                 \
  EngineDescription description(); \
  }
TILEBEAT_ENGINES(TILEBEAT_DECLARE)

const std::vector<EngineDescription>& engine_descriptions() {
#define TILEBEAT_ENTRY(NAME) NAME::description(),
  static const std::vector<EngineDescription> engines{
      TILEBEAT_ENGINES(TILEBEAT_ENTRY){"playing", "toy", "a toy", make_engine_config<ToyConfig>}};
  return engines;
}

namespace testing {
namespace {

using ::testing::HasSubstr;

HardwareConfig parsed(const char* text) {
  return parse_hardware(nlohmann::json::parse(text), "hw.json");
}

std::string refusal_of(const char* text) {
  try {
    parsed(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(EngineConfig, UI_2_a_further_engine_is_read_and_written) {
  const HardwareConfig hardware = parsed(R"({"dataflow": "playing", "toy": {"cells": 5}, "chip": {}})");
  EXPECT_EQ(hardware.engine<ToyConfig>().cells, 5);
  EXPECT_EQ(hardware.macs_per_clock(), 50);
  EXPECT_EQ(hardware.matrix_engine().fault_space(hardware).bytes, 7);
  const nlohmann::ordered_json json = hardware_to_json(hardware);
  EXPECT_EQ(json["dataflow"], "playing");
  EXPECT_EQ(json["toy"]["cells"], 5);
  EXPECT_EQ(hardware_schema()["properties"]["toy"]["properties"]["cells"]["default"], 3);
}

TEST(EngineConfig, UI_2_its_rules_are_checked) {
  EXPECT_THAT(refusal_of(R"({"toy": {"cells": 4}})"), HasSubstr("/toy/cells: 4 is not allowed"))
      << "also where another engine is used";
  EXPECT_THAT(refusal_of(R"({"toy": {"cell": 4}})"), HasSubstr("nearest known name is \"cells\""));
  EXPECT_THAT(refusal_of(R"({"dataflow": "playing"})"), HasSubstr("/dataflow: \"playing\" is not allowed"));
  EXPECT_THAT(refusal_of(R"({"dataflow": "toy"})"),
              HasSubstr(R"(allowed is one of "dilated", "wfold", "rolling", "offset", "playing")"));
}

TEST(EngineConfig, a_copy_of_the_hardware_has_engines_of_its_own) {
  HardwareConfig hardware;
  HardwareConfig copy = hardware;
  copy.engine<ToyConfig>().cells = 7;
  EXPECT_EQ(hardware.engine<ToyConfig>().cells, 3);
  hardware = copy;
  copy.engine<SwitchArrayConfig>().rows = 8;
  EXPECT_EQ(hardware.engine<ToyConfig>().cells, 7);
  EXPECT_EQ(hardware.engine<SwitchArrayConfig>().rows, 16);
}

TEST(EngineConfig, the_first_engine_of_the_list_is_the_default) {
  EXPECT_EQ(HardwareConfig().dataflow, "dilated");
}

}  // namespace
}  // namespace testing
}  // namespace tilebeat
