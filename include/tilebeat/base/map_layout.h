#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// How the elements of a map follow one another (SPEC OT-2), slowest dimension first. NCHWc has blocks of
/// channels whose channels are the fastest dimension; channels that the last block lacks take room.
enum class MapLayout : std::uint8_t { kNchw, kCnhw, kNhwc, kNchwc };
constexpr std::array<std::string_view, 4> kMapLayoutNames{"nchw", "cnhw", "nhwc", "nchwc"};

}  // namespace tilebeat
