// Typed messages between modules: what was sent arrives, and only where its type is taken.
#include "fabric/transport.h"
#include "sim/clock.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct Question {
  static constexpr const char* kMessageName = "Question";
  int number = 0;
  int doubled = 0;  ///< answer
};
/// The same fields under another name.
struct Remark {
  static constexpr const char* kMessageName = "Remark";
  int number = 0;
  int doubled = 0;
};

/// Takes questions and doubles their numbers.
class Receiver : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Receiver> questions;
  std::vector<sc_core::sc_time> delays;

  explicit Receiver(const sc_core::sc_module_name& name) : sc_module(name), questions("questions") {
    questions.register_b_transport(this, &Receiver::take);
  }

 private:
  void take(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    auto& question = message_of<Question>(payload, questions);
    question.doubled = 2 * question.number;
    delays.push_back(delay);
  }
};

class Sender : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Sender> out;
  MessageSender send;
  explicit Sender(const sc_core::sc_module_name& name) : sc_module(name), out("out") {}
};

class MessageTest : public ::testing::Test {
 protected:
  MessageTest() {
    strict_systemc();
    sender_.out.bind(receiver_.questions);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // sockets are bound from here on
  }
  template <class Action>
  static std::string error_of(Action action) {
    try {
      action();
    } catch (const SimulationError& error) {
      return error.what();
    }
    return "no error";
  }

  Receiver receiver_{"receiver"};
  Sender sender_{"sender"};
};

TEST_F(MessageTest, arrives_and_is_answered) {
  Question question;
  question.number = 21;
  sender_.send(sender_.out, question);
  EXPECT_EQ(question.doubled, 42);
  sender_.send(sender_.out, Question{1, 0}, to_sc_time(7));
  EXPECT_EQ(receiver_.delays, (std::vector{sc_core::SC_ZERO_TIME, to_sc_time(7)}));
}

TEST_F(MessageTest, of_another_type_is_refused_with_both_names_and_the_socket) {
  EXPECT_EQ(error_of([this] {
              sender_.send(sender_.out, Remark{21, 0});
            }),
            "receiver.questions: takes a Question, but was sent a Remark; bind the socket to a module that "
            "sends Question");
  EXPECT_TRUE(receiver_.delays.empty()) << "the receiver does not act on it";
  Question question;
  question.number = 4;
  sender_.send(sender_.out, question);
  EXPECT_EQ(question.doubled, 8) << "the sender can be used again";
}

TEST_F(MessageTest, a_memory_access_is_no_message) {
  Question bytes;
  tlm::tlm_generic_payload payload;
  EXPECT_EQ(
      error_of([&] { transport(sender_.out, payload, tlm::TLM_WRITE_COMMAND, 0, &bytes, sizeof bytes); }),
      "receiver.questions: takes a Question, but was sent a memory access; bind the socket to a module "
      "that sends Question");
}

}  // namespace
}  // namespace tilebeat::testing
