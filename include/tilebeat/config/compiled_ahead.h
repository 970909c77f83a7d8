#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// What an engine compiles ahead of runs for the layers of a workload, and keeps in files (SPEC OT-3). The
/// configuration of the engine and all of its copies share one: planning compiles into it and takes from it.
class CompiledAhead {
 public:
  virtual ~CompiledAhead() = default;

  /// Takes what `bytes`, the contents of the file `name`, hold. Nothing of it is used before all of it has
  /// been checked; throws UserError, in one line, for a file that is damaged or of another version.
  virtual void use(const std::vector<std::uint8_t>& bytes, const std::string& name) = 0;
  /// How many of those were used by planning since.
  virtual int used() const = 0;
  /// Keeps what planning compiles from now on.
  virtual void record() = 0;
  /// A file of all that was recorded.
  virtual std::vector<std::uint8_t> file() const = 0;
  /// What is to be shown of a file: one of its entries, and of that what it says of one thread and one k.
  struct Question {
    int entry = 0;
    std::optional<std::int64_t> thread;
    std::optional<int> k;
  };
  /// What `use` took, as text. Throws UserError when there is no such entry, thread or k.
  virtual std::string text(const Question& question) const = 0;
};

}  // namespace tilebeat
