#pragma once

#include "app/commands.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// The project's version and the revision of the sources, for example "0.1.0 (0123456789ab)"; "unknown"
/// stands for a revision that git did not know when the build was configured.
std::string version_text();
/// The version number alone, and the revision alone.
std::string version_number();
std::string source_revision();
/// The path of the program that runs; empty where the system does not tell.
std::string own_path();

/// SHA-256 of each file that a run reads, in hexadecimal, by the path as typed; nothing for anything but a
/// regular file, such as a pipe.
using InputHashes = std::map<std::string, std::optional<std::string>>;

/// `known` and the hashes of `files` that are not among them. Throws UserError when a file cannot be read.
InputHashes hashes_of(const std::vector<std::string>& files, InputHashes known = {});

/// The part of a report with its origin (SPEC UI-11): version and source revision of the build, the files
/// that were read, and the options that the results depend on.
nlohmann::ordered_json provenance_json(const RunCommand& command, const InputHashes& inputs);

/// The command and the files of a report that has passed `check_report`. Throws UserError when `file` has no
/// provenance.
RunCommand recorded_command(const nlohmann::ordered_json& report, const std::string& file);
InputHashes recorded_inputs(const nlohmann::ordered_json& report);

/// SHA-256 of each tensor that a run writes, in hexadecimal, by its layer.
using OutputHashes = std::map<std::string, std::string>;
std::string sha256_of_bytes(std::string_view bytes);
/// A provenance with these outputs, and a place for the digest of the report (DigestedText).
nlohmann::ordered_json with_outputs(nlohmann::ordered_json provenance, const OutputHashes& outputs);
/// The outputs as a report that has passed `check_report` records them, and as the tensors in its folder are
/// now;
/// "" for a tensor that is not there.
OutputHashes recorded_outputs(const nlohmann::ordered_json& report);
OutputHashes hashes_of_outputs(const std::string& folder, const nlohmann::ordered_json& report);

class Sha256;

/// Passes the text of a report on, with the SHA-256 of all of it, taken with zeros in the digest's place, in
/// that place. The last part that is written has the whole of the provenance.
class DigestedText {
 public:
  explicit DigestedText(std::function<void(std::string_view)> sink);
  ~DigestedText();
  DigestedText(const DigestedText&) = delete;
  DigestedText& operator=(const DigestedText&) = delete;
  void write(std::string_view text);
  void end();

 private:
  std::function<void(std::string_view)> sink_;
  std::unique_ptr<Sha256> hash_;
  std::string held_;  // the last part so far
};
/// Whether the text of a report is what DigestedText passed on; true for a report of an earlier version,
/// which has no digest.
bool is_as_written(std::string text);

}  // namespace tilebeat
