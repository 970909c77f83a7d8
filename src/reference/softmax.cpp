// Operators along the last axis, and those that move elements.
#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The row "softmax" of SPEC NU-6, pixel by pixel.
class RuntimeSoftmax {
 public:
  RuntimeSoftmax(const Operand& x, const Softmax& operation, const TensorInfo& output)
      : operation_(operation),
        channels_(output.shape.back()),
        sx_(static_cast<float>(operation.input_scale)),
        sy_(static_cast<float>(*operation.requant.output_scale)),
        values_(centred<std::int32_t>(x.tensor, 0)),
        output_{output.shape, output.dtype, {}} {}

  Tensor compute() {
    for (auto pixel = values_.begin(); pixel != values_.end(); pixel += channels_)
      add_pixel(std::vector<std::int32_t>(pixel, pixel + channels_));
    return std::move(output_);
  }

 private:
  bool ort() const { return operation_.requant.arithmetic == Arithmetic::kFloat32Ort; }

  /// The exponential of an element that is `below` less than the greatest one.
  float exponential(std::int32_t below) const {
    if (!ort()) {
      const float exponent = -sx_ * static_cast<float>(operation_.beta);
      return static_cast<float>(std::exp(double{exponent * static_cast<float>(below)}));
    }
    const float most = FLT_MAX / static_cast<float>(channels_);
    const double head = std::max(0.0, std::log(double{most}) - 5) / sx_;
    return static_cast<float>(std::exp((head - below) * sx_));
  }

  void add_pixel(const std::vector<std::int32_t>& pixel) {
    const std::int32_t greatest = *std::max_element(pixel.begin(), pixel.end());
    float sum = 0;
    for (const std::int32_t x : pixel) sum += exponential(greatest - x);
    const float steps = sum * sy_;
    const float unit = ort() ? std::floor(1 / sy_) / sum : 1 / steps;
    for (const std::int32_t x : pixel) {
      const float share = exponential(greatest - x) * unit;
      const std::int64_t value = (ort() ? rint_of(share) : half_away(share)) + operation_.requant.zero_point;
      output_.bytes.push_back(
          static_cast<std::uint8_t>(bounded(value, output_.dtype, operation_.requant.range)));
    }
  }

  const Softmax& operation_;
  std::int64_t channels_;
  float sx_, sy_;
  std::vector<std::int32_t> values_;
  Tensor output_;
};

Tensor softmax_of_int16(const Operand& x, const Softmax& operation, const TensorInfo& output) {
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, 0);
  const std::int64_t channels = output.shape.back();
  Tensor made{output.shape, output.dtype, {}};
  for (auto pixel = values.begin(); pixel != values.end(); pixel += channels) {
    for (const std::int32_t share : softmax_int16(operation, {pixel, pixel + channels}))
      append_element(bounded(share, output.dtype, operation.requant.range), output.dtype, made.bytes);
  }
  return made;
}

Tensor softmax_of_rows(const Operand& x, const Softmax& operation, const TensorInfo& output) {
  if (x.info.dtype == DType::kInt16) return softmax_of_int16(x, operation, output);
  if (operation.requant.arithmetic != Arithmetic::kExact)
    return RuntimeSoftmax(x, operation, output).compute();
  const std::vector<std::int32_t> values = centred<std::int32_t>(x.tensor, 0);
  const auto channels = to_size(output.shape.back());
  std::size_t pixel = 0;
  std::int32_t greatest = 0;
  std::int64_t sum = 0;
  const auto exponential = [&](std::size_t i) {
    const std::int32_t below = greatest - values[i];
    const double fixed = std::ldexp(std::exp(-(below * operation.input_scale * operation.beta)),
                                    24);  // 24 bits behind the point
    return static_cast<std::int64_t>(round_half_even(fixed));
  };
  Tensor made{output.shape, output.dtype, {}};
  std::size_t first = 0, end = channels;  // channels that the pixel sees
  const auto element = [&](std::size_t i) {
    if (i % channels == 0) {
      pixel = i;
      if (operation.mask) {
        const std::int64_t query = to_signed(i / channels) % operation.mask->queries;
        end = to_size(query + operation.mask->past + 1);
        first = end - std::min(end, to_size(operation.mask->window));
      }
      greatest = *std::max_element(&values[pixel + first], &values[pixel] + end);
      sum = 0;
      for (std::size_t c = first; c < end; ++c) sum += exponential(pixel + c);
    }
    const TensorRequant& r = operation.requant;
    const bool seen = i - pixel >= first && i - pixel < end;
    const double share = seen ? ratio_of(exponential(i), sum) : 0;
    return bounded(rounded(share * r.scale, r.zero_point, r.dtype), r.dtype, r.range);
  };
  for (std::size_t i = 0; i < values.size(); ++i) made.bytes.push_back(static_cast<std::uint8_t>(element(i)));
  return made;
}

/// A tensor whose axes from `axis` on are [extent, inner], with these two swapped.
Tensor swapped(const Tensor& tensor, std::int64_t extent, std::int64_t inner) {
  Tensor made{tensor.shape, tensor.dtype, {}};
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const std::int64_t block = i / (extent * inner), e = i % extent, j = i / extent % inner;
    append_copy(tensor, (block * extent + e) * inner + j, made.bytes);
  }
  return made;
}

}  // namespace

Tensor reference_of(const Softmax& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const int last = count_of(output.shape) - 1;
  if (operation.axis < 0 || operation.axis == last) return softmax_of_rows(x, operation, output);
  const std::int64_t extent = nth(output.shape, operation.axis);
  std::int64_t inner = 1;
  for (int axis = operation.axis + 1; axis <= last; ++axis) inner *= nth(output.shape, axis);
  const Tensor turned = swapped(x.tensor, extent, inner);
  TensorInfo rows = output;
  rows.shape = {output.elements() / extent, extent};
  Tensor made = softmax_of_rows({turned, x.info}, operation, rows);
  made = swapped(made, inner, extent);
  made.shape = output.shape;
  return made;
}

namespace {

using Values = std::vector<std::int32_t>;

std::uint8_t result(double v, const TensorRequant& r) {
  return static_cast<std::uint8_t>(bounded(rounded(v * r.scale, r.zero_point, r.dtype), r.dtype, r.range));
}

/// Calls `row` with every row of elements minus their zero point.
template <class Row>
void for_rows(const Operand& x, std::int32_t zero_point, Row row) {
  const Values values = centred<std::int32_t>(x.tensor, zero_point);
  const std::int64_t length = x.info.shape.back();
  for (auto first = values.begin(); first != values.end(); first += length)
    row(Values(first, first + length));
}

}  // namespace

Tensor reference_of(const RowNorm& norm, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  for_rows(x, x.info.zero_point, [&](const Values& row) {
    const auto n = ssize(row);
    std::int64_t sum = 0, squares = 0;
    for (const std::int64_t v : row) sum += v, squares += v * v;
    const bool centre = norm.kind == RowNorm::Kind::kLayerNorm;
    const double steps = (centre ? static_cast<double>(n) : 1) / norm.input_scale;
    const double spread = centre ? static_cast<double>(n * squares - sum * sum) : ratio_of(squares, n);
    const double root = std::sqrt(spread + norm.epsilon * (steps * steps));
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double distance = static_cast<double>(centre ? n * row[c] - sum : row[c]);
      const double share = root == 0 ? 0 : distance / root;
      made.bytes.push_back(result(share * norm.gamma[c] + norm.beta[c], norm.requant));
    }
  });
  return made;
}

Tensor reference_of(const Lrn& lrn, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  for_rows(x, x.info.zero_point, [&](const Values& row) {
    const int channels = count_of(row), before = (lrn.size - 1) / 2, after = lrn.size - 1 - before;
    for (int c = 0; c < channels; ++c) {
      double sum = 0;
      for (int i = std::max(0, c - before); i <= std::min(channels - 1, c + after); ++i) {
        const double v = nth(row, i) * lrn.input_scale;
        sum += v * v;
      }
      const double v = nth(row, c) * lrn.input_scale;
      made.bytes.push_back(
          result(v / std::pow(lrn.bias + lrn.alpha / lrn.size * sum, lrn.beta), lrn.requant));
    }
  });
  return made;
}

Tensor reference_of(const ArgMax& operation, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  for_rows(x, 0, [&](const Values& row) {
    const auto index = std::max_element(row.begin(), row.end()) - row.begin();
    if (operation.result == ArgMax::Result::kIndex) {
      const auto number = static_cast<std::int32_t>(index);
      std::uint8_t bytes[sizeof number];
      std::memcpy(bytes, &number, sizeof number);
      made.bytes.insert(made.bytes.end(), bytes, bytes + sizeof number);
      return;
    }
    made.bytes.resize(made.bytes.size() + row.size(), 0);
    made.bytes[made.bytes.size() - row.size() + to_size(index)] = 1;
  });
  return made;
}

Tensor reference_of(const Move& move, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    std::int64_t rest = i, from = move.offset;
    for (std::size_t axis = move.extents.size(); axis-- > 0; rest /= move.extents[axis])
      from += rest % move.extents[axis] * move.strides[axis];
    append_copy(x.tensor, from, made.bytes);
  }
  return made;
}

Tensor reference_of(const Gather& gather, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  Tensor made{output.shape, output.dtype, {}};
  std::int64_t inner = dtype_size(output.dtype);  // bytes of an index
  for (std::size_t axis = to_size(gather.axis) + 1; axis < output.shape.size(); ++axis)
    inner *= output.shape[axis];
  const std::int64_t extent = nth(x.info.shape, gather.axis);
  for (std::int64_t outer = 0; outer < x.info.size_bytes() / (extent * inner); ++outer) {
    for (const std::int64_t index : gather.indices) {
      const auto first = x.tensor.bytes.begin() + (outer * extent + index) * inner;
      made.bytes.insert(made.bytes.end(), first, first + inner);
    }
  }
  return made;
}

Tensor reference_of(const Lookup& lookup, const Operands& inputs, const TensorInfo& output) {
  const Operand& x = inputs.front();
  const auto& shape = x.info.shape;
  const std::size_t numbers = inputs.size() - 1, first = to_size(lookup.axis);
  std::int64_t inner = dtype_size(output.dtype), all = 1;  // bytes of a row, rows
  for (std::size_t axis = first + numbers; axis < shape.size(); ++axis) inner *= shape[axis];
  for (std::size_t axis = first; axis < first + numbers; ++axis) all *= shape[axis];
  const std::int64_t count = inputs[1].info.elements();
  const auto row_of = [&](std::int64_t i) {
    std::int64_t row = 0;
    for (std::size_t number = 1; number <= numbers; ++number) {
      const std::int64_t extent = shape[first + number - 1], index = inputs[number].tensor.at(i);
      if (index < 0 || index >= extent)
        throw UserError(fmt::format("gather: index {} is {}, allowed is 0 to {}", i, index, extent - 1));
      row = row * extent + index;
    }
    return row;
  };
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t outer = 0; outer < x.info.size_bytes() / (all * inner); ++outer) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto begin = x.tensor.bytes.begin() + (outer * all + row_of(i)) * inner;
      made.bytes.insert(made.bytes.end(), begin, begin + inner);
    }
  }
  return made;
}

}  // namespace tilebeat
