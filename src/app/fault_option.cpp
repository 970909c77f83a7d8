#include "app/faults.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
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

// The number in `text`; -1: it is not a number.
std::int64_t number(std::string_view text) {
  const bool hex = text.substr(0, 2) == "0x";
  if (hex) text.remove_prefix(2);
  std::int64_t value = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  const bool whole = !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole ? value : -1;
}

// Reads the number behind `name` in a part like core3; false for anything else.
bool take_number(std::string_view part, std::string_view name, int count, int& to) {
  if (part.substr(0, name.size()) != name) return false;
  const std::int64_t value = number(part.substr(name.size()));
  if (value < 0 || value >= count) return false;
  to = to_int(value);
  return true;
}

// Whether `place` is a valid place; sets it in `fault`.
bool parse_place(std::string_view place, const HardwareConfig& hardware, PlacedFault& fault) {
  std::vector<std::string_view> parts = split(place, '.');
  if (parts.size() >= 3 && (parts.back() == "read" || parts.back() == "write")) {
    fault.place = FaultPlace::kBus, fault.bus = place;
    return true;
  }
  const auto named = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                                  [&](const FaultKind& kind) { return kind.name == parts.back(); });
  if (named == kFaultKinds.end() || named->place == FaultPlace::kBus) return false;
  fault.place = named->place;
  parts.pop_back();
  const bool of_core = fault.place == FaultPlace::kEngine || fault.place == FaultPlace::kPe;
  if (fault.place == FaultPlace::kDram) return parts.empty();
  if (!hardware.chip) return parts.empty() && of_core;
  auto part = parts.begin();
  if (part != parts.end() && take_number(*part, "cluster", hardware.chip->clusters, fault.cluster)) ++part;
  if (part != parts.end() && fault.place != FaultPlace::kSram &&
      take_number(*part, "core", hardware.chip->cores_per_cluster, fault.core))
    ++part;
  return part == parts.end();
}

std::string places_of(const HardwareConfig& hardware) {
  const std::string common = ", dram, or a bus as report.json has it under /modules (NAME.PORT.read)";
  if (!hardware.chip) return "engine, pe" + common;
  return fmt::format("clusterK.coreI.engine, .nram, .wram or .pe, clusterK.sram, K 0 to {}, I 0 to {}{}",
                     hardware.chip->clusters - 1, hardware.chip->cores_per_cluster - 1, common);
}

bool has_banks(FaultPlace place) {
  return place != FaultPlace::kDram && place != FaultPlace::kBus;
}

// Takes "@CYCLE" off the end of `text`; -1: it is no cycle. Nothing: there is none.
std::optional<Cycle> take_cycle(std::string_view& text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const Cycle cycle = number(text.substr(at + 1));
  text = text.substr(0, at);
  return cycle;
}

}  // namespace

FaultSpace fault_space(const PlacedFault& fault, const HardwareConfig& hardware) {
  const auto of = [](const MemoryConfig& memory, std::int64_t bytes) {
    return FaultSpace{memory.banks, bytes / memory.banks};
  };
  switch (fault.place) {
    case FaultPlace::kNram:
      return of(hardware.chip->core.nram, hardware.chip->core.nram.size_bytes);
    case FaultPlace::kWram:
      return of(hardware.chip->core.wram, hardware.chip->core.wram.size_bytes);
    case FaultPlace::kSram:
      return of(hardware.chip->sram, hardware.chip->sram_bytes());
    case FaultPlace::kPe:
      return hardware.matrix_engine().pe_space();
    case FaultPlace::kDram:
      return {1, hardware.dram.size_bytes};
    case FaultPlace::kBus:  // which knows its width itself
      return {1, std::numeric_limits<int>::max()};
    case FaultPlace::kEngine:
      break;
  }
  return hardware.matrix_engine().fault_space(hardware);
}

bool needs_every_clock(const PlacedFault& fault) {
  return fault.cell.at && has_banks(fault.place) && fault.place != FaultPlace::kSram;
}

PlacedFault parse_fault(const std::string& text, const HardwareConfig& hardware) {
  PlacedFault fault;
  std::string_view rest = text;
  fault.cell.at = take_cycle(rest);
  std::vector<std::string_view> parts = split(rest, ':');
  if (number(parts.front()) < 0) {
    if (!parse_place(parts.front(), hardware, fault))
      throw UserError(
          fmt::format("--fault {}: in front of BANK:BYTE:MASK {} is expected", text, places_of(hardware)));
    parts.erase(parts.begin());
  }
  const bool banks = has_banks(fault.place);
  if (!banks) parts.insert(parts.begin(), "0");
  const FaultSpace space = fault_space(fault, hardware);
  if (space.banks == 0)
    throw UserError(
        fmt::format("--fault {}: the engine of dataflow \"{}\" has no such cells", text, hardware.dataflow));
  constexpr std::size_t kNumbers = 3;
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts) numbers.push_back(number(part));
  const bool good = numbers.size() == kNumbers && numbers[0] >= 0 && numbers[0] < space.banks &&
                    numbers[1] >= 0 && numbers[1] < space.bytes && numbers[2] > 0 && numbers[2] < 256;
  const std::string byte = fmt::format("byte 0 to {}, mask 1 to 255", space.bytes - 1);
  if (!good)
    throw UserError(banks ? fmt::format("--fault {}: BANK:BYTE:MASK is expected, bank 0 to {}, {}", text,
                                        space.banks - 1, byte)
                          : fmt::format("--fault {}: BYTE:MASK is expected, {}", text, byte));
  const bool only_upsets = !banks || fault.place == FaultPlace::kPe;
  if (fault.cell.at ? *fault.cell.at < 1 : only_upsets)
    throw UserError(fmt::format("--fault {}: @CYCLE is expected at the end, a cycle from 1 on", text));
  fault.cell.bank = to_int(numbers[0]), fault.cell.address = numbers[1];
  fault.cell.mask = static_cast<std::uint8_t>(numbers[2]);
  return fault;
}

std::string fault_text(const PlacedFault& fault, const HardwareConfig& hardware) {
  std::string text;
  if (fault.place == FaultPlace::kBus) {
    text = fault.bus;
  } else {
    if (hardware.chip && fault.place != FaultPlace::kDram) text = fmt::format("cluster{}.", fault.cluster);
    if (hardware.chip && has_banks(fault.place) && fault.place != FaultPlace::kSram)
      text += fmt::format("core{}.", fault.core);
    text += std::find_if(kFaultKinds.begin(), kFaultKinds.end(), [&](const FaultKind& kind) {
              return kind.place == fault.place;
            })->name;
  }
  if (has_banks(fault.place)) text += fmt::format(":{}", fault.cell.bank);
  text += fmt::format(":{}:{:#04x}", fault.cell.address, fault.cell.mask);
  if (fault.cell.at) text += fmt::format("@{}", *fault.cell.at);
  return text;
}

}  // namespace tilebeat
