#pragma once

// A top level around a chip, for the tests of the embedded library: a processor that runs what a test gives
// it.

#include "systemc_test.h"
#include "tilebeat/accelerator.h"
#include "tilebeat/hardware.h"
#include "tilebeat/plan.h"
#include "tilebeat/workload.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

#include <gtest/gtest.h>

namespace tilebeat::testing {

inline const std::string kFolder = std::string(TILEBEAT_SOURCE_DIR) + "/";
/// Somebody's processor: a thread that makes blocking accesses.
class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> socket;
  sc_core::sc_in<bool> interrupt;
  std::function<void(Cpu&)> software;

  explicit Cpu(const sc_core::sc_module_name& name) : sc_module(name), socket("socket"), interrupt("irq") {
    SC_HAS_PROCESS(Cpu);
    SC_THREAD(run);
  }
  static void prepare(tlm::tlm_generic_payload& payload, tlm::tlm_command command, std::uint64_t address,
                      void* data, std::size_t bytes) {
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char*>(data));
    payload.set_data_length(static_cast<unsigned>(bytes));
    payload.set_streaming_width(static_cast<unsigned>(bytes));
  }
  tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address, void* data,
                                  std::size_t bytes) {
    tlm::tlm_generic_payload payload;
    prepare(payload, command, address, data, bytes);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    wait(delay);
    return payload.get_response_status();
  }
  void write(std::uint64_t address, std::vector<std::uint8_t> bytes) {
    ASSERT_EQ(access(tlm::TLM_WRITE_COMMAND, address, bytes.data(), bytes.size()), tlm::TLM_OK_RESPONSE);
  }
  std::vector<std::uint8_t> read(std::uint64_t address, std::int64_t size) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    EXPECT_EQ(access(tlm::TLM_READ_COMMAND, address, bytes.data(), bytes.size()), tlm::TLM_OK_RESPONSE);
    return bytes;
  }
  /// Reads by debug transport, which takes no time.
  std::vector<std::uint8_t> peek(std::uint64_t address, std::int64_t size) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    tlm::tlm_generic_payload payload;
    prepare(payload, tlm::TLM_READ_COMMAND, address, bytes.data(), bytes.size());
    EXPECT_EQ(socket->transport_dbg(payload), bytes.size());
    return bytes;
  }
  void start() { write(static_cast<std::uint64_t>(AcceleratorRegister::kStart), {1, 0, 0, 0}); }
  void reset() { write(static_cast<std::uint64_t>(AcceleratorRegister::kReset), {1, 0, 0, 0}); }
  std::uint32_t status() {
    std::uint32_t value = 99;
    const auto bytes = read(static_cast<std::uint64_t>(AcceleratorRegister::kStatus), 4);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  void until_interrupt() {
    while (!interrupt.read()) wait(interrupt.posedge_event());
  }

 private:
  void run() {
    if (software) software(*this);
  }
};

/// A top level of a processor and a chip.
struct Top {
  Network network;
  Accelerator chip;
  Cpu cpu{"cpu"};
  sc_core::sc_signal<bool> interrupt{"interrupt"};

  Top(const std::string& config, const std::string& layer, const RunOptions& options = {})
      : Top(Hardware::load(kFolder + config), layer, options) {}
  Top(const Hardware& hardware, const std::string& layer, const RunOptions& options)
      : network(Network::load(kFolder + layer)), chip("chip", hardware, plan(hardware, network), options) {
    strict_systemc();
    cpu.socket.bind(chip.socket);
    chip.interrupt(interrupt);
    cpu.interrupt(interrupt);
  }
};

}  // namespace tilebeat::testing
