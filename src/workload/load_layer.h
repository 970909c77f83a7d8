#pragma once

#include "schema/place.h"
#include "workload/layer_spec.h"
#include "workload/operators.h"
#include "workload/source_spec.h"
#include "workload/workload.h"
#include "workload/workload_file.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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

// What convolutions and products load and check alike.

/// Throws UserError unless there is one scale, or one an output channel; sets it where it follows from
/// others; `outputs` is what the file calls these.
void check_requant(Conv2d& conv, const char* outputs, const Place& place);
/// Sets the weights, which are written in the shape `shape`, and their zero point (SPEC NU-1).
void load_weights(const WeightsSpec& weights, const std::vector<std::int64_t>& shape, const Place& place,
                  Conv2d& conv);
void load_bias(const SourceSpec& source, const Place& place, Conv2d& conv);
/// SPEC NU-3: no accumulator of layer `name` can leave int32, whatever the elements of its input are, which
/// `input` describes.
void check_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& input,
                        const Place& place);
/// The same of a transposed convolution: an output adds up the taps that are a stride apart.
void check_transposed_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& input,
                                   const Place& place);
/// The same of a product whose kernels are the second input.
void check_accumulators(const std::string& name, const Conv2d& conv, const TensorInfo& a, const TensorInfo& b,
                        const Place& place);

/// The elements of an input: of a file, whose axes `file_axes` names, or random ones. Throws UserError.
Tensor load_input(const InputSpec& input, const Place& place);

/// The geometry that convolution and pooling share. Pairs are [height, width], pads are
/// [top, left, bottom, right].
struct WindowShape {
  std::array<int, 2> kernel, stride, dilation;
  std::array<int, 4> pads;

  /// Pixels from the first to the last tap along axis 0 (height) or 1 (width).
  std::int64_t extent(std::size_t axis) const {
    return (kernel[axis] - std::int64_t{1}) * dilation[axis] + 1;
  }
};

/// Output pixels along `axis` of a map of `shape` [N, H, W, C]. Throws UserError at the layer's `place` if
/// the window does not fit the padded map.
std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place);

}  // namespace tilebeat
