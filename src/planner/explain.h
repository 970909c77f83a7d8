#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/layer_mapping.h"

#include <string>

#include "layer_share.h"

namespace tilebeat {

/// For `plan`: how a mapping spreads a layer over cores, and how teams of cores add up their sums.
std::string in_words(const LayerMapping& mapping, const ChipConfig& chip);
std::string in_words(const SharedLayer& layer);

}  // namespace tilebeat
