#pragma once

#include "tilebeat/workload/workload.h"

#include <string>
#include <vector>

#include "layer_spec.h"

namespace tilebeat {

/// A layer that is being loaded: what is written, what it reads, and where it stands.
struct LayerSource {
  const LayerSpec& spec;
  std::vector<TensorInfo> inputs;
  Place place;
  Arithmetic arithmetic = Arithmetic::kExact;  ///< of the workload; the layer may name its own

  const TensorInfo& input() const { return inputs.front(); }
  Place input_place(std::size_t i) const { return place.key("inputs").item(i); }
};

/// The layer of `source`: shapes inferred, tensors loaded, tables computed, SPEC NU-1 to NU-3 checked. Throws
/// UserError.
Layer load_layer(const LayerSource& source);

// One function a set of fields. Each sets the operation and what is known of the output; the inputs have been
// checked to be int8 or uint8 maps [N, H, W, C], but for requantize, which also reads int32, and reshape
// and matmul, which read any shape.
void load_operator(const Conv2dSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ConvTransposeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const FullyConnectedSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const MatmulSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ProductSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const MaxPoolSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const AveragePoolSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const PlainSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ConcatSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ElementwiseSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ClampSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const FunctionSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const LeakyReluSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ScaleSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const BatchnormSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const RequantizeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const SoftmaxSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const PadSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ReduceSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ReduceMaxSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const NormSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const LrnSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ArgMaxSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const TransposeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const SliceSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const GatherSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const QuantizeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const DequantizeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const DynamicQuantizeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ReshapeSpec& spec, const LayerSource& source, Layer& layer);
void load_operator(const ResizeSpec& spec, const LayerSource& source, Layer& layer);

// The operators without parameters.
void load_global_pool(Pooling::Kind kind, const LayerSource& source, Layer& layer);
void load_relu(const LayerSource& source, Layer& layer);
void load_flatten(const LayerSource& source, Layer& layer);

/// Gives the layer its arithmetic (SPEC NU-6) and checks that it has what that needs, and the bounds of its
/// output. Throws UserError.
void set_arithmetic(const LayerSource& source, Layer& layer);

/// Throws UserError at `place` if `zero_point` is not a value of `dtype`.
void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place);

/// `axis` of a tensor of `rank` axes, counted from the start. Throws UserError at `place` when there is none.
int axis_of(int axis, std::size_t rank, const Place& place);
/// `values`, one number or a list written at `place`, as one a channel.
std::vector<double> one_a_channel(const std::vector<double>& values, std::int64_t channels,
                                  const Place& place);

/// The output of a layer that requantises real values: `shape`, with the type and zero point of `requant`,
/// which stands at `place`.
TensorInfo requantised(const std::vector<std::int64_t>& shape, const TensorRequant& requant,
                       const Place& place);

}  // namespace tilebeat
