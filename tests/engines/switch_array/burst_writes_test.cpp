// Who moves a burst, or the results of an operation cycle, in one call writes each word in its clock: a
// second port reads the banks in every clock and finds a word from its clock on and not before (SPEC CY-1).
#include "engines/switch_array/operations.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "engines/switch_array/sim/parameter_loader.h"
#include "engines/switch_array/sim/post_processor.h"
#include "second_port.h"
#include "tilebeat/error.h"

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing::burst_writes {

using switch_array::ArrayChunk;
using switch_array::Beat;
using switch_array::ChunkGeometry;
using switch_array::ConvRun;
using switch_array::DrainMessage;
using switch_array::InputArrangement;
using switch_array::LoadInput;
using switch_array::LoadKernels;
using switch_array::NewSetup;
using switch_array::ParameterLoader;
using switch_array::PostProcessor;
using switch_array::RecordsKind;
using switch_array::RecordSlot;
using switch_array::SwitchArrayConfig;
using switch_array::SwitchSchedule;

namespace {

constexpr int kWidth = 16, kWord = 4;  // bytes of a beat, of a word
constexpr std::uint8_t kNew = 0x5A;

/// Takes records, whose slots are free, and completions.
struct Sink : sc_core::sc_module {
  tlm_utils::simple_target_socket_optional<Sink> records;
  MessageTarget<RecordSlot, 1, sc_core::SC_ZERO_OR_MORE_BOUND> slots;
  MessageTarget<UnitMessage, 1, sc_core::SC_ZERO_OR_MORE_BOUND> completions;
  explicit Sink(const sc_core::sc_module_name& name)
      : sc_module(name), records("records"), slots("slots"), completions("completions") {
    records.register_b_transport(this, &Sink::take);
    slots.register_b_transport(this, &Sink::tell);
    completions.register_b_transport(this, &Sink::end);
  }
  void take(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  void tell(RecordSlot&, sc_core::sc_time&) {}
  void end(UnitMessage&, sc_core::sc_time&) {}
};

/// Sends streams, results or records.
struct Source : sc_core::sc_module {
  MessageInitiator<StreamMessage, 1, sc_core::SC_ZERO_OR_MORE_BOUND> streams;
  MessageInitiator<DrainMessage, 1, sc_core::SC_ZERO_OR_MORE_BOUND> results;
  tlm_utils::simple_initiator_socket_optional<Source> records;
  MessageInitiator<RecordSlot, 1, sc_core::SC_ZERO_OR_MORE_BOUND> slots;
  explicit Source(const sc_core::sc_module_name& name)
      : sc_module(name), streams("streams"), results("results"), records("records"), slots("slots") {}
  /// Streams an instruction and `bytes` bytes of value kNew in one call.
  void stream(const Operation& operation, int bytes) {
    Instruction instruction;
    instruction.operation = operation;
    streams.send({StreamMessage::Begin{instruction}});
    const std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes), kNew);
    const WaitTrail trail;
    StreamMessage message{StreamMessage::Data{data.data(), bytes, trail}};
    streams.send(message);
  }
};

/// Whether the banks' loader may write directly, or a stuck cell (of a byte that nothing is written to) makes
/// it write every word by a transport.
enum class Way { kDirect, kTransports };
void PrintTo(Way way, std::ostream* out) {
  *out << (way == Way::kDirect ? "direct" : "transports");
}

struct BurstWrites : ::testing::TestWithParam<Way> {
  BurstWrites() {
    strict_systemc();
    config.rows = 4, config.columns = 4, config.groups = 1;
    config.parameter_depth_words = config.bank_depth_words = 16;
  }
  template <class Sockets>
  void bind(Sockets& sockets) {
    for (std::size_t i = 0; i < banks.banks.size(); ++i) {
      sockets[i].bind(banks.banks[i]->ports[0]);
      if (GetParam() == Way::kTransports) banks.banks[i]->inject_fault(127, 1);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  /// Reads word `word` of every bank in each of `cycles` cycles; `written(bank, word)` is the cycle of a
  /// word, -1 of one that is not written.
  void expect_words(Cycle cycles, int words, const std::function<Cycle(int, int)>& written) {
    for (Cycle now = 0; now < cycles; ++now) {
      for (int bank = 0; bank < 4; ++bank) {
        const auto bytes =
            banks.readers[static_cast<std::size_t>(bank)]->read(0, static_cast<std::size_t>(kWord * words));
        for (int word = 0; word < words; ++word) {
          const Cycle from = written(bank, word);
          EXPECT_EQ(bytes[static_cast<std::size_t>(kWord * word)], from >= 0 && now >= from ? kNew : 0)
              << "bank " << bank << ", word " << word << " in cycle " << now;
        }
      }
      sc_core::sc_start(to_sc_time(1000));
    }
  }
  /// A parameter loader, `width` bytes a cycle, streams `words` words a bank.
  void load_kernels(int width, int words) {
    config.parameter_depth_words = 32;  // all of the bank is one region
    loader = std::make_unique<ParameterLoader>("loader", context, config, width);
    records = std::make_unique<Sink>("records");
    loader->post_write.bind(records->records);
    loader->record_slots.bind(records->slots);
    source.streams.bind(loader->stream);
    bind(loader->bank_write);
    LoadKernels load;
    load.words = words;
    source.stream(load, 4 * kWord * words);
  }
  /// An input arrangement streams a row of pixels.
  void load_row(int width, int channels) {
    arrangement = std::make_unique<InputArrangement>("arrangement", context, config, kWidth);
    source.streams.bind(arrangement->stream);
    bind(arrangement->bank_write);
    LoadInput load;
    load.height = 1, load.width = width, load.channels = channels;
    source.stream(load, width * channels);
  }
  SimContext context{ClockDomain(1000)};
  SwitchArrayConfig config;
  WatchedBanks banks{context, 4, 128, 2, 2};
  std::unique_ptr<Sink> records;
  std::unique_ptr<ParameterLoader> loader;
  std::unique_ptr<InputArrangement> arrangement;
  Source source{"source"};
};
INSTANTIATE_TEST_SUITE_P(Ways, BurstWrites, ::testing::Values(Way::kDirect, Way::kTransports),
                         [](const auto& test) { return ::testing::PrintToString(test.param); });

TEST_P(BurstWrites, CY_1_a_second_port_sees_each_kernel_word_at_its_clock) {
  load_kernels(kWidth, 6);  // a word a bank and beat
  expect_words(9, 6, [](int, int word) { return word + 1; });
}

TEST_P(BurstWrites, CY_1_a_second_port_sees_each_word_of_a_narrow_beat_at_its_clock) {
  load_kernels(kWidth / 2, 3);  // two beats a word: columns 0 and 1, columns 2 and 3
  expect_words(9, 3, [](int bank, int word) { return 2 * word + bank / 2 + 1; });
}

// Beats of six bytes: a word is written in the cycle after the beat with its last byte.
TEST_P(BurstWrites, CY_1_a_second_port_sees_each_kernel_word_of_two_beats_at_its_clock) {
  load_kernels(6, 3);
  expect_words(11, 3, [](int bank, int word) { return ceil_div(kWord * (4 * word + bank + 1), 6); });
}

// Pixel n of four words lies in bank n: beat n brings it, and the bank writes a word a cycle.
TEST_P(BurstWrites, CY_1_a_second_port_sees_each_word_of_a_map_at_its_clock) {
  load_row(4, 16);
  expect_words(10, 4, [](int bank, int word) { return bank + 1 + word; });
}

// Pixels of three channels: a beat completes five words, and the last one of the map comes with beat 1.
TEST_P(BurstWrites, CY_1_a_second_port_sees_each_word_that_is_put_together_at_its_clock) {
  load_row(8, 3);
  expect_words(6, 2, [](int, int word) { return word == 0 ? 1 : 2; });
}

// ---- post-processor ----

/// A post-processor of two groups of two lanes and an output buffer with a second port.
struct DrainedResults : ::testing::Test {
  DrainedResults() {
    strict_systemc();
    config.rows = 4, config.columns = 4, config.groups = 2;
    config.drain_clocks_per_lane = 3, config.post_latency_cycles = 4;
  }
  void build() {
    post = std::make_unique<PostProcessor>("post", context, config);
    source.results.bind(post->drain);
    loader.records.bind(post->parameters);
    loader.slots.bind(post->slots);
    for (std::size_t group = 0; group < 2; ++group)
      post->output[group].bind(buffer.banks.front()->ports[group]);
    post->completion.bind(completions.completions);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    run.rows = 4, run.columns = 4, run.kernels = 4, run.output_stride = 16;
    geometry.rows = geometry.columns = geometry.height = geometry.width = 4;
    setup.post_parameters = true;
    source.results.send({NewSetup{setup}});
  }
  ArrayChunk chunk() const { return {run, instruction, schedule}; }
  /// Expects value `value` of each pixel from the cycle in which its lane is written on, 0 before. Operation
  /// cycle i has its last MAC in cycle `last_macs`[i].
  void expect_pixels(const std::vector<Cycle>& last_macs, std::int32_t value, Cycle cycles) {
    for (Cycle now = context.clock.cycle_of(now_ps()); now < cycles; ++now) {
      const auto bytes = buffer.readers.front()->read(0, 256);
      for (int pixel = 0; pixel < 16; ++pixel) {
        const int row = pixel / 4, column = pixel % 4, lane = column % 2;
        const std::size_t operation_cycle = static_cast<std::size_t>(row / 2 * 2 + column / 2);
        const bool there =
            operation_cycle < last_macs.size() && now >= last_macs[operation_cycle] + (lane + 1) * 3 + 4;
        std::int32_t read = 0;
        std::memcpy(&read, bytes.data() + 16 * pixel, sizeof read);
        EXPECT_EQ(read, there ? value : 0) << "row " << row << ", column " << column << " in cycle " << now;
      }
      sc_core::sc_start(to_sc_time(1000));
    }
  }
  SimContext context{ClockDomain(1000)};
  SwitchArrayConfig config;
  WatchedBanks buffer{context, 1, 256, 3};
  Source source{"source"}, loader{"loader"};
  Sink completions{"completions"};
  std::unique_ptr<PostProcessor> post;
  ConvRun run;
  ConvSetup setup;
  Instruction instruction;
  ChunkGeometry geometry{4, 4, 4, 4};
  SwitchSchedule schedule{{4, 4, 2, 4}, geometry};
};

TEST_F(DrainedResults, CY_1_a_second_port_sees_each_lane_of_an_operation_cycle_at_its_clock) {
  build();
  const std::vector<Sum> sums(16, 77);
  for (const int column_block : {0, 1}) {
    Beat beat;
    beat.column_block = column_block;
    source.results.send(
        {DrainMessage::OneCycle{chunk(), sums.data(), 4, beat, column_block * 9, column_block == 1}});
  }
  expect_pixels({0, 9}, 77, 30);
}

TEST_F(DrainedResults, CY_1_a_second_port_sees_each_lane_of_a_chunk_at_its_clock) {
  build();
  const std::vector<Sum> sums(16 * 4, 77);
  const std::vector<Cycle> last_macs{2, 11, 17, 30};
  source.results.send({DrainMessage::WholeChunk{chunk(), sums.data(), 4, last_macs}});
  expect_pixels(last_macs, 77, 50);
}

// The first chunk's last lane is written in cycle 30 + 2 * 3 + 4, the first lane of one with its first MAC in
// cycle m in cycle m + 3 + 4. Group 0 has rows 0 and 2: its last pixel is the twelfth of 16 bytes. A drain
// takes 2 * 3 cycles.
TEST_F(DrainedResults,
       HI_9_a_group_writes_the_last_pixel_of_a_chunk_and_the_first_of_the_next_in_two_cycles) {
  build();
  const std::vector<Sum> sums(16 * 4, 77);
  for (const Cycle mac : {36, 33}) {
    const std::vector<Cycle> first{2, 11, 17, 30}, second{mac, mac + 9, mac + 18, mac + 27};
    const auto drain = [&]() -> std::string {
      source.results.send({DrainMessage::WholeChunk{chunk(), sums.data(), 4, first}});
      try {
        source.results.send({DrainMessage::WholeChunk{chunk(), sums.data(), 4, second}});
      } catch (const SimulationError& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(in_child(drain), mac == 36 ? ""
                                         : "bank0: port 0 makes one access a cycle, but in cycle 40 it was "
                                           "asked for bytes 0xb0 and 0x0");
  }
}

// A record is in its register from its clock on: the last MAC of that clock copies it, no earlier one does.
TEST_F(DrainedResults, CY_1_lanes_use_a_record_from_its_clock_on) {
  config.records = RecordsKind::kCopied;
  build();
  PostParameter record;
  record.bias = 100;
  const std::array<std::uint8_t, kPostParameterBytes> bytes = encode(record);
  WordAccess write(tlm::TLM_WRITE_COMMAND, kPostParameterBytes);
  for (std::uint64_t column = 0; column < 4; ++column)
    write(loader.records, column * kPostParameterBytes, bytes.data(), to_sc_time(15 * 1000));
  const std::vector<Sum> sums(16, 77);
  for (const int column_block : {0, 1}) {
    Beat beat;
    beat.column_block = column_block;
    source.results.send(
        {DrainMessage::OneCycle{chunk(), sums.data(), 4, beat, 9 + 6 * column_block, column_block == 1}});
  }
  sc_core::sc_start(to_sc_time(40 * 1000));
  const std::vector<std::uint8_t> read = buffer.readers.front()->read(0, 2 * 16 + 1);
  EXPECT_EQ(read.front(), 77);
  EXPECT_EQ(read.back(), 177);
}

}  // namespace
}  // namespace tilebeat::testing::burst_writes
