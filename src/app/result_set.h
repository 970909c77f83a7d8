#pragma once

#include <string>
#include <vector>

namespace tilebeat {

/// The tensors and the report of a run, which change together (SPEC UI-5): they are collected in a hidden
/// folder beside `outputs`, and one step of the file system puts that folder in the place of `outputs`, so
/// that a process that is ended at any moment, be it with SIGKILL, leaves all files of the run before or all
/// of this one. For that the report lies in `outputs`, and `report.json` beside it is a
/// symbolic link. Where the file system has no such step, or `outputs` has folders of its own, files are
/// moved one by one.
class ResultSet {
 public:
  /// Of the output folder `out`, which exists.
  explicit ResultSet(const std::string& out);

  /// Whether the path, followed through links, belongs to the set.
  bool has(const std::string& path) const;
  /// Where a file of the set is collected.
  std::string collected(const std::string& path) const;
  /// Makes the hidden folder and returns it. Removes those that ended runs left in the output folder, which
  /// the caller has locked. Throws UserError.
  const std::string& make_folder();
  /// Removes the hidden folder, which has to be empty.
  void discard();

  /// Puts the set in place. `files` are its paths; what else lies in `outputs` stays, but for the files of
  /// `outputs` that `obsolete` names. Throws UserError, and then all is as it was before.
  void commit(const std::vector<std::string>& files, const std::vector<std::string>& obsolete);

 private:
  bool exchangeable() const;
  bool exchange(const std::vector<std::string>& obsolete);
  void move_each(const std::vector<std::string>& files, const std::vector<std::string>& obsolete);

  std::string report_;   ///< `report.json` of the output folder
  std::string outputs_;  ///< the folder's place
  std::string folder_;   ///< empty: not made yet
};

}  // namespace tilebeat
