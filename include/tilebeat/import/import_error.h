#pragma once

#include "tilebeat/base/error.h"

#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// A model that cannot be imported: `what()` says how many nodes stand in the way, `lines` says for every
/// reason which nodes they are (SPEC RN-1).
class ImportError : public UserError {
 public:
  ImportError(const std::string& summary, std::vector<std::string> lines)
      : UserError(summary), lines_(std::move(lines)) {}
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace tilebeat
