#pragma once

#include "tilebeat/schema/place.h"

#include "workload_file.h"

namespace tilebeat {

/// The elements of an input: of a file, whose axes `file_axes` names, or random ones. Throws UserError.
Tensor load_input(const InputSpec& input, const Place& place);

}  // namespace tilebeat
