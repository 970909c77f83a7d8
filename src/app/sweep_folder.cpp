#include "sweep_folder.h"

#include "tilebeat/base/error.h"
#include "tilebeat/report/sweep_table.h"
#include "tilebeat/schema/json_file.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "provenance.h"
#include "replacement.h"
#include "report_file.h"

namespace tilebeat {
namespace {

constexpr std::array<const char*, kSweepTargets> kFileNames{"config.json", "workload.json", "mapping.json"};
constexpr std::int64_t kMostErrorBytes = 1 << 20;

// What a file holds; nothing when it cannot be read.
std::optional<std::string> contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The file has all of its new contents or the earlier ones, whenever the process is ended.
void write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) refuse_to_write(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) refuse_to_write(path, written ? errno : error);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) refuse_to_write(path, errno);
}

// What did not pass, in a line.
std::string failure_of(const OrderedJson& report) {
  if (!report["failures"].empty()) return report["failures"][0].get<std::string>();
  if (report["differences"].empty()) return "";
  const OrderedJson& first = report["differences"][0];
  return fmt::format("{} differs from {}", first["layer"].get<std::string>(),
                     first["against"].get<std::string>());
}

}  // namespace

SweepLock::SweepLock(const std::string& folder) {
  constexpr int kTries = 40;
  constexpr std::chrono::milliseconds kPause(50);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) refuse_to_write(folder, errno);
  for (int i = 0; flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == EWOULDBLOCK && i < kTries) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    close(descriptor_);
    throw UserError(fmt::format("{}: another sweep is running there", folder));
  }
}

SweepLock::~SweepLock() {
  close(descriptor_);
}

PointFolder::PointFolder(const std::string& points, SweepPoint point, SweepCheck check)
    : point_(std::move(point)), path_(points + "/" + point_.name) {
  command_.config = kFileNames[0], command_.layer = kFileNames[1], command_.out = ".";
  if (point_.texts[2]) command_.mapping = kFileNames[2];
  if (check != SweepCheck::kDefault) command_.check = kSweepCheckNames[static_cast<std::size_t>(check)];
}

std::vector<std::string> PointFolder::arguments() const {
  std::vector<std::string> arguments{"run",          "--config", command_.config, "--layer",
                                     command_.layer, "--out",    command_.out};
  if (!command_.mapping.empty()) arguments.insert(arguments.end(), {"--mapping", command_.mapping});
  if (!command_.check.empty()) arguments.insert(arguments.end(), {"--check", command_.check});
  return arguments;
}

bool PointFolder::prepared() const {
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    if (point_.texts[t] && contents(file(kFileNames[t])) != point_.texts[t]) return false;
  }
  return true;
}

void PointFolder::prepare() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) refuse_to_write(path_, error.value());
  if (prepared()) return;
  std::remove(file("status").c_str());
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    if (point_.texts[t]) write_whole(file(kFileNames[t]), *point_.texts[t]);
  }
}

void PointFolder::write_status(int status) const {
  write_whole(file("status"), fmt::format("{}\n", status));
}

std::optional<OrderedJson> PointFolder::report() const {
  try {
    if (!prepared()) return {};
    OrderedJson report = read_report(file("report.json"));
    InputHashes inputs;
    for (const auto& [name, hash] : recorded_inputs(report)) {
      const std::string path = std::filesystem::path(name).is_absolute() ? name : file(name);
      inputs[name] = hashes_of({path}).at(path);
    }
    // Compared without the order of keys.
    if (Json(provenance_json(command_, inputs)) != Json(report["provenance"])) return {};
    return report;
  } catch (const UserError&) {
    return {};  // none, or of another build
  }
}

bool PointFolder::finished() const {
  return report().has_value();
}

std::string PointFolder::error() const {
  const std::optional<std::string> status = contents(file("status"));
  if (!prepared() || !status) return "was not run";
  const int number = std::atoi(status->c_str());
  const std::string said = contents(file("errors.txt")).value_or("").substr(0, kMostErrorBytes);
  std::istringstream lines(said);
  std::string last;
  const std::string prefix = "tilebeat: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, prefix.size(), prefix) == 0) last = line.substr(prefix.size());
  }
  if (number > 128) return fmt::format("was ended by signal {}", number - 128);
  return last.empty() ? fmt::format("ended with status {}", number) : last;
}

OrderedJson PointFolder::row(const std::vector<std::string>& axes) const {
  OrderedJson row{{"point", point_.name}};
  for (std::size_t a = 0; a < axes.size(); ++a) row[axes[a]] = point_.labels[a];
  const std::optional<OrderedJson> found = report();
  row["result"] = !found ? "error" : (*found)["passed"] ? "passed" : "failed";
  if (found) row.update(sweep_values(*found));
  if (row["result"] != "passed") row["error"] = found ? failure_of(*found) : error();
  return row;
}

}  // namespace tilebeat
