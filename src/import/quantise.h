#pragma once

#include "tilebeat/import/graph.h"

#include <vector>

namespace tilebeat {

/// The int8 scale and zero point that cover `values` and 0.
Quantisation range_of(const std::vector<double>& values);
/// The same of the least and the greatest value.
Quantisation range_between(double low, double high);
/// Symmetric int8 scales of weights, one for each index of `axis`; of an axis below 0 one for all.
Quantisation weight_scales(const Constant& weights, std::int64_t axis);
/// round(x / scale) + zero point as int8.
Constant quantised_constant(const Constant& real, const Quantisation& quantisation);

}  // namespace tilebeat
