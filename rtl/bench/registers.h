// Registers that are compared element by element: a port has a record for each element that changes.
#pragma once

#include "ports.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Elements of registers of the model as they were in the clock before.
struct Registers {
  Port* port = nullptr;
  std::vector<std::pair<bool, std::uint32_t>> before;

  void look(std::uint64_t clock, std::uint32_t element, bool known, std::uint32_t value);
};

// A change of an element of a register, as the vectors have it.
struct Change {
  std::uint64_t clock;
  std::uint32_t element;
  bool known;
  std::uint64_t value;
};
using Changes = std::map<std::string, std::vector<Change>>;  // by port

// Makes a port of those changes that are changes. With `zeros` elements hold zero before, and what is not
// known counts as zero.
void write_registers(std::vector<Change>& changes, bool zeros, Port& to);

}  // namespace bench
