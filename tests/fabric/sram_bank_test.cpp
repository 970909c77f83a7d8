// A memory bank and its ports (SPEC CY-1, HI-7).
#include "fabric/sram_bank.h"

#include "fabric/direct_access.h"
#include "systemc_test.h"
#include "tilebeat/error.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

constexpr Picoseconds kBankPeriod = 1000;

struct Reader : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<Reader> socket;
  explicit Reader(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {
    socket.register_invalidate_direct_mem_ptr(this, &Reader::withdraw);
  }
  void withdraw(sc_dt::uint64 begin, sc_dt::uint64 /*end*/) { withdrawn.push_back(begin); }
  /// The delay that an access `after` picoseconds from now is given.
  Picoseconds read(std::uint64_t address, unsigned bytes, Picoseconds after = 0) {
    std::array<std::uint8_t, 64> data{};
    return transport(socket, payload, tlm::TLM_READ_COMMAND, address, data.data(), bytes, to_sc_time(after));
  }
  std::uint8_t byte(std::uint64_t address) {
    std::uint8_t value = 0;
    transport(socket, payload, tlm::TLM_READ_COMMAND, address, &value, 1);
    return value;
  }
  void write(std::uint64_t address, unsigned bytes) {
    std::array<std::uint8_t, 64> data{};
    transport(socket, payload, tlm::TLM_WRITE_COMMAND, address, data.data(), bytes);
  }
  /// The memory from the region of `address` on; null: direct memory access is refused.
  std::uint8_t* direct(tlm::tlm_command command, std::uint64_t address = 0) {
    tlm::tlm_dmi dmi;
    payload.set_command(command);
    payload.set_address(address);
    return socket->get_direct_mem_ptr(payload, dmi) ? dmi.get_dmi_ptr() : nullptr;
  }
  tlm::tlm_generic_payload payload;
  std::vector<std::uint64_t> withdrawn;  ///< where regions begin that may no longer be read directly
};

struct SramBankTest : ::testing::Test {
  SramBankTest() {
    strict_systemc();
    a.socket.bind(bank.ports[0]);
    b.socket.bind(bank.ports[1]);
  }
  SimContext context{ClockDomain(kBankPeriod)};
  SramBank bank{"bank", context, 256, 2};
  Reader a{"a"}, b{"b"};
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(SramBankTest, HI_9_a_port_makes_one_access_a_cycle) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  a.read(0, 16, kBankPeriod + 500);
  EXPECT_EQ(error_of([&] { a.read(16, 16, 2 * kBankPeriod - 1); }),
            "bank: port 0 makes one access a cycle, but in cycle 1 it was asked for bytes 0x0 and 0x10");
  EXPECT_NE(error_of([&] { a.write(32, 16); }), "no error") << "nor one before it";
  b.read(0, 16, kBankPeriod + 500);  // the other port is free
  a.read(48, 16, 2 * kBankPeriod);   // in another phase of the next cycle
  EXPECT_EQ(bank.stats(0).accesses, 2);
  EXPECT_EQ(bank.stats(0).bytes, 32);
  EXPECT_EQ(bank.stats(1).accesses, 1);
}

TEST_F(SramBankTest, HI_9_accesses_that_are_told_together_have_a_cycle_each) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  PortUse& use = use_of(a.socket);
  use.accesses(0, 3 * kBankPeriod, 0, 12, 4, 4);
  EXPECT_EQ(error_of([&] { a.read(16, 4, 3 * kBankPeriod); }),
            "bank: port 0 makes one access a cycle, but in cycle 3 it was asked for bytes 0xc and 0x10")
      << "by direct memory access and a transport";
  EXPECT_EQ(error_of([&] { use.accesses(4 * kBankPeriod, 6 * kBankPeriod, 16, 28, 4, 4); }),
            "bank: port 0 makes one access a cycle, but in cycle 4 it was asked for bytes 0x10 and 0x1c")
      << "four in three cycles";
  EXPECT_EQ(bank.stats(0).accesses, 4);
  EXPECT_EQ(bank.stats(0).bytes, 16);
}

TEST_F(SramBankTest, HI_9_runs_have_a_cycle_for_each_access) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  PortUse& use = use_of(a.socket);
  const auto run = [&](Cycle first, Cycle stride, int count, std::uint64_t from) {
    return error_of([&] { use.run({first * kBankPeriod, stride * kBankPeriod, count, from, 4}); });
  };
  const std::string refused = "bank: port 0 makes one access a cycle, but in cycle ";
  EXPECT_EQ(run(10, 4, 3, 0), "no error");  // cycles 10, 14, 18
  EXPECT_EQ(run(9, 4, 3, 32), "no error");  // cycles 9, 13, 17: between them
  EXPECT_EQ(run(11, 4, 3, 64), refused + "18 it was asked for bytes 0x28 and 0x40") << "a third one";
  EXPECT_EQ(error_of([&] { a.read(64, 4, 18 * kBankPeriod); }),
            refused + "18 it was asked for bytes 0x28 and 0x40");
  EXPECT_EQ(run(19, 4, 3, 0), "no error");  // cycles 19, 23, 27
  EXPECT_EQ(run(23, 4, 3, 32), refused + "23 it was asked for bytes 0x4 and 0x20");
  EXPECT_EQ(run(22, 3, 2, 32), refused + "27 it was asked for bytes 0x8 and 0x20") << "another stride";
  EXPECT_EQ(run(18, 4, 1, 32), refused + "27 it was asked for bytes 0x8 and 0x20")
      << "before what came ahead";
  EXPECT_EQ(bank.stats(0).accesses, 9);
  EXPECT_EQ(bank.stats(0).bytes, 36);
}

TEST_F(SramBankTest, CY_3_a_stuck_cell_is_one_byte) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  bank.inject_fault(16, 0x40);
  a.write(0, 16);
  EXPECT_EQ(b.byte(16), 0) << "written beside it";
  sc_core::sc_start(to_sc_time(kBankPeriod));
  a.write(17, 15);
  EXPECT_EQ(b.byte(16), 0);
  sc_core::sc_start(to_sc_time(kBankPeriod));
  a.write(16, 1);
  EXPECT_EQ(b.byte(16), 0x40);
}

TEST_F(SramBankTest, HI_7_accesses_outside_are_refused) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  a.read(240, 16);
  EXPECT_EQ(a.payload.get_response_status(), tlm::TLM_OK_RESPONSE);
  a.read(241, 16);
  EXPECT_EQ(a.payload.get_response_status(), tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

TEST_F(SramBankTest, CY_3_who_writes_directly_and_who_reads_directly_exclude_each_other) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  ASSERT_NE(a.direct(tlm::TLM_READ_COMMAND), nullptr);
  std::uint8_t* const memory = b.direct(tlm::TLM_WRITE_COMMAND);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(a.withdrawn.size(), 1U) << "it may have kept what is written now";
  EXPECT_EQ(b.withdrawn.size(), 0U) << "it knows";
  memory[5] = 7;
  EXPECT_EQ(a.byte(5), 7);
  EXPECT_EQ(b.withdrawn.size(), 0U) << "a transport reads what is there";
  ASSERT_NE(a.direct(tlm::TLM_READ_COMMAND), nullptr);
  EXPECT_EQ(b.withdrawn.size(), 1U) << "or the reader would not hear of the next write";
  EXPECT_EQ(a.withdrawn.size(), 1U);
}

TEST_F(SramBankTest, CY_3_a_bank_with_a_stuck_cell_leaves_writing_to_nobody) {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  ASSERT_NE(b.direct(tlm::TLM_WRITE_COMMAND), nullptr);
  bank.inject_fault(16, 0x40);
  EXPECT_EQ(b.withdrawn.size(), 1U);
  EXPECT_EQ(b.direct(tlm::TLM_WRITE_COMMAND), nullptr);
  EXPECT_NE(a.direct(tlm::TLM_READ_COMMAND), nullptr);
}

// Copies of a tile in one bank: what was read of one stays good while another one is written.
TEST(SramBankRegions, CY_3_a_write_withdraws_its_own_region_from_the_first_byte_to_the_last) {
  strict_systemc();
  const SimContext context{ClockDomain(kBankPeriod)};
  SramBank bank{"bank", context, 192, 1, 3};
  Reader reader{"reader"};
  reader.socket.bind(bank.ports[0]);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (const std::uint64_t region : {0, 1, 2}) {
    for (const std::uint64_t address : {64 * region, 64 * region + 63}) {
      for (const std::uint64_t granted : {0, 64, 128}) {
        ASSERT_NE(reader.direct(tlm::TLM_READ_COMMAND, granted), nullptr);
      }
      reader.withdrawn.clear();
      sc_core::sc_start(to_sc_time(kBankPeriod));
      reader.write(address, 1);
      EXPECT_EQ(reader.withdrawn, std::vector<std::uint64_t>{64 * region}) << "byte " << address;
    }
  }
}

}  // namespace
}  // namespace tilebeat::testing
