#pragma once

#include "base/types.h"

#include <cstdint>

namespace tilebeat {

// The address map of a chip: 48-bit byte addresses (docs/chip.md). Programs name memories by it.

/// DRAM begins at 0 and ends below this.
constexpr std::uint64_t kDramEnd = std::uint64_t{1} << 41;
/// Bytes of DRAM that one memory controller holds together; the next ones belong to the next controller.
constexpr std::uint64_t kControllerBytes = 4096;
/// SRAM of cluster k, NRAM and WRAM of core k of the chip.
constexpr std::uint64_t sram_address(int cluster) {
  return (std::uint64_t{1} << 41) + (to_unsigned(cluster) << 34);
}
constexpr std::uint64_t nram_address(int core) {
  return (std::uint64_t{1} << 42) + (to_unsigned(core) << 30);
}
constexpr std::uint64_t wram_address(int core) {
  return (std::uint64_t{1} << 43) + (to_unsigned(core) << 30);
}
/// Registers of processor k.
constexpr std::uint64_t register_address(int processor) {
  return (std::uint64_t{1} << 44) + (to_unsigned(processor) << 12);
}
/// Writes to these addresses reach NRAM (WRAM) byte `offset` of every core of the cluster whose bit is set in
/// `cores` (SPEC HI-3).
constexpr std::uint64_t kMulticast = std::uint64_t{1} << 47;
constexpr std::uint64_t kMulticastWram = std::uint64_t{1} << 46;
constexpr int kMulticastCoresShift = 30;
constexpr std::uint64_t kMulticastOffsetMask = (std::uint64_t{1} << kMulticastCoresShift) - 1;
constexpr std::uint64_t multicast_address(std::uint64_t cores, bool wram, std::uint64_t offset) {
  return kMulticast | (wram ? kMulticastWram : 0) | cores << kMulticastCoresShift | offset;
}

}  // namespace tilebeat
