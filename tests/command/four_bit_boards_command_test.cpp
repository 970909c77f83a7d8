// Weights of four bits on a board of the switch array, with the real program (SPEC DT-1, DT-4): fewer bytes
// and cycles, what a slow decoder costs, what is refused, programs whose streams do not fit.
#include "tilebeat_command.h"

#include <cstdint>
#include <map>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kBoard = "configs/switch16.json";

/// A fully connected layer of `k` x `features` weights, of int4 in groups of 32 or of int8.
json fully_connected(int k, int features, bool four_bits) {
  json weights{{"random", {{"seed", 2}}}};
  if (four_bits)
    weights.update({{"dtype", "int4"}, {"group", 32}, {"shift", 3}, {"scales", {{"random", {{"seed", 3}}}}}});
  const json x = {{"name", "x"}, {"shape", {1, 1, 1, k}}, {"random", {{"seed", 1}}}};
  const json layer = {{"name", "y"},        {"op", "fully_connected"},
                      {"inputs", {"x"}},    {"out_features", features},
                      {"weights", weights}, {"requant", {{"scale", 0.0005}}}};
  return {{"inputs", {x}}, {"layers", {layer}}};
}

/// Runs the layer on the board with `array` in `switch_array`; outputs are checked. Returns the report.
json report_of(const json& workload, const json& array = json::object()) {
  const CommandFolder folder;
  json hardware = json::parse(read_bytes(source_path(kBoard)));
  hardware["switch_array"].update(array);
  const CommandResult run = folder.run({"run", "--config", folder.write("hw.json", hardware.dump()),
                                        "--layer", folder.write("w.json", workload.dump()), "--check", "on"});
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  return folder.report();
}
std::int64_t cycles_of(const json& report) {
  return report.at("total").at("cycles");
}

TEST(FourBitBoards, DT_1_a_layer_that_its_weights_bound_is_faster_and_reads_half) {
  const json eight = report_of(fully_connected(2048, 1024, false));
  const json four = report_of(fully_connected(2048, 1024, true));
  EXPECT_GE(static_cast<double>(cycles_of(eight)), 1.7 * static_cast<double>(cycles_of(four)));
  const auto read = [](const json& report) { return report.at("total").at("dram_read_bytes").get<double>(); };
  EXPECT_LE(read(four), 0.54 * read(eight));
  std::int64_t decoded = 0;
  for (const json& counter : four.at("counters")) {
    if (counter.at("name") == "decoded") decoded += counter.at("value").get<std::int64_t>();
  }
  EXPECT_EQ(decoded, 2048 * 1024);
  EXPECT_NEAR(four.at("energy").at("pj").at("decoding").get<double>(), 0.13 * 2048 * 1024, 1);
}

TEST(FourBitBoards, DT_1_CY_2_a_slow_decoder_is_waited_for) {
  constexpr std::int64_t kStream = 1024 * 256 * (16 + 1) / 32;
  std::map<int, std::int64_t> cycles;
  for (const int bytes : {2, 4, 16})
    cycles[bytes] =
        cycles_of(report_of(fully_connected(1024, 256, true), {{"decode_bytes_per_clock", bytes}}));
  EXPECT_GE(cycles[2], kStream / 2) << "two bytes a clock";
  EXPECT_LE(cycles[2], kStream / 2 + 6000);
  EXPECT_GE(cycles[4], kStream / 4);
  EXPECT_LT(cycles[16], cycles[4]);
}

TEST(FourBitBoards, DT_1_CY_8_short_queues_take_fewer_weights_a_clock) {
  const json layer = fully_connected(1024, 256, true);
  const std::int64_t whole = cycles_of(report_of(layer));
  const std::int64_t fewer = cycles_of(report_of(layer, {{"arrangement_queue_words", 17}}));
  EXPECT_GE(fewer, 1024 * 256 / 16) << "sixteen weights a clock";
  EXPECT_LT(whole, fewer);
}

// Scales come in front of the codes: the clocks in which they are taken bring no weights.
TEST(FourBitBoards, DT_1_CY_2_clocks_without_weights_are_named) {
  const json report = report_of(fully_connected(1024, 256, true), {{"decode_bytes_per_clock", 2}});
  std::map<std::string, std::int64_t> waited;
  for (const json& module : report.at("modules"))
    waited[module.at("name")] = module.at("stall_cycles").value("decode", std::int64_t{0});
  constexpr std::int64_t kScales = 1024 * 256 / 32;
  EXPECT_GE(waited["dma_parameter.stream"], kScales / 2);
  EXPECT_LE(waited["dma_parameter.stream"], kScales / 2 + 600);
  EXPECT_EQ(waited["engine.parameter_loader"], waited["dma_parameter.stream"]);
}

TEST(FourBitBoards, DT_1_what_is_refused) {
  const CommandFolder folder;
  const std::string layer = folder.write("w.json", fully_connected(64, 16, true).dump());
  const auto refused = [&](json hardware) {
    const CommandResult run =
        folder.run({"run", "--config", folder.write("hw.json", hardware.dump()), "--layer", layer});
    EXPECT_EQ(run.status, 2) << run.out;
    return run.err;
  };
  json hardware = json::parse(read_bytes(source_path(kBoard)));
  hardware["switch_array"]["decode_bytes_per_clock"] = 0;
  EXPECT_THAT(refused(hardware),
              HasSubstr("layer 'y': weights of int4 or uint4 need a decoder, which this board does not have "
                        "(decode_bytes_per_clock of its engine)"));
  EXPECT_THAT(refused({{"dataflow", "rolling"}}), HasSubstr("weights of int4 or uint4 need a decoder"));
  hardware["switch_array"]["decode_bytes_per_clock"] = 129;
  EXPECT_THAT(refused(hardware), HasSubstr("/switch_array/decode_bytes_per_clock: 129"));
}

/// Runs the exported program of a layer with one stream after `pattern` became `text`.
std::string run_changed(const char* pattern, const char* text, int decode = 16) {
  const CommandFolder folder;
  const std::string layer = folder.write("w.json", fully_connected(64, 16, true).dump());
  EXPECT_EQ(
      folder
          .run({"plan", "--config", source_path(kBoard), "--layer", layer, "--export", folder.path("p.prog")})
          .status,
      0);
  const std::string program = read_bytes(folder.path("p.prog"));
  const std::string changed = std::regex_replace(program, std::regex(pattern), text);
  json hardware = json::parse(read_bytes(source_path(kBoard)));
  hardware["switch_array"]["decode_bytes_per_clock"] = decode;
  const CommandResult run = folder.run({"run", "--config", folder.write("hw.json", hardware.dump()),
                                        "--program", folder.write("p.prog", changed)});
  EXPECT_EQ(run.status == 0, changed == program && decode > 0) << run.out << run.err;
  return run.out + run.err;
}

TEST(FourBitBoards, DT_1_UI_5_programs_whose_streams_do_not_fit_are_named) {
  EXPECT_THAT(run_changed("none", ""), HasSubstr("report.json"));
  EXPECT_THAT(run_changed("stream_bytes=\\d+", "stream_bytes=400"),
              HasSubstr("load.kernels: the stream ends "));
  EXPECT_THAT(run_changed("words=16 ", "words=15 "),
              HasSubstr("load.kernels: the stream has more weights than the kernels"));
  EXPECT_THAT(run_changed("stream_bytes", "packed=1 stream_bytes"),
              HasSubstr("kernels of an image and of a stream"));
  EXPECT_THAT(run_changed("none", "", 0),
              HasSubstr("load.kernels: the channel has no decoder of weight streams"));
}

}  // namespace
}  // namespace tilebeat::testing
