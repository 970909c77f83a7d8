// Ports of the offset-table engine from the vectors of a run, and what the bus does for its tables.
#pragma once

#include "bus.h"
#include "ports.h"
#include "program.h"

#include <cstdint>
#include <string>

namespace bench {

constexpr int kRows = GEOMETRY_R, kColumns = GEOMETRY_C, kVector = GEOMETRY_V, kPort = GEOMETRY_PORT,
              kBus = GEOMETRY_BUS;

struct OffsetVectors {
  Ports ports;
  BusPort tables;
};

// Of the run in the folder of a case. The port "lanes" has the operands of all threads and then of all
// kernels, each as a value and whether it is known.
OffsetVectors read_offset_vectors(const std::string& folder, const Settings& settings);

}  // namespace bench
