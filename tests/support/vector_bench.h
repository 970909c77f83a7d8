#pragma once

// A vector unit on the bus of a core with its NRAM: runs one operation on random bytes and compares all of
// NRAM with what the reference says.

#include "fabric/interconnect.h"
#include "fabric/scratchpad.h"
#include "random_cases.h"
#include "reference/reference.h"
#include "unit_driver.h"
#include "units/vector_unit.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

constexpr std::uint64_t kVectorNram = std::uint64_t{1} << 42;
constexpr std::int64_t kVectorNramBytes = 1 << 18;
// Offsets in NRAM, none of them aligned to a beat of the bus.
constexpr std::uint32_t kVectorA = 3, kVectorB = 70001, kVectorDestination = 140003,
                        kVectorParameters = 210000;

inline DType random_byte_type() {
  return one_in(2) ? DType::kInt8 : DType::kUint8;
}
inline DType random_map_type() {
  return one_in(3) ? DType::kInt16 : random_byte_type();
}
inline int random_zero(DType type) {
  if (type == DType::kInt16) return 0;
  return number(static_cast<int>(dtype_min(type)), static_cast<int>(dtype_max(type)));
}
inline Tensor random_bytes(const TensorInfo& info) {
  Tensor tensor{info.shape, info.dtype,
                std::vector<std::uint8_t>(static_cast<std::size_t>(info.size_bytes()))};
  for (auto& byte : tensor.bytes) byte = static_cast<std::uint8_t>(number(0, 255));
  return tensor;
}

struct VectorBenchConfig {
  VectorConfig unit;
  DmaConfig ports;
  InterconnectConfig bus;
};
inline VectorBenchConfig random_vector_bench() {
  VectorBenchConfig config;
  config.unit.lanes = skewed(80), config.unit.latency_cycles = number(0, 6), config.unit.row_elements = 96;
  config.bus = {16 << number(0, 2), number(1, 3), number(1, 3), number(1, 16)};
  config.ports.burst_bytes = config.bus.bytes_per_clock << number(0, 4);
  config.ports.buffer_bytes = std::max(2 * config.ports.burst_bytes, 96) + number(0, 200);
  config.ports.max_outstanding = number(1, 8);
  return config;
}

struct VectorBench {
  explicit VectorBench(const VectorBenchConfig& config)
      : bus("bus", config.bus, context, {"a", "b", "result", "loader"},
            {{kVectorNram, kVectorNram + kVectorNramBytes, 0}}),
        nram("nram", context, {kVectorNramBytes, 8, 16, 1}, kVectorNramBytes, kVectorNram,
             config.bus.bytes_per_clock),
        unit("unit", context, config.unit, config.ports, kVectorNram) {
    bus.target_ports[0].bind(nram.socket);
    unit.a.socket.bind(bus.initiator_ports[0]);
    unit.b.socket.bind(bus.initiator_ports[1]);
    unit.result.socket.bind(bus.initiator_ports[2]);
    loader.socket.bind(bus.initiator_ports[3]);
    driver.command.bind(unit.command);
    unit.completion.bind(driver.completion);
  }
  void access(tlm::tlm_command command, std::uint32_t offset, std::vector<std::uint8_t>& bytes) {
    if (bytes.empty()) return;
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(kVectorNram + offset);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    if (loader.socket->transport_dbg(payload) != bytes.size()) throw std::logic_error("loader");
  }
  SimContext context{ClockDomain(1000)};
  Interconnect bus;
  Scratchpad nram;
  VectorUnit unit;
  UnitDriver driver{"driver", context};
  ScriptedInitiator loader{"loader", context};
};

/// Runs `operation`, whose operands and parameters lie at the offsets above; nothing, or what is wrong.
inline std::string run_vector_operation(const Operation& operation, const std::vector<Operand>& operands,
                                        const std::vector<std::uint8_t>& parameters, const Tensor& expected,
                                        std::int64_t lane_clocks, const VectorBenchConfig& config) {
  strict_systemc();
  VectorBench bench(config);
  std::vector<std::uint8_t> memory(kVectorNramBytes, 0x5a);
  const auto place = [&](std::uint32_t at, const std::vector<std::uint8_t>& bytes) {
    std::copy(bytes.begin(), bytes.end(), memory.begin() + at);
  };
  place(kVectorA, operands[0].tensor.bytes);
  if (operands.size() > 1) place(kVectorB, operands[1].tensor.bytes);
  place(kVectorParameters, parameters);
  bench.access(tlm::TLM_WRITE_COMMAND, 0, memory);
  bench.driver.send(5, operation);
  sc_core::sc_start(to_sc_time(1'000'000'000));
  if (bench.driver.done(1) < 0) return "not done";
  place(kVectorDestination, expected.bytes);
  std::vector<std::uint8_t> after(kVectorNramBytes);
  bench.access(tlm::TLM_READ_COMMAND, 0, after);
  const auto wrong = std::mismatch(after.begin(), after.end(), memory.begin());
  if (wrong.first != after.end()) {
    return "byte " + std::to_string(wrong.first - after.begin() - kVectorDestination) + " of the result is " +
           std::to_string(*wrong.first) + ", not " + std::to_string(*wrong.second);
  }
  if (bench.unit.results != expected.elements()) return "results counted";
  if (bench.unit.lane_clocks != lane_clocks)
    return "lane clocks " + std::to_string(bench.unit.lane_clocks) + ", not " + std::to_string(lane_clocks);
  return "";
}

}  // namespace tilebeat::testing
