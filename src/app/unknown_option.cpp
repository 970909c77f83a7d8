#include "unknown_option.h"

#include "tilebeat/schema/place.h"

#include <algorithm>

#include <fmt/format.h>

#include "command_options.h"

namespace tilebeat {

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

}  // namespace tilebeat
