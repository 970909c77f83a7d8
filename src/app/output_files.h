#pragma once

#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interruption.h"
#include "result_set.h"

namespace tilebeat {

/// A file while it is written. The first error is kept; what comes behind it is dropped.
class OutputFile {
 public:
  /// Takes over `descriptor`. `path` is the name in messages; the contents are to go to `target`, and are
  /// collected in `temporary` until then; empty: they go there at once.
  OutputFile(int descriptor, std::string path, std::string target, std::string temporary);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void close();
  /// Throws UserError when something could not be written.
  void check() const;

  const std::string& target() const { return target_; }
  const std::string& temporary() const { return temporary_; }

 private:
  std::string path_, target_, temporary_;
  std::vector<char> buffer_;
  std::FILE* file_;
  int error_ = 0;  // errno of the first write that failed
};

/// The files that a run writes. They are collected under hidden names beside their places and moved there by
/// `commit`; without it they vanish, also when the process is interrupted (SPEC UI-5: outputs appear whole or
/// not at all). What is no regular file, such as /dev/null or a pipe, is written straight through; a symbolic
/// link keeps pointing to what is written. At most one object exists at a time.
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();

  /// Makes the folder and those above it where they are missing. Throws UserError when that fails.
  void make_folder(const std::string& path);
  /// Keeps other runs from writing into a folder until the object goes. Throws UserError when one does
  /// already.
  void lock_folder(const std::string& path);
  /// From now on the report and the tensors of the output folder `out`, which exists, are a ResultSet.
  void begin_set(const std::string& out);
  /// Begins a file. Throws UserError when it cannot be written.
  OutputFile& open(const std::string& path);
  /// Writes a whole file. Throws UserError when that fails.
  void write(const std::string& path, std::string_view bytes);
  /// Throws UserError when something could not be written so far.
  void check() const;
  /// Moves everything to its place, in the order in which it was begun, the set last and as a whole, without
  /// the tensors that `obsolete` names. Throws UserError when that fails, and then all is as it was before.
  void commit(const std::vector<std::string>& obsolete = {});

 private:
  void discard();
  std::string file_of_set(const std::string& path, int& descriptor, Uninterrupted& uninterrupted);

  Interruption interruption_;
  std::deque<OutputFile> files_;  // callers hold references
  std::vector<std::string> folders_;
  int lock_ = -1;  // descriptor of the folder
  std::optional<ResultSet> set_;
  std::vector<std::string> of_set_;  // paths of its files
};

}  // namespace tilebeat
