// Ports of a model that Verilator has made: their bits, whatever their type, and noise for those that nobody
// drives.
#pragma once

#include "ports.h"
#include "verilated.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bench {

// Bits of a port of the model, whatever its type.
template <typename T>
std::uint64_t bits(const T& port, int first, int count) {
  return (static_cast<std::uint64_t>(port) >> first) & (count >= 64 ? ~0ULL : (1ULL << count) - 1);
}
template <std::size_t N>
std::uint64_t bits(const VlWide<N>& port, int first, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count;) {
    const int word = (first + i) / 32, shift = (first + i) % 32;
    const int take = std::min(count - i, 32 - shift);
    value |= ((static_cast<std::uint64_t>(port[word]) >> shift) & ((1ULL << take) - 1)) << i;
    i += take;
  }
  return value;
}
template <typename T>
void add_bytes(Port& to, const T& port, int first_bit, int bytes) {
  for (int i = 0; i < bytes; i++)
    to.data.push_back(static_cast<std::uint8_t>(bits(port, first_bit + 8 * i, 8)));
}
template <typename T>
void set_bytes(T& port, const std::uint8_t* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count && i < 8; i++) value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  port = static_cast<T>(value);
}
template <std::size_t N>
void set_bytes(VlWide<N>& port, const std::uint8_t* bytes, int count) {
  for (std::size_t i = 0; i < N; i++) port[i] = 0;
  for (int i = 0; i < count; i++) port[i / 4] |= static_cast<std::uint32_t>(bytes[i]) << (8 * (i % 4));
}

// Fills a bus that nobody drives with bytes that mean nothing, so that a register that takes them is seen.
template <typename T>
void disturb(T& port, int bytes) {
  static std::uint32_t state = 1;
  std::vector<std::uint8_t> noise(bytes);
  for (std::uint8_t& byte : noise) {
    state = state * 1664525U + 1013904223U;
    byte = state >> 24;
  }
  set_bytes(port, noise.data(), bytes);
}

}  // namespace bench
