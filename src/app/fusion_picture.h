#pragma once

#include "tilebeat/planner/planner.h"

#include <string>

namespace tilebeat {

/// A network and its fused units as an SVG picture: a row for each layer with the bytes of its output and
/// where these lie, a frame around the layers of a unit, and beside it what the unit takes as planned.
std::string fusion_picture(const Workload& workload, const PlannedNetwork& planned);

}  // namespace tilebeat
