#pragma once

#include "tilebeat/error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilebeat {

/// Two or more errors of one file. `what()` has a line for each of the first ten, and "and N more".
class FileErrors : public UserError {
 public:
  explicit FileErrors(std::vector<std::string> all) : UserError(text_of(all)), all_(std::move(all)) {}
  const std::vector<std::string>& all() const { return all_; }
  /// The lines of `what()`.
  static std::vector<std::string> lines_of(const std::vector<std::string>& all);

 private:
  static std::string text_of(const std::vector<std::string>& all);

  std::vector<std::string> all_;
};

/// Collects the errors of parts that can be checked one without the other, to tell all of them at once
/// (SPEC UI-13).
class ErrorList {
 public:
  /// Calls `check` and keeps the UserErrors that it throws. Returns whether it threw none.
  template <class Check>
  bool attempt(const Check& check) {
    try {
      check();
      return true;
    } catch (const UserError& error) {
      keep(error);
      return false;
    }
  }
  bool empty() const { return kept_.empty(); }
  /// Throws what has been kept: UserError for one error, FileErrors for more, nothing for none.
  void raise() const;

 private:
  void keep(const UserError& error);

  std::vector<std::string> kept_;
};

}  // namespace tilebeat
