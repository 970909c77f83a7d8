#include "client/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilebeat {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{100};

// The two ends of a pipe; what is left open is closed.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool is_open() const { return ends_[0] >= 0; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read() { close_end(ends_[0]); }
  void close_write() { close_end(ends_[1]); }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

constexpr int kProgressDescriptor = 3;  // of the process that is started
constexpr const char* kProgressVariable = "TILEBEAT_PROGRESS_FD=";

std::vector<char*> as_argv(const std::vector<std::string>& texts) {
  std::vector<char*> argv;
  for (const std::string& text : texts) argv.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  return argv;
}

// The variables of this process, and the one that names the pipe for progress, if there is one.
std::vector<std::string> variables(const Pipe* progress) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, kProgressVariable, std::strlen(kProgressVariable)) != 0)
      all.emplace_back(*variable);
  }
  if (progress != nullptr) all.push_back(kProgressVariable + std::to_string(kProgressDescriptor));
  return all;
}

// Starts the program with nothing on standard input; `progress` may be null. Returns 0, or the error.
int start(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
          const Pipe& out, const Pipe& err, const Pipe* progress, pid_t& process) {
  const std::vector<char*> argv = as_argv(arguments);
  const std::vector<std::string> environment = variables(progress);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write_end(), STDERR_FILENO);
  if (progress != nullptr)
    posix_spawn_file_actions_adddup2(&files, progress->write_end(), kProgressDescriptor);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  // Signals that the caller blocks or handles are the command's as usual.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none), sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawnp(&process, program.c_str(), &files, &attributes, argv.data(), as_argv(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// A process that has been started: ended and waited for, whatever happens.
class Started {
 public:
  explicit Started(pid_t process) : process_(process) {}
  ~Started() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    int ignored = 0;
    wait_for(ignored);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  void terminate() const { kill(process_, SIGTERM); }
  // Waits for its end. Returns 0 or the error: somebody else has waited, or signals of ends are ignored.
  int wait_for(int& status) {
    const pid_t process = std::exchange(process_, -1);
    while (waitpid(process, &status, 0) < 0) {
      if (errno != EINTR) return errno;
    }
    return 0;
  }

 private:
  pid_t process_;
};

// Appends what there is to read; false: it has ended.
bool read_some(int from, std::string& to) {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = ::read(from, buffer.data(), buffer.size());
  if (count > 0) to.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

// Tells the lines of `text` that are complete from `told` on; true: the watch wants the end.
bool tell_lines(const Watch& watch, const std::string& text, const Advance& advance, std::size_t& told) {
  for (std::size_t end = text.find('\n', told); end != std::string::npos; end = text.find('\n', told)) {
    const std::string line = text.substr(told, end - told);
    told = end + 1;
    if (watch(line.c_str(), advance)) return true;
  }
  return false;
}

// Takes the last whole line of what came through the pipe for progress, and drops what is in front of it.
void take_advance(std::string& text, Advance& advance) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return;
  const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::string line = text.substr(before + 1, end - before - 1);
  text.erase(0, end + 1);
  const std::size_t blank = std::min(line.find(' '), line.size());
  std::from_chars(line.data(), line.data() + blank, advance.share);  // in any locale of the caller
  advance.text = line.substr(std::min(blank + 1, line.size()));
}

}  // namespace

std::string command_path() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("TILEBEAT_COMMAND"); named != nullptr && *named != '\0')
    return std::strchr(named, '/') != nullptr ? fs::absolute(named).string() : named;
  Dl_info info{};
  std::error_code ignored;
  if (dladdr(reinterpret_cast<const void*>(&command_path), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path folder = fs::absolute(info.dli_fname, ignored).parent_path();
    for (const char* place : {"tilebeat", "../bin/tilebeat", "../../bin/tilebeat"}) {
      if (access((folder / place).c_str(), X_OK) == 0 && fs::is_regular_file(folder / place, ignored))
        return (folder / place).lexically_normal();
    }
  }
  return "tilebeat";
}

ProcessEnd run_process(const std::string& program, const std::vector<std::string>& arguments,
                       const std::string& folder, const Watch& watch) {
  ProcessEnd end;
  Pipe out, err, progress;
  if (!out.is_open() || !err.is_open() || !progress.is_open()) {
    end.status = errno;
    return end;
  }
  pid_t number = 0;
  end.status = start(program, arguments, folder, out, err, watch ? &progress : nullptr, number);
  if (end.status != 0) return end;
  Started process(number);
  out.close_write(), err.close_write(), progress.close_write();
  std::size_t told = 0;
  bool cancelled = false;
  Advance advance;
  std::string advances;
  auto next_tick = Clock::now() + kTick;
  std::array<pollfd, 3> ends{
      {{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}, {progress.read_end(), POLLIN, 0}}};
  const std::array<std::string*, ends.size()> texts{&end.out, &end.err, &advances};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int ready =
        poll(ends.data(), ends.size(), watch && !cancelled ? static_cast<int>(kTick.count()) : -1);
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    for (std::size_t i = 0; ready > 0 && i < ends.size(); ++i) {
      if (ends[i].revents != 0 && !read_some(ends[i].fd, *texts[i])) ends[i].fd = -1;
    }
    take_advance(advances, advance);
    if (!watch || cancelled) continue;
    cancelled = tell_lines(watch, end.err, advance, told);
    if (!cancelled && Clock::now() >= next_tick)
      cancelled = watch(nullptr, advance), next_tick = Clock::now() + kTick;
    if (cancelled) process.terminate();
  }
  int status = 0;
  if (const int error = process.wait_for(status); error != 0) {
    end.how = ProcessEnd::How::kLost, end.status = error;
    return end;
  }
  end.how = WIFEXITED(status) ? ProcessEnd::How::kExited : ProcessEnd::How::kSignalled;
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  if (cancelled && end.how == ProcessEnd::How::kSignalled) end.how = ProcessEnd::How::kCancelled;
  return end;
}

}  // namespace tilebeat
