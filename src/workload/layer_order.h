#pragma once

#include <string>
#include <vector>

#include "workload_file.h"

namespace tilebeat {

/// The indices of the layers in the order of execution: scenes in the order of their first mention, inside a
/// scene a layer after those it reads, and otherwise the order of the file. Throws UserError for names that
/// appear twice, for inputs that do not exist or belong to a later scene, and for cycles, which it names.
std::vector<std::size_t> layer_order(const WorkloadSpec& spec, const std::string& file);

}  // namespace tilebeat
