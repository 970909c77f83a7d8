// A recorded run of the product: what its ports carried, and what the switch array was given in which clock.
#pragma once

#include "ports.h"
#include "program.h"
#include "streams.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Sizes of the array.
struct Geometry {
  int rows, columns, groups, port_channels, bus_bytes;
};
// Ports by the names of the switch array, from a folder of vectors; `scope` is that of the core: "soc.".
Ports read_vectors(const std::string& path, const Geometry& geometry, const std::string& scope);

class Recording {
 public:
  // The folder has what switch_array_bench.cpp says. Throws std::runtime_error that says what does not fit.
  explicit Recording(const std::string& folder);

  std::uint64_t setting(const char* name) const { return settings_.number(name); }

  Ports simulator;
  // Instructions of the array and of the store channel that have not been dispatched yet.
  std::deque<const Instruction*> instructions, stores;
  std::unique_ptr<Stream> load, parameter;
  // The clocks in which the bus grants the store channel's bursts, and in which they are answered; both rise.
  std::vector<std::uint64_t> grants, answers;
  std::uint64_t begin = UINT64_MAX, end = 0;  // the clocks that are compared

 private:
  void check_fetched();
  void sort_instructions();
  void find_grants();
  void find_answers();
  void find_clocks();

  Settings settings_;
  std::unique_ptr<Image> dram_;
  std::vector<Instruction> program_;
  std::vector<std::uint64_t> asked_;  // by burst of the store channel: the first clock of its request
};

}  // namespace bench
