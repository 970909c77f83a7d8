// Ports of the W-fold engine from the vectors of a run, and what the bus and the regions do for it.
#pragma once

#include "bus.h"
#include "ports.h"
#include "program.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bench {

constexpr int kSlaves = GEOMETRY_NS, kUnits = GEOMETRY_NCU, kLine = GEOMETRY_M, kFirst = GEOMETRY_L1,
              kSecond = GEOMETRY_L2, kPort = GEOMETRY_PORT, kBus = GEOMETRY_BUS;
constexpr bool kKernelsFirst = GEOMETRY_KF != 0;
constexpr int kColumns = kLine / 4;  // of a line, at most
constexpr int kBeats = kSecond / 2;  // of a step, at most
// Of a half of a third buffer: its kernels, and the results of each.
constexpr int kKernels = kKernelsFirst ? kUnits : kBeats;
constexpr int kResults = (kKernelsFirst ? kSecond / 2 : kUnits) * kColumns;

// Parts whose cycles are counted, by the names of their states.
constexpr const char* kParts[] = {"array", "broadcast", "read", "weights", "drain", "write"};

struct WfoldVectors {
  Ports ports;
  BusPort lines, results;
};

// Ports that hold registers have a record for each element that changes: its number, whether it is known, its
// value.
//   out, sum   ((slave x units + unit) x columns of a line) + column
//   third      ((slave x 2 + half) x kernels + kernel) x results + column of the tile
// Of the run in the folder of a case.
WfoldVectors read_wfold_vectors(const std::string& folder, const Settings& settings);

}  // namespace bench
