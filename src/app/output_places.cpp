#include "app/output_files.h"
#include "base/inputs_read.h"
#include "schema/json_file.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel follows

// /dev/null may be named several times.
bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::is_character_file(path, ignored);
}

// A set of files by place and, for existing files, by the file system's identity.
class FileSet {
 public:
  explicit FileSet(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      for (const std::string& identity : identities(path)) known_.insert(identity);
    }
  }
  bool has(const std::string& path) const {
    const auto all = identities(path);
    return std::any_of(all.begin(), all.end(), [this](const auto& i) { return known_.count(i) != 0; });
  }

  /// The identities of a file.
  static std::vector<std::string> identities(const std::string& path) {
    std::vector<std::string> all{place_of(path).string()};
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) all.push_back(fmt::format("{}:{}", status.st_dev, status.st_ino));
    return all;
  }

 private:
  std::set<std::string> known_;
};

bool same_file(const std::string& a, const std::string& b) {
  return FileSet({a}).has(b);
}

bool lies_in(const std::string& path, const std::string& folder) {
  const fs::path inner = place_of(path), outer = place_of(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// The values of all keys "file": tensors are named nowhere else, except in "expected".
void collect_files(const nlohmann::json& json, std::vector<std::string>& files) {
  if (json.is_object() && json.contains("file") && json["file"].is_string())
    files.push_back(json["file"].get<std::string>());
  if (!json.is_structured()) return;
  for (const nlohmann::json& entry : json) collect_files(entry, files);
}

[[noreturn]] void refuse_input(const char* option, const std::string& path) {
  throw UserError(fmt::format("{}: {} is read by this run and would be overwritten", option, path));
}

// An option that names a single file, and the name.
using FileOption = std::pair<const char*, std::string>;

void check_against_folder(const FileOption& option, const OutputPlaces& places) {
  const auto& [name, path] = option;
  const std::string clash = fmt::format("{} {} and --out {}", name, path, places.out);
  if (lies_in(places.out, path)) throw UserError(clash + ": a folder is to be written where the file is");
  if (same_file(path, places.report())) throw UserError(clash + ": the report is written there");
  if (lies_in(path, places.outputs())) throw UserError(clash + ": the folder outputs is for output tensors");
}

void check_folder(const OutputPlaces& places) {
  std::error_code ignored;
  if (fs::exists(places.out, ignored) && !fs::is_directory(places.out, ignored))
    throw UserError(fmt::format("{}: is a file, a folder is to be written there", places.out));
  if (fs::exists(places.outputs(), ignored) && !fs::is_directory(places.outputs(), ignored))
    throw UserError(fmt::format("{}: is a file, a folder is to be written there", places.outputs()));
  std::vector<std::string> files{places.report()};
  for (const std::string& name : places.names) files.push_back(places.tensor(name));
  for (const std::string& file : files) {
    if (fs::is_directory(file, ignored))
      throw UserError(fmt::format("{}: is a folder, a file is to be written there", file));
  }
}

// No output may be the same file as another one under a second name, such as a link.
void check_distinct(const OutputPlaces& places) {
  std::vector<std::string> files{places.report()};
  for (const std::string& name : places.names) files.push_back(places.tensor(name));
  for (const auto& [option, file] : places.files()) files.push_back(file);
  std::map<std::string, std::string> known;  // the file, by its identity
  for (const std::string& file : files) {
    if (is_device(file)) continue;
    for (const std::string& identity : FileSet::identities(file)) {
      const auto [found, added] = known.emplace(identity, file);
      if (!added && found->second != file)
        throw UserError(fmt::format("{} and {}: are the same file", found->second, file));
    }
  }
}

// Finds the names of outputs in a report, which may be long, and stores nothing else of it.
class OutputNames : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool is_report = false;
  std::vector<std::string> names;

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& value) override {
    if (depth_ == 2 && in_outputs_) names.push_back(value);
    return true;
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return ++depth_ <= kMaxJsonDepth; }
  bool key(string_t& value) override {
    if (depth_ == 1) in_outputs_ = value == "outputs", is_report = is_report || value == "tilebeat_report";
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t /*elements*/) override { return ++depth_ <= kMaxJsonDepth; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  int depth_ = 0;
  bool in_outputs_ = false;  // below the report's own key
};

// The outputs that a report lists; empty when there is no report.
std::vector<std::string> outputs_of_report(const std::string& path) {
  OutputNames found;
  try {
    const bool whole = nlohmann::json::sax_parse(read_file(path, kMaxJsonBytes), &found);
    return whole && found.is_report ? found.names : std::vector<std::string>{};
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

std::string OutputPlaces::view() const {
  // Nothing is written beside outputs that are not files, such as pipes.
  std::error_code ignored;
  const std::string& dump = vcd.empty() ? fst : vcd;
  const fs::file_status status = fs::status(dump, ignored);
  if (dump.empty() || (fs::exists(status) && !fs::is_regular_file(status))) return "";
  fs::path view(dump);
  return view.replace_extension(".gtkw").string();
}

std::vector<std::pair<const char*, std::string>> OutputPlaces::files() const {
  std::vector<std::pair<const char*, std::string>> all{
      {"--vcd", vcd},       {vcd.empty() ? "--fst" : "--vcd", view()},
      {"--fst", fst},       {"--timeline", timeline},
      {"--konata", konata}, {"--fault-table", fault_table}};
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto& file) { return file.second.empty(); }),
            all.end());
  return all;
}

fs::path place_of(const std::string& path) {
  std::error_code ignored;
  fs::path place = fs::absolute(path);
  for (int i = 0; i < kMostLinks && fs::is_symlink(place, ignored); ++i) {
    const fs::path next = fs::read_symlink(place, ignored);
    place = next.is_absolute() ? next : place.parent_path() / next;
  }
  const fs::path canonical = fs::weakly_canonical(place, ignored);
  place = canonical.empty() ? place.lexically_normal() : canonical;
  return place.has_filename() || !place.has_relative_path() ? place : place.parent_path();
}

std::vector<std::string> files_read(const std::string& config, const std::string& layer) {
  std::vector<std::string> files{config, layer};
  if (!fs::is_regular_file(layer)) return files;  // a pipe gives its contents once
  const auto tensors = tensors_read(read_json_file(layer), fs::path(layer).parent_path().string());
  files.insert(files.end(), tensors.begin(), tensors.end());
  return files;
}

std::vector<std::string> tensors_read(const nlohmann::json& workload, const std::string& folder) {
  std::vector<std::string> tensors;
  collect_files(workload, tensors);
  if (workload.contains("expected")) {
    for (const auto& file : workload["expected"]) {
      if (file.is_string()) tensors.push_back(file.get<std::string>());
    }
  }
  for (std::string& tensor : tensors) tensor = (fs::path(folder) / tensor).string();
  return tensors;
}

void note_inputs(const std::vector<std::string>& files) {
  for (const std::string& file : files) note_input(place_of(file).string());
}

void check_not_read(const char* option, const std::string& path) {
  if (is_input(path))
    throw UserError(fmt::format("{} {}: is read by this command, it cannot be written", option, path));
}

void check_places(const OutputPlaces& places) {
  const std::vector<FileOption> options = places.files();
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_file(options[j].second, options[i].second) || is_device(options[i].second)) continue;
      throw UserError(fmt::format("{} {} and {} {}: are the same file", options[j].first, options[j].second,
                                  options[i].first, options[i].second));
    }
  }
  for (const FileOption& option : options) check_against_folder(option, places);
  check_folder(places);

  check_distinct(places);

  for (const FileOption& option : options) {
    if (is_input(option.second)) refuse_input(option.first, option.second);
  }
  if (is_input(places.report())) refuse_input("--out", places.report());
  for (const std::string& name : places.names) {
    if (is_input(places.tensor(name))) refuse_input("--out", places.tensor(name));
  }
}

std::vector<std::string> obsolete_outputs(const OutputPlaces& places) {
  std::vector<std::string> obsolete;
  const std::set<std::string> written(places.names.begin(), places.names.end());
  for (const std::string& name : outputs_of_report(places.report())) {
    if (fs::path(name).filename() != name) continue;
    if (written.count(name) > 0) continue;
    const std::string file = places.tensor(name);
    std::error_code ignored;
    if (!is_input(file) && fs::symlink_status(file, ignored).type() == fs::file_type::regular)
      obsolete.push_back(file);
  }
  return obsolete;
}

void refuse_to_write(const std::string& path, int error) {
  throw UserError(fmt::format("{}: cannot be written: {}", path, std::strerror(error)));
}

std::string make_file_beside(const std::string& path, const std::string& shown, int& descriptor) {
  std::string name = (std::filesystem::path(path).parent_path() / ".tilebeat-XXXXXX").string();
  descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) refuse_to_write(shown, errno);
  // The mode that open(2) would have given it.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return name;
}

Replacement::~Replacement() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->saved.empty()) {
      unlink(step->path.c_str());
    } else {
      rename(step->saved.c_str(), step->path.c_str());
      unlink(step->saved.c_str());  // still there when both are names of one file: then rename does nothing
    }
  }
}

// Keeps the file at `path` under a second name.
void Replacement::save(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse_to_write(path, errno);
    steps_.push_back({path, ""});
    return;
  }
  if (S_ISDIR(status.st_mode)) refuse_to_write(path, EISDIR);
  int descriptor = -1;
  const std::string saved = make_file_beside(path, path, descriptor);
  close(descriptor);
  unlink(saved.c_str());
  // With a second name the file exists at every moment; not every file system has hard links.
  if (link(path.c_str(), saved.c_str()) != 0 && rename(path.c_str(), saved.c_str()) != 0) {
    refuse_to_write(path, errno);
  }
  steps_.push_back({path, saved});
}

void Replacement::put(const std::string& from, const std::string& to) {
  save(to);
  if (rename(from.c_str(), to.c_str()) != 0) refuse_to_write(to, errno);
}

void Replacement::remove(const std::string& path) {
  save(path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) refuse_to_write(path, errno);
}

void Replacement::keep() {
  for (const Step& step : steps_) {
    if (!step.saved.empty()) unlink(step.saved.c_str());
  }
  steps_.clear();
}

}  // namespace tilebeat
