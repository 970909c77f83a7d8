// When the bytes of a stream are written into the banks behind it: a bank writes one word a cycle, from the
// cycle after its beat on (document 000 [0088], SPEC SW-1, CY-1).
#include "tilebeat/engines/switch_array/operations.h"
#include "tilebeat/engines/switch_array/sim/input_arrangement.h"
#include "tilebeat/engines/switch_array/sim/parameter_loader.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "systemc_test.h"

namespace tilebeat::testing {
namespace {

constexpr int kWidth = 16;  // bytes of a beat

/// Streams an instruction and its bytes at once; says when all of it is written.
struct Streamer : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<Streamer> socket;
  explicit Streamer(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {}
  StreamMessage::Answer stream(const Operation& operation, int bytes) {
    Instruction instruction;
    instruction.operation = operation;
    MessageSender send;
    send(socket, StreamMessage{StreamMessage::Begin{instruction}});
    const std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
    const WaitTrail trail;
    StreamMessage message{StreamMessage::Data{data.data(), bytes, trail}};
    send(socket, message);
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
    at.push_back(static_cast<Cycle>(delay.value()) / 1000);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  std::vector<Cycle> at;
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
  ParameterLoader loader("loader", context, config, kWidth);
  bind(loader.bank_write);
  Words records("records");
  loader.post_write.bind(records.socket);
  streamer.socket.bind(loader.stream);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  LoadKernels load;
  load.words = 1, load.post_records = 3;
  // 16 words of 4 bytes are the beats 0 to 3, the records of 16 bytes the beats 4 to 6.
  const StreamMessage::Answer answer = streamer.stream(load, 16 * 4 + 3 * 16);
  EXPECT_EQ(answer.accepted, 7);
  EXPECT_EQ(records.at, (std::vector<Cycle>{5, 6, 7}));
  EXPECT_EQ(answer.written, 8) << "the last record is written in cycle 7";
  EXPECT_EQ(banks[0]->at, std::vector<Cycle>{1});
  EXPECT_EQ(banks[15]->at, std::vector<Cycle>{4});
}

TEST_F(BankWrites, CY_6_records_wait_for_their_bank) {
  config.arrangement_queue_words = 2;
  ParameterLoader loader("loader", context, config, 64);
  bind(loader.bank_write);
  Words records("records");
  loader.post_write.bind(records.socket);
  streamer.socket.bind(loader.stream);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  LoadKernels load;
  load.post_records = 4;  // in two beats of 32 bytes, two records each
  Instruction instruction;
  instruction.operation = load;
  const StreamMessage::Answer answer = streamer.stream(load, 4 * 16);
  EXPECT_EQ(records.at.size(), 4U);
  EXPECT_EQ(answer.written, records.at.back() + 1);
  EXPECT_EQ(records.at.back(), records.at.front() + 3) << "one a cycle";
}

}  // namespace
}  // namespace tilebeat::testing
