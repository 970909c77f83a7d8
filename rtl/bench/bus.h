// What a bus did for a port in the vectors of a run.
#pragma once

#include "vectors.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace bench {

// What a bus does for a port.
struct BusPort {
  std::set<std::uint64_t> granted;   // clocks in which a request is granted
  std::set<std::uint64_t> answered;  // clocks in which a request is answered, with its last beat
  std::vector<int> beats;            // of reads, the number of the request that each beat answers
};

// When the requests of a port are granted and answered, by the number of those under way: it has what was
// granted in the clock before, and no longer what is answered in this one.
BusPort read_bus(const Folder& folder, const std::string& port, std::uint64_t bus_bytes);

}  // namespace bench
