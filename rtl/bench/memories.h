// The memories of a core and DRAM: what copies bring.
#pragma once

#include "program.h"

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
  Memories(const std::string& folder, const std::vector<Instruction>& program);
  // Makes the copies that are complete in this clock, and stores that begin. Clocks rise from call to call.
  void advance(std::uint64_t clock);
  std::uint8_t at(std::uint64_t address) const;
  // A copy is under way in this clock that writes this byte.
  bool moving(std::uint64_t address) const;
  void set(std::uint64_t address, std::uint8_t byte) { bytes_[address] = byte; }

 private:
  void copy(const std::string& text);

  std::unordered_map<std::uint64_t, std::uint8_t> bytes_;  // also of DRAM
  struct Copy {
    std::uint64_t begin = 0;
    std::string text;
  };
  std::multimap<std::uint64_t, Copy> copies_;  // by the clocks in which they are made
  std::uint64_t clock_ = 0;
};

}  // namespace bench
