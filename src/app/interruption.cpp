#include "interruption.h"

#include <array>
#include <cstring>
#include <vector>

#include <unistd.h>

namespace tilebeat {
namespace {

constexpr std::array<int, 3> kEnding{SIGINT, SIGTERM, SIGHUP};
constexpr std::array<int, 2> kWriteErrors{SIGPIPE, SIGXFSZ};

// A signal handler sees nothing but globals. Changed only while the signals are blocked.
std::vector<std::string>& held() {
  static std::vector<std::string> paths;
  return paths;
}
std::array<struct sigaction, kEnding.size() + kWriteErrors.size()> earlier;

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnding) sigaddset(&set, signal);
  return set;
}

// What is said; one is shown while the other is written.
constexpr std::size_t kMostSaid = 256;
std::array<std::array<char, kMostSaid>, 2> said{};
volatile sig_atomic_t shown = 0;

// Only what POSIX allows in a handler.
extern "C" void remove_and_end(int signal) {
  const char* line = said[static_cast<std::size_t>(shown)].data();
  if (signal == SIGINT) {
    // Nothing can be done when it cannot be said.
    const ssize_t unused = write(STDERR_FILENO, line, strlen(line));
    static_cast<void>(unused);
  }
  const std::vector<std::string>& paths = held();
  for (std::size_t i = paths.size(); i > 0; --i) {
    const char* path = paths[i - 1].c_str();
    if (unlink(path) != 0) rmdir(path);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this handler returns
}

}  // namespace

Interruption::Interruption() {
  held();  // made before a handler can ask for it
  struct sigaction action {};
  action.sa_mask = ending_signals();
  std::size_t at = 0;
  for (const int signal : kEnding) {
    action.sa_handler = remove_and_end;
    sigaction(signal, nullptr, &earlier[at]);
    if (earlier[at++].sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  for (const int signal : kWriteErrors) {
    action.sa_handler = SIG_IGN;
    sigaction(signal, &action, &earlier[at++]);
  }
}

Interruption::~Interruption() {
  std::size_t at = 0;
  for (const int signal : kEnding) sigaction(signal, &earlier[at++], nullptr);
  for (const int signal : kWriteErrors) sigaction(signal, &earlier[at++], nullptr);
}

void Interruption::say(const std::string& line) {
  const int next = 1 - shown;
  std::array<char, kMostSaid>& place = said[static_cast<std::size_t>(next)];
  place.fill(0);
  line.copy(place.data(), kMostSaid - 1);
  shown = next;
}

Uninterrupted::Uninterrupted() {
  const sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, &before_);
}

Uninterrupted::~Uninterrupted() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Uninterrupted::hold(const std::string& path) {
  held().push_back(path);
}

void Uninterrupted::let_go() {
  held().clear();
}

}  // namespace tilebeat
