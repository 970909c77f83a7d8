// The regions of the slaves in WRAM: what copies out of DRAM bring, each when it is complete.
#pragma once

#include "program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

class Regions {
 public:
  // `folder` has the vectors of the run, with dram.before.hex; a region has `bytes` bytes.
  Regions(const std::string& folder, const std::vector<Instruction>& program, std::uint64_t bytes);
  // Makes the copies that are complete in this clock. Clocks rise from call to call.
  void advance(std::uint64_t clock);
  std::uint8_t at(int slave, std::uint64_t byte) const;

 private:
  void copy(const std::string& text);

  std::uint64_t bytes_;
  std::map<std::uint64_t, std::uint8_t> dram_;
  std::vector<std::uint8_t> wram_;
  std::multimap<std::uint64_t, std::string> copies_;  // by the clocks of their ends
};

}  // namespace bench
