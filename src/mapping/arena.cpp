#include "tilebeat/mapping/arena.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

std::uint64_t Arena::allocate(std::int64_t bytes, Lifetime lifetime) {
  const auto floor = floors_.find({lifetime.first, lifetime.last});
  const bool known = floor != floors_.end() && floor->second.bytes <= bytes;
  std::int64_t begin = known ? floor->second.begin : 0;
  auto place = std::lower_bound(places_.begin(), places_.end(), begin - longest_,
                                [](const Place& p, std::int64_t at) { return p.begin < at; });
  for (; place != places_.end(); ++place) {
    if (!place->lifetime.overlaps(lifetime)) continue;
    if (begin + bytes <= place->begin) break;
    begin = std::max(begin, align_up(place->end, alignment_));
  }
  if (begin + bytes > bytes_)
    throw UserError(fmt::format("{} bytes do not fit: {} of {} are taken", bytes, begin, bytes_));
  const Place made{begin, begin + bytes, lifetime};
  places_.insert(std::upper_bound(places_.begin(), places_.end(), made,
                                  [](const Place& a, const Place& b) { return a.begin < b.begin; }),
                 made);
  used_ = std::max(used_, made.end);
  longest_ = std::max(longest_, bytes);
  // For more bytes than the floor is of, lower places were too small that others fit in.
  if (!known || floor->second.bytes == bytes) floors_[{lifetime.first, lifetime.last}] = {bytes, begin};
  return base_ + static_cast<std::uint64_t>(begin);
}

}  // namespace tilebeat
