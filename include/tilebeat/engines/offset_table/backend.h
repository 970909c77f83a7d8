#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <memory>

namespace tilebeat::offset_table {

/// A layer on the offset-table engine. `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware);

}  // namespace tilebeat::offset_table
