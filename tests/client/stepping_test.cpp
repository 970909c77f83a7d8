// Sessions of C's interface: the run that `tilebeat run --vectors` records, clock by clock.
#include "tilebeat/tilebeat.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stepping {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kCore = TILEBEAT_SOURCE_DIR "/configs/core1.json";
const std::string kSwitch = TILEBEAT_SOURCE_DIR "/configs/switch16.json";
const std::string kChain = TILEBEAT_SOURCE_DIR "/models/small_chain.json";

struct Closed {
  void operator()(tilebeat_session* session) const { tilebeat_close(session); }
  void operator()(tilebeat_result* result) const { tilebeat_free(result); }
};
using Session = std::unique_ptr<tilebeat_session, Closed>;
using Result = std::unique_ptr<tilebeat_result, Closed>;

Session opened(const std::string& hardware, const std::string& workload, std::size_t ahead = 1,
               const std::vector<const char*>& options = {}) {
  tilebeat_job job{};
  job.size = sizeof job;
  job.hardware = hardware.c_str(), job.workload = workload.c_str();
  job.options = options.data(), job.option_count = options.size();
  tilebeat_session* made = nullptr;
  const tilebeat_status status = tilebeat_open(&job, ahead, &made);
  EXPECT_EQ(status, TILEBEAT_OK) << tilebeat_session_error(made);
  return Session(made);
}

Result finished(const Session& session) {
  tilebeat_result* result = nullptr;
  tilebeat_finish(session.get(), &result);
  return Result(result);
}

std::string file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// What a run's vectors have: records of each port, by clock.
class Vectors {
 public:
  Vectors(const std::string& hardware, const std::string& workload) {
    std::string name = (std::filesystem::temp_directory_path() / "stepping-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const std::string vectors = folder_ + "/vectors", out = folder_ + "/out";
    const std::vector<const char*> arguments{"run",       "--config",       hardware.c_str(),
                                             "--layer",   workload.c_str(), "--out",
                                             out.c_str(), "--vectors",      vectors.c_str()};
    tilebeat_result* made = nullptr;
    EXPECT_EQ(tilebeat_command(arguments.data(), arguments.size(), nullptr, nullptr, &made), TILEBEAT_OK);
    tilebeat_free(made);
    index = json::parse(file(vectors + "/ports.json"));
    report = json::parse(file(out + "/report.json"));
    for (const json& port : index.at("ports")) {
      std::size_t bytes = 8;
      for (const json& field : port.at("fields")) bytes += (field.at("bits").get<std::size_t>() + 7) / 8;
      const std::string records = file(vectors + "/" + port.at("file").get<std::string>());
      for (std::size_t at = 0; at < records.size(); at += bytes) {
        std::int64_t clock = 0;
        std::memcpy(&clock, records.data() + at, sizeof clock);
        by_port[port.at("name")].emplace(clock, records.substr(at + 8, bytes - 8));
      }
    }
  }
  ~Vectors() { std::filesystem::remove_all(folder_); }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;

  json index, report;
  std::map<std::string, std::multimap<std::int64_t, std::string>> by_port;

 private:
  std::string folder_;
};

// A port of registers: the latest change of each up to a clock. `present`: those of the clocks before.
void compare_registers(tilebeat_session* session, std::int64_t number, const json& described,
                       const std::multimap<std::int64_t, std::string>& records, std::int64_t clock,
                       std::map<std::size_t, std::string>& present) {
  const auto [first, end] = records.equal_range(clock);
  for (auto record = first; record != end; ++record) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(record->second[i]); };
    present[byte(0) + 256U * byte(1)] = byte(2) != 0 ? record->second.substr(3) : "";
  }
  const tilebeat_port& port = *tilebeat_port_at(session, static_cast<std::size_t>(number));
  ASSERT_EQ(port.field_count, described.at("signals").size());
  for (std::size_t i = 0; i < port.field_count; ++i) {
    EXPECT_EQ(port.fields[i].name, described.at("signals").at(i));
    const std::string& wanted = present[i];
    EXPECT_EQ(tilebeat_expect(session, number, static_cast<std::int64_t>(i),
                              wanted.empty() ? nullptr : wanted.data()),
              TILEBEAT_OK)
        << tilebeat_session_error(session);
  }
}

// Compares a port in a clock; returns whether it carries something.
bool compare(tilebeat_session* session, std::int64_t number, const Vectors& vectors,
             std::int64_t session_clock) {
  const tilebeat_port& port = *tilebeat_port_at(session, static_cast<std::size_t>(number));
  const auto found = vectors.by_port.find(port.name);
  const std::int64_t clock_ps = vectors.index.at("clock_ps");
  const std::int64_t clock = session_clock * clock_ps / port.clock_ps;
  const std::string kind = port.kind;
  const std::string* record = nullptr;
  if (found != vectors.by_port.end()) {
    auto at = found->second.upper_bound(clock);
    if (at != found->second.begin() && (--at, kind == "bank" || at->first == clock)) record = &at->second;
  }
  std::size_t from = 0;
  std::vector<char> value, wanted;
  for (std::size_t i = 0; i < port.field_count; ++i) {
    const std::size_t bytes = (static_cast<std::size_t>(port.fields[i].bits) + 7) / 8;
    value.assign(bytes, 1);
    int valid = -1;
    EXPECT_EQ(tilebeat_get(session, number, static_cast<std::int64_t>(i), value.data(), bytes, &valid),
              TILEBEAT_OK);
    wanted.assign(bytes, 0);
    const bool known =
        record != nullptr &&
        (i + 1 == port.field_count ||
         ((*record)[record->size() - (port.field_count - 1 + 7) / 8 + i / 8] >> i % 8 & 1) != 0);
    if (known) std::memcpy(wanted.data(), record->data() + from, bytes);
    EXPECT_EQ(valid, known ? 1 : 0) << port.name << " " << port.fields[i].name << " clock " << session_clock;
    EXPECT_EQ(value, wanted) << port.name << " " << port.fields[i].name << " clock " << session_clock;
    EXPECT_EQ(tilebeat_expect(session, number, static_cast<std::int64_t>(i), known ? wanted.data() : nullptr),
              TILEBEAT_OK)
        << tilebeat_session_error(session);
    from += bytes;
  }
  return record != nullptr;
}

void compare_all(const std::string& hardware, const std::string& workload, std::size_t ahead) {
  const Vectors vectors(hardware, workload);
  const Session session = opened(hardware, workload, ahead);
  ASSERT_GT(tilebeat_port_count(session.get()), 5U);
  std::map<std::string, int> seen;
  std::map<std::string, std::map<std::size_t, std::string>> registers;
  std::map<std::string, json> described;
  for (const json& port : vectors.index.at("ports")) described[port.at("name")] = port;
  while (tilebeat_step(session.get(), 1) == TILEBEAT_OK && tilebeat_is_over(session.get()) == 0 &&
         !testing::Test::HasFailure()) {
    for (std::size_t i = 0; i < tilebeat_port_count(session.get()); ++i) {
      const tilebeat_port& port = *tilebeat_port_at(session.get(), i);
      if (std::strcmp(port.kind, "change") == 0) {
        if (port.clock_ps != vectors.index.at("clock_ps")) continue;
        const auto records = vectors.by_port.find(port.name);
        if (records != vectors.by_port.end())
          compare_registers(session.get(), static_cast<std::int64_t>(i), described.at(port.name),
                            records->second, tilebeat_clock(session.get()), registers[port.name]);
        continue;
      }
      seen[port.name] +=
          compare(session.get(), static_cast<std::int64_t>(i), vectors, tilebeat_clock(session.get())) ? 1
                                                                                                       : 0;
    }
  }
  ASSERT_FALSE(testing::Test::HasFailure()) << "clock " << tilebeat_clock(session.get());
  for (const json& port : vectors.index.at("ports")) {
    if (port.at("record") == "valid" && port.at("records") > 0 &&
        port.at("clock_ps") == vectors.index.at("clock_ps")) {
      EXPECT_EQ(seen[port.at("name")], port.at("records").get<int>()) << port.at("name");
    }
  }
  const Result result = finished(session);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  const json report = json::parse(tilebeat_document(result.get(), "report.json"));
  EXPECT_EQ(report.at("total"), vectors.report.at("total"));
  EXPECT_EQ(report.at("layers"), vectors.report.at("layers"));
}

TEST(Stepping, CY_8_a_session_shows_what_vectors_have_in_every_clock) {
  compare_all(kCore, kChain, 1);
}

TEST(Stepping, CY_8_a_session_shows_what_the_switch_array_does) {
  const std::string folder = TILEBEAT_SOURCE_DIR "/examples/rtl_cosim/";
  compare_all(folder + "hw.json", folder + "layer.json", 300);
}

TEST(Stepping, CY_8_a_session_behind_its_simulation_shows_the_same) {
  compare_all(kCore, kChain, 700);
}

// A 1x1 convolution of a few pixels.
const std::string kSmall = R"({"name": "small",
  "inputs": [{"name": "x", "shape": [1, 3, 4, 4], "dtype": "int8", "random": {"seed": 1}}],
  "layers": [{"name": "y", "op": "conv2d", "inputs": ["x"], "out_channels": 2, "kernel": [1, 1],
    "weights": {"dtype": "int8", "random": {"seed": 2}}}], "outputs": ["y"]})";

TEST(Stepping, CY_8_expect_names_clock_port_field_and_values) {
  constexpr const char* kPort = "soc.engine.switch.sw0";
  const Session session = opened(kSwitch, kSmall, 64);
  EXPECT_EQ(tilebeat_port_named(session.get(), "nothing"), -1);
  EXPECT_EQ(tilebeat_field_named(session.get(), 0, "nothing"), -1);
  const std::int64_t port = tilebeat_port_named(session.get(), kPort);
  ASSERT_GE(port, 0);
  EXPECT_STREQ(tilebeat_port_at(session.get(), static_cast<std::size_t>(port))->name, kPort);
  EXPECT_EQ(tilebeat_field_named(session.get(), port, "sw0_h"), 1);
  std::uint16_t row = 7;
  int valid = 0;
  EXPECT_EQ(tilebeat_get(session.get(), port, 1, &row, 1, &valid), TILEBEAT_INVALID) << "there is no room";
  EXPECT_EQ(tilebeat_get(session.get(), port, 99, &row, sizeof row, &valid), TILEBEAT_INVALID);
  EXPECT_EQ(tilebeat_expect(session.get(), port, 1, nullptr), TILEBEAT_OK) << "it is before the first clock";
  while (valid == 0 && tilebeat_is_over(session.get()) == 0) {
    ASSERT_EQ(tilebeat_step(session.get(), 1), TILEBEAT_OK);
    ASSERT_EQ(tilebeat_get(session.get(), port, 1, &row, sizeof row, &valid), TILEBEAT_OK);
  }
  ASSERT_EQ(valid, 1);
  EXPECT_EQ(row, 0);
  EXPECT_EQ(tilebeat_expect(session.get(), port, 1, &row), TILEBEAT_OK);
  row = 0x102;
  EXPECT_EQ(tilebeat_expect(session.get(), port, 1, &row), TILEBEAT_FAILED);
  const std::string clock = "clock " + std::to_string(tilebeat_clock(session.get()));
  EXPECT_EQ(tilebeat_session_error(session.get()),
            clock + ": " + kPort + ", sw0_h: is 0x0000, 0x0102 is expected");
  EXPECT_EQ(tilebeat_expect(session.get(), port, 1, nullptr), TILEBEAT_FAILED);
  EXPECT_EQ(tilebeat_session_error(session.get()),
            clock + ": " + kPort + ", sw0_h: is 0x0000, nothing is expected");
}

TEST(Stepping, AP_1_tensors_and_memory_are_read_and_written_between_clocks) {
  const Session session = opened(kSwitch, kSmall, 1, {"--check", "off"});
  ASSERT_GT(tilebeat_session_tensor_count(session.get()), 1U);
  std::vector<std::int8_t> x(48), y(24 * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0;
  ASSERT_EQ(tilebeat_write_tensor(session.get(), "x", x.data(), x.size()), TILEBEAT_OK)
      << tilebeat_session_error(session.get());
  std::vector<std::int8_t> again(x.size(), 7);
  ASSERT_EQ(tilebeat_read_tensor(session.get(), "x", again.data(), again.size()), TILEBEAT_OK);
  EXPECT_EQ(again, x);
  EXPECT_EQ(tilebeat_read_tensor(session.get(), "z", again.data(), 1), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_session_error(session.get()), HasSubstr("tensor 'z'"));
  EXPECT_EQ(tilebeat_write_tensor(session.get(), "x", x.data(), 3), TILEBEAT_INVALID);
  EXPECT_EQ(tilebeat_read_memory(session.get(), ~std::uint64_t{0}, x.data(), 8), TILEBEAT_INVALID);
  std::uint8_t word[8]{1, 2, 3, 4, 5, 6, 7, 8}, got[8]{};
  constexpr std::uint64_t kFar = 1 << 24;
  ASSERT_EQ(tilebeat_write_memory(session.get(), kFar, word, sizeof word), TILEBEAT_OK)
      << tilebeat_session_error(session.get());
  ASSERT_EQ(tilebeat_step(session.get(), 10), TILEBEAT_OK);
  ASSERT_EQ(tilebeat_read_memory(session.get(), kFar, got, sizeof got), TILEBEAT_OK);
  EXPECT_EQ(std::memcmp(word, got, sizeof got), 0);
  const Result result = finished(session);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  ASSERT_EQ(tilebeat_tensor_count(result.get()), 1U);
  const tilebeat_tensor& made = *tilebeat_tensor_at(result.get(), 0);
  for (std::size_t i = 0; i < made.bytes; ++i)
    EXPECT_EQ(static_cast<const char*>(made.elements)[i], 0) << "x is zeros";
  EXPECT_EQ(tilebeat_step(session.get(), 1), TILEBEAT_INVALID);
  EXPECT_STREQ(tilebeat_session_error(session.get()), "the session is finished");
}

TEST(Stepping, AP_1_a_simulation_that_is_ahead_is_not_written_into) {
  const Session session = opened(kCore, kChain, 100);
  std::uint8_t byte = 0;
  ASSERT_EQ(tilebeat_step(session.get(), 1), TILEBEAT_OK);
  EXPECT_EQ(tilebeat_write_memory(session.get(), 0, &byte, 1), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_session_error(session.get()), HasSubstr("open it with ahead 1"));
}

TEST(Stepping, AP_1_several_sessions_go_on_beside_each_other) {
  const Session first = opened(kCore, kChain), second = opened(kCore, kChain, 50);
  ASSERT_EQ(tilebeat_step(first.get(), 100), TILEBEAT_OK);
  ASSERT_EQ(tilebeat_step_to(second.get(), 30), TILEBEAT_OK);
  EXPECT_EQ(tilebeat_clock(first.get()), 99);
  EXPECT_EQ(tilebeat_clock(second.get()), 30);
  EXPECT_EQ(tilebeat_step_to(second.get(), 29), TILEBEAT_INVALID);
  std::thread other([&] { EXPECT_EQ(tilebeat_status_of(finished(first).get()), TILEBEAT_OK); });
  const Result result = finished(second);
  other.join();
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK);
}

TEST(Stepping, CY_8_a_run_ends_in_one_clock_however_far_it_is_ahead) {
  std::vector<std::int64_t> ends;
  for (const std::size_t ahead : {1, 7, 100000}) {
    const Session session = opened(kSwitch, kSmall, ahead);
    while (tilebeat_is_over(session.get()) == 0) ASSERT_EQ(tilebeat_step(session.get(), 3), TILEBEAT_OK);
    ends.push_back(tilebeat_clock(session.get()));
  }
  EXPECT_EQ(ends[1], ends[0]);
  EXPECT_EQ(ends[2], ends[0]);
}

TEST(Stepping, AP_1_what_cannot_begin_says_why) {
  tilebeat_job job{};
  job.size = sizeof job;
  tilebeat_session* made = nullptr;
  EXPECT_EQ(tilebeat_open(&job, 1, &made), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_session_error(made), HasSubstr("no hardware"));
  EXPECT_EQ(tilebeat_step(made, 1), TILEBEAT_INVALID);
  tilebeat_close(made);
  job.hardware = kCore.c_str(), job.workload = R"({"name": "x"})";
  EXPECT_EQ(tilebeat_open(&job, 1, &made), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_session_error(made), HasSubstr("workload.json: /"));
  tilebeat_close(made);
  const std::vector<const char*> options{"--vectors-ports", "no.such.port"};
  job.workload = kChain.c_str(), job.options = options.data(), job.option_count = options.size();
  EXPECT_EQ(tilebeat_open(&job, 1, &made), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_session_error(made), HasSubstr("--vectors-ports no.such.port"));
  tilebeat_close(made);
  EXPECT_EQ(tilebeat_open(&job, 1, nullptr), TILEBEAT_INVALID);
  tilebeat_close(nullptr);
}

}  // namespace
}  // namespace stepping
