// Energy and area are counts times a technology's table (SPEC UI-10).
#include "config/hardware_config.h"
#include "report/run_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

HardwareConfig hardware_of(const nlohmann::json& json) {
  return parse_hardware(json, "test");
}

// Han et al., Learning both Weights and Connections for Efficient Neural Networks (NIPS 2015), introduction:
// "running a 1 billion connection neural network, for example, at 20Hz would require (20Hz)(1G)(640pJ)
// = 12.8W just for DRAM access".
TEST(Energy, UI_10_a_billion_connections_at_20_Hz_take_12_8_W_just_for_DRAM) {
  const HardwareConfig hardware = hardware_of({{"technology", {{"leakage_mw_per_mm2", 0}}}});
  RunResult run;
  run.bytes.dram_read = 4'000'000'000;  // a weight of 32 bits a connection
  run.cycles = 50'000'000;              // 1/20 s of 1 GHz
  add_energy(hardware, run);
  EXPECT_DOUBLE_EQ(run.energy.parts.dram, 1e9 * 640);
  EXPECT_DOUBLE_EQ(run.energy.watts(), 12.8);
  EXPECT_DOUBLE_EQ(run.energy.edp(), 0.64 * 0.05);
}

// Horowitz, Computing's Energy Problem (ISSCC 2014): 64 bits from 8 KiB, 32 KiB and 1 MiB take 10, 20 and 100
// pJ.
TEST(Energy, UI_10_memories_cost_what_the_table_says) {
  const HardwareConfig hardware = hardware_of(nlohmann::json::object());
  EXPECT_NEAR(8 * memory_pj_per_byte(hardware, 8192), 10, 1e-9);
  EXPECT_NEAR(8 * memory_pj_per_byte(hardware, 32768), 20, 1e-9);
  EXPECT_NEAR(8 * memory_pj_per_byte(hardware, 1048576), 100, 1e-9);
  EXPECT_NEAR(8 * memory_pj_per_byte(hardware, 16384), 10 * std::sqrt(2), 1e-9) << "half way of a doubling";
  EXPECT_NEAR(8 * memory_pj_per_byte(hardware, 2048), 5, 1e-9)
      << "beyond the end, on the line through the first two";
  const HardwareConfig flat =
      hardware_of({{"technology", {{"memories", {{{"bytes", 1024}, {"pj_per_byte", 3}}}}}}});
  EXPECT_EQ(memory_pj_per_byte(flat, 1 << 20), 3);
}

TEST(Energy, UI_10_every_count_has_its_factor) {
  const HardwareConfig hardware = hardware_of(
      {{"clock_mhz", 500},
       {"technology",
        {{"mac_pj", 2},
         {"result_pj", 3},
         {"memories", {{{"bytes", 64}, {"pj_per_byte", 5}}}},
         {"dram_pj_per_byte", 7},
         {"dram_pj_per_activation", 11},
         {"bus_pj_per_byte", 13},
         {"leakage_mw_per_mm2", 17},
         {"mac_um2", 1000},
         {"result_um2", 100},
         {"lane_um2", 10},
         {"bus_um2_per_bit", 20},
         {"memory_um2_per_byte", 0}}},
       {"chip", {{"clusters", 2}, {"cores_per_cluster", 3}, {"core", {{"vector", {{"lanes", 8}}}}}}}});
  RunResult run;
  run.counters = {{"noc.cluster0.gdma", "read_bursts", "bursts", 0},
                  {"link.cluster1", "read_bursts", "bursts", 0},
                  {"cluster1.bus.gdma", "read_bursts", "bursts", 7},
                  {"cluster1.bus.cdma", "read_bursts", "bursts", 7},
                  {"cluster1.core2.bus.iodma", "read_bursts", "bursts", 0}};
  const Area area = area_of(hardware, run);
  const ChipConfig& chip = *hardware.chip;
  const int bytes = hardware.interconnect.bytes_per_clock + chip.cluster_link.bytes_per_clock +
                    2 * 2 * chip.cluster_bus.bytes_per_clock + 6 * chip.core.bus.bytes_per_clock;
  EXPECT_DOUBLE_EQ(area.buses, 2 * 8 * bytes * 20e-6)
      << "cluster 0 was not built and is like cluster 1, cores likewise";
  EXPECT_DOUBLE_EQ(area.macs, 6 * 16 * 16 * 4 * 1e-3);
  EXPECT_DOUBLE_EQ(area.results, 6 * 2 * 16 * 100e-6) << "a column of each of two groups";
  EXPECT_DOUBLE_EQ(area.lanes, 6 * 8 * 10e-6);
  run.layers.emplace_back();
  LayerResult& layer = run.layers.back();
  layer.macs = 10, layer.results = 20, layer.activations = 30, layer.cycles = 40;
  layer.bytes.input_buffer_read = 1, layer.bytes.parameter_buffer_write = 2,
  layer.bytes.output_buffer_read = 4;
  layer.bytes.nram_read = 8, layer.bytes.wram_write = 16, layer.bytes.sram_read = 32;
  layer.bytes.bus_read = 64, layer.bytes.bus_write = 128, layer.bytes.dram_write = 256;
  add_energy(hardware, run);
  const EnergyParts& parts = layer.energy;
  EXPECT_DOUBLE_EQ(parts.macs, 20);
  EXPECT_DOUBLE_EQ(parts.results, 60);
  EXPECT_DOUBLE_EQ(parts.buffers, 35);
  EXPECT_DOUBLE_EQ(parts.nram, 40);
  EXPECT_DOUBLE_EQ(parts.wram, 80);
  EXPECT_DOUBLE_EQ(parts.sram, 160);
  EXPECT_DOUBLE_EQ(parts.bus, 192 * 13);
  EXPECT_DOUBLE_EQ(parts.dram, 256 * 7 + 30 * 11);
  EXPECT_DOUBLE_EQ(parts.leakage, 40 * 2 * 17 * area.total()) << "mW are pJ a ns, a clock has 2 ns";
  EXPECT_DOUBLE_EQ(parts.total(), 20 + 60 + 35 + 40 + 80 + 160 + 192 * 13 + 256 * 7 + 330 + parts.leakage);
}

TEST(Energy, UI_10_modules_take_what_their_counters_count) {
  const HardwareConfig hardware = hardware_of({{"chip", {{"clusters", 1}}}});
  RunResult run;
  run.counters = {{"cluster0.core0.nram", "read", "bytes", 100},
                  {"cluster0.core0.nram", "written", "bytes", 28},
                  {"cluster0.core0.nram", "bank_accesses", "words", 9},
                  {"noc.host", "written", "bytes", 72},
                  {"dram0.ch0", "read", "bytes", 10},
                  {"dram0.ch0", "data_bus", "bytes", 64},
                  {"cluster0.core0.bus.load", "read", "bytes", 5},
                  {"cluster0.core0.iodma", "written", "bytes", 5},
                  {"cluster0.core0.offset.cache", "nram_read", "bytes", 6},
                  {"cluster0.core0.offset.lanes", "nram_written", "bytes", 2},
                  {"cluster0.core0.offset.lanes", "wram_read", "bytes", 10}};
  run.core_results.emplace_back();
  run.core_results.back().name = "cluster0.core0", run.core_results.back().macs = 50;
  add_energy(hardware, run);
  ASSERT_EQ(run.energy.modules.size(), 7U);
  const auto check = [&](std::size_t i, const char* name, double pj) {
    EXPECT_EQ(run.energy.modules[i].name, name);
    EXPECT_DOUBLE_EQ(run.energy.modules[i].pj, pj);
  };
  check(0, "cluster0.core0.macs", 15);
  check(1, "cluster0.core0.nram", 128 * 2.5);  // banks of 32 KiB
  check(2, "noc.host", 72);
  check(3, "dram0.ch0", 1600);
  check(4, "cluster0.core0.bus.load", 5);
  check(5, "cluster0.core0.offset.cache", 6 * 2.5);
  check(6, "cluster0.core0.offset.lanes", 2 * 2.5 + 10 * memory_pj_per_byte(hardware, 65536));
}

TEST(Energy, UI_2_UI_10_a_table_that_does_not_rise_is_refused) {
  try {
    hardware_of(
        {{"technology",
          {{"memories", {{{"bytes", 64}, {"pj_per_byte", 1}}, {{"bytes", 64}, {"pj_per_byte", 2}}}}}}});
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("/technology/memories/1/bytes: 64"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tilebeat
