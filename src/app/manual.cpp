#include "manual.h"

#include <sstream>

#include <fmt/format.h>

#include "command_options.h"
#include "version.h"

namespace tilebeat {
namespace {

// Text as troff takes it literally: no line begins with a request.
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
