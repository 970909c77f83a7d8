
#include "app/command_options.h"
#include "app/provenance.h"

#include <sstream>
#include <vector>

#include <fmt/format.h>

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

// A case for every option of a command with a set of words, and one for its positional argument.
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

// Escapes text for '...[...]' of _arguments.
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

namespace {

// Escapes text for troff: no line begins with a request.
std::string literal(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) escaped += "\\&";
      escaped += c;
    }
  }
  return escaped;
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  for (const std::string& name : names_of_option(option))
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", literal(name));
  if (option.get_positional()) head = fmt::format("\\fI{}\\fR", literal(option.get_name(true)));
  const std::vector<std::string> choices = choices_of(option);
  if (!choices.empty() && !option.get_positional())
    head += fmt::format(" \\fI{}\\fR", literal(fmt::format("{}", fmt::join(choices, "|"))));
  else if (!is_flag(option) && !option.get_positional())
    head += fmt::format(" \\fI{}\\fR", literal(value_name(option)));
  if (option.get_expected_max() > 1) head += " ...";
  std::string text = literal(option.get_description());
  if (option.get_positional() && !choices.empty())
    text += fmt::format(" (one of {})", literal(fmt::format("{}", fmt::join(choices, ", "))));
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty())
    text += fmt::format(" (default {})", literal(option.get_default_str()));
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

// "Examples:" and lines that begin with two blanks.
std::string examples(const std::string& footer) {
  if (footer.empty()) return "";
  std::istringstream lines(footer);
  std::string title, text;
  std::getline(lines, title);
  for (std::string line; std::getline(lines, line);) text += literal(line) + "\n";
  return fmt::format(".PP\n{}\n.PP\n.nf\n{}.fi\n", literal(title), text);
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::string about = app.get_description();
  const std::string name = "tilebeat", summary = about.substr(about.find(": ") + 2);
  std::string page = fmt::format(
      ".TH TILEBEAT 1 \"\" \"tilebeat {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n"
      ".B {}\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH OPTIONS\n",
      literal(version_text()), name, literal(summary), name);
  for (const CLI::Option* option : options_of(app)) page += option_entry(*option);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".SS {} {}\n{}\n", name, literal(command->get_name()),
                        literal(command->get_description()));
    for (const CLI::Option* option : options_of(*command)) page += option_entry(*option);
    page += examples(command->get_footer());
  }
  page += fmt::format(".SH NOTES\n{}\n", literal(app.get_footer()));
  return page;
}

}  // namespace tilebeat
