// Words that a module reads from banks without a transport each (SPEC HI-7, CY-3).
#include "fabric/direct_access.h"
#include "fabric/sram_bank.h"
#include "recording_trace.h"
#include "systemc_test.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr int kWord = 4;

struct Module : sc_core::sc_module {
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<Module>> sockets;
  explicit Module(const sc_core::sc_module_name& name) : sc_module(name), sockets("sockets", 2) {}
};

// Two banks of 64 bytes; port 0 of each is read, port 1 written.
struct Bench {
  explicit Bench(SimContext with) : context(std::move(with)) {
    strict_systemc();
    for (std::size_t i = 0; i < 2; ++i) {
      banks.push_back(std::make_unique<SramBank>(("bank" + std::to_string(i)).c_str(), context, 64, 2));
      reading.sockets[i].bind(banks[i]->ports[0]);
      writing.sockets[i].bind(banks[i]->ports[1]);
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  void write(std::size_t bank, std::uint64_t address, std::uint32_t value) {
    transport(writing.sockets[bank], payload, tlm::TLM_WRITE_COMMAND, address, &value, kWord);
  }
  std::uint32_t read(std::size_t bank, std::uint64_t address) {
    std::array<std::uint8_t, kWord> word{0xEE, 0xEE, 0xEE, 0xEE};
    reader.read(reading.sockets, bank, address, word.data(), now_ps());
    std::uint32_t value = 0;
    std::memcpy(&value, word.data(), kWord);
    return value;
  }
  SimContext context;
  Module reading{"reading"}, writing{"writing"};
  std::vector<std::unique_ptr<SramBank>> banks;
  DirectReader reader{2, kWord};
  tlm::tlm_generic_payload payload;
};

TEST(DirectReader, CY_3_sees_what_lies_there_at_the_time) {
  Bench bench(SimContext{ClockDomain(1000)});
  EXPECT_EQ(bench.read(0, 8), 0U);
  sc_core::sc_start(to_sc_time(1000));  // a port makes one access a cycle
  bench.write(0, 8, 0x01020304);
  bench.write(1, 60, 7);
  EXPECT_EQ(bench.read(0, 8), 0x01020304U);
  EXPECT_EQ(bench.read(1, 60), 7U);
  sc_core::sc_start(to_sc_time(1000));
  bench.write(0, 8, 5);
  EXPECT_EQ(bench.read(0, 8), 5U);
}

TEST(DirectReader, CY_3_a_stuck_cell_is_read_as_it_is_stored) {
  Bench bench(SimContext{ClockDomain(1000)});
  EXPECT_EQ(bench.read(0, 8), 0U);
  sc_core::sc_start(to_sc_time(1000));
  bench.banks[0]->inject_fault(9, 0x40);
  bench.write(0, 8, 0);
  EXPECT_EQ(bench.read(0, 8), 0x4000U);
}

TEST(DirectReader, HI_7_banks_count_every_word) {
  Bench bench(SimContext{ClockDomain(1000)});
  for (int i = 0; i < 3; ++i, sc_core::sc_start(to_sc_time(1000))) bench.read(0, 4);
  bench.read(1, 0);
  EXPECT_EQ(bench.banks[0]->stats(0).accesses, 3);
  EXPECT_EQ(bench.banks[0]->stats(0).bytes, 3 * kWord);
  EXPECT_EQ(bench.banks[1]->stats(0).accesses, 1);
}

TEST(DirectReader, HI_7_the_last_word_of_a_bank_is_read_and_none_behind_it) {
  Bench bench(SimContext{ClockDomain(1000)});
  bench.write(0, 60, 9);
  EXPECT_EQ(bench.read(0, 60), 9U);
  EXPECT_EQ(bench.read(0, 61), 0xEEEEEEEEU);
  EXPECT_EQ(bench.banks[0]->stats(0).accesses, 1);
}

// A broken schedule: the second word of bank 0 is read in the cycle of the first one.
TEST(DirectReader, HI_9_a_second_read_of_a_bank_in_a_cycle_is_caught_with_and_without_a_waveform) {
  for (const bool traced : {false, true}) {
    EXPECT_EQ(in_child([&] {
                RecordingTrace trace;
                SimContext context{ClockDomain(1000)};
                if (traced) context.observers.trace = &trace;
                Bench bench(context);
                sc_core::sc_start(to_sc_time(7000));
                bench.read(0, 8);
                bench.read(1, 8);
                try {
                  bench.read(0, 24);
                } catch (const SimulationError& error) {
                  return std::string(error.what());
                }
                return std::string("not caught");
              }),
              "bank0: port 0 makes one access a cycle, but in cycle 7 it was asked for bytes 0x8 and 0x18")
        << (traced ? "traced" : "not traced");
  }
}

TEST(DirectReader, UI_4_banks_that_are_traced_see_every_access) {
  RecordingTrace trace;
  SimContext context{ClockDomain(1000)};
  context.observers.trace = &trace;
  Bench bench(context);
  bench.write(0, 8, 6);
  EXPECT_EQ(bench.read(0, 8), 6U);
  EXPECT_EQ(bench.banks[0]->stats(0).accesses, 1) << "in a transport";
}

}  // namespace
}  // namespace tilebeat::testing
