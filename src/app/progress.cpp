#include "app/progress.h"

#include "base/types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr int kLineWidth = 78;
constexpr double kTooEarly = 0.01;  // fraction of a part below which its remaining time is not estimated

}  // namespace

SimulatedShare::SimulatedShare(const std::vector<LayerPlan>& layers) {
  double sum = 0;
  const bool known =
      std::all_of(layers.begin(), layers.end(), [](const LayerPlan& l) { return l.estimated_cycles > 0; });
  if (!known) return;
  for (const LayerPlan& layer : layers)
    expected_.push_back(sum += static_cast<double>(layer.estimated_cycles));
}

double SimulatedShare::at(Cycle now, std::size_t layers_done) {
  if (expected_.empty()) return 0;
  if (layers_done != done_) done_ = layers_done, began_ = now;
  const double before = done_ == 0 ? 0 : expected_[std::min(done_, expected_.size()) - 1];
  const double end = done_ < expected_.size() ? expected_[done_] : before;
  const double reached = std::min(before + static_cast<double>(now - began_), end);
  share_ = std::max(share_, reached / expected_.back());
  return share_;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  const long long minutes = (whole + 59) / 60;
  return minutes < 120 ? fmt::format("{} min", minutes)
                       : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

namespace {

// The descriptor that the variable names, if it is open; -1: none. Writing to it does not wait.
int starters_descriptor() {
  const char* const named = std::getenv("TILEBEAT_PROGRESS_FD");
  if (named == nullptr) return -1;
  char* end = nullptr;
  constexpr long kMost = 1 << 20;
  const long number = std::strtol(named, &end, 10);
  const bool open = end != named && *end == '\0' && number > STDERR_FILENO && number < kMost &&
                    fcntl(static_cast<int>(number), F_SETFD, FD_CLOEXEC) == 0 &&
                    fcntl(static_cast<int>(number), F_SETFL, O_NONBLOCK) == 0;
  unsetenv("TILEBEAT_PROGRESS_FD");
  return open ? static_cast<int>(number) : -1;
}

}  // namespace

void tell_starter(double share, const std::string& text) {
  static const int descriptor = starters_descriptor();
  if (descriptor < 0) return;
  const std::string line = fmt::format("{:.6f} {}\n", std::clamp(share, 0.0, 1.0), text);
  // Who does not listen misses it.
  const ssize_t unused = write(descriptor, line.data(), line.size());
  static_cast<void>(unused);
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  std::fputs(fmt::format("\r{:{}}", text, kLineWidth).c_str(), stderr);
  std::fflush(stderr);
  printed_ = true;
}

void Progress::clear() {
  if (!printed_) return;
  show("");
  std::fputs("\r", stderr);
  printed_ = false;
}

void Progress::announce(const std::string& text) {
  tell_starter(0, text);
  show("  " + text);
}

void Progress::begin() {
  clear();
  began_ = told_ = Clock::now();
}

void Progress::tell(const std::string& text, double share) {
  const Clock::time_point now = Clock::now();
  constexpr std::chrono::milliseconds kOften{50};
  if (now - told_starter_ >= kOften) tell_starter(share, text), told_starter_ = now;
  if (!terminal_ || now - told_ < std::chrono::seconds(1)) return;
  told_ = now;
  const double took = std::chrono::duration<double>(now - began_).count();
  const bool known = share >= kTooEarly;
  show("  " + text + (known ? ", about " + duration_text(took * (1 - share) / share) + " left" : ""));
}

namespace {

constexpr std::array<int, 3> kEnding{SIGINT, SIGTERM, SIGHUP};
constexpr std::array<int, 2> kWriteErrors{SIGPIPE, SIGXFSZ};

// A signal handler can only use globals. They change only while the signals are blocked.
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

// The lines to print on a signal: one is in use while the other one is written.
constexpr std::size_t kMostSaid = 256;
std::array<std::array<char, kMostSaid>, 2> said{};
volatile sig_atomic_t line_said = 0;

// Calls only functions that POSIX allows in a signal handler.
extern "C" void remove_and_end(int signal) {
  const char* line = nth(said, line_said).data();
  if (signal == SIGINT) {
    // Nothing can be done when the write fails.
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
  const int next = 1 - line_said;
  std::array<char, kMostSaid>& place = nth(said, next);
  place.fill(0);
  line.copy(place.data(), kMostSaid - 1);
  line_said = next;
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

void Uninterrupted::ignore_arrived() {
  const sigset_t set = ending_signals();
  constexpr timespec kNoTime{0, 0};
  while (sigtimedwait(&set, nullptr, &kNoTime) > 0) {
  }
}

namespace {

std::string time_left(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  constexpr std::int64_t kMinute = 60, kHour = 3600;
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

}  // namespace

PointProgress::PointProgress(std::string what, std::size_t points, std::size_t before)
    : what_(std::move(what)), points_(points), before_(before), terminal_(isatty(STDERR_FILENO) != 0) {}

PointProgress::~PointProgress() {
  if (printed_) show("");
  std::fputs(printed_ ? "\r" : "", stderr);
}

void PointProgress::operator()(std::size_t ended, std::size_t running) {
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
  tell_starter(ratio_of(before_ + ended, std::max<std::size_t>(points_, 1)),
               fmt::format("{} of {} {} done", before_ + ended, points_, what_));
  if (!terminal_ || gone < std::chrono::seconds(1)) return;
  const std::size_t done = before_ + ended, left = points_ - done;
  std::string text = fmt::format("{} of {} {} done, {} running", done, points_, what_, running);
  if (ended > 0)
    text += fmt::format(", about {} left",
                        time_left(gone.count() * static_cast<double>(left) / static_cast<double>(ended)));
  show(text);
}

void PointProgress::show(const std::string& text) {
  fmt::print(stderr, "\r  {:<70}", text);
  std::fflush(stderr);
  printed_ = true;
}

int jobs_of(int asked) {
  return asked > 0 ? asked : std::max(1, to_int(std::thread::hardware_concurrency()));
}

}  // namespace tilebeat
