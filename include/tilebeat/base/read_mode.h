#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat {

/// How the W-fold engine reads the lines of a map (SPEC WF-2; document 003 figures 7a-7c): one continuous
/// request a line, one request for every position of a line, or requests for whole positions into a transit
/// buffer of registers from which lines are formed.
enum class WfoldReadMode : std::uint8_t { kContinuous, kStrided, kTransit };
constexpr std::array<std::string_view, 3> kWfoldReadModeNames{"continuous", "strided", "transit"};

}  // namespace tilebeat
