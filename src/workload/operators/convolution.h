#pragma once

#include "workload/operators/operator.h"
#include "workload/tensor_source.h"
#include "workload/weights_source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

void describe(Fields& v, Requant& r);

/// The common part of convolutions, fully connected layers and products: kernels, a bias, and the processing
/// of accumulators.
class AccumulatorForm : public OperatorForm {
 public:
  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override;

 protected:
  /// Describes activation, requantisation and bounds.
  void describe_accumulators(Fields& v);
  void describe_weights(Fields& v, const char* doc) { v.required().object("weights", weights_, doc); }
  void describe_bias(Fields& v, const char* doc) { v.optional_object("bias", bias_, doc); }

  /// Throws UserError unless there is one scale, or one per output channel; sets the scale where it follows
  /// from others. `outputs` is the file's name for output channels.
  static void check_requant(Conv2d& conv, const char* outputs, const Place& layer);
  /// Sets the type and the zero point of `output`.
  static void set_type(const Conv2d& conv, const LayerSource& source, TensorInfo& output);
  /// The kernels' tensor in the file, and its shape as Conv2d::weights.
  struct KernelShape {
    std::vector<std::int64_t> in_file, shape;
    bool transposed = false;  ///< whether the file has matrices [k, columns], not [columns, k]
  };
  /// Sets the weights and their zero point (SPEC NU-1).
  void load_weights(const KernelShape& kernels, const LayerSource& source, Conv2d& conv) const;
  void load_bias(const LayerSource& source, Conv2d& conv) const;

  Conv2d conv_;  ///< without tensors

 private:
  KnownWeights::mapped_type read_weights(const KernelShape& kernels, const Place& place, const Conv2d& conv,
                                         const std::string& name) const;

  WeightsSpec weights_;
  std::optional<SourceSpec> bias_;
  std::optional<OutputRange> range_;
  enum class Sums : std::uint8_t { kInt64, kInt32 };
  std::optional<Sums> sums_;  // of int16
};

// Checks of SPEC NU-3 and DT-2: no accumulator can leave int32, or 48 bits where the input is int16, whatever
// the inputs' elements are. They throw UserError.

void check_accumulators(const Conv2d& conv, const LayerSource& source);
/// Checks a transposed convolution: an output sums the taps that are a stride apart.
void check_transposed_accumulators(const Conv2d& conv, const LayerSource& source);
/// Checks a product whose kernels are its second input.
void check_product_accumulators(const Conv2d& conv, const LayerSource& source);

}  // namespace tilebeat
