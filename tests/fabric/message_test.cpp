// Messages between modules travel over sockets of a protocol of their own (SPEC HI-9).
#include "fabric/message.h"

#include "sim/clock.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

struct Question {
  int number = 0;
  int doubled = 0;  ///< answer
};
/// The same fields under another name.
struct Remark {
  int number = 0;
  int doubled = 0;
};

/// Takes questions and doubles their numbers.
class Receiver : public sc_core::sc_module {
 public:
  MessageTarget<Question> questions;
  std::vector<sc_core::sc_time> delays;

  explicit Receiver(const sc_core::sc_module_name& name) : sc_module(name), questions("questions") {
    questions.register_b_transport(this, &Receiver::take);
  }

 private:
  void take(Question& question, sc_core::sc_time& delay) {
    question.doubled = 2 * question.number;
    delays.push_back(delay);
  }
};

class Sender : public sc_core::sc_module {
 public:
  MessageInitiator<Question> out;
  explicit Sender(const sc_core::sc_module_name& name) : sc_module(name), out("out") {}
};

class MessageTest : public ::testing::Test {
 protected:
  MessageTest() {
    strict_systemc();
    sender_.out.bind(receiver_.questions);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // sockets are bound from here on
  }

  Receiver receiver_{"receiver"};
  Sender sender_{"sender"};
};

TEST_F(MessageTest, HI_9_arrives_and_is_answered) {
  Question question;
  question.number = 21;
  sender_.out.send(question);
  EXPECT_EQ(question.doubled, 42);
  sender_.out.send(question, to_sc_time(7));
  EXPECT_EQ(receiver_.delays, (std::vector{sc_core::SC_ZERO_TIME, to_sc_time(7)}));
}

template <class Initiator, class Target, class = void>
struct CanBind : std::false_type {};
template <class Initiator, class Target>
struct CanBind<Initiator, Target,
               std::void_t<decltype(std::declval<Initiator&>().bind(std::declval<Target&>()))>>
    : std::true_type {};

TEST(Message, HI_9_sockets_of_other_messages_and_of_memory_accesses_cannot_be_bound) {
  using Questions = MessageInitiator<Question>;
  EXPECT_TRUE((CanBind<Questions, MessageTarget<Question>>::value));
  EXPECT_FALSE((CanBind<Questions, MessageTarget<Remark>>::value));
  EXPECT_FALSE((CanBind<Questions, tlm::tlm_target_socket<>>::value));
  EXPECT_FALSE((CanBind<tlm::tlm_initiator_socket<>, MessageTarget<Question>>::value));
}

TEST_F(MessageTest, HI_9_has_no_phases) {
  Question question;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  EXPECT_THROW(sender_.out->nb_transport_fw(question, phase, delay), SimulationError);
  EXPECT_TRUE(receiver_.delays.empty()) << "the receiver does not act on it";
}

}  // namespace
}  // namespace tilebeat::testing
