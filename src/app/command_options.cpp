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

CLI::Option* add_extrapolate(CLI::App& app, std::string& steps) {
  const auto wrong = [](const std::string& text) {
    const bool is_number = !text.empty() && text.size() < 6 && text.front() != '0' &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && std::stoi(text) >= 3 && std::stoi(text) < 65536) return std::string();
    return fmt::format("\"{}\" is not allowed, allowed is 3 to 65535", text);
  };
  return app
      .add_option("--extrapolate", steps,
                  "simulate only the first STEPS steps of the workload, at least 3, and say what all would "
                  "take by the line that fits these best")
      ->check(wrong)
      ->excludes("--program")
      ->type_name("STEPS");
}

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
