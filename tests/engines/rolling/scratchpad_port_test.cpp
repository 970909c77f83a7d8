// A port of its own at the banks of a scratchpad: rows that take several accesses are written access by
// access, as a second port sees them (SPEC CY-1, RO-6).
#include "engines/rolling/sim/scratchpad_port.h"

#include "systemc_test.h"

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
  Scratchpad memory{"memory", context, config, 1024, kBase, 16, ScratchpadLayout::kInterleaved, 2};
  Unit unit{"unit", context, config};
  ScratchpadPort &writer = unit.writer, &reader = unit.reader;
  Bus bus{"bus"};
  std::vector<std::uint8_t> row = std::vector<std::uint8_t>(32, 9);
};

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

}  // namespace
}  // namespace tilebeat::testing::port_writes
