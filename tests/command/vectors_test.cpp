// Vectors of whole runs (SPEC CY-8): every port carries what the waveform of the same run shows, the worked
// example what document 000 says, and the images of the memory are those that the run began and ended with.
#include "reference/reference.h"
#include "tilebeat_command.h"
#include "vcd_reader.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

/// A record of a port: its clock and the lowest eight bytes of each field, by name.
struct VectorRecord {
  std::int64_t clock = 0;
  std::map<std::string, std::uint64_t> fields;
};

std::uint64_t number_at(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i)
    number |= std::uint64_t{static_cast<std::uint8_t>(bytes.at(at + i))} << 8 * i;
  return number;
}

std::vector<VectorRecord> records_of(const std::string& folder, const nlohmann::json& port) {
  const std::string path = folder + "/" + port.at("file").get<std::string>();
  const std::string bytes = std::filesystem::exists(path) ? read_bytes(path) : "";
  std::vector<VectorRecord> records;
  for (std::size_t at = 0; at < bytes.size();) {
    VectorRecord record;
    record.clock = static_cast<std::int64_t>(number_at(bytes, at, 8));
    at += 8;
    for (const nlohmann::json& field : port.at("fields")) {
      const std::size_t count = (field.at("bits").get<std::size_t>() + 7) / 8;
      record.fields[field.at("name")] = number_at(bytes, at, count);
      at += count;
    }
    records.push_back(record);
  }
  return records;
}

/// A memory image as $readmemh reads it: bytes by address.
std::map<std::uint64_t, std::uint8_t> image_of(const std::string& path) {
  std::map<std::uint64_t, std::uint8_t> image;
  std::istringstream words(read_bytes(path));
  std::uint64_t address = 0;
  for (std::string word; words >> word;) {
    if (word.front() == '@')
      address = std::stoull(word.substr(1), nullptr, 16);
    else
      image[address++] = static_cast<std::uint8_t>(std::stoi(word, nullptr, 16));
  }
  return image;
}

/// The values of a signal, clock by clock.
class ByClock {
 public:
  ByClock(const VcdSignal& signal, std::int64_t period) : signal_(signal), period_(period) {}
  /// Clocks must not fall from call to call.
  std::optional<std::uint64_t> at(std::int64_t clock) {
    for (; next_ < signal_.changes.size() && signal_.changes[next_].first <= clock * period_; ++next_)
      value_ = signal_.changes[next_].second;
    return value_;
  }

 private:
  const VcdSignal& signal_;
  std::int64_t period_;
  std::size_t next_ = 0;
  std::optional<std::uint64_t> value_;
};

class VectorsOfEngine : public ::testing::TestWithParam<const char*> {};

/// The bytes of a port's file, and of a record of it.
struct PortBytes {
  PortBytes(const std::string& folder, const nlohmann::json& port)
      : bytes(read_bytes(folder + "/" + port.at("file").get<std::string>())) {
    for (const nlohmann::json& field : port.at("fields")) {
      offsets[field.at("name")] = {of_record, (field.at("bits").get<std::size_t>() + 7) / 8};
      of_record += offsets[field.at("name")].second;
    }
  }
  std::size_t records() const { return bytes.size() / of_record; }
  std::int64_t clock(std::size_t record) const {
    return static_cast<std::int64_t>(number_at(bytes, record * of_record, 8));
  }

  std::string bytes;
  std::size_t of_record = 8;
  std::map<std::string, std::pair<std::size_t, std::size_t>> offsets;  // place and bytes, by field
};

/// The records of a port with a strobe are the clocks in which the waveform has it high, with the values that
/// the fields have there.
void expect_as_in_waveform(const PortBytes& records, const nlohmann::json& port,
                           const std::map<std::string, const VcdSignal*>& signals, std::int64_t end) {
  const std::string name = port.at("name");
  const std::int64_t period = port.at("clock_ps");
  const VcdSignal* strobe = nullptr;
  for (const std::string& path : {name + "_valid", name + ".valid", name}) {
    if (strobe == nullptr && signals.count(path) > 0) strobe = signals.at(path);
  }
  ASSERT_NE(strobe, nullptr) << name;
  const std::string in_scope = strobe->path.substr(0, strobe->path.rfind('.') + 1);
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, ByClock>> fields;
  for (const auto& [of, place] : records.offsets) {
    if (of != "known") fields.emplace_back(place, ByClock(*signals.at(in_scope + of), period));
  }
  ByClock high(*strobe, period);
  std::size_t next = 0;
  for (std::int64_t clock = 0; clock * period < end; ++clock) {
    if (high.at(clock).value_or(0) == 0) continue;
    ASSERT_LT(next, records.records()) << name << " has no record of clock " << clock;
    ASSERT_EQ(records.clock(next), clock) << name;
    for (auto& [place, values] : fields)
      ASSERT_EQ(number_at(records.bytes, next * records.of_record + place.first, place.second),
                values.at(clock).value_or(0))
          << name << " byte " << place.first << ' ' << clock;
    ++next;
  }
  EXPECT_EQ(next, records.records()) << name;
}

/// A bank of registers has what the waveform shows of them in every clock, and no more records than changes.
void expect_bank_as_in_waveform(const PortBytes& records, const nlohmann::json& port,
                                const std::map<std::string, const VcdSignal*>& signals, std::int64_t end) {
  const std::string name = port.at("name"), scope = name.substr(0, name.rfind('.') + 1);
  const std::int64_t period = port.at("clock_ps");
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, ByClock>> fields;
  for (const auto& [of, place] : records.offsets) {
    if (of != "known") fields.emplace_back(place, ByClock(*signals.at(scope + of), period));
  }
  std::size_t next = 0;
  for (std::int64_t clock = 0; clock * period < end; ++clock) {
    while (next < records.records() && records.clock(next) == clock) ++next;
    for (auto& [place, values] : fields)
      ASSERT_EQ(next == 0
                    ? 0
                    : number_at(records.bytes, (next - 1) * records.of_record + place.first, place.second),
                values.at(clock).value_or(0))
          << name << " byte " << place.first << ' ' << clock;
  }
  EXPECT_EQ(next, records.records()) << name;
  for (std::size_t record = 1; record < next; ++record) {
    const std::size_t at = record * records.of_record + 8, bytes = records.of_record - 8;
    EXPECT_NE(records.bytes.substr(at, bytes), records.bytes.substr(at - records.of_record, bytes)) << name;
  }
}

TEST_P(VectorsOfEngine, CY_8_every_port_carries_what_the_waveform_shows) {
  const CommandFolder folder;
  const std::string config = std::string("configs/") + GetParam() + ".json",
                    layer = "models/worked_dilated.json";
  ASSERT_EQ(folder.run_layer(config, layer, {"--vectors", "v", "--check", "off"}).status, 0);
  std::vector<std::string> waveform{"--vcd", "w.vcd", "--check", "off", "--vcd-signals", "*"};
  if (std::string(GetParam()) == "switch16") waveform.emplace_back("--vcd-accumulators");
  ASSERT_EQ(folder.run_layer(config, layer, waveform).status, 0);
  const Vcd dump(read_bytes(folder.path("w.vcd")));
  std::map<std::string, const VcdSignal*> signals;
  for (const std::string& path : dump.paths()) signals[path] = &dump.signal(path);
  const auto index = nlohmann::json::parse(read_bytes(folder.path("v/ports.json")));
  const std::int64_t end = (folder.report().at("total").at("cycles").get<std::int64_t>() + 1) *
                           index.at("clock_ps").get<std::int64_t>();
  std::size_t with_records = 0, banks = 0;
  for (const nlohmann::json& port : index.at("ports")) {
    const PortBytes records(folder.path("v"), port);
    ASSERT_EQ(port.at("records").get<std::size_t>(), records.records()) << port.at("name");
    with_records += records.bytes.empty() ? 0 : 1;
    if (port.at("record") == "valid") expect_as_in_waveform(records, port, signals, end);
    if (port.at("record") == "bank") expect_bank_as_in_waveform(records, port, signals, end);
    if (HasFatalFailure()) return;
    banks += port.at("record") == "bank" && records.records() > 1 ? 1 : 0;
  }
  EXPECT_GT(with_records, index.at("ports").size() / 4);
  const bool keeps_operands =
      GetParam() == std::string("wfold16x4") || GetParam() == std::string("rolling16");
  EXPECT_EQ(banks > 0, keeps_operands) << "units that keep operands in registers have banks of them";
}

INSTANTIATE_TEST_SUITE_P(Engines, VectorsOfEngine,
                         ::testing::Values("switch16", "wfold16x4", "rolling16", "offset16"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(VectorsOfEngine, CY_8_ports_that_are_named_have_the_records_that_they_have_among_all) {
  const CommandFolder folder;
  const std::string config = std::string("configs/") + GetParam() + ".json",
                    layer = "models/worked_dilated.json";
  ASSERT_EQ(folder.run_layer(config, layer, {"--vectors", "all", "--check", "off"}).status, 0);
  ASSERT_EQ(folder
                .run_layer(config, layer,
                           {"--vectors", "some", "--check", "off", "--vectors-ports", "*dram*", "*0*"})
                .status,
            0);
  const std::map<std::string, std::string> all = folder.files("all"), some = folder.files("some");
  EXPECT_LT(some.size(), all.size());
  std::size_t ports = 0;
  for (const auto& [name, bytes] : some) {
    if (name == "ports.json") continue;
    EXPECT_TRUE(bytes == all.at(name)) << name;
    ports += bytes.empty() ? 0 : 1;
  }
  EXPECT_GT(ports, 4U);
}

TEST(VectorsOfRolling, CY_8_output_stationary_arrays_of_any_sides_have_vectors) {
  const CommandFolder folder;
  for (const auto& [rows, columns] : {std::pair{2, 8}, {3, 7}, {8, 2}, {4, 5}}) {
    const std::string config = folder.write(
        "hardware.json",
        fmt::format(
            R"({{"dataflow": "rolling", "rolling": {{"rows": {}, "columns": {}, "stationary": "output"}},
                       "chip": {{"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1}}}})",
            rows, columns));
    const CommandResult run = folder.run(
        {"run", "--config", config, "--layer", source_path("models/worked_dense.json"), "--vectors", "v"});
    EXPECT_EQ(run.status, 0) << rows << " x " << columns << run.err;
  }
}

// A port wider than a bank, and tiles with more columns than a slave has units.
TEST(VectorsOfWfold, CY_8_regions_and_third_buffers_are_shown_at_full_width) {
  const CommandFolder folder;
  folder.write("hardware.json", R"({"dataflow": "wfold",
    "wfold": {"slaves": 4, "compute_units": 2, "line_bytes": 16, "smallest_pci": 4, "pci": 4, "first_buffer": "kernels",
              "first_buffer_lines": 5, "second_buffer_lines": 6, "weight_port_bytes": 16},
    "chip": {"clusters": 1, "cores_per_cluster": 1, "memory_controllers": 1,
             "core": {"wram": {"banks": 4, "bank_bytes": 4}}}})");
  folder.write("layer.json", R"({"name": "layer",
    "inputs": [{"name": "x", "shape": [1, 6, 40, 4], "dtype": "int8", "random": {"seed": 1}}],
    "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 16, "kernel": [4, 4],
                "weights": {"random": {"seed": 2}}, "requant": {"scale": 0.001}}], "outputs": ["y"]})");
  const CommandResult run = folder.run(
      {"run", "--config", "hardware.json", "--layer", "layer.json", "--vectors", "v", "--check", "on"});
  ASSERT_EQ(run.status, 0) << run.out << run.err;
  const auto index = nlohmann::json::parse(read_bytes(folder.path("v/ports.json")));
  // Whether the four bytes before byte `end` of a field of `bytes` bytes are more than 0 in some record.
  const auto uses = [&](const std::string& name, const std::string& field, std::size_t bytes,
                        std::size_t end) {
    for (const nlohmann::json& port : index.at("ports")) {
      const std::string full = port.at("name");
      if (full.size() < name.size() || full.substr(full.size() - name.size()) != name) continue;
      const PortBytes records(folder.path("v"), port);
      const auto [place, count] = records.offsets.at(field);
      EXPECT_EQ(count, bytes) << full;
      for (std::size_t i = 0; i < records.records(); ++i) {
        if (number_at(records.bytes, i * records.of_record + place + end - 4, 4) != 0) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(uses("wram.engine.b0", "b0", 16, 8))
      << "weight_port_bytes; kernels of eight bytes, two words of a bank";
  EXPECT_TRUE(uses("sl0.third.registers", "value", 3 * 4 * 4, 3 * 4 * 4))
      << "floor(6 / 2) lines of 16 / 4 columns";
}

/// The worked example of dilation 2 on the 16x16 array, with its vectors.
class WorkedVectors : public ::testing::Test {
 protected:
  WorkedVectors() : workload_(load_workload(source_path("models/worked_dilated.json"))) {
    const CommandResult run = folder_.run_layer("configs/switch16.json", "models/worked_dilated.json",
                                                {"--vectors", "v", "--vectors-text"});
    if (run.status != 0) throw std::runtime_error(run.err);
    const auto index = nlohmann::json::parse(read_bytes(folder_.path("v/ports.json")));
    for (const nlohmann::json& port : index.at("ports")) ports_[port.at("name")] = port;
  }
  std::vector<VectorRecord> records(const std::string& port) const {
    return records_of(folder_.path("v"), ports_.at(port));
  }
  /// The address that an instruction of the run has.
  std::uint64_t address_of(const std::string& instruction) const {
    const std::string programs = read_bytes(folder_.path("v/programs.txt"));
    return std::stoull(programs.substr(programs.find("address=0x", programs.find(instruction)) + 8), nullptr,
                       16);
  }

  CommandFolder folder_;
  Workload workload_;
  std::map<std::string, nlohmann::json> ports_;
};

TEST_F(WorkedVectors, CY_8_SW_2_lanes_get_the_pixels_of_document_000) {
  constexpr int kWidth = 14, kChannels = 3;
  const std::vector<VectorRecord> lane = records("soc.engine.switch.sw0");
  ASSERT_GE(lane.size(), 9U);
  for (std::uint64_t tap = 0; tap < 9; ++tap) {  // operation cycle 0 of lane 0: output pixel (0, 0)
    const std::uint64_t h = 2 * (tap / 3), w = 2 * (tap % 3);
    EXPECT_EQ(lane[tap].fields.at("sw0_h"), h);
    EXPECT_EQ(lane[tap].fields.at("sw0_w"), w);
    for (std::uint64_t channel = 0; channel < kChannels; ++channel) {
      const std::int32_t x =
          workload_.input_data.at("x").at(static_cast<std::int64_t>((h * kWidth + w) * kChannels + channel));
      EXPECT_EQ(lane[tap].fields.at("sw0") >> 8 * channel & 0xFF, static_cast<std::uint8_t>(x));
    }
    EXPECT_EQ(lane[tap].clock, lane[0].clock + static_cast<std::int64_t>(tap)) << "a beat a clock";
  }
  EXPECT_EQ(records("soc.engine.pe").size(), 36U) << "SPEC SW-3: four operation cycles of nine beats";
}

TEST_F(WorkedVectors, CY_8_images_are_the_memory_before_and_after) {
  const auto before = image_of(folder_.path("v/dram.before.hex")),
             after = image_of(folder_.path("v/dram.after.hex"));
  const auto byte_of = [](const auto& image, std::uint64_t address) {
    const auto found = image.find(address);
    return found == image.end() ? std::uint8_t{0} : found->second;
  };
  const Tensor& x = workload_.input_data.at("x");
  const std::uint64_t input = address_of("load.input"), output = address_of("store.output");
  for (std::int64_t i = 0; i < 8 * 14 * 3; ++i)
    ASSERT_EQ(byte_of(before, input + static_cast<std::uint64_t>(i)), static_cast<std::uint8_t>(x.at(i)))
        << i;
  const Tensor y = run_reference(workload_).begin()->second;
  bool differs = false;
  for (std::int64_t i = 0; i < 4 * 10 * 16; ++i) {
    const std::uint64_t address = output + static_cast<std::uint64_t>(i);
    ASSERT_EQ(byte_of(after, address), static_cast<std::uint8_t>(y.at(i))) << i;
    differs |= byte_of(before, address) != byte_of(after, address);
  }
  EXPECT_TRUE(differs) << "the output was in memory before the run";
}

TEST_F(WorkedVectors, CY_8_images_of_banks_hold_what_was_written_last) {
  const auto index = nlohmann::json::parse(read_bytes(folder_.path("v/ports.json")));
  std::map<std::string, nlohmann::json> memories;
  for (const nlohmann::json& memory : index.at("memories")) memories[memory.at("name")] = memory;
  ASSERT_EQ(memories.count("soc.engine.b3"), 1U);
  EXPECT_EQ(memories.at("soc.engine.b3").at("bytes"), 2 * 8192 * 4);
  EXPECT_EQ(memories.at("soc.engine.output_buffer").at("bytes"), 262144);
  std::map<std::uint64_t, std::uint8_t> expected;
  for (const VectorRecord& record : records("soc.engine.banks.b3_write")) {
    for (std::uint64_t byte = 0; byte < 4; ++byte)
      expected[record.fields.at("b3_write_addr") * 4 + byte] =
          static_cast<std::uint8_t>(record.fields.at("b3_write") >> 8 * byte);
  }
  ASSERT_FALSE(expected.empty());
  auto image = image_of(folder_.path("v/" + memories.at("soc.engine.b3").at("after").get<std::string>()));
  for (const auto& [address, byte] : expected) EXPECT_EQ(image[address], byte) << address;
  const Tensor y = run_reference(workload_).begin()->second;
  const auto results =
      image_of(folder_.path("v/" + memories.at("soc.engine.output_buffer").at("after").get<std::string>()));
  const auto differs =
      std::count_if(results.begin(), results.end(), [](const auto& byte) { return byte.second != 0; });
  EXPECT_GE(differs, std::count_if(y.bytes.begin(), y.bytes.end(), [](auto byte) { return byte != 0; }))
      << "every result has passed the output buffer";
}

TEST_F(WorkedVectors, CY_8_texts_say_the_same_as_records) {
  const std::vector<VectorRecord> written = records("soc.engine.banks.b3_write");
  std::istringstream lines(read_bytes(folder_.path("v/soc.engine.banks.b3_write.txt")));
  std::size_t line = 0;
  std::int64_t clock = 0;
  for (std::string data, address, known; lines >> clock >> data >> address >> known; ++line) {
    ASSERT_LT(line, written.size());
    EXPECT_EQ(clock, written[line].clock);
    EXPECT_EQ(std::stoull(data, nullptr, 16), written[line].fields.at("b3_write"));
    EXPECT_EQ(std::stoull(address, nullptr, 16), written[line].fields.at("b3_write_addr"));
  }
  EXPECT_EQ(line, written.size());
}

// Two runs of one pixel with a set-up between them, which records that are copied do not hold back, while the
// lanes of the first run drain in 8 x 30 clocks; and set-ups behind the end of the layer.
constexpr const char* kOvertaken =
    ".program soc\n"
    "conv.setup\n"
    "load.input address=0x1000 row_stride=4 pixel_stride=4 height=1 width=1 channels=4 completes "
    "input_full[0]\n"
    "load.kernels address=0x3000 words=1 completes kernels_full[0]\n"
    "conv.run rows=1 columns=1 height=1 width=1 planes=1 kernels=16 output_stride=64 macs_per_pixel=64 waits "
    "input_full[0],kernels_full[0] completes output_full[0]\n"
    "conv.setup\n"
    "conv.run rows=1 columns=1 height=1 width=1 planes=1 kernels=16 output_base=4096 output_stride=64 "
    "macs_per_pixel=64 "
    "completes output_full[1]\n"
    "store.output address=0x5000 row_stride=64 pixel_stride=64 pixel_bytes=64 rows=1 columns=1 waits "
    "output_full[0]\n"
    "store.output address=0x6000 row_stride=64 pixel_stride=64 source=4096 pixel_bytes=64 rows=1 columns=1 "
    "waits "
    "output_full[1]\n"
    "layer.end\n{}halt\n";

TEST(Vectors, CY_8_UI_7_what_retires_is_what_is_done_and_nothing_is_cut_before_the_halt) {
  constexpr int kAfterwards = 40, kRun = 3, kSetup = 4, kExecute = 3, kRetire = 4, kInstructions = 10;
  std::string afterwards;
  for (int i = 0; i < kAfterwards; ++i) afterwards += "conv.setup\n";
  const CommandFolder folder;
  const std::string config = folder.write(
      "hw.json", R"({"name": "d", "switch_array": {"records": "copied", "drain_clocks_per_lane": 30}})");
  const std::string program = folder.write("p.program", fmt::format(fmt::runtime(kOvertaken), afterwards));
  const CommandResult run = folder.run({"run", "--config", config, "--program", program, "--vectors", "v",
                                        "--konata", "k", "--uninitialised", "allow"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<std::string, nlohmann::json> ports;
  const auto index = nlohmann::json::parse(read_bytes(folder.path("v/ports.json")));
  for (const nlohmann::json& port : index.at("ports")) ports[port.at("name")] = port;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> at;  // by instruction and stage
  for (const VectorRecord& record : records_of(folder.path("v"), ports.at("instructions")))
    at[{record.fields.at("number"), record.fields.at("stage")}] = record.clock;
  const std::int64_t last_mac = records_of(folder.path("v"), ports.at("soc.engine.pe")).front().clock;
  EXPECT_EQ(at.at({kRun, kRetire}), last_mac + 8 * 30 + 4 + 1) << "docs/hardware_contract.md";
  EXPECT_LT(at.at({kSetup, kRetire}), at.at({kRun, kRetire})) << "a set-up has no results to wait for";
  EXPECT_GE(at.at({kSetup, kRetire}), at.at({kSetup, kExecute}));
  const auto fetched = records_of(folder.path("v"), ports.at("soc.bus.fetch.rbeat"));
  EXPECT_EQ(fetched.size() * 16, std::size_t{kInstructions + kAfterwards} * 64) << "up to the halt";
  const std::string konata = read_bytes(folder.path("k"));
  EXPECT_LT(konata.find(fmt::format("\nR\t{}\t", kSetup)), konata.find(fmt::format("\nR\t{}\t", kRun)));
}

TEST(Vectors, CY_8_UI_5_only_what_patterns_name_is_written) {
  const CommandFolder folder;
  const auto run = [&](const std::string& pattern, const std::string& to) {
    return folder.run_layer("configs/switch16.json", "models/worked_dilated.json",
                            {"--check", "off", "--vectors", to, "--vectors-ports", pattern});
  };
  ASSERT_EQ(run("*.banks.b?_write", "v").status, 0);
  EXPECT_EQ(nlohmann::json::parse(read_bytes(folder.path("v/ports.json"))).at("ports").size(), 10U);
  ASSERT_EQ(run("*.banks.b?", "v").status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path("v/soc.engine.banks.b7.bin")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("v/soc.engine.banks.b7_write.bin")))
      << "of the run before";
  const CommandResult unknown = run("nothing", "u");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("--vectors-ports nothing"), std::string::npos) << unknown.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("u"))) << "nothing is half written";
}

TEST(Vectors, CY_8_UI_5_what_would_be_wrong_is_refused) {
  const CommandFolder folder;
  const auto refused = [&](const std::vector<std::string>& options, const std::string& reason) {
    const CommandResult run =
        folder.run_layer("configs/switch16.json", "models/worked_dilated.json", options);
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find(reason), std::string::npos) << run.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path("tilebeat-out")));
  };
  refused({"--vectors", "v", "--granularity", "tile"}, "vectors need every clock");
  refused({"--vectors", "v", "--vcd", "w.vcd"}, "--vcd");
  refused({"--vectors", source_path("models")}, "is read by this run");
  std::filesystem::create_directory(folder.path("mine"));
  folder.write("mine/notes", "mine");
  refused({"--vectors", "mine"}, "has other files");
  EXPECT_EQ(read_bytes(folder.path("mine/notes")), "mine");
}

}  // namespace
}  // namespace tilebeat::testing
