#pragma once

#include <vector>

#include "unit_space.h"

namespace tilebeat {

/// The units by the rules of document 001 (SPEC FU-2, FU-3, FU-10), as far as they are not slower than their
/// layers one by one and move no more bytes over DRAM, both as planned (FU-5).
std::vector<ChosenUnit> units_by_rules(UnitSpace& space);

}  // namespace tilebeat
