#include "messages.h"

#include "tilebeat/schema/place.h"

#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace tilebeat {
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

}  // namespace tilebeat
