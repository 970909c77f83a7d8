#pragma once

#include "import/graph.h"
#include "import/imported.h"

#include <map>
#include <optional>
#include <vector>

namespace tilebeat {

/// The results of running a float network over samples (SPEC RN-3).
struct Calibration {
  std::vector<std::optional<Quantisation>> ranges;  ///< int8, by tensor; none for constants
  std::vector<std::optional<Constant>> first;       ///< by tensor: its values for the first sample
};

/// Whether a model is given real numbers, so that some of its parts may lack scales.
bool has_float_parts(const ModelGraph& graph);

/// Folds batch normalisations into the convolutions before them.
void fold_batch_norms(ModelGraph& graph);

/// Gives inputs with symbolic axes the shape of their samples.
void shape_inputs(ModelGraph& graph, const ImportOptions& options);

/// Runs the network in float over the samples. The scale of each tensor covers `percentile` percent of its
/// magnitudes; 100: all. Throws UserError when the samples do not fit, ImportError for an operator that is
/// not supported.
Calibration calibrate(const ModelGraph& graph, const ImportOptions& options);

/// The int8 scale and zero point that cover `values` and 0.
Quantisation range_of(const std::vector<double>& values);
/// The int8 scale and zero point that cover the range from `low` to `high` and 0.
Quantisation range_between(double low, double high);
/// The greatest int8 that stands for a weight.
constexpr double kMostInt8 = 127;
/// Symmetric scales of weights, one for each index of `axis`; with `axis` below 0 one for all. The greatest
/// weight of a scale becomes `most`.
Quantisation weight_scales(const Constant& weights, std::int64_t axis, double most = kMostInt8);
/// rint(f32(x / scale)) + zero point as int8, or uint8.
Constant quantised_constant(const Constant& real, const Quantisation& quantisation,
                            ElementType type = ElementType::kInt8);
/// The real numbers of integers: f32(f32(q - zero point) * scale).
Constant real_constant(const Constant& integers, const Quantisation& quantisation);

}  // namespace tilebeat
