#pragma once

#include "tilebeat/tilebeat.h"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tilebeat {

/// A wrong job: the text is one line, as the command's errors are.
class JobError : public std::runtime_error {
 public:
  explicit JobError(const std::string& what) : std::runtime_error(what) {}
};

/// A tensor that a result keeps.
struct KeptTensor {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

/// A folder of its own for the files of one call, which goes with it. Throws std::system_error where there is
/// no room.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Makes a folder in it.
  void make(const std::string& name) const;
  /// The path of the file that `given` names, relative to `folder`, or `name`, a file here, where `given` is
  /// a JSON text. Names of files in it, relative to `folder`, are made absolute.
  std::string file_of(const char* given, const std::string& name, const char* folder) const;
  /// Writes an input as a .npy file and returns its name here. Throws JobError where it is not as its shape
  /// says.
  std::string input_file(const tilebeat_tensor& input, std::size_t number) const;

 private:
  std::string folder_;
};

/// The files of a folder, by name, that are not hidden; empty where there is no folder.
std::map<std::string, std::string> documents_of(const std::string& folder);
/// The tensors of the .npy files of a folder, by name.
std::vector<KeptTensor> tensors_of(const std::string& folder);

}  // namespace tilebeat
