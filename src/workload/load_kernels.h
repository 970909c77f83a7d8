#pragma once

#include "tilebeat/schema/place.h"
#include "tilebeat/workload/operators.h"

#include <cstdint>
#include <string>
#include <vector>

#include "source_spec.h"

namespace tilebeat {

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

}  // namespace tilebeat
