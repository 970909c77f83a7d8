#include "client/process.h"

#include "client/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{100};
constexpr const char* kProgressVariable = "TILEBEAT_PROGRESS_FD";

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
  ChildStart start{program, arguments, folder, out.write_end(), err.write_end(), -1, {}};
  if (watch) start.channel = progress.write_end(), start.variable = kProgressVariable;
  end.status = start_child(start, number);
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
