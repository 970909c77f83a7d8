#include "schema/error_list.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostLines = 10;

}  // namespace

std::vector<std::string> FileErrors::lines_of(const std::vector<std::string>& all) {
  if (all.size() <= kMostLines) return all;
  std::vector<std::string> lines(all.begin(), all.begin() + kMostLines);
  lines.push_back(fmt::format("and {} more", all.size() - kMostLines));
  return lines;
}

std::string FileErrors::text_of(const std::vector<std::string>& all) {
  return fmt::format("{}", fmt::join(lines_of(all), "\n"));
}

void ErrorList::raise() const {
  if (kept_.size() == 1) throw UserError(kept_.front());
  if (!kept_.empty()) throw FileErrors(kept_);
}

void ErrorList::keep(const UserError& error) {
  if (const auto* several = dynamic_cast<const FileErrors*>(&error)) {
    kept_.insert(kept_.end(), several->all().begin(), several->all().end());
  } else {
    kept_.emplace_back(error.what());
  }
}

}  // namespace tilebeat
