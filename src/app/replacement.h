#pragma once

#include <string>
#include <vector>

namespace tilebeat {

/// Puts files into their places, all or none: what `keep` has not confirmed is undone when the object goes.
class Replacement {
 public:
  Replacement() = default;
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  /// Renames `from` to `to`, in place of a file that is there. Throws UserError when that fails.
  void put(const std::string& from, const std::string& to);
  /// Removes a file. Throws UserError when that fails.
  void remove(const std::string& path);
  /// Everything stays as it is now.
  void keep();

 private:
  struct Step {
    std::string path;
    std::string saved;  ///< what was there before, under another name; empty: nothing was there
  };
  void save(const std::string& path);

  std::vector<Step> steps_;
};

/// A new, empty file in the folder of `path`, opened for writing. Returns its name; `descriptor` is set.
/// Throws UserError when there can be none; its message calls the file `shown`.
std::string make_file_beside(const std::string& path, const std::string& shown, int& descriptor);

/// Throws UserError `path: cannot be written: error`.
[[noreturn]] void refuse_to_write(const std::string& path, int error);

}  // namespace tilebeat
