#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

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

}  // namespace tilebeat
