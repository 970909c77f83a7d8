#include "tilebeat/mapping/arena.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tilebeat {

std::int64_t Arena::floor_of(const Floors& floors, std::int64_t bytes) {
  const auto above = floors.upper_bound(bytes);
  return above == floors.begin() ? 0 : std::prev(above)->second;
}

void Arena::raise(Floors& floors, std::int64_t bytes, std::int64_t begin) {
  floors[bytes] = begin;
  auto above = floors.upper_bound(bytes);
  while (above != floors.end() && above->second <= begin) above = floors.erase(above);
}

std::uint64_t Arena::allocate(std::int64_t bytes, Lifetime lifetime) {
  Floors& floors = floors_[{lifetime.first, lifetime.last}];
  std::int64_t begin = floor_of(floors, bytes);
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
  raise(floors, bytes, begin);
  return base_ + static_cast<std::uint64_t>(begin);
}

}  // namespace tilebeat
