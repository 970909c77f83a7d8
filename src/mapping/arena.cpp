#include "tilebeat/mapping/arena.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

std::uint64_t Arena::allocate(std::int64_t bytes, Lifetime lifetime) {
  std::int64_t begin = 0;
  for (const Place& place : places_) {
    if (!place.lifetime.overlaps(lifetime)) continue;
    if (begin + bytes <= place.begin) break;
    begin = std::max(begin, align_up(place.end, alignment_));
  }
  if (begin + bytes > bytes_)
    throw UserError(fmt::format("{} bytes do not fit: {} of {} are taken", bytes, begin, bytes_));
  const Place made{begin, begin + bytes, lifetime};
  places_.insert(std::upper_bound(places_.begin(), places_.end(), made,
                                  [](const Place& a, const Place& b) { return a.begin < b.begin; }),
                 made);
  used_ = std::max(used_, made.end);
  return base_ + static_cast<std::uint64_t>(begin);
}

}  // namespace tilebeat
