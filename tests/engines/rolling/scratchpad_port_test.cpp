// A port of its own at the banks of a scratchpad: rows that take several accesses are written access by
// access, as a second port sees them (SPEC CY-1, RO-6).
#include "engines/rolling/sim/scratchpad_port.h"

#include "systemc_test.h"
#include "tilebeat/error.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing::port_writes {

using rolling::ScratchpadPort;

namespace {

constexpr std::uint64_t kBase = 4096;

/// Nobody uses the bus.
struct Bus : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<Bus> socket;
  explicit Bus(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {}
};

/// Has two ports, a writing one and a reading one.
struct Unit : sc_core::sc_module {
  Unit(const sc_core::sc_module_name& name, const SimContext& context, const MemoryConfig& memory)
      : sc_module(name), writer("writer", context, memory, 8), reader("reader", context, memory, 8) {}
  ScratchpadPort writer, reader;
};

struct PortWrites : ::testing::Test {
  PortWrites() {
    strict_systemc();
    writer.bind(memory, 0);
    reader.bind(memory, 1);
    bus.socket.bind(memory.socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  // 4 banks of 4 bytes, 8 bytes an access: bytes 8 i to 8 i + 7 are written in cycle `first` + i.
  void expect_accesses(Cycle first) {
    for (Cycle now = 0; now < first + 6; ++now) {
      for (int access = 0; access < 4; ++access) {
        std::vector<std::uint8_t> bytes(8);
        // Each read is the port's only one in its cycle, so that none is made later than it seems.
        if (access == now % 4) {
          reader.read(kBase + 8 + 8 * static_cast<std::uint64_t>(access), bytes.data(), 8, 0);
          EXPECT_EQ(bytes, std::vector<std::uint8_t>(8, now >= first + access ? 9 : 0))
              << "access " << access << " in cycle " << now;
        }
        std::vector<std::uint8_t> present(8);
        memory_bytes(kBase + 8 + 8 * static_cast<std::uint64_t>(access), present);
        EXPECT_EQ(present, std::vector<std::uint8_t>(8, now >= first + access ? 9 : 0))
            << "access " << access << " in cycle " << now;
      }
      sc_core::sc_start(to_sc_time(1000));
    }
  }
  void memory_bytes(std::uint64_t address, std::vector<std::uint8_t>& bytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_address(address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    bus.socket->transport_dbg(payload);
  }
  SimContext context{ClockDomain(1000)};
  MemoryConfig config{1024, 4, 4, 1, 4};
  Scratchpad memory{"memory", context, config, 1024, kBase, 16, 0, 2};
  Unit unit{"unit", context, config};
  ScratchpadPort &writer = unit.writer, &reader = unit.reader;
  Bus bus{"bus"};
  std::vector<std::uint8_t> row = std::vector<std::uint8_t>(32, 9);
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "";
}

TEST_F(PortWrites, CY_1_a_second_port_sees_each_access_of_a_row_at_its_clock) {
  EXPECT_EQ(writer.write(kBase + 8, row.data(), 32, 3), 4);
  expect_accesses(3);
}

TEST_F(PortWrites, CY_1_a_second_port_sees_each_access_of_a_row_that_is_written_directly_at_its_clock) {
  writer.open_direct();
  writer.direct_write(kBase + 8, row.data(), 32, 3);
  expect_accesses(3);
}

TEST_F(PortWrites, CY_1_direct_reads_see_what_lies_there_in_their_cycle) {
  writer.open_direct();
  reader.open_direct();
  writer.direct_write(kBase + 8, row.data(), 32, 3);
  for (const Cycle at : {0, 2, 3, 4, 5, 6, 9}) {
    std::vector<std::uint8_t> bytes(32), expected(32);
    reader.direct_read(kBase + 8, bytes.data(), 32, at);
    for (int access = 0; access < 4 && at >= 3 + access; ++access)
      std::fill_n(expected.begin() + 8 * access, 8, std::uint8_t{9});
    EXPECT_EQ(bytes, expected) << at;
  }
}

// `use` and `direct_write` tell the first bank.
TEST_F(PortWrites, HI_9_accesses_in_sum_have_a_cycle_each) {
  writer.open_direct();
  const std::string refused = "memory.bank0: port 1 makes one access a cycle, but in cycle ";
  const auto use = [&](Cycle first, Cycle end, std::int64_t count) {
    return error_of([&] { writer.use(first, end, count, kBase + 16); });
  };
  EXPECT_EQ(use(10, 14, 5), refused + "10 it was asked for bytes 0x4 and 0x4") << "five in four cycles";
  EXPECT_EQ(use(10, 14, 4), "");
  EXPECT_EQ(use(13, 20, 1), refused + "13 it was asked for bytes 0x4 and 0x4")
      << "a cycle of the chunk before";
  EXPECT_EQ(use(13, 20, 0), "") << "no access at all";
  const auto write = [&](Cycle at) {
    return error_of(
        [&] { writer.direct_write(kBase, row.data(), 16, at); });  // two accesses, in banks 0, 1; 2, 3
  };
  EXPECT_EQ(write(13), refused + "13 it was asked for bytes 0x4 and 0x0");
  EXPECT_EQ(write(14), "");
  EXPECT_EQ(use(14, 20, 1), refused + "14 it was asked for bytes 0x0 and 0x4");
}

}  // namespace
}  // namespace tilebeat::testing::port_writes
