#include "base/types.h"
#include "reference/arithmetic.h"
#include "reference/operators.h"

#include <cstring>

namespace tilebeat {
namespace {

using Extents = std::vector<std::int64_t>;

/// The number of the operand's matrix for matrix `number` of the product, counted over the leading axes
/// `axes`. The operand's leading axes are `operand`; missing axes and those of extent 1 are repeated.
std::int64_t matrix_of(std::int64_t number, const Extents& axes, const Extents& operand) {
  std::int64_t matrix = 0, step = 1;
  for (std::size_t back = 1; back <= axes.size(); ++back) {
    const std::int64_t extent = axes[axes.size() - back], index = number % extent;
    number /= extent;
    if (back > operand.size()) continue;
    const std::int64_t own = operand[operand.size() - back];
    if (own > 1) matrix += index * step;
    step *= own;
  }
  return matrix;
}

/// The lines of a matrix (rows of A or columns of B) in sequence; kPlain: they have this order in `elements`.
std::vector<std::int16_t> lines_of(const std::vector<std::int16_t>& elements, std::int64_t matrix,
                                   std::int64_t lines, std::int64_t length, MatrixOrder order) {
  std::vector<std::int16_t> made(to_size(lines * length));
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t at = order == MatrixOrder::kPlain ? line * length + i : i * lines + line;
      nth(made, line * length + i) = nth(elements, matrix * lines * length + at);
    }
  }
  return made;
}

template <class Sum>
Sum dot(const std::int16_t* a, const std::int16_t* b, std::int64_t length) {
  Sum sum = 0;
  for (std::int64_t i = 0; i < length; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

}  // namespace

Tensor reference_matmul(const std::vector<Operand>& inputs, const Conv2d& conv, const TensorInfo& output) {
  const Operand& a = inputs.front();
  const MatrixProduct& p = conv.product;
  const std::vector<std::int16_t> a_elements = centred<std::int16_t>(a.tensor, a.info.zero_point);
  const std::vector<std::int16_t> b_elements =
      conv.kernels == KernelSource::kInput
          ? centred<std::int16_t>(inputs.at(1).tensor, inputs.at(1).info.zero_point)
          : centred<std::int16_t>(*conv.weights.int8(), conv.weight_zero_point);
  Tensor made{output.shape, output.dtype, {}};
  made.bytes.reserve(to_size(output.size_bytes()));
  const Extents axes(output.shape.begin(), output.shape.end() - 2);
  const std::int64_t rows = output.shape[axes.size()], columns = output.shape.back();
  // A column of B is a line of B transposed.
  const MatrixOrder columns_of_b =
      p.b == MatrixOrder::kPlain ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
  for (std::int64_t number = 0; number * rows * columns < output.elements(); ++number) {
    const auto left = lines_of(a_elements, matrix_of(number, axes, p.a_axes), rows, p.inner, p.a);
    const auto right =
        lines_of(b_elements, matrix_of(number, axes, p.b_axes), columns, p.inner, columns_of_b);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int16_t *x = &nth(left, row * p.inner), *w = &nth(right, column * p.inner);
        const std::int64_t sum = a.info.dtype == DType::kInt16 ? dot<std::int64_t>(x, w, p.inner)
                                                               : dot<std::int32_t>(x, w, p.inner);
        const std::int64_t value = post_process(conv, to_size(column), sum);
        std::uint8_t bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        made.bytes.insert(made.bytes.end(), bytes, bytes + dtype_size(output.dtype));
      }
    }
  }
  return made;
}

}  // namespace tilebeat
