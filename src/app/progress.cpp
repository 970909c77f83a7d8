#include "progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr int kWidth = 78;
constexpr double kTooEarly = 0.01;  // of a part: its rest cannot be told yet

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

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  std::fputs(fmt::format("\r{:{}}", text, kWidth).c_str(), stderr);
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
  show("  " + text);
}

void Progress::begin() {
  clear();
  began_ = told_ = Clock::now();
}

void Progress::tell(const std::string& text, double share) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - told_ < std::chrono::seconds(1)) return;
  told_ = now;
  const double took = std::chrono::duration<double>(now - began_).count();
  const bool known = share >= kTooEarly;
  show("  " + text + (known ? ", about " + duration_text(took * (1 - share) / share) + " left" : ""));
}

}  // namespace tilebeat
