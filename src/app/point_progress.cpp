#include "app/point_progress.h"

#include "base/types.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace tilebeat {
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
