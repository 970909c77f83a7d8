#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <memory>

namespace tilebeat::rolling {

/// The layer on the rolling-register unit (SPEC section 5): rows of A are output pixels, columns of B are
/// kernels. `workload` and `hardware` outlive it.
std::unique_ptr<MatrixLayer> make_layer(const Workload& workload, const Layer& layer,
                                        const HardwareConfig& hardware);

}  // namespace tilebeat::rolling
