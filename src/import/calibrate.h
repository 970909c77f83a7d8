#pragma once

#include "import/graph.h"
#include "import/imported.h"

#include <map>
#include <optional>
#include <vector>

namespace tilebeat {

/// What running a float network over samples has shown (SPEC RN-3).
struct Calibration {
  std::vector<std::optional<Quantisation>> ranges;  ///< int8, by tensor; none of constants
  std::vector<std::optional<Constant>> first;       ///< the tensors' values for the first sample
};

/// Whether a file computes with real numbers without saying how they are quantised.
bool is_float_network(const ModelGraph& graph);

/// Folds batch normalisations into the convolutions before them.
void fold_batch_norms(ModelGraph& graph);

/// Gives inputs whose axes have no numbers the shape of their samples.
void shape_inputs(ModelGraph& graph, const ImportOptions& options);

/// Runs the network in float over the samples. `percentile` of the magnitudes of each tensor are covered by
/// its scale; 100: all. Throws UserError when the samples do not fit, ImportError when an operator is not
/// computed.
Calibration calibrate(const ModelGraph& graph, const ImportOptions& options);

/// The int8 scale and zero point that cover `values` and 0.
Quantisation range_of(const std::vector<double>& values);
/// The same of the least and the greatest value.
Quantisation range_between(double low, double high);
/// Symmetric int8 scales of weights, one for each index of `axis`; of an axis below 0 one for all.
Quantisation weight_scales(const Constant& weights, std::int64_t axis);
/// round(x / scale) + zero point as int8.
Constant quantised_constant(const Constant& real, const Quantisation& quantisation);

}  // namespace tilebeat
