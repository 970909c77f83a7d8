#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <memory>

namespace tilebeat::wfold {

/// The layer on the W-fold engine (SPEC section 4). `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware);

}  // namespace tilebeat::wfold
