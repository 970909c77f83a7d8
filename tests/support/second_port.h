#pragma once

// A row of banks that a module writes, and a second port that reads them in every cycle.

#include "fabric/sram_bank.h"
#include "systemc_test.h"

#include <memory>
#include <string>
#include <vector>

namespace tilebeat::testing {

/// Reads bytes of one bank whenever it is asked to.
struct SecondPort : sc_core::sc_module {
  tlm_utils::simple_initiator_socket<SecondPort> socket;
  explicit SecondPort(const sc_core::sc_module_name& name) : sc_module(name), socket("socket") {}
  /// The bytes at `address` as a read sees them that is made `after` picoseconds from now.
  std::vector<std::uint8_t> read(std::uint64_t address, std::size_t count, Picoseconds after = 0) {
    std::vector<std::uint8_t> bytes(count);
    transport(socket, payload, tlm::TLM_READ_COMMAND, address, bytes.data(), static_cast<unsigned>(count),
              to_sc_time(after));
    return bytes;
  }
  tlm::tlm_generic_payload payload;
};

/// `count` banks in one row. Port 0 of each is the module's, the last port a reader's.
struct WatchedBanks {
  WatchedBanks(const SimContext& context, std::size_t count, std::int64_t bytes, int ports = 2,
               int regions = 1) {
    const auto row = std::make_shared<TimedWrites>(count);
    for (std::size_t i = 0; i < count; ++i) {
      banks.push_back(std::make_unique<SramBank>(("bank" + std::to_string(i)).c_str(), context, bytes, ports,
                                                 regions, BankPlace{row, i}));
      readers.push_back(std::make_unique<SecondPort>(("reader" + std::to_string(i)).c_str()));
      readers.back()->socket.bind(banks.back()->ports[static_cast<std::size_t>(ports - 1)]);
    }
  }
  std::vector<std::unique_ptr<SramBank>> banks;
  std::vector<std::unique_ptr<SecondPort>> readers;
};

}  // namespace tilebeat::testing
