// NRAM, WRAM and SRAM: contents, latency, throughput, banks (SPEC HI-2, HI-3, HI-7, CY-1).
#include "fabric/scratchpad.h"

#include "fabric/burst.h"
#include "random_cases.h"
#include "second_access.h"
#include "systemc_test.h"
#include "unit_driver.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kScratchpadPeriod = 1000;
constexpr std::uint64_t kBase = std::uint64_t{1} << 42;

/// A scratchpad whose only initiator is a stub that sends what it is told in the cycles it is told, or as
/// soon as the memory has taken what came before.
class Direct : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Direct> socket;
  struct Burst {
    Cycle at = 0;
    tlm::tlm_command command = tlm::TLM_READ_COMMAND;
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle responded = -1;
    Cycle accepted = -1;  // END_REQ came later, in this cycle
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    tlm::tlm_generic_payload payload{};
  };
  std::deque<Burst> bursts;

  Direct(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_nb_transport_bw(this, &Direct::answer);
    SC_HAS_PROCESS(Direct);
    SC_THREAD(run);
  }
  /// Arrives in phase kGrant of cycle `at`, as from an interconnect; cycles do not fall.
  Burst& send(Cycle at, tlm::tlm_command command, std::uint64_t address, std::vector<std::uint8_t> data) {
    bursts.emplace_back();
    Burst& burst = bursts.back();
    burst.at = at, burst.command = command, burst.address = address, burst.data = std::move(data);
    burst.payload.set_extension(new BurstExtension);  // the payload's from now on
    return burst;
  }
  Burst& read(Cycle at, std::uint64_t address, std::size_t bytes) {
    return send(at, tlm::TLM_READ_COMMAND, address, std::vector<std::uint8_t>(bytes));
  }
  Burst& write(Cycle at, std::uint64_t address, std::vector<std::uint8_t> data) {
    return send(at, tlm::TLM_WRITE_COMMAND, address, std::move(data));
  }

 private:
  void run() {
    for (Burst& burst : bursts) {
      const Picoseconds wanted = context_.clock.at(burst.at, Phase::kGrant);
      if (wanted > now_ps()) wait(to_sc_time(wanted - now_ps()));
      burst.payload.set_command(burst.command);
      burst.payload.set_address(burst.address);
      burst.payload.set_data_ptr(burst.data.data());
      burst.payload.set_data_length(static_cast<unsigned>(burst.data.size()));
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      const tlm::tlm_sync_enum status = socket->nb_transport_fw(burst.payload, phase, delay);
      if (status == tlm::TLM_COMPLETED) finish(burst);
      if (status != tlm::TLM_ACCEPTED) continue;
      wait(taken_);
      const Cycle now = context_.clock.cycle_of(now_ps());
      wait(to_sc_time(context_.clock.at(now, Phase::kGrant) - now_ps()));
    }
  }
  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    for (Burst& burst : bursts) {
      if (&burst.payload == &payload && phase == tlm::END_REQ) {
        burst.accepted = context_.clock.cycle_of(now_ps());
        taken_.notify(sc_core::SC_ZERO_TIME);
        return tlm::TLM_ACCEPTED;
      }
      if (&burst.payload == &payload) finish(burst);
    }
    return tlm::TLM_COMPLETED;
  }
  void finish(Burst& burst) {
    burst.responded = context_.clock.cycle_of(now_ps());
    burst.status = burst.payload.get_response_status();
  }
  SimContext context_;
  sc_core::sc_event taken_;
};

class ScratchpadTest : public ::testing::Test {
 protected:
  ScratchpadTest() { strict_systemc(); }
  void build() {
    memory_ = std::make_unique<Scratchpad>("memory", context_, config_, config_.size_bytes, kBase, kBus);
    port_ = std::make_unique<Direct>("port", context_);
    port_->socket.bind(memory_->socket);
  }
  void run(Cycle cycles) { sc_core::sc_start(to_sc_time(context_.clock.at(cycles))); }
  /// Cycles that an undisturbed request's words take.
  Cycle word_clocks(std::uint64_t address, std::uint64_t bytes) const {
    const auto width = static_cast<std::uint64_t>(config_.bank_bytes);
    const std::uint64_t words = (address + bytes + width - 1) / width - address / width;
    return static_cast<Cycle>(ceil_div<std::uint64_t>(words, kBus / width));
  }

  using Spent = std::vector<std::pair<Activity, Cycle>>;
  static const WaitTrail& trail(const Direct::Burst& burst) {
    return BurstPool::extension(burst.payload).trail;
  }
  static Spent spent(const Direct::Burst& burst, Cycle begin, Cycle end) {
    Spent all;
    trail(burst).divide(begin, end, [&](Activity cause, Cycle cycles) { all.emplace_back(cause, cycles); });
    return all;
  }

  static constexpr int kBus = 64;
  SimContext context_{ClockDomain(kScratchpadPeriod)};
  MemoryConfig config_{4096, 16, 16, 3};
  std::unique_ptr<Scratchpad> memory_;
  std::unique_ptr<Direct> port_;
};

TEST_F(ScratchpadTest, HI_2_latency_pair) {
  build();
  auto& burst = port_->read(10, kBase + 32, 16);
  // Taken in cycle 10, known from cycle 11 on, the word `latency_cycles` later, the response a cycle after.
  const Cycle response = 10 + 1 + config_.latency_cycles + 1;
  sc_core::sc_start(to_sc_time(context_.clock.at(response) - 1));
  EXPECT_EQ(burst.responded, -1) << "not before cycle " << response;
  sc_core::sc_start(to_sc_time(1));
  sc_core::sc_start(to_sc_time(1));
  EXPECT_EQ(burst.responded, response);
  EXPECT_EQ(burst.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(memory_->stats.words, 1);
}

// Of 64-byte requests at a bus of as much, the second waits a cycle for the port; of two words in one bank
// the second waits for the bank.
TEST_F(ScratchpadTest, CY_2_a_request_says_what_kept_it) {
  build();
  auto& first = port_->read(10, kBase, 64);
  auto& second = port_->read(10, kBase + 64, 64);
  auto& word = port_->read(100, kBase, 16);
  auto& same_bank = port_->read(100, kBase + 256, 16);
  run(200);
  const Cycle access = 10 + 1 + config_.latency_cycles;
  EXPECT_TRUE(trail(first).empty()) << "nothing but its access";
  EXPECT_EQ(
      spent(second, 10, second.responded),
      (Spent{{Activity::kDataLatency, access - 10}, {Activity::kMemoryPort, 1}, {Activity::kBusLatency, 1}}))
      << "the port knows of no answer";
  EXPECT_TRUE(trail(word).empty());
  EXPECT_EQ(spent(same_bank, 100, same_bank.responded), (Spent{{Activity::kDataLatency, access - 10},
                                                               {Activity::kBankConflict, 1},
                                                               {Activity::kBusLatency, 1}}));
}

TEST_F(ScratchpadTest, HI_2_words_a_clock) {
  build();
  auto& whole = port_->read(10, kBase, 1024);
  auto& ragged = port_->read(200, kBase + 8, 1024);  // a word more, two of them partly covered
  auto& one = port_->write(400, kBase + 77, {1});
  run(600);
  const Cycle before = 1 + config_.latency_cycles;
  EXPECT_EQ(whole.responded - whole.at, before + 1024 / kBus);
  EXPECT_EQ(ragged.responded - ragged.at, before + word_clocks(8, 1024));
  EXPECT_EQ(word_clocks(8, 1024), 17);
  EXPECT_EQ(one.responded - one.at, before + 1);
  EXPECT_EQ(memory_->stats.words, 64 + 65 + 1);
  EXPECT_EQ(memory_->stats.read_bytes, 2048);
  EXPECT_EQ(memory_->stats.write_bytes, 1);
  EXPECT_EQ(memory_->stats.conflict_clocks, 0);
}

TEST_F(ScratchpadTest, HI_6_the_port_carries_the_width_of_the_bus_each_way) {
  build();
  // 1024 bytes are four rounds over the sixteen banks, four banks a cycle: reads and a write that starts two
  // cycles later never meet in a bank.
  auto& a = port_->read(10, kBase, 1024);
  auto& b = port_->read(11, kBase + 1024, 1024);
  auto& c = port_->write(12, kBase + 2048, std::vector<std::uint8_t>(1024));
  run(100);
  const Cycle alone = 1 + config_.latency_cycles + 16;
  EXPECT_EQ(a.responded - a.at, alone);
  EXPECT_EQ(b.responded, a.responded + 16) << "64 bytes a cycle of reads, though the banks deliver 256";
  EXPECT_EQ(c.responded - c.at, alone) << "writes have a data bus of their own";
  EXPECT_EQ(memory_->stats.conflict_clocks, 0);
  EXPECT_EQ(memory_->stats.port_clocks, 15) << "from b's first possible cycle to a's last";
}

TEST_F(ScratchpadTest, HI_2_requests_to_the_same_banks_wait_by_age) {
  build();
  // Both begin in bank 0 in the same cycle: the younger one follows the older a cycle behind.
  auto& a = port_->read(10, kBase, 256);
  auto& b = port_->write(10, kBase + 256, std::vector<std::uint8_t>(256));
  run(100);
  EXPECT_EQ(a.responded - a.at, 1 + config_.latency_cycles + 4);
  EXPECT_EQ(b.responded - b.at, 1 + config_.latency_cycles + 4 + 1);
  EXPECT_EQ(memory_->stats.conflict_clocks, 1);
}

TEST_F(ScratchpadTest, HI_6_what_an_older_request_leaves_of_the_port_goes_to_the_next) {
  build();
  // 80 bytes are five words: four, then one; the younger request gets the other three of that cycle.
  auto& a = port_->read(10, kBase, 80);
  auto& b = port_->read(10, kBase + 80, 64);
  run(100);
  EXPECT_EQ(a.responded - a.at, 1 + config_.latency_cycles + 2);
  EXPECT_EQ(b.responded - b.at, 1 + config_.latency_cycles + 3);
  EXPECT_EQ(memory_->stats.port_clocks, 1);
}

TEST_F(ScratchpadTest, HI_6_queue_pair) {
  config_.request_queue = 3;
  build();
  for (const Cycle at : {10, 11, 12}) port_->read(at, kBase, 16);
  auto& last = port_->bursts.back();
  run(100);
  EXPECT_EQ(last.accepted, -1) << "at once, without a call back";
  EXPECT_EQ(last.responded, 12 + 1 + config_.latency_cycles + 1);
  EXPECT_EQ(memory_->stats.held_requests, 0);
}

TEST_F(ScratchpadTest, HI_6_a_full_queue_withholds_end_req_until_a_request_is_answered) {
  config_.request_queue = 2;
  build();
  for (const Cycle at : {10, 11, 12}) port_->read(at, kBase, 16);
  const auto& first = port_->bursts.front();
  const auto& last = port_->bursts.back();
  run(100);
  EXPECT_EQ(first.responded, 10 + 1 + config_.latency_cycles + 1);
  EXPECT_EQ(last.accepted, first.responded);
  EXPECT_EQ(last.responded, last.accepted + 1 + config_.latency_cycles + 1);
  EXPECT_EQ(memory_->stats.held_requests, 1);
}

TEST_F(ScratchpadTest, HI_2_one_bank_serves_a_word_a_clock) {
  config_.banks = 1;
  build();
  auto& a = port_->read(10, kBase, 64);
  auto& b = port_->read(10, kBase + 64, 64);
  auto& late = port_->read(14, kBase + 128, 16);
  run(100);
  const Cycle first = 10 + 1 + config_.latency_cycles;
  EXPECT_EQ(a.responded, first + 4) << "four words of one bank, though the bus takes four words a cycle";
  EXPECT_EQ(b.responded, first + 8);
  EXPECT_EQ(late.responded, first + 9);
  // a: 3 cycles with a second word refused (the fourth ends it); b: the 4 cycles of a, then 3 of its own;
  // late: from its first possible cycle (14 + 1 + latency) to the one before its word.
  EXPECT_EQ(memory_->stats.conflict_clocks, 3 + 4 + 3 + (first + 8 - (14 + 1 + config_.latency_cycles)));
}

// 256 bytes from cycle 14 on, four words a cycle, with all others in one step: bank 4 is accessed in
// cycle 15. From the ninth word of the 16 of a row on it is the thirteenth word, in cycle 17, and in the next
// row.
TEST(ScratchpadPorts, HI_9_a_port_makes_one_access_a_cycle_of_words_that_move_together) {
  struct Case {
    std::uint64_t from;
    Cycle second;
    std::string expected;
  };
  const std::string refused = "memory.bank4: port 0 makes one access a cycle, but in cycle ";
  for (const Case& c :
       {Case{256, 14, ""}, Case{256, 15, "15 it was asked for bytes 0x0 and 0x10"}, Case{256 + 128, 16, ""},
        Case{256 + 128, 17, "17 it was asked for bytes 0x0 and 0x20"}}) {
    EXPECT_EQ(in_child([&c] {
                strict_systemc();
                const SimContext context{ClockDomain(kScratchpadPeriod)};
                const MemoryConfig config{4096, 16, 16, 3};
                Scratchpad memory("memory", context, config, config.size_bytes, kBase, 64);
                Direct port("port", context);
                port.socket.bind(memory.socket);
                port.write(10, kBase + c.from, std::vector<std::uint8_t>(256));
                const SecondAccess access("second", "memory.bank4.port_0", c.second * kScratchpadPeriod);
                return error_of_run(100, kScratchpadPeriod);
              }),
              c.expected.empty() ? "" : refused + c.expected);
  }
}

TEST_F(ScratchpadTest, HI_2_outside_is_an_address_error) {
  build();
  const auto size = static_cast<std::uint64_t>(config_.size_bytes);
  auto& below = port_->read(1, kBase - 1, 1);
  auto& across = port_->write(2, kBase + size - 4, std::vector<std::uint8_t>(8));
  auto& above = port_->read(3, kBase + size, 1);
  auto& last = port_->read(4, kBase + size - 1, 1);
  run(50);
  for (const auto* burst : {&below, &across, &above}) {
    EXPECT_EQ(burst->status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(burst->responded, burst->at) << "at once";
  }
  EXPECT_EQ(last.status, tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(memory_->stats.read_bytes, 1) << "refused bytes are not counted";
  EXPECT_EQ(memory_->stats.write_bytes, 0);
}

TEST_F(ScratchpadTest, CY_3_a_stuck_cell_flips_what_is_written) {
  build();
  memory_->bank(6).inject_fault(4, 0x40);  // byte 100 lies in bank 6 of 16 bytes
  port_->write(1, kBase + 96, std::vector<std::uint8_t>(16, 0x0f));
  auto& read = port_->read(50, kBase + 96, 16);
  run(100);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(read.data[i], i == 4 ? 0x4f : 0x0f);
}

// A memory beside an engine, whose ports may use any bank in any cycle, accesses each word in its cycle.
TEST(ScratchpadProperty, CY_3_words_accessed_together_are_those_of_single_cycles) {
  check_cases(60, [] {
    MemoryConfig config{0, number(1, 16), 1 << number(2, 5), number(0, 3)};
    config.request_queue = number(1, 8);
    config.size_bytes = std::int64_t{config.banks} * config.bank_bytes * number(8, 40);
    const int bus = 1 << number(3, 6), apart = number(0, 60);
    struct Request {
      Cycle at;
      bool read;
      int offset, bytes;
    };
    std::vector<Request> requests;
    const auto size = static_cast<int>(config.size_bytes);
    Cycle at = 0;
    for (int i = 0; i < 40; ++i) {
      const int bytes = number(1, std::min(size, one_in(2) ? 64 : 1024));
      requests.push_back({at, one_in(2), number(0, size - bytes), bytes});
      at += number(0, apart);
    }
    const auto run = [&](int engine_ports) {
      return in_child([&] {
        strict_systemc();
        const SimContext context{ClockDomain(kScratchpadPeriod)};
        Scratchpad memory("memory", context, config, config.size_bytes, kBase, bus, 0, engine_ports);
        struct Nobody : sc_core::sc_module {
          sc_core::sc_vector<tlm_utils::simple_initiator_socket<Nobody>> sockets;
          Nobody(const sc_core::sc_module_name& name, int count)
              : sc_module(name), sockets("socket", static_cast<std::size_t>(count)) {}
        } engine("engine", engine_ports * config.banks);
        for (int bank = 0; bank < engine_ports * config.banks; ++bank)
          engine.sockets[static_cast<std::size_t>(bank)].bind(memory.engine_port(0, bank));
        Direct port("port", context);
        port.socket.bind(memory.socket);
        int value = 0;
        for (const Request& r : requests) {
          const auto address = kBase + static_cast<std::uint64_t>(r.offset);
          std::vector<std::uint8_t> data(static_cast<std::size_t>(r.bytes));
          for (auto& byte : data) byte = static_cast<std::uint8_t>(++value * 37);
          if (r.read)
            port.read(r.at, address, data.size());
          else
            port.write(r.at, address, data);
        }
        const Cycle middle = requests[requests.size() / 2].at + 2;
        std::string text;
        const auto show = [&] {
          memory.settle(context.clock.cycle_of(now_ps()));
          const ScratchpadStats& s = memory.stats;
          for (const std::int64_t count :
               {s.read_bytes, s.write_bytes, s.words, s.conflict_clocks, s.port_clocks, s.held_requests})
            text += std::to_string(count) + " ";
        };
        sc_core::sc_start(to_sc_time(context.clock.at(middle, Phase::kRecord)));
        show();
        sc_core::sc_start(to_sc_time(context.clock.at(200'000)));
        show();
        for (const sc_core::sc_object* const child : memory.get_child_objects()) {
          const auto* const bank = dynamic_cast<const SramBank*>(child);
          std::int64_t accesses = 0;
          for (int p = 0; bank != nullptr && p < static_cast<int>(bank->ports.size()); ++p)
            accesses += bank->stats(p).accesses;
          text += std::to_string(accesses) + " ";
        }
        for (const Direct::Burst& burst : port.bursts) {
          text += std::to_string(burst.responded) + "/" + std::to_string(burst.accepted);
          BurstPool::extension(burst.payload)
              .trail.divide(burst.at, burst.responded, [&](Activity a, Cycle n) {
                text += " " + std::to_string(static_cast<int>(a)) + ":" + std::to_string(n);
              });
          std::size_t sum = 0;
          for (const std::uint8_t byte : burst.data) sum = sum * 31 + byte;
          text += " " + std::to_string(sum) + ";";
        }
        return text;
      });
    };
    RC_ASSERT(run(0) == run(1));
  });
}

TEST(ScratchpadProperty, HI_2_random_blocks) {
  check_cases(30, [] {
    MemoryConfig config{0, number(1, 12), 1 << number(0, 5), number(0, 4)};
    config.size_bytes = std::int64_t{config.banks} * config.bank_bytes * number(1, 40);
    const std::string text = in_child([&] {
      strict_systemc();
      const SimContext context{ClockDomain(kScratchpadPeriod)};
      Scratchpad memory("memory", context, config, config.size_bytes, kBase, 32);
      Direct port("port", context);
      port.socket.bind(memory.socket);
      std::vector<std::uint8_t> model(static_cast<std::size_t>(config.size_bytes));
      std::vector<std::vector<std::uint8_t>> expected;
      Cycle at = 0;
      std::int64_t read = 0, written = 0;
      const auto size = static_cast<int>(config.size_bytes);
      for (int i = 0; i < 60; ++i) {
        const int bytes = number(1, std::min(size, 4096)), offset = number(0, size - bytes);
        const auto address = kBase + static_cast<std::uint64_t>(offset);
        if (one_in(2)) {
          std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
          for (auto& byte : data) byte = static_cast<std::uint8_t>(number(0, 255));
          std::copy(data.begin(), data.end(), model.begin() + offset);
          port.write(at, address, data);
          expected.push_back(data);
          written += bytes;
        } else {
          port.read(at, address, static_cast<std::size_t>(bytes));
          expected.emplace_back(model.begin() + offset, model.begin() + offset + bytes);
          read += bytes;
        }
        at += 4200 + number(0, 3);  // after the one before: order in time is order of requests
      }
      sc_core::sc_start(to_sc_time(context.clock.at(at)));
      std::string wrong;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (port.bursts[i].data != expected[i] || port.bursts[i].status != tlm::TLM_OK_RESPONSE)
          wrong += "burst " + std::to_string(i) + " ";
      }
      std::vector<std::uint8_t> all(model.size());
      tlm::tlm_generic_payload debug;
      debug.set_command(tlm::TLM_READ_COMMAND);
      debug.set_address(kBase);
      debug.set_data_ptr(all.data());
      debug.set_data_length(static_cast<unsigned>(all.size()));
      if (port.socket->transport_dbg(debug) != all.size() || all != model) wrong += "debug ";
      if (memory.stats.read_bytes != read || memory.stats.write_bytes != written) wrong += "counts ";
      return wrong;
    });
    RC_ASSERT(text == "");
  });
}

}  // namespace
}  // namespace tilebeat::testing
