// A matrix unit of this test's own, linked instead of the product's engines: cores and boards bind what it
// lists and report what it tells, and know nothing else of it.
#include "units/matrix_unit.h"

#include "chip_run.h"
#include "config/engine_config_of.h"
#include "engines/switch_array/config.h"
#include "fabric/burst_port.h"
#include "isa/address_map.h"
#include "units/commanded_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat {

struct ToyConfig {
  int bytes = 64;
};

template <class V>
void describe(V& v, ToyConfig& c) {
  v.integer("bytes", c.bytes, {1, 64}, "bytes that an instruction reads");
}
void check_engine(const ToyConfig&, const HardwareConfig&, const Place&) {}
std::int64_t results_per_clock(const ToyConfig&) {
  return 1;
}
std::int64_t peak_macs_per_clock(const ToyConfig&) {
  return 1;
}
FaultSpace fault_space(const ToyConfig&, const HardwareConfig&) {
  return {};
}

namespace switch_array {
EngineDescription description();  // the sample chips know it
}

const std::vector<EngineDescription>& engine_descriptions() {
  static const std::vector<EngineDescription> engines{switch_array::description(),
                                                      {"toy", "toy", "a toy", make_engine_config<ToyConfig>}};
  return engines;
}

namespace {

/// Reads `bytes` bytes from address `memory`, for every instruction; tells that it is done by
/// another socket than that it is released.
class Toy : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  MessageTarget<UnitCommand> command;
  BurstPort port;
  MessageInitiator<UnitMessage> released, done;
  CycleLedger ledger;
  std::int64_t reads = 0;

  Toy(sc_core::sc_module_name name, const SimContext& context, int bytes, std::uint64_t memory)
      : sc_module(name),
        command("command"),
        port("port", context, 1, wake_),
        released("released"),
        done("done"),
        context_(context),
        bytes_(bytes),
        memory_(memory) {
    command.register_b_transport(this, &Toy::receive);
    SC_HAS_PROCESS(Toy);
    SC_METHOD(step);
    sensitive << wake_;
    dont_initialize();
  }

 private:
  void receive(UnitCommand& message, sc_core::sc_time&) {
    const auto* dispatch = std::get_if<UnitCommand::Dispatch>(&message.content);
    if (dispatch == nullptr) return;
    commands_.push_back(dispatch->instruction);
    const Cycle next = context_.clock.cycle_of(now_ps()) + 1;
    wake_.notify(to_sc_time(context_.clock.at(next) - now_ps()));
  }
  void step() {
    const Cycle now = context_.clock.cycle_of(now_ps());
    if (port.front_ready(now)) {
      port.take_front();
      ++reads;
      ledger.enter(Activity::kNoWork, now);
      UnitMessage release{Unit::kMatrix, UnitMessage::Kind::kReleased, commands_.front().release_signals};
      UnitMessage completion{Unit::kMatrix, UnitMessage::Kind::kDone, commands_.front().done_signals};
      commands_.pop_front();
      released.send(release);
      done.send(completion);
    }
    if (commands_.empty() || !port.empty() || !port.granted(now)) return;
    ledger.enter(Activity::kBusy, now);
    port.issue(tlm::TLM_READ_COMMAND, memory_, bytes_, port.buffer(bytes_), now);
  }

  SimContext context_;
  int bytes_;
  std::uint64_t memory_;
  std::deque<Instruction> commands_;
};

class ToyUnit : public MatrixUnit {
 public:
  explicit ToyUnit(const MatrixUnitContext& c)
      : toy_("toy", c.context, c.hardware.engine<ToyConfig>().bytes, c.nram) {}
  std::vector<NamedPort> memory_ports() override { return {{"toy_read", &toy_.port.socket}}; }
  std::vector<UnitSockets> units() override {
    return {{Unit::kMatrix, &toy_.command, {&toy_.released, &toy_.done}}};
  }
  void visit(StatVisitor& visitor) override {
    visitor.ledger("toy", toy_.ledger);
    visitor.array(toy_.ledger, toy_.reads, 10 * toy_.reads);
    visitor.counter("toy", "reads", "reads", toy_.reads);
    visitor.bytes(&MemoryBytes::input_buffer_write, 3 * toy_.reads);
  }

 private:
  Toy toy_;
};

}  // namespace

std::unique_ptr<MatrixUnit> make_matrix_unit(const MatrixUnitContext& context) {
  return std::make_unique<ToyUnit>(context);
}

namespace testing {
namespace {

const std::vector<std::string> kTwoReads{"conv.setup", "conv.setup", "layer.end", "halt"};

TEST(MatrixUnit, HI_2_a_core_binds_and_reports_what_the_unit_lists) {
  HardwareConfig hardware = small_chip(1, 2);
  hardware.dataflow = "toy";
  hardware.engine<ToyConfig>().bytes = 48;
  ChipRun run(hardware, plan_of({{0, kTwoReads}, {1, {"conv.setup", "halt"}}}));
  run.run();
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.counter("cluster0.core0.toy", "reads"), 2);
  EXPECT_EQ(run.counter("cluster0.core1.toy", "reads"), 1);
  EXPECT_EQ(run.counter("cluster0.core0.bus.toy_read", "read"), 2 * 48) << "a port of the core's bus";
  EXPECT_EQ(run.snapshot.bytes.input_buffer_write, 3 * 3);
  EXPECT_EQ(run.snapshot.beats, 3);
  EXPECT_EQ(run.unbalanced(), "");
}

TEST(MatrixUnit, HI_5_cores_tell_what_they_did) {
  HardwareConfig hardware = small_chip(1, 2);
  hardware.dataflow = "toy";
  ChipRun run(hardware, plan_of({{0, {"conv.setup", "barrier id=1 participants=2", "layer.end", "halt"}},
                                 {1, {"barrier id=1 participants=2", "layer.end", "halt"}}}));
  run.run();
  ASSERT_EQ(run.error, "");
  ASSERT_EQ(run.snapshot.cores.size(), 2U);
  const CoreResult &first = run.snapshot.cores[0], &second = run.snapshot.cores[1];
  EXPECT_EQ(first.name, "cluster0.core0");
  EXPECT_EQ(first.macs, 10);
  EXPECT_EQ(second.macs, 0);
  EXPECT_GT(first.busy, 0);
  EXPECT_EQ(second.busy, 0);
  EXPECT_GT(second.barrier, 0);
}

TEST(MatrixUnit, HI_1_a_board_binds_the_same_unit) {
  HardwareConfig hardware;
  hardware.dataflow = "toy";
  ChipRun run(hardware, plan_of({{0, kTwoReads}}));
  run.run();
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.counter("toy", "reads"), 2);
  EXPECT_EQ(run.counter("bus.toy_read", "read"), 2 * 64) << "from DRAM";
  EXPECT_TRUE(run.snapshot.cores.empty());
  EXPECT_EQ(run.unbalanced(), "");
}

}  // namespace
}  // namespace testing
}  // namespace tilebeat
