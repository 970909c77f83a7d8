#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// The largest model file, and the largest file of external data: 2 GiB, the limit of both formats.
constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 31;

/// `count` bytes of a regular file from `offset` on; all that is left when `count` is 0. Throws UserError.
std::vector<std::uint8_t> read_model_bytes(const std::string& path, std::uint64_t offset = 0,
                                           std::uint64_t count = 0);

}  // namespace tilebeat
