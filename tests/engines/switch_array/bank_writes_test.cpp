// When the bytes of a stream are written into the banks behind it: a bank writes one word a cycle, from the
// cycle after its beat on (document 000 [0088], SPEC SW-1, CY-1).
#include "config/hardware_config.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/sim/input_arrangement.h"
#include "engines/switch_array/sim/parameter_loader.h"
#include "fabric/sram_bank.h"
#include "random_cases.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

using switch_array::InputArrangement;
using switch_array::LoadInput;
using switch_array::LoadKernels;
using switch_array::ParameterLoader;
using switch_array::RecordSlot;
using switch_array::SwitchArrayConfig;

namespace {

constexpr int kWidth = 16;  // bytes of a beat

/// Streams an instruction and its bytes at once; says when all of it is written.
struct Streamer : sc_core::sc_module {
  MessageInitiator<StreamMessage> socket;
  explicit Streamer(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {}
  StreamMessage::Answer stream(const Operation& operation, int bytes) {
    Instruction instruction;
    instruction.operation = operation;
    socket.send({StreamMessage::Begin{instruction}});
    const std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
    const WaitTrail trail;
    StreamMessage message{StreamMessage::Data{data.data(), bytes, trail}};
    socket.send(message);
    return message.answer;
  }
};

/// Takes writes of words.
struct Words : sc_core::sc_module {
  tlm_utils::simple_target_socket<Words> socket;
  explicit Words(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {
    socket.register_b_transport(this, &Words::take);
  }
  void take(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    at.push_back(static_cast<Cycle>(delay.value()) / 1000);
  }
  std::vector<Cycle> at;
};

/// Takes records; says how long those of slots from `held_from` on have to wait.
struct Records : Words {
  MessageTarget<RecordSlot> slots;
  explicit Records(const sc_core::sc_module_name& name) : Words(name), slots("slots") {
    slots.register_b_transport(this, &Records::tell);
  }
  void tell(RecordSlot& slot, sc_core::sc_time&) {
    slot.free_from = slot.number >= held_from ? held_until : 0;
  }
  void bind(ParameterLoader& loader) {
    loader.post_write.bind(socket);
    loader.record_slots.bind(slots);
  }
  Cycle held_until = 0;
  int held_from = 0;
};

struct BankWrites : ::testing::Test {
  BankWrites() { strict_systemc(); }
  template <class Sockets>
  void bind(Sockets& sockets) {
    for (auto& socket : sockets) {
      banks.push_back(std::make_unique<Words>(("bank" + std::to_string(banks.size())).c_str()));
      socket.bind(banks.back()->socket);
    }
  }
  SimContext context{ClockDomain(1000)};
  SwitchArrayConfig config;
  Streamer streamer{"streamer"};
  std::vector<std::unique_ptr<Words>> banks;
};

/// A loader between the test's streamer, its banks and `records`, ready to stream.
struct Loading {
  Loading(BankWrites& test, int width) : loader("loader", test.context, test.config, width) {
    test.bind(loader.bank_write);
    records.bind(loader);
    test.streamer.socket.bind(loader.stream);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  ParameterLoader loader;
  Records records{"records"};
};

TEST_F(BankWrites, CY_6_words_of_a_pixel_are_written_one_a_cycle) {
  InputArrangement arrangement("arrangement", context, config, kWidth);
  bind(arrangement.bank_write);
  streamer.socket.bind(arrangement.stream);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  LoadInput load;
  load.height = load.width = 1, load.channels = 16;  // four words, all of one bank, in one beat
  const StreamMessage::Answer answer = streamer.stream(load, 16);
  EXPECT_EQ(answer.accepted, 1);
  EXPECT_EQ(answer.written, 1 + 4) << "in the cycles 1 to 4";
  EXPECT_EQ(answer.blocked, 0);
}

TEST_F(BankWrites, CY_6_words_of_several_pixels_are_written_side_by_side) {
  InputArrangement arrangement("arrangement", context, config, kWidth);
  bind(arrangement.bank_write);
  streamer.socket.bind(arrangement.stream);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  LoadInput load;
  load.height = 1, load.width = 4, load.channels = 4;  // four words of four banks in one beat
  EXPECT_EQ(streamer.stream(load, 16).written, 1 + 1);
}

TEST_F(BankWrites, CY_6_kernel_words_and_records_take_a_write_each) {
  const Loading loading(*this, kWidth);
  LoadKernels load;
  load.words = 1, load.post_records = 3;
  // 16 words of 4 bytes are the beats 0 to 3, the records of 16 bytes the beats 4 to 6.
  const StreamMessage::Answer answer = streamer.stream(load, 16 * 4 + 3 * 16);
  EXPECT_EQ(answer.accepted, 7);
  EXPECT_EQ(loading.records.at, (std::vector<Cycle>{5, 6, 7}));
  EXPECT_EQ(answer.written, 8) << "the last record is written in cycle 7";
  EXPECT_EQ(banks[0]->at, std::vector<Cycle>{1});
  EXPECT_EQ(banks[15]->at, std::vector<Cycle>{4});
}

TEST_F(BankWrites, CY_6_records_wait_for_their_bank) {
  const Loading loading(*this, 64);
  LoadKernels load;
  load.post_records = 4;  // in a beat
  Instruction instruction;
  instruction.operation = load;
  const StreamMessage::Answer answer = streamer.stream(load, 4 * 16);
  EXPECT_EQ(loading.records.at.size(), 4U);
  EXPECT_EQ(answer.written, loading.records.at.back() + 1);
  EXPECT_EQ(loading.records.at.back(), loading.records.at.front() + 3) << "one a cycle";
}

/// Two kernels with a channel each: the words of the first channel have a byte of the first kernel alone.
LoadKernels two_kernels_with_channels_of_their_own() {
  LoadKernels load;
  load.taps = 16, load.block_words = load.words = 32;  // of two channels
  load.kernels = 2, load.group_kernels = load.group_channels = 1;
  return load;
}

TEST_F(BankWrites, CY_8_the_least_queue_takes_a_word_a_byte_and_one_without_bytes) {
  config.columns = 2, config.port_channels = 1, config.arrangement_queue_words = least_queue_words(kWidth);
  const Loading loading(*this, kWidth);
  // All bytes are of the first column; the 17th word there has none and comes with the 16th.
  EXPECT_EQ(streamer.stream(two_kernels_with_channels_of_their_own(), kWidth).accepted, 1);
  EXPECT_EQ(banks[0]->at.size(), std::size_t{kWidth} + 1);
  EXPECT_EQ(banks[0]->at.back(), kWidth + 1) << "one a cycle";
  EXPECT_EQ(banks[1]->at.size(), std::size_t{kWidth});
}

TEST_F(BankWrites, CY_8_a_beat_that_no_queue_holds_ends_the_run) {
  config.columns = 2, config.port_channels = 1,
  config.arrangement_queue_words = least_queue_words(kWidth) - 1;
  const Loading loading(*this, kWidth);
  try {
    streamer.stream(two_kernels_with_channels_of_their_own(), kWidth);
    FAIL() << "the beat was taken";
  } catch (const SimulationError& error) {
    EXPECT_STREQ(error.what(), "a bus beat has more words for a bank than the 16 that its queue holds");
  }
}

TEST(BankQueues, CY_8_a_file_must_have_queues_for_the_widest_beat) {
  const auto file = [](int bus, int words, bool chip) {
    return nlohmann::json::parse(fmt::format(
        chip
            ? R"({{"chip": {{"core": {{"bus": {{"bytes_per_clock": {}}}}}}}, "switch_array": {{"arrangement_queue_words": {}}}}})"
            : R"({{"interconnect": {{"bytes_per_clock": {}}}, "switch_array": {{"arrangement_queue_words": {}}}}})",
        bus, words));
  };
  for (const bool chip : {false, true}) {
    for (const int bus : {16, 64}) {
      EXPECT_NO_THROW(parse_hardware(file(bus, bus + 1, chip), "file")) << bus;
      try {
        parse_hardware(file(bus, bus, chip), "file");
        ADD_FAILURE() << bus << ": was not refused";
      } catch (const UserError& error) {
        EXPECT_NE(std::string(error.what())
                      .find(fmt::format(
                          "/switch_array/arrangement_queue_words: {} is not allowed, allowed is at least {}",
                          bus, bus + 1)),
                  std::string::npos)
            << error.what();
      }
    }
  }
}

/// A loader of a word a column and then records, one a beat.
struct HeldRecords : BankWrites {
  /// The cycles in which records of the slots from `held_slot` on are written that are held until `until`.
  std::vector<Cycle> written(int until, int queue_words, int held_slot, int records) {
    config.columns = 4, config.arrangement_queue_words = queue_words;
    ParameterLoader loader("loader", context, config, kWidth);
    bind(loader.bank_write);
    Records post("records");
    post.held_until = until;
    post.held_from = held_slot;
    post.bind(loader);
    streamer.socket.bind(loader.stream);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    LoadKernels load;
    load.words = 1, load.post_records = static_cast<std::uint16_t>(records);
    answer = streamer.stream(load, (1 + records) * 16);  // the records are the beats 1, 2, ...
    EXPECT_EQ(answer.written, post.at.back() + 1);
    return post.at;
  }
  StreamMessage::Answer answer;
};

TEST_F(HeldRecords, SW_9_records_come_in_time_when_their_slot_is_free_in_that_cycle) {
  EXPECT_EQ(written(2, 4, 0, 4), (std::vector<Cycle>{2, 3, 4, 5}));
}

TEST_F(HeldRecords, SW_9_records_wait_in_the_queue_when_their_slot_is_free_a_cycle_later) {
  EXPECT_EQ(written(3, 4, 0, 4), (std::vector<Cycle>{3, 4, 5, 6}));
  EXPECT_EQ(answer.blocked, 0);
  EXPECT_EQ(answer.accepted, 5);
}

TEST_F(HeldRecords, SW_9_a_full_queue_of_held_records_blocks_the_stream) {
  EXPECT_EQ(written(20, 2, 0, 4), (std::vector<Cycle>{20, 21, 22, 23}));
  EXPECT_EQ(answer.accepted, 22) << "the last record finds a place when the second one is written";
  EXPECT_EQ(answer.blocked, 22 - 5);
}

TEST_F(HeldRecords, SW_9_only_records_of_the_held_slot_wait) {
  EXPECT_EQ(written(20, 3, 1, 8), (std::vector<Cycle>{2, 3, 4, 5, 20, 21, 22, 23}));
  EXPECT_EQ(answer.accepted, 21) << "the last one is taken when the first held one is written";
}

// A bank that has a stuck cell wants to see every write.
TEST(BankWritesProperty, CY_3_words_stored_directly_are_those_of_single_writes) {
  check_cases(60, [] {
    SwitchArrayConfig config;
    config.columns = number(1, 20);
    config.rows = number(1, 12);
    config.groups = 1;
    config.port_channels = 1 << number(0, 5);
    config.parameter_depth_words = 512;
    config.bank_depth_words = 512;
    const int width = 1 << number(3, 7);
    config.arrangement_queue_words = least_queue_words(width) + number(0, 3);
    struct Part {
      bool kernels, begins;
      Operation operation;
      int bytes;
      Picoseconds after;
    };
    std::vector<Part> parts;
    for (int load = 0; load < 6; ++load) {
      const bool kernels = one_in(2);
      Operation operation;
      int left = 0;
      if (kernels) {
        LoadKernels k;
        k.words = static_cast<std::uint32_t>(number(1, 40));
        k.parameter_word = static_cast<std::uint32_t>(number(0, 400));
        k.post_records = static_cast<std::uint16_t>(number(0, config.columns));
        left = static_cast<int>(k.words) * config.columns * config.port_channels + k.post_records * 16;
        operation = k;
      } else {
        LoadInput input;
        input.height = static_cast<std::uint16_t>(number(1, 4));
        input.width = static_cast<std::uint16_t>(number(1, 9));
        input.channels = static_cast<std::uint16_t>(number(1, 3 * config.port_channels));
        input.copy = static_cast<std::uint8_t>(number(0, 1));
        left = input.height * input.width * input.channels;
        operation = input;
      }
      for (bool begins = true; left > 0; begins = false) {
        const int bytes = std::min(left, number(1, 4) * width);
        parts.push_back({kernels, begins, operation, bytes, 1000 * number(0, 12)});
        left -= bytes;
      }
    }
    const auto run = [&](bool stuck) {
      return in_child([&] {
        strict_systemc();
        const SimContext context{ClockDomain(1000)};
        ParameterLoader loader("loader", context, config, width);
        InputArrangement arrangement("arrangement", context, config, width);
        Records records("records");
        records.bind(loader);
        std::vector<std::unique_ptr<SramBank>> banks;
        std::vector<std::function<void(tlm::tlm_generic_payload&)>> readers;
        const auto bind = [&](auto& sockets, int words, int regions) {
          const auto row = std::make_shared<TimedWrites>(sockets.size());
          std::size_t in_row = 0;
          for (auto& socket : sockets) {
            const std::int64_t bytes = std::int64_t{words} * config.port_channels;
            banks.push_back(std::make_unique<SramBank>(("bank" + std::to_string(banks.size())).c_str(),
                                                       context, bytes, 1, regions, BankPlace{row, in_row++}));
            socket.bind(banks.back()->ports[0]);
            readers.emplace_back([&socket](tlm::tlm_generic_payload& p) { socket->transport_dbg(p); });
            // Of a byte that nothing is written to.
            if (stuck) banks.back()->inject_fault(bytes - 1, 1);
          }
        };
        bind(loader.bank_write, config.parameter_depth_words, 1);
        bind(arrangement.bank_write, 2 * config.bank_depth_words, 2);
        Streamer to_loader("to_loader"), to_arrangement("to_arrangement");
        to_loader.socket.bind(loader.stream);
        to_arrangement.socket.bind(arrangement.stream);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        std::string text;
        int value = 0;
        Cycle written = 0;
        for (const Part& part : parts) {
          if (part.after > 0) sc_core::sc_start(to_sc_time(part.after));
          std::vector<std::uint8_t> data(static_cast<std::size_t>(part.bytes));
          for (auto& byte : data) byte = static_cast<std::uint8_t>(++value * 37);
          Streamer& to = part.kernels ? to_loader : to_arrangement;
          Instruction instruction;
          instruction.operation = part.operation;
          if (part.begins) to.socket.send({StreamMessage::Begin{instruction}});
          const WaitTrail trail;
          StreamMessage message{StreamMessage::Data{data.data(), part.bytes, trail}};
          to.socket.send(message);
          for (const Cycle at : {message.answer.accepted, message.answer.blocked, message.answer.written})
            text += std::to_string(at) + " ";
          written = std::max(written, message.answer.written);
        }
        const Cycle now = context.clock.cycle_of(now_ps());
        if (written > now) sc_core::sc_start(to_sc_time(1000 * (written - now)));
        for (std::size_t i = 0; i < banks.size(); ++i) {
          std::vector<std::uint8_t> all(static_cast<std::size_t>(banks[i]->size_bytes()));
          tlm::tlm_generic_payload payload;
          payload.set_command(tlm::TLM_READ_COMMAND);
          payload.set_address(0);
          payload.set_data_ptr(all.data());
          payload.set_data_length(static_cast<unsigned>(all.size()));
          readers[i](payload);
          std::size_t sum = 0;
          for (const std::uint8_t byte : all) sum = sum * 31 + byte;
          text += std::to_string(sum) + " " + std::to_string(banks[i]->stats(0).accesses) + " " +
                  std::to_string(banks[i]->stats(0).bytes) + ";";
        }
        for (const Cycle at : records.at) text += std::to_string(at) + " ";
        return text;
      });
    };
    RC_ASSERT(run(false) == run(true));
  });
}

}  // namespace
}  // namespace tilebeat::testing
