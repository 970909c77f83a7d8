#include "planner/layer/weight_encoder.h"

#include "base/types.h"
#include "isa/weight_stream.h"
#include "workload/weights.h"

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
constexpr std::int64_t kShort = 256;  // weights of a section that is not worth ending within a run

class Encoder {
 public:
  /// Every `twins` weights come twice; 0: once.
  Encoder(const EncodableWeights& weights, int twins)
      : w_(weights), size_(ssize(weights.bytes)), twins_(twins) {
    if (w_.codes.empty()) return;
    const DecodedWeights& decoded = decoded_weights(w_.shift, w_.is_signed);
    asks_.reserve(to_size(size_));
    for (std::int64_t i = 0; i < size_; ++i) asks_.push_back(asked(i, decoded));
    alike_.assign(to_size(size_), 1);
    for (std::int64_t i = size_ - 2; i >= 0; --i) {
      if (nth(asks_, i) == nth(asks_, i + 1)) nth(alike_, i) = nth(alike_, i + 1) + 1;
    }
  }

  std::vector<std::uint8_t> run() {
    for (std::int64_t at = 0; w_.codes.empty() && at < size_; at += kMostWeightCount) {
      WeightSection plain;
      plain.run = to_int(std::min<std::int64_t>(size_ - at, kMostWeightCount));
      add(plain, at);
    }
    if (w_.codes.empty()) return std::move(stream_);
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
  int asked(std::int64_t i, const DecodedWeights& decoded) const {
    const std::uint8_t code = nth(w_.codes, i), scale = nth(w_.scales, i);
    if (decoded[to_size(scale << 8 | code)] != nth(w_.bytes, i)) return kPlain;
    if (code == 0 && scale == 0) return kAny;
    if (!w_.has_zero_points && code >> 4 != default_zero_point(w_.is_signed)) return kPlain;
    return scale | (w_.has_zero_points ? code >> 4 << 8 : 0);
  }
  // The scale that `count` places share.
  int shared(std::int64_t begin, std::int64_t count) const {
    if (begin + count > size_) return kOther;
    int scale = nth(asks_, begin);
    if (scale == kPlain) return kOther;
    for (std::int64_t i = begin + nth(alike_, begin); i < begin + count; i += nth(alike_, i)) {
      const int next = nth(asks_, i);
      if (next == kPlain) return kOther;
      if (next == kAny || next == scale) continue;
      if (scale != kAny) return kOther;
      scale = next;
    }
    return scale;
  }
  static bool agree(int a, int b) { return a != kOther && b != kOther && (a == b || a == kAny || b == kAny); }

  // The section to write at `at`: of those that begin there, the one that takes the fewest bytes a weight,
  // or one up to the next change of scale, where one or two of these and then the best take fewer: a stream
  // may begin within a kernel, whose rest has no frame like it.
  WeightSection best_section(std::int64_t at) const {
    WeightSection best = best_that_begins(at);
    if (best.scales == 0 || best.run > kManyAlike) return best;
    std::int64_t bytes = best.bytes(), weights = best.weights();
    const std::int64_t longest = first_run(at);
    WeightSection prefix = best;
    prefix.run = to_int(longest), prefix.scales = prefix.periods = prefix.frames = 1, prefix.tail = 0;
    std::int64_t before = prefix.bytes(), end = at + longest;
    for (int step = 0; step < 2 && end < size_; ++step) {
      const WeightSection rest = best_that_begins(end);
      const std::int64_t all = before + rest.bytes(), count = end - at + rest.weights();
      if (all * weights < bytes * count) best = prefix, bytes = all, weights = count;
      const std::int64_t next = first_run(end);
      if (next == 0) break;
      WeightSection further = prefix;
      further.run = to_int(next);
      before += further.bytes(), end += next;
    }
    return best;
  }
  WeightSection best_that_begins(std::int64_t at) const {
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
    consider_tail(at, best);
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
    std::vector<int>& scales = scales_;
    scales.clear();
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
      take_better(at, section, best);
    }
  }
  // The same for whole groups of a kernel and the rest of it, where kernels follow one another.
  void consider_tail(std::int64_t at, WeightSection& best) const {
    WeightSection section = best;
    const std::int64_t whole = first_run(at);
    std::int64_t end = at + whole;
    section.run = to_int(whole), section.periods = 1, section.scales = 2;
    while (first_run(end) == whole && section.scales < kMostWeightScales) end += whole, ++section.scales;
    const std::int64_t tail = first_run(end);
    if (tail == 0 || tail >= whole || tail > kMostWeightTail) return;
    section.tail = to_int(tail);
    take_better(at, section, best);
  }
  // Sets `best` to as many frames like `section` as there are, if they take fewer bytes a weight. A short
  // section ends where the scale changes, so that the next one can begin with a whole run.
  void take_better(std::int64_t at, WeightSection section, WeightSection& best) const {
    const auto is_better = [&best](const WeightSection& one) {
      return one.bytes() * best.weights() < best.bytes() * one.weights();
    };
    // The more frames, the fewer bytes a weight: with as many as there are places for it would have to pay.
    const std::int64_t places = std::max<std::int64_t>(1, (size_ - at) / section.weights_of_frame());
    section.frames = to_int(std::min<std::int64_t>(places, kMostWeightFrames));
    if (!is_better(section)) return;
    section.frames = frames_of(at, section);
    const std::int64_t end = at + section.weights();
    const bool inside = end < size_ && agree(asks_[to_size(end - 1)], asks_[to_size(end)]);
    if (inside && section.weights() < kShort) return;
    if (is_better(section)) best = section;
  }
  // Periods from `at` on in which run i can have scale i of `scales`.
  std::int64_t periods_of(std::int64_t at, const WeightSection& section,
                          const std::vector<int>& first) const {
    std::int64_t periods = 1;
    const std::int64_t period = section.weights_of_period();
    if (!agree(first.front(), shared(at + period, section.run))) return periods;
    std::vector<int>& scales = of_period_;
    scales.assign(first.begin(), first.begin() + section.scales);
    for (; periods < kMostWeightPeriods; ++periods) {
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
    for (; frames < kMostWeightFrames; ++frames) {
      for (int i = 0; i < section.scales; ++i) {
        if (scale_of(at + frames * section.weights_of_frame(), section, i) == kOther) return frames;
      }
    }
    return frames;
  }
  // The scale that all runs `i` of a frame at `at` share.
  int scale_of(std::int64_t at, const WeightSection& section, int i) const {
    int scale = kAny;
    for (int p = 0; p < section.periods; ++p) {
      const int next =
          shared(at + p * section.weights_of_period() + std::int64_t{i} * section.run, section.run_length(i));
      if (!agree(scale, next)) return kOther;
      if (next != kAny) scale = next;
    }
    return scale;
  }

  // ---- writing ----

  void add(WeightSection section, std::int64_t at) {
    section.twins = twins_;
    add_number(section.encoded(), kWeightHeaderBytes);
    if (twins_ > 0) add_number(to_unsigned(twins_), kTwinBytes);
    for (int frame = 0; frame < section.frames; ++frame, at += section.weights_of_frame()) {
      if (section.scales == 0)
        stream_.insert(stream_.end(), w_.bytes.begin() + at, w_.bytes.begin() + at + section.run);
      else
        add_frame(section, at);
    }
  }
  void add_number(std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) stream_.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
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
    codes.reserve(to_size(section.weights_of_frame()));
    for (int period = 0; period < section.periods; ++period) {
      for (int run = 0; run < section.scales; ++run) {
        for (const std::int64_t end = at + section.run_length(run); at < end; ++at)
          codes.push_back(nth(asks_, at) == kAny ? nth(zeros, run) : nth(w_.codes, at) & 15);
      }
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
  int twins_;
  std::vector<int> asks_;
  std::vector<int> alike_;                       // by place: how many from it on ask the same
  mutable std::vector<int> scales_, of_period_;  // scratch of consider and periods_of
  std::vector<std::uint8_t> stream_;
};

}  // namespace

EncodableWeights EncodableWeights::part(std::int64_t begin, std::int64_t end) const {
  EncodableWeights made;
  made.shift = shift, made.is_signed = is_signed, made.has_zero_points = has_zero_points;
  made.bytes.assign(bytes.begin() + begin, bytes.begin() + end);
  if (codes.empty()) return made;
  made.codes.assign(codes.begin() + begin, codes.begin() + end);
  made.scales.assign(scales.begin() + begin, scales.begin() + end);
  return made;
}

std::vector<std::uint8_t> encoded_stream(const EncodableWeights& weights) {
  return Encoder(weights, 0).run();
}

namespace {

// Weights and the runs of them that come twice.
class Twins {
 public:
  explicit Twins(const EncodableWeights& weights) : w_(weights), size_(ssize(weights.bytes)) {}

  // The weights from `at` on that are pairs of runs of `twins`.
  std::int64_t pairs_at(std::int64_t at, int twins) const {
    std::int64_t end = at;
    while (end + 2 * std::int64_t{twins} <= size_ && is_pair(end, twins)) end += 2 * std::int64_t{twins};
    return end - at;
  }
  // Of the pairs in [begin, end), the runs that come first.
  EncodableWeights first_of(std::int64_t begin, std::int64_t end, int twins) const {
    EncodableWeights made = w_.part(begin, end);
    for (std::vector<std::uint8_t>* part : {&made.bytes, &made.codes, &made.scales}) {
      std::vector<std::uint8_t> first;
      for (std::int64_t at = 0; at < ssize(*part); at += 2 * std::int64_t{twins})
        first.insert(first.end(), part->begin() + at, part->begin() + at + twins);
      *part = std::move(first);
    }
    return made;
  }

 private:
  bool is_pair(std::int64_t at, int twins) const {
    return alike(w_.bytes, at, twins) &&
           (w_.codes.empty() || (alike(w_.codes, at, twins) && alike(w_.scales, at, twins)));
  }
  static bool alike(const std::vector<std::uint8_t>& part, std::int64_t at, int twins) {
    return std::equal(part.begin() + at, part.begin() + at + twins, part.begin() + at + twins);
  }

  const EncodableWeights& w_;
  std::int64_t size_;
};

}  // namespace

std::vector<std::uint8_t> stream_of_twins(const EncodableWeights& weights, const std::vector<int>& twins) {
  constexpr std::int64_t kWorthASection = 4 * (kWeightHeaderBytes + kTwinBytes);
  const Twins all(weights);
  const std::int64_t size = ssize(weights.bytes);
  std::vector<std::uint8_t> stream;
  const auto append = [&stream](const EncodableWeights& part, int of) {
    const std::vector<std::uint8_t> made = Encoder(part, of).run();
    stream.insert(stream.end(), made.begin(), made.end());
  };
  std::int64_t single = 0;  // where weights begin that come once
  for (std::int64_t at = 0; at < size;) {
    std::int64_t longest = 0;
    int best = 0;
    for (const int one : twins) {
      if (const std::int64_t pairs = all.pairs_at(at, one); pairs > longest) longest = pairs, best = one;
    }
    if (longest < (longest == size ? 2 * kTwinBytes : kWorthASection)) {
      ++at;
      continue;
    }
    if (single < at) append(weights.part(single, at), 0);
    append(all.first_of(at, at + longest, best), best);
    single = at += longest;
  }
  if (single < size) append(weights.part(single, size), 0);
  return stream;
}

std::int64_t expected_stream_bytes(std::int64_t weights, std::int64_t k, int group, bool has_zero_points) {
  std::int64_t bytes = kWeightHeaderBytes + ceil_div<std::int64_t>(weights, 2);
  if (group > 0)
    bytes += ceil_div(weights * ceil_div<std::int64_t>(k, group), k) * (has_zero_points ? 3 : 2) / 2;
  return bytes;
}

}  // namespace tilebeat
