// Products of matrices: matmul.
#include "base/types.h"
#include "workload/operators/convolution.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostAxes = 6;

/// A or B in the file: the place of its shape, for errors.
struct Matrices {
  std::string text;  ///< name in errors
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
  Matrices made{shown(source.names[i]), shape, order, source.input_place(i)};
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
  conv.out_channels = to_int(b.columns());
  output.shape = broadcast(a, b);
  output.shape.push_back(a.rows());
  output.shape.push_back(b.columns());
  check_shape(output.shape, place);
}

class ProductForm : public AccumulatorForm {
 public:
  void describe(Fields& v) override {
    describe_transposition(v);
    describe_bias(v, "int32, one a column of B");
    describe_accumulators(v);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    Conv2d conv = conv_;
    const Matrices a = matrices_of_input(source, 0, order_of(transpose_a_)),
                   b = matrices_of_input(source, 1, order_of(transpose_b_));
    start(a, b, "columns of B", source, conv, layer.output);
    conv.kernels = KernelSource::kInput;
    conv.weight_zero_point = source.inputs[1].zero_point;
    load_bias(source, conv);
    check_product_accumulators(conv, source);
    layer.operation = std::move(conv);
  }

 protected:
  void describe_transposition(Fields& v) {
    v.boolean("transpose_a", transpose_a_, "the last two axes of A are [K, rows]");
    v.boolean("transpose_b", transpose_b_, "the last two axes of B are [columns, K]");
  }
  /// Sets shapes and types.
  static void start(const Matrices& a, const Matrices& b, const char* outputs, const LayerSource& source,
                    Conv2d& conv, TensorInfo& output) {
    infer(a, b, source.place, conv, output);
    set_type(conv, source, output);
    check_requant(conv, outputs, source.place);
    if (conv.requant) conv.requant->rule = ProductRule::kFullyConnected;
  }

  bool transpose_a_ = false, transpose_b_ = false;
};

class MatmulForm : public ProductForm {
 public:
  void describe(Fields& v) override {
    v.required().integer("out_features", conv_.out_channels, kExtent, "columns of B, and of the product");
    describe_weights(v, "B [..., K, out_features], K = the last extent of the input, which is A [..., K]");
    v.integers("weights_axes", weights_axes_, kExtent, {0, 4},
               "leading axes of the weights, aligned with those of A at their ends; missing ones and extents "
               "of 1 are repeated");
    describe_transposition(v);
    describe_bias(v, "int32 [out_features]; of an int16 input int64, too");
    describe_accumulators(v);
  }

  void load(const LayerSource& source, Layer& layer) const override {
    Conv2d conv = conv_;
    if (transpose_a_ && source.input().dtype == DType::kInt16)
      source.place.key("transpose_a")
          .refuse("true for an input of int16", "false; transpose the input first");
    const Matrices a = matrices_of_input(source, 0, order_of(transpose_a_));
    const std::int64_t inner = a.columns(), columns = conv.out_channels;
    Matrices b{"the weights", weights_axes_, order_of(transpose_b_), source.place.key("weights_axes")};
    for (const std::int64_t extent : {transpose_b_ ? columns : inner, transpose_b_ ? inner : columns})
      b.shape.push_back(extent);
    start(a, b, "out_features", source, conv, layer.output);
    conv.product.b = MatrixOrder::kTransposed;
    KernelShape kernels{b.shape, weights_axes_, b.order == MatrixOrder::kPlain};
    kernels.shape.insert(kernels.shape.end(), {columns, inner});
    if (a.order == MatrixOrder::kPlain && weights_axes_.empty()) {
      // One matrix of kernels: a convolution over all rows of A.
      conv.pixels = PixelAxes::kRows;
      conv.product = {};
      kernels.shape = {columns, 1, 1, inner};
    }
    load_weights(kernels, source, conv);
    load_bias(source, conv);
    check_accumulators(conv, source);
    layer.operation = std::move(conv);
  }

 private:
  std::vector<std::int64_t> weights_axes_;
};

}  // namespace

extern const FormMaker kMatmulForm = make_form<MatmulForm>;
extern const FormMaker kProductForm = make_form<ProductForm>;

}  // namespace tilebeat
