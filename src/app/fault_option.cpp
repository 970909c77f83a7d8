#include "fault_option.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// -1: no number.
std::int64_t number(std::string_view text) {
  const bool hex = text.substr(0, 2) == "0x";
  if (hex) text.remove_prefix(2);
  std::int64_t value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  const bool whole = !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole ? value : -1;
}

// The number behind `name` in a part like core3; nothing else is taken.
bool take_number(std::string_view part, std::string_view name, int count, int& to) {
  if (part.substr(0, name.size()) != name) return false;
  const std::int64_t value = number(part.substr(name.size()));
  if (value < 0 || value >= count) return false;
  to = static_cast<int>(value);
  return true;
}

// Whether `place` is one.
bool parse_place(std::string_view place, const HardwareConfig& hardware, MemoryFault& fault) {
  std::vector<std::string_view> parts = split(place, '.');
  const std::string_view memory = parts.back();
  parts.pop_back();
  if (memory == "engine")
    fault.memory = FaultMemory::kEngine;
  else if (memory == "nram")
    fault.memory = FaultMemory::kNram;
  else if (memory == "wram")
    fault.memory = FaultMemory::kWram;
  else if (memory == "sram")
    fault.memory = FaultMemory::kSram;
  else
    return false;
  if (!hardware.chip) return parts.empty() && fault.memory == FaultMemory::kEngine;
  auto part = parts.begin();
  if (part != parts.end() && take_number(*part, "cluster", hardware.chip->clusters, fault.cluster)) ++part;
  if (part != parts.end() && fault.memory != FaultMemory::kSram &&
      take_number(*part, "core", hardware.chip->cores_per_cluster, fault.core))
    ++part;
  return part == parts.end();
}

std::string places_of(const HardwareConfig& hardware) {
  if (!hardware.chip) return "engine";
  return fmt::format("clusterK.coreI.engine, .nram or .wram, or clusterK.sram, K 0 to {}, I 0 to {}",
                     hardware.chip->clusters - 1, hardware.chip->cores_per_cluster - 1);
}

FaultSpace space_of(const MemoryFault& fault, const HardwareConfig& hardware) {
  const auto of = [](const MemoryConfig& memory, std::int64_t bytes) {
    return FaultSpace{memory.banks, bytes / memory.banks};
  };
  switch (fault.memory) {
    case FaultMemory::kNram:
      return of(hardware.chip->core.nram, hardware.chip->core.nram.size_bytes);
    case FaultMemory::kWram:
      return of(hardware.chip->core.wram, hardware.chip->core.wram.size_bytes);
    case FaultMemory::kSram:
      return of(hardware.chip->sram, hardware.chip->sram_bytes());
    case FaultMemory::kEngine:
      break;
  }
  return hardware.matrix_engine().fault_space(hardware);
}

}  // namespace

MemoryFault parse_fault(const std::string& text, const HardwareConfig& hardware) {
  constexpr std::size_t kNumbers = 3;
  MemoryFault fault;
  std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() == kNumbers + 1) {
    if (!parse_place(parts.front(), hardware, fault))
      throw UserError(
          fmt::format("--fault {}: in front of BANK:BYTE:MASK {} is expected", text, places_of(hardware)));
    parts.erase(parts.begin());
  }
  const auto [banks, bytes] = space_of(fault, hardware);
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts) numbers.push_back(number(part));
  const bool good = numbers.size() == kNumbers && numbers[0] >= 0 && numbers[0] < banks && numbers[1] >= 0 &&
                    numbers[1] < bytes && numbers[2] > 0 && numbers[2] < 256;
  if (!good) {
    throw UserError(
        fmt::format("--fault {}: BANK:BYTE:MASK is expected, bank 0 to {}, byte 0 to {}, mask 1 to 255", text,
                    banks - 1, bytes - 1));
  }
  fault.cell = {static_cast<int>(numbers[0]), numbers[1], static_cast<std::uint8_t>(numbers[2])};
  return fault;
}

}  // namespace tilebeat
