// What the report of a chip says adds up, for every core over the whole run (SPEC HI_2 to HI_5, CY_1, UI_4).
#include "tilebeat_command.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct ChipCase {
  const char* name;
  int clusters, cores;
  const char* path;  // of data between DRAM and cores
  std::string config() const {
    return fmt::format(R"({{"chip": {{"clusters": {}, "cores_per_cluster": {}, "dram_path": "{}"}}}})",
                       clusters, cores, path);
  }
};
void PrintTo(const ChipCase& parameter, std::ostream* out) {
  *out << parameter.name;
}

class ChipReport : public ::testing::TestWithParam<ChipCase> {
 protected:
  void SetUp() override {
    const std::string config = folder_.write("chip.json", GetParam().config());
    std::vector<std::string> arguments{
        "run", "--config", config, "--layer", source_path("models/alexnet_small.json"), "--check", "on"};
    // Where both ways are open, kernels that several cores need are broadcast by request: for so small a
    // layer the planner finds the direct way as fast.
    if (GetParam().path == std::string("auto")) {
      arguments.insert(arguments.end(),
                       {"--mapping", folder_.write("mapping.json", R"({"tilebeat_mapping": 1, "layers": [
                           {"layer": "conv1", "row_parts": 4, "kernels": "broadcast"}]})")});
    }
    const CommandResult result = folder_.run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    report_ = folder_.report();
  }
  /// The sum of a counter over all modules whose name matches.
  std::int64_t sum(const std::string& modules, const std::string& counter) const {
    const std::regex pattern(modules);
    std::int64_t all = 0, found = 0;
    for (const auto& c : report_.at("counters")) {
      if (c.at("name") != counter || !std::regex_match(c.at("module").get<std::string>(), pattern)) continue;
      all += c.at("value").get<std::int64_t>(), ++found;
    }
    EXPECT_GT(found, 0) << modules << " " << counter;
    return all;
  }
  std::int64_t counter(const std::string& module, const std::string& name) const {
    for (const auto& c : report_.at("counters")) {
      if (c.at("module") == module && c.at("name") == name) return c.at("value").get<std::int64_t>();
    }
    throw std::runtime_error("no counter " + module + " " + name);
  }
  const nlohmann::json& module(const std::string& name) const {
    for (const auto& m : report_.at("modules")) {
      if (m.at("name") == name) return m;
    }
    throw std::runtime_error("no module " + name);
  }
  template <class Act>
  void for_each_core(Act act) const {
    for (int cluster = 0; cluster < GetParam().clusters; ++cluster) {
      for (int core = 0; core < GetParam().cores; ++core) act(fmt::format("cluster{}.core{}", cluster, core));
    }
  }

  CommandFolder folder_;
  nlohmann::json report_;
};

TEST_P(ChipReport, CY_1_clocks_of_every_module) {
  const auto total = report_.at("total").at("cycles").get<std::int64_t>();
  for (const auto& m : report_.at("modules")) {
    std::int64_t clocks = m.at("busy").get<std::int64_t>();
    for (const auto& [cause, count] : m.at("stall_cycles").items()) clocks += count.get<std::int64_t>();
    EXPECT_EQ(clocks, m.at("cycles").get<std::int64_t>()) << m.at("name");
    if (m.at("clock") == "npu") {
      EXPECT_EQ(m.at("cycles").get<std::int64_t>(), total) << m.at("name");
    }
  }
}

TEST_P(ChipReport, UI_4_layers_add_up_to_the_run) {
  const int arrays = GetParam().clusters * GetParam().cores;
  std::int64_t cycles = 0, beats = 0, macs = 0, read = 0, written = 0;
  std::int64_t clocks = 0, passed = 0;  // of arrays and of the run, of layers that overlap together
  const nlohmann::json& layers = report_.at("layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const nlohmann::json& layer = layers[i];
    clocks += layer.at("beats").get<std::int64_t>(), passed += layer.at("cycles").get<std::int64_t>();
    for (const auto& [cause, count] : layer.at("stall_cycles").items()) clocks += count.get<std::int64_t>();
    if (i + 1 == layers.size() || !overlaps(layers[i + 1])) {
      EXPECT_EQ(clocks, arrays * passed) << layer.at("name");
      clocks = 0, passed = 0;
    }
    cycles += layer.at("cycles").get<std::int64_t>(), beats += layer.at("beats").get<std::int64_t>();
    macs += layer.at("macs").get<std::int64_t>();
    read += layer.at("bytes").at("dram").at("read").get<std::int64_t>();
    written += layer.at("bytes").at("dram").at("write").get<std::int64_t>();
    EXPECT_FALSE(layer.at("busiest").at("module").get<std::string>().empty());
  }
  const nlohmann::json& total = report_.at("total");
  EXPECT_EQ(cycles, total.at("cycles"));
  EXPECT_EQ(macs, total.at("macs"));
  EXPECT_EQ(read, total.at("dram_read_bytes"));
  EXPECT_EQ(written, total.at("dram_write_bytes"));
  EXPECT_EQ(beats, sum(R"(cluster\d+\.core\d+\.engine\.switch)", "beats"));
  for_each_core([&](const std::string& core) {
    EXPECT_EQ(module(core + ".engine.array").at("busy"), sum(core + R"(\.engine\.switch)", "beats")) << core;
  });
}

TEST_P(ChipReport, UI_4_utilization_of_every_core) {
  const nlohmann::json& total = report_.at("total");
  const auto cycles = total.at("cycles").get<double>();
  const int cores = GetParam().clusters * GetParam().cores;
  ASSERT_EQ(report_.at("cores").size(), static_cast<std::size_t>(cores));
  std::int64_t macs = 0;
  double utilization = 0;
  for (const auto& core : report_.at("cores")) {
    const auto name = core.at("name").get<std::string>();
    const nlohmann::json& decode = module(name + ".control.decode").at("stall_cycles");
    EXPECT_EQ(core.at("busy"), module(name + ".engine.array").at("busy")) << name;
    EXPECT_EQ(core.at("barrier"), decode.value("barrier", 0)) << name;
    EXPECT_EQ(core.at("peer"), decode.value("peer", 0)) << name;
    EXPECT_EQ(core.at("macs"), sum(name + R"(\.engine\.pe)", "useful_macs")) << name;
    EXPECT_DOUBLE_EQ(core.at("utilization"), core.at("macs").get<double>() / (cycles * 16 * 16 * 4)) << name;
    macs += core.at("macs").get<std::int64_t>(), utilization += core.at("utilization").get<double>();
  }
  EXPECT_EQ(macs, total.at("macs"));
  EXPECT_NEAR(utilization / cores, total.at("utilization").get<double>(), 1e-12);
}

TEST_P(ChipReport, UI_4_channels_of_a_core_stream_what_their_ports_carry) {
  for_each_core([&](const std::string& core) {
    for (const auto& [channel, counted, carried] :
         {std::tuple("load", "streamed", "read"), std::tuple("parameter", "streamed", "read"),
          std::tuple("store", "stored", "written")}) {
      const std::string name = core + "\\." + channel;
      EXPECT_EQ(sum(name, counted), sum(core + "\\.bus\\." + channel, carried)) << name;
    }
  });
}

TEST_P(ChipReport, HI_6_clocks_of_every_port_hold_its_bytes) {
  for (const auto& m : report_.at("modules")) {
    const auto name = m.at("name").get<std::string>();
    std::smatch match;
    // The data buses of a port carry as many bytes a cycle as the configuration says.
    static const std::regex pattern(R"((.*\.bus|noc|link)\.(.*)\.(read|write))");
    if (!std::regex_match(name, match, pattern)) continue;
    const nlohmann::json& hardware = report_.at("configuration");
    const nlohmann::json& chip = hardware.at("chip");
    const bool of_core = name.find(".core") != std::string::npos && name.rfind("cluster", 0) == 0 &&
                         name.find(".memory.") == std::string::npos;
    const nlohmann::json& bus = name.rfind("noc", 0) == 0    ? hardware.at("interconnect")
                                : name.rfind("link", 0) == 0 ? chip.at("cluster_link")
                                : of_core                    ? chip.at("core").at("bus")
                                                             : chip.at("cluster_bus");
    const auto width = bus.at("bytes_per_clock").get<std::int64_t>();
    const std::string port = name.substr(0, name.rfind('.'));
    const bool read = match[3] == "read";
    const std::int64_t bytes = counter(port, read ? "read" : "written"),
                       bursts = counter(port, read ? "read_bursts" : "write_bursts");
    const auto busy = m.at("busy").get<std::int64_t>();
    EXPECT_GE(busy * width, bytes) << name;
    EXPECT_LE(busy * width, bytes + bursts * (width - 1)) << name << ": the last beat of a burst is not full";
  }
}

TEST_P(ChipReport, HI_6_bytes_of_dram_and_of_the_ports) {
  const nlohmann::json& total = report_.at("total");
  EXPECT_EQ(sum(R"(dram\d+\.ch\d+)", "read"), total.at("dram_read_bytes"));
  EXPECT_EQ(sum(R"(dram\d+\.ch\d+)", "written"), total.at("dram_write_bytes"));
  EXPECT_EQ(sum(R"(noc\..*)", "read"), total.at("dram_read_bytes"));
  EXPECT_EQ(sum(R"(noc\.cluster.*)", "written"), total.at("dram_write_bytes"))
      << "the host writes registers only";
  // What leaves DRAM: instructions, and what the DMA engines bring to the memories of cores and clusters.
  const std::int64_t fetched = sum(R"(cluster\d+\.\w+\.control)", "fetched");
  EXPECT_EQ(fetched, sum(R"(noc\..*\.fetch)", "read"));
  const std::int64_t stored = sum(R"(noc\..*\.(iodma|gdma))", "written");
  EXPECT_EQ(stored, total.at("dram_write_bytes"));
  const std::int64_t moved =
      sum(R"(cluster\d+\.core\d+\.iodma)", "written") + sum(R"(cluster\d+\.memory\.gdma)", "written");
  const std::int64_t filled =
      sum(R"(cluster\d+\.core\d+\.iodma)", "filled") + sum(R"(cluster\d+\.memory\.gdma)", "filled");
  EXPECT_EQ(moved - stored - filled, total.at("dram_read_bytes").get<std::int64_t>() - fetched);
}

TEST_P(ChipReport, HI_2_bytes_of_the_memories_of_a_core) {
  for_each_core([&](const std::string& core) {
    const auto port = [&](const char* name, const char* counter) {
      return sum(core + R"(\.bus\.)" + name, counter);
    };
    std::int64_t read = 0, written = 0;
    for (const char* name : {"load", "parameter", "store", "vector_a", "vector_b", "vector_result", "iodma",
                             "mvdma", "broadcast"})
      read += port(name, "read"), written += port(name, "written");
    EXPECT_EQ(read, sum(core + R"(\.(nram|wram))", "read")) << core;
    EXPECT_EQ(written, sum(core + R"(\.(nram|wram))", "written")) << core;
    EXPECT_EQ(sum(core + R"(\.iodma)", "written"),
              port("iodma", "written") + sum(R"(noc\.)" + core + R"(\.iodma)", "written"))
        << core;
    EXPECT_EQ(port("iodma", "written"),
              sum(R"(noc\.)" + core + R"(\.iodma)", "read") + sum(core + R"(\.iodma)", "filled"))
        << core;
  });
  const nlohmann::json& bytes = report_.at("total").at("bytes");
  for (const char* memory : {"nram", "wram"}) {
    const std::string all = std::string(R"(cluster\d+\.core\d+\.)") + memory;
    EXPECT_EQ(sum(all, "read"), bytes.at(memory).at("read"));
    EXPECT_EQ(sum(all, "written"), bytes.at(memory).at("write"));
  }
}

TEST_P(ChipReport, HI_3_one_read_of_the_sram_is_delivered_to_several_cores) {
  for (int k = 0; k < GetParam().clusters; ++k) {
    const std::string memory = fmt::format(R"(cluster{}\.memory\.)", k);
    const std::int64_t taken = sum(memory + "broadcast", "taken"),
                       delivered = sum(memory + "broadcast", "delivered");
    EXPECT_GE(delivered, taken);
    EXPECT_LE(delivered, GetParam().cores * taken);
    EXPECT_EQ(delivered, sum(fmt::format(R"(cluster{}\.core\d+\.bus\.broadcast)", k), "written"));
    EXPECT_EQ(taken, sum(memory + "mvdma", "written"));
    EXPECT_EQ(taken, sum(memory + R"(bus\.broadcast)", "read"));
  }
  const std::int64_t saved =
      sum(R"(cluster\d+\.memory\.broadcast)", "delivered") - sum(R"(cluster\d+\.memory\.broadcast)", "taken");
  EXPECT_EQ(saved > 0, GetParam().path != std::string("direct"));
}

TEST_P(ChipReport, HI_4_bytes_of_the_srams_by_port) {
  for (int k = 0; k < GetParam().clusters; ++k) {
    const std::string memory = fmt::format(R"(cluster{}\.memory\.)", k);
    const auto ports = [&](const char* names, const char* counter) {
      return sum(memory + R"(bus\.)" + names, counter);
    };
    EXPECT_EQ(sum(memory + "sram", "read"), ports(R"((core\d+|gdma|broadcast))", "read"));
    EXPECT_EQ(sum(memory + "sram", "written"), ports(R"((core\d+|gdma))", "written"));
    // GDMA: what comes from DRAM goes to the SRAM, and back.
    const std::string gdma = fmt::format(R"(noc\.cluster{}\.memory\.gdma)", k);
    EXPECT_EQ(sum(gdma, "read"), ports("gdma", "written"));
    EXPECT_EQ(sum(gdma, "written"), ports("gdma", "read"));
    for (int i = 0; i < GetParam().cores; ++i) {
      const std::string mvdma = fmt::format(R"(cluster{}\.core{}\.bus\.mvdma)", k, i);
      EXPECT_EQ(sum(mvdma, "written"), ports(fmt::format("core{}", i).c_str(), "read")) << mvdma;
      EXPECT_EQ(sum(mvdma, "read"), ports(fmt::format("core{}", i).c_str(), "written")) << mvdma;
    }
  }
}

TEST_P(ChipReport, HI_4_the_way_that_is_forced_is_taken) {
  const std::string path = GetParam().path;
  const std::int64_t direct = sum(R"(noc\..*\.iodma)", "read") + sum(R"(noc\..*\.iodma)", "written"),
                     staged = sum(R"(noc\..*\.gdma)", "read") + sum(R"(noc\..*\.gdma)", "written");
  EXPECT_EQ(direct == 0, path == "sram") << direct;
  EXPECT_EQ(staged == 0, path == "direct") << staged;
}

TEST_P(ChipReport, HI_5_waits_at_barriers_by_core) {
  const nlohmann::json& layers = report_.at("layers");
  const auto without = std::count_if(layers.begin(), layers.end(), [](const nlohmann::json& layer) {
    const std::set<std::string> names{"dropout", "flatten", "reshape"};
    return names.count(layer.at("op").get<std::string>()) > 0 || overlaps(layer);
  });
  EXPECT_GE(without, 3);
  EXPECT_EQ(sum("sync", "barriers"), static_cast<std::int64_t>(layers.size()) - 1 - without)
      << "one in front of every layer that does something, but the first and those that overlap";
  int working = 0;
  for_each_core([&](const std::string& core) {
    const nlohmann::json& decode = module(core + ".control.decode");
    if (decode.at("busy") == 0) return;  // it has no program: nothing was there for it
    ++working;
    EXPECT_GT(decode.at("stall_cycles").value("barrier", 0), 0) << core;
  });
  EXPECT_GE(working, GetParam().cores);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChipReport,
                         ::testing::Values(ChipCase{"cluster4", 1, 4, "auto"},
                                           ChipCase{"cluster4x4", 4, 4, "auto"},
                                           ChipCase{"cluster4x4_direct", 4, 4, "direct"},
                                           ChipCase{"cluster4_sram", 1, 4, "sram"},
                                           ChipCase{"cluster4x4_sram", 4, 4, "sram"}),
                         [](const auto& chip) { return std::string(chip.param.name); });

}  // namespace
}  // namespace tilebeat::testing
