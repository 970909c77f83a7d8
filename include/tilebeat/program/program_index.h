#pragma once

#include "tilebeat/program/plan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// Where the instructions of a plan's programs stand in its layers.
class ProgramIndex {
 public:
  /// An instruction as a part of its layer.
  struct Place {
    std::uint32_t layer = 0;  ///< its number: an index of `layers()`
    int number =
        0;  ///< how many of the same operation come before it in the layer and this processor's program
  };

  explicit ProgramIndex(const Plan& plan);

  /// The place of the instruction at an address; none: no program has one there, or no layer ends behind it.
  std::optional<Place> find(std::uint64_t address) const;
  const std::vector<std::string>& layers() const { return layers_; }

 private:
  std::vector<std::string> layers_;
  std::map<std::uint64_t, std::vector<Place>> programs_;  // by the address of their first instruction
};

}  // namespace tilebeat
