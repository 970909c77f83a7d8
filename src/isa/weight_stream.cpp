#include "isa/weight_stream.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The lowest bits of the header's fields.
constexpr int kScalesAt = 16, kSignedAt = 27, kZeroPointsAt = 28, kShiftAt = 29, kPeriodsAt = 32,
              kTailAt = 40, kFramesAt = 48;
constexpr int kTwinsAt = 63;
constexpr std::uint64_t kScalesMask = 0x7ff, kShiftMask = 7, kByteMask = 0xff, kCountMask = 0xffff;

}  // namespace

std::uint64_t WeightSection::encoded() const {
  return to_unsigned(run) | to_unsigned(scales) << kScalesAt | std::uint64_t{is_signed} << kSignedAt |
         std::uint64_t{zero_points} << kZeroPointsAt | to_unsigned(shift) << kShiftAt |
         to_unsigned(periods) << kPeriodsAt | to_unsigned(tail) << kTailAt |
         to_unsigned(frames) << kFramesAt | std::uint64_t{twins > 0} << kTwinsAt;
}

WeightSection WeightSection::decoded(std::uint64_t header, int twins) {
  WeightSection made;
  made.twins = twins;
  made.run = static_cast<int>(header & kCountMask);
  made.scales = static_cast<int>(header >> kScalesAt & kScalesMask);
  made.is_signed = (header >> kSignedAt & 1) != 0, made.zero_points = (header >> kZeroPointsAt & 1) != 0;
  made.shift = static_cast<int>(header >> kShiftAt & kShiftMask);
  made.periods = static_cast<int>(header >> kPeriodsAt & kByteMask);
  made.tail = static_cast<int>(header >> kTailAt & kByteMask);
  made.frames = static_cast<int>(header >> kFramesAt & kMostWeightFrames);
  const bool plain = made.scales == 0 && (made.periods != 1 || made.tail != 0);
  if (has_twins(header) && twins == 0) throw SimulationError("weight stream: a section of 0 twins");
  if (made.weights() == 0 || made.run == 0 || made.scales > kMostWeightScales || plain)
    throw SimulationError(
        fmt::format("weight stream: a section of {} frames with {} periods of {} runs of {} weights",
                    made.frames, made.periods, made.scales, made.run));
  return made;
}

}  // namespace tilebeat
