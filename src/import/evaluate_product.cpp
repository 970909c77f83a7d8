// Products of matrices.
#include <algorithm>

#include <fmt/format.h>

#include "evaluate.h"
#include "problems.h"

namespace tilebeat {
namespace {

const Constant& need(const KnownInputs& inputs, std::size_t i) {
  if (i >= inputs.size() || inputs[i] == nullptr) throw Unsupported(fmt::format("it lacks input {}", i));
  return *inputs[i];
}

/// The matrix that a broadcast index leads to, of leading axes `axes` where the product has `all`.
std::size_t matrix_of(std::int64_t index, const Extents& axes, const Extents& all) {
  std::size_t matrix = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= all.size(); ++i) {
    const std::int64_t at = index % all[all.size() - i];
    index /= all[all.size() - i];
    if (i > axes.size()) continue;
    if (axes[axes.size() - i] != 1) matrix += static_cast<std::size_t>(at * stride);
    stride *= axes[axes.size() - i];
  }
  return matrix;
}

Constant matmul(Constant a, Constant b) {
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  if (a.shape.size() < 2 || b.shape.size() < 2) throw Unsupported("a product of a number");
  const std::int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  if (b.shape[b.shape.size() - 2] != k)
    throw Unsupported(fmt::format("a product of {} and {}", extents_text(a.shape), extents_text(b.shape)));
  const Extents left(a.shape.begin(), a.shape.end() - 2), right(b.shape.begin(), b.shape.end() - 2);
  const Extents all = broadcast_shape(left, right);
  Extents shape = all;
  shape.insert(shape.end(), {m, n});
  const std::vector<double> x = a.values(), y = b.values();
  std::vector<double> made(room_for(shape));
  for (std::int64_t matrix = 0; matrix < element_count(all); ++matrix) {
    const double* from = x.data() + matrix_of(matrix, left, all) * static_cast<std::size_t>(m * k);
    const double* by = y.data() + matrix_of(matrix, right, all) * static_cast<std::size_t>(k * n);
    double* to = made.data() + matrix * m * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t l = 0; l < k; ++l) {
        const double value = from[i * k + l];
        for (std::int64_t j = 0; j < n; ++j) to[i * n + j] += value * by[l * n + j];
      }
    }
  }
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return make_constant(a.type, shape, made);
}

Constant transposed(const Constant& x) {
  if (x.shape.size() != 2) throw Unsupported("a matrix of another rank");
  const std::vector<double> from = x.values();
  std::vector<double> made(from.size());
  const auto rows = static_cast<std::size_t>(x.shape[0]), columns = static_cast<std::size_t>(x.shape[1]);
  for (std::size_t i = 0; i < from.size(); ++i) made[i % columns * rows + i / columns] = from[i];
  return make_constant(x.type, {x.shape[1], x.shape[0]}, made);
}

Constant gemm(const KnownInputs& inputs, Attributes& attributes) {
  Constant a = need(inputs, 0), b = need(inputs, 1);
  attributes.without_effect("broadcast");  // of opset 6: C is repeated if it is smaller
  if (attributes.integer("transA", 0) != 0) a = transposed(a);
  if (attributes.integer("transB", 0) != 0) b = transposed(b);
  if (a.shape.size() != 2 || b.shape.size() != 2) throw Unsupported("a matrix of another rank");
  Constant made = matmul(a, b);
  const double alpha = static_cast<double>(attributes.real("alpha", 1)),
               beta = static_cast<double>(attributes.real("beta", 1));
  std::vector<double> values = made.values();
  for (double& value : values) value *= alpha;
  if (inputs.size() > 2 && inputs[2] != nullptr) {
    const Constant& c = *inputs[2];
    if (broadcast_shape(made.shape, c.shape) != made.shape) throw Unsupported("a C of another shape");
    const std::vector<double> more = c.values();
    const std::int64_t columns = c.shape.empty() ? 1 : c.shape.back();
    const bool rows = c.shape.size() == 2 && c.shape[0] != 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / made.shape[1],
                 column = static_cast<std::int64_t>(i) % made.shape[1];
      values[i] +=
          beta * more[static_cast<std::size_t>((rows ? row * columns : 0) + (columns == 1 ? 0 : column))];
    }
  }
  return make_constant(made.type, made.shape, values);
}

}  // namespace

bool is_product_op(const std::string& op) {
  return op == "MatMul" || op == "Gemm";
}

Evaluated evaluate_product(const GraphNode& node, const KnownInputs& inputs, std::int64_t,
                           Attributes& attributes) {
  if (node.op == "Gemm") return {gemm(inputs, attributes)};
  return {matmul(need(inputs, 0), need(inputs, 1))};
}

}  // namespace tilebeat
