#include "app/output_files.h"
#include "tilebeat/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHidden = ".tilebeat-set-";
constexpr const char *kReportName = "report.json", *kNameInside = ".report.json";

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

// The link to the report under its own name beside `outputs`; the previous file comes back unless `keep` is
// called.
class ReportLink {
 public:
  ReportLink(std::string path, std::string inside) : path_(std::move(path)), inside_(std::move(inside)) {}
  ~ReportLink() {
    if (kept_) return;
    if (was_file_) rename(inside_.c_str(), path_.c_str());
    if (was_missing_) unlink(path_.c_str());
  }
  ReportLink(const ReportLink&) = delete;
  ReportLink& operator=(const ReportLink&) = delete;

  // Makes the link; returns whether it exists now. At every moment the path leads to the report of the
  // previous run.
  bool make() {
    struct stat status {};
    const std::string target = fs::path(inside_).lexically_relative(fs::path(path_).parent_path()).string();
    if (lstat(path_.c_str(), &status) != 0) return was_missing_ = symlink(target.c_str(), path_.c_str()) == 0;
    if (S_ISLNK(status.st_mode)) return place_of(path_) == fs::path(inside_);
    unlink(inside_.c_str());  // left from a set whose link somebody has replaced by a file
    if (link(path_.c_str(), inside_.c_str()) != 0) return false;
    was_file_ = true;
    const std::string temporary = path_ + ".tilebeat";
    unlink(temporary.c_str());
    if (symlink(target.c_str(), temporary.c_str()) != 0) return false;
    return rename(temporary.c_str(), path_.c_str()) == 0;
  }
  void keep() { kept_ = true; }

 private:
  std::string path_, inside_;
  bool was_missing_ = false, was_file_ = false, kept_ = false;
};

}  // namespace

ResultSet::ResultSet(const std::string& out)
    : report_((place_of(out) / kReportName).string()), outputs_(place_of(out + "/outputs").string()) {}

bool ResultSet::has(const std::string& path) const {
  const fs::path place = place_of(path);
  return place.parent_path() == outputs_ || place == report_;
}

std::string ResultSet::collected(const std::string& path) const {
  const fs::path place = place_of(path);
  return (fs::path(folder_) / (place == report_ ? fs::path(kNameInside) : place.filename())).string();
}

const std::string& ResultSet::make_folder() {
  const fs::path parent = fs::path(outputs_).parent_path(), out = fs::path(report_).parent_path();
  std::error_code ignored;
  // When `outputs` is a link, runs into other folders may have hidden folders in progress there.
  for (const auto& entry : parent == out ? fs::directory_iterator(out, ignored) : fs::directory_iterator()) {
    if (entry.path().filename().string().rfind(kHidden, 0) == 0) remove_folder(entry.path());
  }
  std::string name = (parent / (std::string(kHidden) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) refuse_to_write(outputs_, errno);
  struct stat status {};
  if (stat(outputs_.c_str(), &status) == 0) chmod(name.c_str(), status.st_mode & 07777);
  return folder_ = name;
}

void ResultSet::discard() {
  if (!folder_.empty()) rmdir(folder_.c_str());
  folder_.clear();
}

// Folders cannot have a second name, and a report that links elsewhere remains a link.
bool ResultSet::exchangeable() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(outputs_, error)) {
    if (entry.is_directory() && !entry.is_symlink()) return false;
  }
  return !error;
}

bool ResultSet::exchange(const std::vector<std::string>& obsolete) {
  std::error_code ignored;
  std::vector<std::string> added;
  const auto give_up = [&] {
    for (const std::string& name : added) unlink(name.c_str());
    return false;
  };
  std::set<std::string> gone;
  for (const std::string& path : obsolete) gone.insert(fs::path(path).filename().string());
  for (const auto& entry : fs::directory_iterator(outputs_, ignored)) {
    const fs::path name = entry.path().filename();
    const std::string mine = (folder_ / name).string();
    if (gone.count(name.string()) > 0 || name == kNameInside || exists(mine)) continue;
    if (linkat(AT_FDCWD, entry.path().c_str(), AT_FDCWD, mine.c_str(), 0) != 0) return give_up();
    added.push_back(mine);
  }
  ReportLink link(report_, outputs_ + "/" + kNameInside);
  if (!link.make()) return give_up();
  // An empty folder can be replaced on every file system.
  const bool done = rename(folder_.c_str(), outputs_.c_str()) == 0 ||
                    renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, outputs_.c_str(), RENAME_EXCHANGE) == 0;
  if (!done) return give_up();
  link.keep();
  remove_folder(folder_);
  return true;
}

void ResultSet::move_each(const std::vector<std::string>& files, const std::vector<std::string>& obsolete) {
  Replacement replacement;
  for (const std::string& path : obsolete) replacement.remove(path);
  for (const std::string& path : files) replacement.put(collected(path), place_of(path).string());
  replacement.keep();
  remove_folder(folder_);
}

void ResultSet::commit(const std::vector<std::string>& files, const std::vector<std::string>& obsolete) {
  if (!exchangeable() || !exchange(obsolete)) move_each(files, obsolete);
  folder_.clear();
}

}  // namespace tilebeat
