#pragma once

#include <vector>

#include "unit_space.h"

namespace tilebeat {

/// The cut of a network into units and single layers that takes least of what `fusion.objective` names (SPEC
/// FU-8). A unit is made of neighbours in the workload, so the best cut of the first n layers ends in a unit
/// or a layer behind a best cut of fewer: one pass over the layers finds the best cut, exactly. A unit costs
/// what its best form costs, of these: all clusters (for bytes also fewer), rows of a step halved from a
/// cluster's share down to one, tensors held in rings of rows or, in the best of those, made again. Tensors
/// held whole take more of the SRAM and save nothing against rings. `visited`: units whose cost was worked
/// out.
std::vector<ChosenUnit> optimal_units(UnitSpace& space, int& visited);

}  // namespace tilebeat
