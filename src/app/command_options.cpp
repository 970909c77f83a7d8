#include "command_options.h"

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

// CLI11 says the set of a CLI::IsMember behind the name of the value: "TEXT:{clock,tile}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  return CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::string value_name(const CLI::Option& option) {
  std::string type = option.get_type_name();
  // A name such as [PLACE:]BANK:BYTE:MASK has colons of its own; what CLI11 adds begins like these.
  for (const char* check : {":{", ":INT in", ":UINT in", ":FLOAT in", ":NONNEGATIVE", ":POSITIVE"}) {
    if (const std::size_t at = type.find(check); at != std::string::npos) return type.substr(0, at);
  }
  return type;
}

}  // namespace tilebeat
