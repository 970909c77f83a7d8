#pragma once

#include "app/progress.h"
#include "tilebeat/error.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// Puts files in their places, all or none: changes without `keep` are undone when the object is destroyed.
class Replacement {
 public:
  Replacement() = default;
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  /// Renames `from` to `to`, replacing an existing file. Throws UserError when that fails.
  void put(const std::string& from, const std::string& to);
  /// Removes a file. Throws UserError when that fails.
  void remove(const std::string& path);
  /// Makes all changes so far permanent.
  void keep();

 private:
  struct Step {
    std::string path;
    std::string saved;  ///< name to which an earlier file was moved; empty: there was none
  };
  void save(const std::string& path);

  std::vector<Step> steps_;
};

/// A new, empty file in the folder of `path`, opened for writing. Returns its name and sets `descriptor`.
/// Throws UserError when it cannot be made; the message calls the file `shown`.
std::string make_file_beside(const std::string& path, const std::string& shown, int& descriptor);

/// Throws UserError `path: cannot be written: error`.
[[noreturn]] void refuse_to_write(const std::string& path, int error);

/// The tensors and the report of a run, which change together (SPEC UI-5): they are collected in a hidden
/// folder beside `outputs`, and one step of the file system puts that folder in the place of `outputs`, so
/// that a process that is ended at any moment, be it with SIGKILL, leaves all files of the run before or all
/// of this one. For that the report lies in `outputs` as a hidden file, and `report.json`
/// beside the folder is a symbolic link to it. Where the file system has no such step, or `outputs` has
/// folders of its own, files are moved one by one.
class ResultSet {
 public:
  /// `out`: the output folder, which exists.
  explicit ResultSet(const std::string& out);

  /// Whether the path, followed through links, belongs to the set.
  bool has(const std::string& path) const;
  /// The path under which a file of the set is collected.
  std::string collected(const std::string& path) const;
  /// Makes the hidden folder and returns it. Removes hidden folders that earlier runs left in the output
  /// folder, which the caller has locked. Throws UserError.
  const std::string& make_folder();
  /// Removes the hidden folder, which has to be empty.
  void discard();

  /// Puts the set in place. `files` are its paths. Other files of `outputs` stay, except those that
  /// `obsolete` names. Throws UserError, and then nothing has changed.
  void commit(const std::vector<std::string>& files, const std::vector<std::string>& obsolete);

 private:
  bool exchangeable() const;
  bool exchange(const std::vector<std::string>& obsolete);
  void move_each(const std::vector<std::string>& files, const std::vector<std::string>& obsolete);

  std::string report_;   ///< `report.json` of the output folder
  std::string outputs_;  ///< the folder's place
  std::string folder_;   ///< empty: not made yet
};

/// The outputs of a run, as typed.
struct OutputPlaces {
  std::string out;                 ///< folder
  std::vector<std::string> names;  ///< names of the tensors that are written to `out`/outputs
  std::string vcd, fst, timeline, konata, fault_table;  ///< empty: none

  /// GTKWave's save file, beside the VCD; empty: none.
  std::string view() const;
  /// The option and the name of each single file that is asked for.
  std::vector<std::pair<const char*, std::string>> files() const;
  std::string report() const { return out + "/report.json"; }
  std::string outputs() const { return out + "/outputs"; }
  std::string tensor(const std::string& name) const { return outputs() + "/" + name + ".npy"; }
};

/// The absolute path that a path resolves to, with symbolic links followed; it need not exist.
std::filesystem::path place_of(const std::string& path);

/// The files that a run reads: `config`, `layer` and the tensor files that `layer` names.
std::vector<std::string> files_read(const std::string& config, const std::string& layer);
/// The tensor files that `workload` names, with paths that begin at `folder`.
std::vector<std::string> tensors_read(const nlohmann::json& workload, const std::string& folder);
/// Calls note_input for each file: some are read later than outputs are begun.
void note_inputs(const std::vector<std::string>& files);
/// Throws UserError when `path`, which `option` names, is an input (is_input), also under another name.
void check_not_read(const char* option, const std::string& path);

/// Throws UserError when two outputs would be one file, when an output would overwrite an input, or when a
/// folder has the place of an output file, or vice versa.
void check_places(const OutputPlaces& places);

/// Tensors in the output folder that an earlier run wrote, by its report there, and that this run neither
/// writes nor reads: they would be taken for its results.
std::vector<std::string> obsolete_outputs(const OutputPlaces& places);

/// Whether a file that the command has read may be written: where it changes the file on purpose.
enum class OverInput { kRefused, kAllowed };

/// A file while it is being written. Keeps the first error; later data are dropped.
class OutputFile {
 public:
  /// Takes over `descriptor`. `path` is the name in messages. The data are collected in `temporary` and go to
  /// `target` later; if `temporary` is empty, they are written there directly.
  OutputFile(int descriptor, std::string path, std::string target, std::string temporary);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Writes to the file, which is closed before and after, so that any number of files can grow by turns.
  void append(std::string_view text);
  /// Writes over the beginning of what has been written, as much of it as `text` is long.
  void rewrite(std::string_view text);
  void close();
  /// Throws UserError when writing has failed.
  void check() const;

  const std::string& path() const { return path_; }
  const std::string& target() const { return target_; }
  const std::string& temporary() const { return temporary_; }

 private:
  void seek(int origin);

  std::string path_, target_, temporary_;
  std::vector<char> buffer_;
  std::FILE* file_;
  std::atomic<int> error_ = 0;  // errno of the first write that failed
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
  /// Locks a folder against other runs for the life of the object. Throws UserError when another run has
  /// locked it.
  void lock_folder(const std::string& path);
  /// From now on the report and the tensors of the output folder `out`, which exists, are a ResultSet.
  void begin_set(const std::string& out);
  /// Begins a file. Throws UserError when it cannot be written, or is an input of the command (is_input).
  OutputFile& open(const std::string& path, OverInput over = OverInput::kRefused);
  /// Writes a whole file. Throws UserError when that fails.
  void write(const std::string& path, std::string_view bytes);
  /// Throws UserError when any writing has failed so far.
  void check() const;
  /// Moves everything to its place, in the order in which it was begun, the set last and as a whole, without
  /// the tensors that `obsolete` names. Throws UserError when that fails, and then nothing has changed.
  void commit(const std::vector<std::string>& obsolete = {});
  /// Moves the files to places where nothing is at that moment. Throws UserError when there is something, and
  /// then that file and those behind it are not written.
  void commit_new();

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

/// A folder for files that nobody keeps; it goes with the object, or with an Interruption.
class ScratchFolder {
 public:
  /// `purpose` is a part of its name. Throws UserError when it cannot be made.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }
  /// A new file of the folder, which goes with it.
  void write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace tilebeat
