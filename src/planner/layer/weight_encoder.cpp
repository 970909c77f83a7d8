#include "planner/layer/weight_encoder.h"

#include "base/types.h"
#include "isa/weight_stream.h"
#include "workload/weight_codes.h"

#include <algorithm>
#include <optional>

namespace tilebeat {
namespace {

// What a place of a stream asks of the scale that its section has there.
constexpr int kAny = -1;    // a weight of 0 that has no scale of its own
constexpr int kPlain = -2;  // a byte that is no weight
constexpr int kOther = -3;  // places that do not share one

// A run of one scale that is longer than any group in any order of kernels: nothing shorter takes fewer
// bytes.
constexpr std::int64_t kManyAlike = 4096;

class Encoder {
 public:
  explicit Encoder(const EncodableWeights& weights) : w_(weights), size_(ssize(weights.bytes)) {
    asks_.reserve(to_size(size_));
    for (std::int64_t i = 0; i < size_; ++i) asks_.push_back(asked(i));
  }

  std::vector<std::uint8_t> run() {
    for (std::int64_t at = 0; at < size_;) {
      const WeightSection section = best_section(at);
      add(section, at);
      at += section.weights();
    }
    if (ssize(stream_) > size_ + kWeightHeaderBytes && size_ <= kMostWeightCount) {
      WeightSection plain;
      plain.run = to_int(size_);
      stream_.clear();
      add(plain, 0);
    }
    return std::move(stream_);
  }

 private:
  int asked(std::int64_t i) const {
    const std::uint8_t code = nth(w_.codes, i), scale = nth(w_.scales, i);
    if (static_cast<std::uint8_t>(decoded_weight(code, scale, w_.shift, w_.is_signed)) != nth(w_.bytes, i))
      return kPlain;
    if (code == 0 && scale == 0) return kAny;
    if (!w_.has_zero_points && code >> 4 != default_zero_point(w_.is_signed)) return kPlain;
    return scale | (w_.has_zero_points ? code >> 4 << 8 : 0);
  }
  // The scale that `count` places share.
  int shared(std::int64_t begin, std::int64_t count) const {
    if (begin + count > size_) return kOther;
    int scale = kAny;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      const int next = asks_[to_size(i)];
      if (next == kPlain) return kOther;
      if (next == kAny || next == scale) continue;
      if (scale != kAny) return kOther;
      scale = next;
    }
    return scale;
  }
  static bool agree(int a, int b) { return a != kOther && b != kOther && (a == b || a == kAny || b == kAny); }

  WeightSection best_section(std::int64_t at) const {
    WeightSection best;
    best.shift = w_.shift, best.is_signed = w_.is_signed, best.zero_points = w_.has_zero_points;
    std::int64_t end = at;
    while (end < size_ && end - at < kMostWeightCount && asks_[to_size(end)] == kPlain) ++end;
    if (end > at) {
      best.run = to_int(end - at), best.zero_points = false;
      return best;
    }
    const std::int64_t longest = first_run(at);
    best.run = to_int(longest), best.scales = 1;
    if (longest > kManyAlike) return best;
    for (std::int64_t run = 1; run <= longest; ++run) {
      if (longest % run != 0) continue;
      WeightSection section = best;
      section.run = to_int(run);
      consider(at, section, best);
    }
    return best;
  }
  // Places from `at` on that can share a scale.
  std::int64_t first_run(std::int64_t at) const {
    int scale = kAny;
    std::int64_t end = at;
    for (; end < size_ && end - at < kMostWeightCount; ++end) {
      const int next = asks_[to_size(end)];
      if (next == kPlain || !agree(scale, next)) break;
      if (next != kAny) scale = next;
    }
    return end - at;
  }
  // Sets `best` to the section at `at` with runs of `section.run` that takes the fewest bytes a weight, if
  // that is less than `best` takes.
  void consider(std::int64_t at, WeightSection section, WeightSection& best) const {
    std::vector<int> scales;
    while (ssize(scales) < kMostWeightScales) {
      const int scale = shared(at + ssize(scales) * section.run, section.run);
      if (scale == kOther) break;
      scales.push_back(scale);
    }
    std::int64_t most_periods = 0;
    for (int n = 1; n <= count_of(scales); ++n) {
      section.scales = n;
      const std::int64_t periods = periods_of(at, section, scales);
      // Of all numbers of scales with one period, the greatest makes the fewest sections.
      if (periods < most_periods || (periods == most_periods && n < count_of(scales))) continue;
      most_periods = periods;
      section.periods = to_int(periods);
      WeightSection repeated = section;
      repeated.frames = frames_of(at, section);
      if (repeated.bytes() * best.weights() < best.bytes() * repeated.weights()) best = repeated;
    }
  }
  // Periods from `at` on in which run i can have scale i of `scales`.
  std::int64_t periods_of(std::int64_t at, const WeightSection& section,
                          const std::vector<int>& first) const {
    std::int64_t periods = 1;
    const std::int64_t period = std::int64_t{section.run} * section.scales;
    if (!agree(first.front(), shared(at + period, section.run))) return periods;
    std::vector<int> scales(first.begin(), first.begin() + section.scales);
    for (; periods < kMostWeightCount; ++periods) {
      for (int i = 0; i < section.scales; ++i) {
        const int scale = shared(at + periods * period + std::int64_t{i} * section.run, section.run);
        if (!agree(nth(scales, i), scale)) return periods;
        if (scale != kAny) nth(scales, i) = scale;
      }
    }
    return periods;
  }
  // Frames like the section's first one, from `at` on.
  int frames_of(std::int64_t at, const WeightSection& section) const {
    int frames = 1;
    for (; frames < kMostWeightCount; ++frames) {
      for (int i = 0; i < section.scales; ++i) {
        if (scale_of(at + frames * section.weights_of_frame(), section, i) == kOther) return frames;
      }
    }
    return frames;
  }
  // The scale that all runs `i` of a frame at `at` share.
  int scale_of(std::int64_t at, const WeightSection& section, int i) const {
    int scale = kAny;
    const std::int64_t period = std::int64_t{section.run} * section.scales;
    for (int p = 0; p < section.periods; ++p) {
      const int next = shared(at + p * period + std::int64_t{i} * section.run, section.run);
      if (!agree(scale, next)) return kOther;
      if (next != kAny) scale = next;
    }
    return scale;
  }

  // ---- writing ----

  void add(const WeightSection& section, std::int64_t at) {
    const std::uint64_t header = section.encoded();
    for (int i = 0; i < kWeightHeaderBytes; ++i)
      stream_.push_back(static_cast<std::uint8_t>(header >> (8 * i)));
    for (int frame = 0; frame < section.frames; ++frame, at += section.weights_of_frame()) {
      if (section.scales == 0)
        stream_.insert(stream_.end(), w_.bytes.begin() + at, w_.bytes.begin() + at + section.run);
      else
        add_frame(section, at);
    }
  }
  void add_frame(const WeightSection& section, std::int64_t at) {
    const std::uint8_t zero = static_cast<std::uint8_t>(default_zero_point(section.is_signed));
    std::vector<std::uint8_t> zeros;
    for (int i = 0; i < section.scales; ++i) {
      const int scale = scale_of(at, section, i);
      stream_.push_back(scale == kAny ? 0 : static_cast<std::uint8_t>(scale));
      zeros.push_back(!section.zero_points ? zero
                      : scale == kAny      ? 0
                                           : static_cast<std::uint8_t>(scale >> 8));
    }
    if (section.zero_points) add_halves(zeros);
    std::vector<std::uint8_t> codes;
    for (std::int64_t i = 0; i < section.weights_of_frame(); ++i) {
      const bool any = asks_[to_size(at + i)] == kAny;
      codes.push_back(any ? nth(zeros, i / section.run % section.scales) : nth(w_.codes, at + i) & 15);
    }
    add_halves(codes);
  }
  void add_halves(const std::vector<std::uint8_t>& values) {
    for (std::size_t i = 0; i < values.size(); i += 2) {
      const int high = i + 1 < values.size() ? values[i + 1] : 0;
      stream_.push_back(static_cast<std::uint8_t>(values[i] | high << 4));
    }
  }

  const EncodableWeights& w_;
  std::int64_t size_;
  std::vector<int> asks_;
  std::vector<std::uint8_t> stream_;
};

}  // namespace

std::vector<std::uint8_t> encoded_stream(const EncodableWeights& weights) {
  return Encoder(weights).run();
}

std::int64_t expected_stream_bytes(std::int64_t weights, int group, bool has_zero_points) {
  std::int64_t bytes = kWeightHeaderBytes + ceil_div<std::int64_t>(weights, 2);
  if (group > 0) bytes += ceil_div<std::int64_t>(weights, group) * (has_zero_points ? 3 : 2) / 2;
  return bytes;
}

}  // namespace tilebeat
