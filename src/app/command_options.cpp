#include "app/command_options.h"

#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::App* group : command.get_subcommands({})) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* option : options_of(*group)) {
      if (option != group->get_help_ptr()) options.push_back(option);  // the command has one
    }
  }
  return options;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_name().empty()) commands.push_back(command);
  }
  return commands;
}

std::vector<std::string> names_of_option(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool is_flag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

// CLI11 puts the set of a CLI::IsMember behind the value's name: "TEXT:{clock,tile}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  return CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::string value_name(const CLI::Option& option) {
  std::string type = option.get_type_name();
  // A name such as [PLACE:]BANK:BYTE:MASK has colons itself; CLI11's additions begin like these.
  for (const char* check : {":{", ":INT in", ":UINT in", ":FLOAT in", ":NONNEGATIVE", ":POSITIVE"}) {
    if (const std::size_t at = type.find(check); at != std::string::npos) return type.substr(0, at);
  }
  return type;
}

std::optional<std::string> unknown_option(const CLI::App& command,
                                          const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.compare(0, 2, "--") != 0) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end())
      return one_line(fmt::format("{} is no option of tilebeat {}, the nearest one is {}", name,
                                  command.get_name(), nearest_name(name, names)));
  }
  return {};
}

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
  const FaultSpace space = space_of(fault, hardware);
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts) numbers.push_back(number(part));
  const bool good = numbers.size() == kNumbers && numbers[0] >= 0 && numbers[0] < space.banks &&
                    numbers[1] >= 0 && numbers[1] < space.bytes && numbers[2] > 0 && numbers[2] < 256;
  if (!good) {
    throw UserError(
        fmt::format("--fault {}: BANK:BYTE:MASK is expected, bank 0 to {}, byte 0 to {}, mask 1 to 255", text,
                    space.banks - 1, space.bytes - 1));
  }
  fault.cell = {to_int(numbers[0]), numbers[1], static_cast<std::uint8_t>(numbers[2])};
  return fault;
}

namespace {

constexpr std::size_t kMostCharacters = 4000;

}  // namespace

void print_message(std::string_view text) {
  std::string line = "tilebeat: " + one_line(std::string(text.substr(0, kMostCharacters)));
  if (text.size() > kMostCharacters)
    line += fmt::format("... ({} more characters)", text.size() - kMostCharacters);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_error(const UserError& error) {
  const auto* several = dynamic_cast<const FileErrors*>(&error);
  if (several == nullptr) return print_message(error.what());
  for (const std::string& line : FileErrors::lines_of(several->all())) print_message(line);
}

}  // namespace tilebeat
