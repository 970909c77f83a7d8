#pragma once

#include <deque>
#include <fstream>
#include <string>
#include <vector>

namespace tilebeat {

/// The files that a run writes. They are written beside their places under a name that ends in `.partial` and
/// moved there by `commit`; without it they vanish (SPEC UI-5: outputs appear whole or not at all).
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();

  /// A file of its own. Throws UserError when it cannot be created.
  std::ofstream& open_file(const std::string& path);
  /// The folder `path`, of which `entries` are replaced on commit. Returns the folder to write them into.
  /// Throws UserError when it cannot be created.
  std::string open_folder(const std::string& path, const std::vector<std::string>& entries);
  /// Moves everything to its place. Throws UserError when that fails.
  void commit();

 private:
  struct File {
    std::string path;
    std::ofstream stream;
  };
  struct Folder {
    std::string path;
    std::vector<std::string> entries;
  };
  std::deque<File> files_;  // callers hold references to the streams
  std::vector<Folder> folders_;
};

}  // namespace tilebeat
