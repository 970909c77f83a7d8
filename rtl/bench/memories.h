// The memories of a chip: what copies bring.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace bench {

constexpr std::uint64_t kNram = 1ULL << 42, kWram = 1ULL << 43;

class Memories {
 public:
  // `folder` has the vectors of the run, with dram.before.hex.
  explicit Memories(const std::string& folder);
  // Writes what the copies that are complete in this clock have brought, and reads the sources of those that
  // begin. Clocks rise from call to call.
  void advance(std::uint64_t clock);
  std::uint8_t at(std::uint64_t address) const;
  // A copy is under way in this clock that writes this byte.
  bool moving(std::uint64_t address) const;
  void set(std::uint64_t address, std::uint8_t byte) { bytes_[address] = byte; }

 private:
  using Bytes = std::unordered_map<std::uint64_t, std::uint8_t>;
  struct Copy {
    std::uint64_t end = 0;
    std::string text;
  };
  // The bytes of a copy's destination, read from its source.
  Bytes read(const std::string& text) const;

  Bytes bytes_;
  std::multimap<std::uint64_t, Copy> waiting_;  // by the clocks in which they begin
  std::multimap<std::uint64_t, Bytes> moving_;  // by the clocks in which they end
};

}  // namespace bench
