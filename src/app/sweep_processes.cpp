#include "sweep_processes.h"

#include "tilebeat/base/error.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

// While one exists, the signals that end a process and SIGCHLD wait until `next` takes them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&set_, signal);  // what is to be ignored stays ignored
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // The next signal; 0: none came for a second.
  int next() const {
    const timespec second{1, 0};
    const int signal = sigtimedwait(&set_, nullptr, &second);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t set_{}, before_{};
};

void redirect(const char* file, int to) {
  const int from = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (from < 0 || dup2(from, to) < 0) _exit(126);
}

class Runs {
 public:
  Runs(const std::vector<const PointFolder*>& points, const SweepLock& lock, int jobs)
      : points_(points), lock_(lock), jobs_(static_cast<std::size_t>(jobs)) {}
  // Whatever ends the sweep ends them.
  ~Runs() {
    for (const auto& [process, point] : running_) kill(process, SIGTERM);
    for (const auto& [process, point] : running_) {
      while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  bool all_ended() const { return next_ == points_.size() && running_.empty(); }
  std::size_t ended() const { return next_ - running_.size(); }
  std::size_t running() const { return running_.size(); }
  void start() {
    while (running_.size() < jobs_ && next_ < points_.size()) {
      const PointFolder& point = *points_[next_];
      running_[start(point)] = &point;
      ++next_;
    }
  }
  void reap() {
    for (auto run = running_.begin(); run != running_.end();) {
      int status = 0;
      if (waitpid(run->first, &status, WNOHANG) != run->first) {
        ++run;
        continue;
      }
      const PointFolder& point = *run->second;
      run = running_.erase(run);
      point.write_status(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
  }
  int wait() const { return signals_.next(); }

 private:
  pid_t start(const PointFolder& point) const {
    const std::vector<std::string> arguments = point.arguments();
    std::vector<char*> raw{const_cast<char*>("tilebeat")};
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) throw UserError(fmt::format("no process for a point: {}", std::strerror(errno)));
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(126);
    signals_.restore();
    fcntl(lock_.descriptor(), F_SETFD, 0);
    if (chdir(point.path().c_str()) != 0) _exit(126);
    redirect("log.txt", STDOUT_FILENO), redirect("errors.txt", STDERR_FILENO);
    execv("/proc/self/exe", raw.data());
    _exit(126);
  }

  Signals signals_;
  const std::vector<const PointFolder*>& points_;
  const SweepLock& lock_;
  std::size_t jobs_, next_ = 0;
  std::map<pid_t, const PointFolder*> running_;
};

}  // namespace

int run_points(const std::vector<const PointFolder*>& points, const SweepLock& lock,
               const SweepProcesses& how) {
  Runs runs(points, lock, how.jobs);
  while (!runs.all_ended()) {
    runs.start();
    how.progress(runs.ended(), runs.running());
    if (const int signal = runs.wait(); signal != 0 && signal != SIGCHLD) return signal;
    runs.reap();
  }
  return 0;
}

}  // namespace tilebeat
