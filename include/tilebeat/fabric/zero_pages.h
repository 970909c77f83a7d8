#pragma once

#include <cstddef>
#include <cstdint>

namespace tilebeat {

/// `bytes` bytes of zeros from the beginning of a page on, that take no memory until they are written, and
/// stay until the process ends. They are parts of large maps: a chip has more banks than an operating system
/// lets a process have maps. Throws std::bad_alloc.
std::uint8_t* zero_pages(std::size_t bytes);

}  // namespace tilebeat
