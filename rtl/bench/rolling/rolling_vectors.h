// Ports of the rolling-register unit from the vectors of a run.
#pragma once

#include "ports.h"

#include <cstdint>
#include <string>

namespace bench {

constexpr int kRows = GEOMETRY_R, kColumns = GEOMETRY_C, kGroups = GEOMETRY_GROUPS, kMultipliers = GEOMETRY_M,
              kPort = GEOMETRY_PORT, kStack = GEOMETRY_STACK, kSums = GEOMETRY_SUMS;
constexpr int kLanes = kRows > kColumns ? kRows : kColumns;
constexpr int kLines = kStack * kLanes;  // of a half of the result buffer

// Parts whose cycles are counted, by the names of their states.
constexpr const char* kUnits[] = {"array", "a.request", "a.load", "b.request", "b.load", "results", "write"};

// Ports that hold registers have a record for each element that changes: its number, whether it is known, its
// value.
//   pe.a, pe.b       (group x rows + row) x columns + column
//   tags.a, tags.b   group x lanes + line
//   spare            ring x lanes + element
//   half             (half x lines + line) x lines + element
Ports read_rolling_vectors(const std::string& path, const std::string& scope);

}  // namespace bench
