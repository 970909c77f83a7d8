#pragma once

#include "tilebeat/schema/place.h"

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat {

// For the rules between fields of a hardware file.

/// Refuses `value`, which stands at `place`, unless `good`; `allowed` says what is.
template <class T>
void need(bool good, const Place& place, const T& value, const std::string& allowed) {
  if (!good) place.refuse(nlohmann::ordered_json(value).dump(), allowed);
}

inline void need_power_of_two(std::int64_t value, const Place& place) {
  need((value & (value - 1)) == 0, place, value, "a power of two");
}

}  // namespace tilebeat
