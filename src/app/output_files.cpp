#include "app/output_files.h"

#include "tilebeat/error.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr mode_t kReadWrite = 0666;

// The mode that a new file gets, as if open(2) had made it.
mode_t new_file_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return kReadWrite & ~mask;
}

}  // namespace

OutputFile::OutputFile(int descriptor, std::string path, std::string target, std::string temporary)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      buffer_(kBufferBytes),
      file_(fdopen(descriptor, "wb")) {
  if (file_ == nullptr) refuse_to_write(path_, errno);
  std::setvbuf(file_, buffer_.data(), _IOFBF, buffer_.size());
}

OutputFile::~OutputFile() {
  close();
}

void OutputFile::write(std::string_view text) {
  if (error_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno != 0 ? errno : EIO;
}

void OutputFile::close() {
  if (file_ == nullptr) return;
  errno = 0;
  if (std::fclose(file_) != 0 && error_ == 0) error_ = errno != 0 ? errno : EIO;
  file_ = nullptr;
  std::vector<char>().swap(buffer_);
}

void OutputFile::check() const {
  if (error_ != 0) refuse_to_write(path_, error_);
}

OutputFiles::~OutputFiles() {
  discard();
  if (lock_ >= 0) ::close(lock_);
}

void OutputFiles::discard() {
  Uninterrupted uninterrupted;
  for (OutputFile& file : files_) {
    file.close();
    if (!file.temporary().empty()) unlink(file.temporary().c_str());
  }
  if (set_) set_->discard();
  // Folders with other files in them stay.
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) rmdir(folder->c_str());
  uninterrupted.let_go();
}

void OutputFiles::make_folder(const std::string& path) {
  const fs::path folder = place_of(path);
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) {
    if (access(folder.c_str(), W_OK | X_OK) != 0) refuse_to_write(path, errno);
    return;
  }
  if (fs::exists(folder, ignored))
    throw UserError(fmt::format("{}: is a file, a folder is to be written there", path));
  fs::path part;
  for (const fs::path& name : folder) {
    part /= name;
    if (fs::is_directory(part, ignored)) continue;
    if (fs::exists(part, ignored)) refuse_to_write(path, ENOTDIR);
    Uninterrupted uninterrupted;
    if (mkdir(part.c_str(), 0777) != 0) refuse_to_write(path, errno);
    folders_.push_back(part.string());
    uninterrupted.hold(part.string());
  }
}

// The kernel holds the lock: it ends with the process, however that ends.
void OutputFiles::lock_folder(const std::string& path) {
  lock_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) return;  // a folder that may be written and not be read
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw UserError(fmt::format("{}: another run is writing there", path));
}

void OutputFiles::begin_set(const std::string& out) {
  set_.emplace(out);
}

OutputFile& OutputFiles::open(const std::string& path) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw UserError(fmt::format("{}: is a folder, a file is to be written there", path));
  if (exists && !S_ISREG(status.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) refuse_to_write(path, errno);
    return files_.emplace_back(descriptor, path, path, "");
  }
  const std::string target = place_of(path).string();
  if (exists && access(target.c_str(), W_OK) != 0) refuse_to_write(path, errno);
  Uninterrupted uninterrupted;
  int descriptor = -1;
  const bool of_set = set_ && set_->has(path);
  const std::string temporary =
      of_set ? file_of_set(path, descriptor, uninterrupted) : make_file_beside(target, path, descriptor);
  uninterrupted.hold(temporary);
  fchmod(descriptor, exists ? status.st_mode & 07777 : new_file_mode());
  if (of_set) of_set_.push_back(path);
  return files_.emplace_back(descriptor, path, of_set ? "" : target, temporary);
}

// A new file of the set, under its provisional name.
std::string OutputFiles::file_of_set(const std::string& path, int& descriptor, Uninterrupted& uninterrupted) {
  if (of_set_.empty()) uninterrupted.hold(set_->make_folder());
  std::string temporary = set_->collected(path);
  descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kReadWrite);
  if (descriptor < 0) refuse_to_write(path, errno);
  return temporary;
}

void OutputFiles::write(const std::string& path, std::string_view bytes) {
  OutputFile& file = open(path);
  file.write(bytes);
  file.close();
  file.check();
}

void OutputFiles::check() const {
  for (const OutputFile& file : files_) file.check();
}

void OutputFiles::commit(const std::vector<std::string>& obsolete) {
  for (OutputFile& file : files_) file.close();
  check();
  Uninterrupted uninterrupted;
  Replacement replacement;
  for (const OutputFile& file : files_) {
    if (!file.temporary().empty() && !file.target().empty()) replacement.put(file.temporary(), file.target());
  }
  if (!of_set_.empty()) set_->commit(of_set_, obsolete);
  replacement.keep();
  files_.clear();
  folders_.clear();
  of_set_.clear();
  uninterrupted.let_go();
}

}  // namespace tilebeat

extern char** environ;

namespace tilebeat {
namespace {

constexpr const char* kConverter = "vcd2fst";
// The place of the creation date in the header of an FST file.
constexpr std::streamoff kDateOffset = 202, kDateBytes = 119;

}  // namespace

void require_fst_converter() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + kConverter).c_str(), X_OK) == 0) return;
  }
  throw UserError(
      fmt::format("--fst: the converter {} is not installed (Debian package gtkwave)", kConverter));
}

FstConverter::FstConverter(OutputFile& fst) : fst_(fst) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse_to_write(fst_.target(), errno);
  std::array<std::string, 5> arguments{kConverter, "-v", "-", "-f", fst_.temporary()};
  std::array<char*, arguments.size() + 1> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = arguments[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  const int failed = posix_spawnp(&child_, kConverter, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  pipe_ = ends[1];
  if (failed == 0) return;
  child_ = -1;
  close();
  throw UserError(fmt::format("--fst {}: {}: {}", fst_.target(), kConverter, std::strerror(failed)));
}

void FstConverter::write(std::string_view text) {
  while (!text.empty() && !broken_) {
    const ssize_t written = ::write(pipe_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(to_size(written));
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
}

// Ends the dump and waits for the converter. Returns whether it has succeeded.
bool FstConverter::close() {
  if (pipe_ >= 0) ::close(pipe_);
  pipe_ = -1;
  if (child_ < 0) return false;
  int status = -1;
  const bool ended = waitpid(child_, &status, 0) == child_;
  child_ = -1;
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !broken_;
}

void FstConverter::finish() {
  if (!close()) throw UserError(fmt::format("--fst {}: {} failed", fst_.target(), kConverter));
  std::fstream made(fst_.temporary(), std::ios::in | std::ios::out | std::ios::binary);
  made.seekp(kDateOffset);
  made.write(std::string(kDateBytes, '\0').data(), kDateBytes);
  if (!made) throw UserError(fmt::format("--fst {}: {} made no FST file", fst_.target(), kConverter));
}

}  // namespace tilebeat
