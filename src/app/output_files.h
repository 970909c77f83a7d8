#pragma once

#include "app/progress.h"

#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// What a run is going to write, as typed.
struct OutputPlaces {
  std::string out;                         ///< folder
  std::vector<std::string> names;          ///< of the tensors that are written to `out`/outputs
  std::string vcd, fst, timeline, konata;  ///< empty: none

  /// GTKWave's save file, beside the VCD; empty: none.
  std::string view() const;
  /// The option and the name of each single file that is asked for.
  std::vector<std::pair<const char*, std::string>> files() const;
  std::string report() const { return out + "/report.json"; }
  std::string outputs() const { return out + "/outputs"; }
  std::string tensor(const std::string& name) const { return outputs() + "/" + name + ".npy"; }
};

/// Where a path leads: absolute, symbolic links followed, also when nothing is there yet.
std::filesystem::path place_of(const std::string& path);

/// The files that a run reads: `config`, `layer` and the tensor files that `layer` names.
std::vector<std::string> files_read(const std::string& config, const std::string& layer);

/// Throws UserError when two outputs would be one file, when an output would overwrite one of `inputs`, or
/// when a folder stands where a file of the output folder is to be written, or the other way round.
void check_places(const OutputPlaces& places, const std::vector<std::string>& inputs);

/// Tensors in the output folder that an earlier run wrote, as its report there says, and this one does not
/// write or read: they would pass for its results.
std::vector<std::string> obsolete_outputs(const OutputPlaces& places, const std::vector<std::string>& inputs);

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

/// Throws UserError when GTKWave's converter `vcd2fst` is not installed.
void require_fst_converter();

/// Converts the dump `vcd`, which is complete, into `fst`. The result has no date. Throws UserError when the
/// converter fails.
void convert_to_fst(OutputFile& vcd, OutputFile& fst);

}  // namespace tilebeat
