#include "config/hardware_config.h"

#include "../data/temporary_folder.h"
#include "engines/switch_array/config.h"
#include "schema/fields.h"
#include "schema/json_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat {

using switch_array::ArrangementKind;
using switch_array::SwitchArrayConfig;

namespace {

HardwareConfig parsed(const std::string& text) {
  return parse_hardware(parse_json(text, "hw.json"), "hw.json");
}

TEST(HardwareConfig, UI_2_an_empty_object_gives_all_defaults) {
  const HardwareConfig config = parsed("{}");
  EXPECT_EQ(config.engine<SwitchArrayConfig>().rows, 16);
  EXPECT_EQ(config.engine<SwitchArrayConfig>().groups, 2);
  EXPECT_EQ(config.engine<SwitchArrayConfig>().port_channels, 4);
  EXPECT_EQ(config.clock_ps(), 1000);
  EXPECT_EQ(config.engine<SwitchArrayConfig>().arrangement, ArrangementKind::kStrideAware)
      << "SW-5: the default arrangement";
  EXPECT_EQ(config.dram.tRCD_ps, dram_preset(DramPreset::kDdr4_2400).tRCD_ps)
      << "the preset applies without dram";
}

TEST(HardwareConfig, HI_6_fields_override_the_preset_wherever_they_stand) {
  const HardwareConfig config = parsed(R"({"dram": {"banks": 4, "preset": "lpddr4_3200"}})");
  DramConfig expected = dram_preset(DramPreset::kLpddr4_3200);
  EXPECT_EQ(config.dram.preset, DramPreset::kLpddr4_3200);
  EXPECT_EQ(config.dram.banks, 4);
  EXPECT_EQ(config.dram.row_bytes, expected.row_bytes);
  EXPECT_EQ(config.dram.tRFC_ps, expected.tRFC_ps);
}

TEST(HardwareConfig, HI_6_every_preset_passes_the_checks) {
  for (const std::string_view preset : kDramPresetNames) {
    const HardwareConfig config = parsed(R"({"dram": {"preset": ")" + std::string(preset) + R"("}})");
    EXPECT_EQ(kDramPresetNames.at(static_cast<std::size_t>(config.dram.preset)), preset);
  }
}

TEST(HardwareConfig, HI_4_without_a_size_the_sram_has_room_for_its_cluster_in_whole_rows_of_its_banks) {
  const auto sram_of = [](const std::string& nram) {
    return parsed(
               R"({"chip": {"cores_per_cluster": 2, "core": {"nram": {"banks": 3, "bank_bytes": 16, "size_bytes": )" +
               nram + "}}}}")
        .chip->sram_bytes();
  };
  EXPECT_EQ(sram_of("3984"), 7968 + 224) << "32 rows of 256 bytes";
  EXPECT_EQ(sram_of("12288"), 24576);
}

TEST(HardwareConfig, HI_8_the_clock_period_is_a_whole_number_of_picoseconds) {
  EXPECT_EQ(parsed(R"({"clock_mhz": 10000})").clock_ps(), 100);
  EXPECT_EQ(parsed(R"({"clock_mhz": 1})").clock_ps(), 1000000);
  EXPECT_EQ(parsed(R"({"clock_mhz": 666.0})").clock_ps(), 1502) << "1501.5 rounds up";
}

TEST(HardwareConfig, UI_2_comments_and_schema_are_allowed) {
  const HardwareConfig config =
      parsed("// a comment\n{\"$schema\": \"hw.schema.json\", // another\n \"name\": \"a\"}");
  EXPECT_EQ(config.name, "a");
}

TEST(HardwareConfig, UI_2_the_effective_configuration_loads_and_is_the_same) {
  const HardwareConfig config = parsed(
      R"({"name": "odd", "clock_mhz": 800.5, "switch_array": {"rows": 32, "groups": 4, "arrangement": "table1"},
          "dram": {"preset": "ddr4_3200", "tCL_ps": 14000}, "planner": {"loop_order": "kernel_outer"}})");
  const OrderedJson effective = hardware_to_json(config);
  EXPECT_EQ(effective["switch_array"]["arrangement"], "table1");
  EXPECT_EQ(effective["dram"]["tCL_ps"], 14000);
  EXPECT_EQ(hardware_to_json(parsed(effective.dump(2))), effective);
}

TEST(HardwareConfig, UI_2_the_schema_documents_every_field_with_a_default) {
  const std::string table = schema_markdown(hardware_schema());
  for (const char* row : {"| `/switch_array/rows` | integer 1 to 256 | `16` |", "| `/dram/tRFC_ps` |",
                          "| `/name` |", "| `/dram/preset` | `\"ddr4_2400\"`, `\"ddr4_3200\"`"}) {
    EXPECT_NE(table.find(row), std::string::npos) << row << " is not in\n" << table;
  }
}

TEST(HardwareConfig, UI_2_all_documented_configurations_load) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TILEBEAT_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".json") continue;
    const HardwareConfig config = load_hardware(entry.path().string());
    EXPECT_EQ(config.name, entry.path().stem().string()) << "a configuration is called like its file";
    ++files;
  }
  EXPECT_GE(files, 9);
}

// Each engine has one, and they differ in nothing else.
TEST(HardwareConfig, UI_15_configurations_of_equal_peak_differ_in_the_engine_alone) {
  std::set<std::string> dataflows;
  std::optional<OrderedJson> rest;
  for (const auto& entry : std::filesystem::directory_iterator(TILEBEAT_SOURCE_DIR "/configs/equal_peak")) {
    const HardwareConfig config = load_hardware(entry.path().string());
    EXPECT_EQ(config.macs_per_clock(), 1024) << entry.path();
    EXPECT_TRUE(dataflows.insert(config.dataflow).second) << entry.path();
    OrderedJson json = hardware_to_json(config);
    for (const char* part : {"name", "dataflow"}) json.erase(part);
    for (const EngineDescription& engine : engine_descriptions()) json.erase(engine.key);
    if (!rest) rest = json;
    EXPECT_EQ(json, *rest) << entry.path();
  }
  EXPECT_EQ(dataflows.size(), engine_descriptions().size());
}

// Every field of `part` stands in the text of a configuration, with the default value where `values` says so.
void expect_documented(const std::string& file, const OrderedJson& part, bool values) {
  std::string text = read_file(TILEBEAT_SOURCE_DIR "/configs/" + file, kMaxJsonBytes);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  for (const auto& [key, value] : part.items()) {
    if (value.is_object()) {
      expect_documented(file, value, values);
      continue;
    }
    const std::string field = "\"" + key + "\":" + (values ? value.dump() : "");
    EXPECT_NE(text.find(field), std::string::npos) << key << " is not documented in " << file;
  }
}

TEST(HardwareConfig, UI_2_wfold16x4_spells_out_the_defaults_of_its_engine) {
  expect_documented("wfold16x4.json", hardware_to_json(parsed("{}"))["wfold"], true);
}

TEST(HardwareConfig, UI_2_rolling16_spells_out_the_defaults_of_its_engine) {
  expect_documented("rolling16.json", hardware_to_json(parsed("{}"))["rolling"], true);
}

TEST(HardwareConfig, UI_2_offset16_spells_out_the_defaults_of_its_engine) {
  expect_documented("offset16.json", hardware_to_json(parsed("{}"))["offset"], true);
}

TEST(HardwareConfig, HI_6_the_documentation_has_the_values_of_every_preset) {
  const std::string text = read_file(TILEBEAT_SOURCE_DIR "/docs/soc.md", kMaxJsonBytes);
  std::map<std::string, std::string> rows;
  for (const std::string_view name : kDramPresetNames) {
    const std::string preset(name);
    EXPECT_NE(text.find("`" + preset + "`"), std::string::npos);
    const OrderedJson config =
        hardware_to_json(parsed(std::string(R"({"dram": {"preset": ")") + preset + R"("}})"));
    for (const auto& [key, value] : config["dram"].items()) rows[key] += " | " + value.dump();
  }
  // Policies are no part of a preset.
  for (const char* policy : {"preset", "mapping", "refresh", "queue_depth", "starvation_cap"})
    rows.erase(policy);
  for (const auto& [key, values] : rows) {
    const std::string row = "| `" + key + "`" + values + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(HardwareConfig, UI_2_switch16_spells_out_the_defaults) {
  const HardwareConfig config = load_hardware(TILEBEAT_SOURCE_DIR "/configs/switch16.json");
  const OrderedJson defaults = hardware_to_json(parsed("{}"));
  EXPECT_EQ(hardware_to_json(config), defaults);
  const std::string text = read_file(TILEBEAT_SOURCE_DIR "/configs/switch16.json", kMaxJsonBytes);
  OrderedJson fields = defaults;
  // Engines have files of their own. The preset names all fields of DRAM and its energy, comments their
  // values.
  for (const char* part : {"wfold", "rolling", "offset", "dram"}) fields.erase(part);
  fields["technology"].erase("dram_pj_per_byte");
  EXPECT_NE(text.find("\"dram_pj_per_byte = 160: "), std::string::npos);
  expect_documented("switch16.json", fields, false);
  for (const auto& [key, value] : defaults["dram"].items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string line =
        key == "preset" ? "\"preset\": " + value.dump() : "\"" + key + " = " + shown + ": ";
    EXPECT_NE(text.find(line), std::string::npos) << key << " has not the value it has";
  }
}

}  // namespace
}  // namespace tilebeat
