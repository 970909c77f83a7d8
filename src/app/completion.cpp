#include "completion.h"

#include <vector>

#include <fmt/format.h>

#include "command_options.h"

namespace tilebeat {
namespace {

std::string words(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, " "));
}

std::vector<std::string> names_of_all(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : names_of_option(*option)) names.push_back(name);
  }
  return names;
}

// A case for every option of a command that takes words of a set, and one for its positional argument.
std::string bash_choices(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : options_of(command)) {
    const std::vector<std::string> choices = choices_of(*option);
    if (choices.empty()) continue;
    const std::vector<std::string> names = names_of_option(*option);
    text += fmt::format("    '{} {}') words='{}' ;;\n", command.get_name(),
                        names.empty() ? command.get_name() : names.back(), words(choices));
  }
  return text;
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string options, choices;
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    options += fmt::format("      {}) words='{}' ;;\n", command->get_name(), words(names_of_all(*command)));
    choices += bash_choices(*command);
  }
  return fmt::format(R"(# Completion of tilebeat for bash, made by `tilebeat completion bash`.
_tilebeat() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words=
  case "$command ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{choices}  esac
  if ((COMP_CWORD == 1)); then
    words='{commands} {global}'
  elif [[ $current == -* ]]; then
    case $command in
{options}    esac
  fi
  # Without words bash completes the names of files.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _tilebeat tilebeat
)",
                     fmt::arg("choices", choices), fmt::arg("commands", words(commands)),
                     fmt::arg("global", words(names_of_all(app))), fmt::arg("options", options));
}

// Inside '...[...]' of _arguments.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_value(const CLI::Option& option, const std::string& name) {
  const std::vector<std::string> choices = choices_of(option);
  return fmt::format(":{}:{}", zsh_text(name), choices.empty() ? "_files" : "(" + words(choices) + ")");
}

std::string zsh_arguments(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : options_of(command)) {
    const std::string many = option->get_expected_max() > 1 ? "*" : "";
    if (option->get_positional())
      text += fmt::format(" \\\n        '{}{}'", many, zsh_value(*option, option->get_name(true)));
    for (const std::string& name : names_of_option(*option)) {
      text += fmt::format(" \\\n        '{}{}[{}]{}'", many, name, zsh_text(option->get_description()),
                          is_flag(*option) ? "" : zsh_value(*option, value_name(*option)));
    }
  }
  return text;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands += fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases +=
        fmt::format("    {})\n      _arguments{}\n      ;;\n", command->get_name(), zsh_arguments(*command));
  }
  return fmt::format(R"(#compdef tilebeat
# Completion of tilebeat for zsh, made by `tilebeat completion zsh`.
_tilebeat() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    _arguments{}
    return
  fi
  local command=${{words[2]}}
  shift words
  ((--CURRENT))
  case $command in
{}  esac
}}
_tilebeat "$@"
)",
                     commands, zsh_arguments(app), cases);
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  return shell == "zsh" ? zsh_script(app) : bash_script(app);
}

}  // namespace tilebeat
