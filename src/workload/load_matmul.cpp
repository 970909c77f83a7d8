#include "workload/load_layer.h"
#include "workload/npy.h"
#include "workload/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostAxes = 6;

/// A or B as it is written: where its shape stands, for errors.
struct Matrices {
  std::string text;  ///< how errors call it
  std::vector<std::int64_t> shape;
  MatrixOrder order = MatrixOrder::kPlain;
  Place place;

  std::vector<std::int64_t> axes() const { return {shape.begin(), shape.end() - 2}; }
  std::int64_t rows() const { return shape[shape.size() - (order == MatrixOrder::kPlain ? 2 : 1)]; }
  std::int64_t columns() const { return shape[shape.size() - (order == MatrixOrder::kPlain ? 1 : 2)]; }
  std::string with_shape() const { return fmt::format("{} with shape {}", text, shape_text(shape)); }
};

MatrixOrder order_of(bool transposed) {
  return transposed ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
}

Matrices matrices_of_input(const LayerSource& source, std::size_t i, MatrixOrder order) {
  const auto& shape = source.inputs[i].shape;
  Matrices made{shown(source.spec.inputs[i]), shape, order, source.input_place(i)};
  if (shape.size() < 2) {
    made.place.refuse(made.with_shape(), i == 0 ? "rows [..., K] with two axes at least"
                                                : "a matrix [..., K, columns] with two axes at least");
  }
  if (shape.size() > kMostAxes) {
    made.place.refuse(made.with_shape(), fmt::format("at most {} axes", kMostAxes));
  }
  return made;
}

/// The leading axes of the product: those of A and B, aligned at their ends.
std::vector<std::int64_t> broadcast(const Matrices& a, const Matrices& b) {
  std::vector<std::int64_t> joined = a.axes(), others = b.axes();
  const std::size_t count = std::max(joined.size(), others.size());
  joined.insert(joined.begin(), count - joined.size(), 1);
  others.insert(others.begin(), count - others.size(), 1);
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (joined[axis] != others[axis] && joined[axis] != 1 && others[axis] != 1) {
      b.place.refuse(b.with_shape(),
                     fmt::format("leading axes that are 1 or equal to those of {}", a.with_shape()));
    }
    joined[axis] = std::max(joined[axis], others[axis]);
  }
  return joined;
}

/// Everything that follows from the shapes of A and B.
void infer(const Matrices& a, const Matrices& b, const Place& place, Conv2d& conv, TensorInfo& output) {
  if (a.columns() != b.rows()) {
    b.place.refuse(b.with_shape(),
                   fmt::format("a matrix of {} rows, the columns of {}{}", a.columns(), a.with_shape(),
                               a.order == MatrixOrder::kPlain ? "" : " transposed"));
  }
  conv.pixels = PixelAxes::kMatrices;
  conv.product = {a.order, b.order, a.axes(), b.axes(), a.rows(), a.columns()};
  conv.out_channels = static_cast<int>(b.columns());
  output.shape = broadcast(a, b);
  output.shape.push_back(a.rows());
  output.shape.push_back(b.columns());
  check_shape(output.shape, place);
}

void set_type(const Conv2d& conv, TensorInfo& output) {
  output.dtype = conv.requant ? conv.requant->dtype : DType::kInt32;
  output.zero_point = conv.requant ? conv.requant->zero_point : 0;
}

/// B as kernels: matrices [columns, K] of matrices [K, columns].
void transpose(Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  const std::vector<std::uint8_t> plain = tensor.bytes;
  for (std::int64_t matrix = 0; matrix < tensor.elements(); matrix += rows * columns) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column)
        tensor.bytes[static_cast<std::size_t>(matrix + column * rows + row)] =
            plain[static_cast<std::size_t>(matrix + row * columns + column)];
    }
  }
}

}  // namespace

void load_operator(const MatmulSpec& spec, const LayerSource& source, Layer& layer) {
  const Place& place = source.place;
  Conv2d conv = spec.layer.conv;
  const Matrices a = matrices_of_input(source, 0, order_of(spec.transpose_a));
  const std::int64_t inner = a.columns(), columns = conv.out_channels;
  Matrices b{"the weights", spec.weights_axes, order_of(spec.transpose_b), place.key("weights_axes")};
  for (const std::int64_t extent : {spec.transpose_b ? columns : inner, spec.transpose_b ? inner : columns})
    b.shape.push_back(extent);
  infer(a, b, place, conv, layer.output);
  set_type(conv, layer.output);
  check_requant(conv, "out_features", place.key("requant"));
  if (conv.requant) conv.requant->rule = ProductRule::kFullyConnected;
  load_weights(spec.layer.weights, b.shape, place.key("weights"), conv);
  if (b.order == MatrixOrder::kPlain) transpose(conv.weights, inner, columns);
  conv.product.b = MatrixOrder::kTransposed;
  conv.weights.shape = spec.weights_axes;
  conv.weights.shape.insert(conv.weights.shape.end(), {columns, inner});
  if (a.order == MatrixOrder::kPlain && spec.weights_axes.empty()) {
    // One matrix of kernels: a convolution over all rows of A.
    conv.pixels = PixelAxes::kRows;
    conv.product = {};
    conv.weights.shape = {columns, 1, 1, inner};
  }
  if (spec.layer.bias) load_bias(*spec.layer.bias, place.key("bias"), conv);
  check_accumulators(source.spec.name, conv, source.input(), place);
  layer.operation = std::move(conv);
}

void load_operator(const ProductSpec& spec, const LayerSource& source, Layer& layer) {
  const Place& place = source.place;
  Conv2d conv = spec.layer.conv;
  const Matrices a = matrices_of_input(source, 0, order_of(spec.transpose_a)),
                 b = matrices_of_input(source, 1, order_of(spec.transpose_b));
  infer(a, b, place, conv, layer.output);
  set_type(conv, layer.output);
  check_requant(conv, "columns of B", place.key("requant"));
  if (conv.requant) conv.requant->rule = ProductRule::kFullyConnected;
  conv.kernels = KernelSource::kInput;
  conv.weight_zero_point = source.inputs[1].zero_point;
  if (spec.layer.bias) load_bias(*spec.layer.bias, place.key("bias"), conv);
  check_accumulators(source.spec.name, conv, source.inputs[0], source.inputs[1], place);
  layer.operation = std::move(conv);
}

}  // namespace tilebeat
