#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <memory>

namespace tilebeat::switch_array {

/// The layer on the switch array (SPEC section 3). `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware);

}  // namespace tilebeat::switch_array
