// Products of matrices in ONNX.
#include "base/types.h"
#include "import/onnx_lowering.h"
#include "import/problems.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The transposed matrix of [rows, columns].
Constant transposed(const Constant& x) {
  Constant made{x.type, {x.shape[1], x.shape[0]}, x.bytes};
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t j = 0; j < x.shape[1]; ++j)
      nth(made.bytes, j * x.shape[0] + i) = nth(x.bytes, i * x.shape[1] + j);
  }
  return made;
}

/// Weights [out, K] with K in the order of the axes in the holder of a flattened tensor.
Constant in_order(const Constant& weights, const Extents& viewed, const Extents& axes) {
  Constant made = weights;
  const std::int64_t k = weights.shape[1];
  Extents strides(viewed.size(), 1);
  for (std::size_t axis = viewed.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * viewed[axis];
  Extents at(axes.size(), 0);
  for (std::int64_t to = 0; to < k; ++to) {
    std::int64_t from = 0;
    for (std::size_t i = 1; i < axes.size(); ++i) from += at[i] * nth(strides, axes[i]);
    for (std::int64_t row = 0; row < weights.shape[0]; ++row)
      nth(made.bytes, row * k + to) = nth(weights.bytes, row * k + from);
    for (std::size_t i = axes.size(); i-- > 1;) {
      if (++at[i] < nth(viewed, axes[i])) break;
      at[i] = 0;
    }
  }
  return made;
}

Extents at_least_four(const Extents& shape) {
  Extents made = shape;
  if (made.size() < 4) made.insert(made.begin(), 4 - made.size(), 1);
  return made;
}

}  // namespace

/// x [rows, K] times weights [out, K], as a fully connected layer.
void OnnxLowering::rows_times(const GraphNode& node, const OnnxValue& x, Kernels kernels,
                              const std::optional<Wanted>& wanted) {
  const Extents& w = kernels.weights.shape;
  if (x.shape.size() != 2 || x.shape[1] != w.at(1))
    throw Unsupported(fmt::format("a product of {} and weights {}", extents_text(x.shape), extents_text(w)));
  if (kernels.bias && kernels.bias->elements() == 1 && w[0] != 1) {
    const std::vector<double> one(to_size(w[0]), kernels.bias->values()[0]);
    kernels.bias = make_constant(ElementType::kInt32, {w[0]}, one);
  }
  if (kernels.bias && kernels.bias->elements() != w[0])
    throw Unsupported("a bias of another number of columns");
  OnnxValue rows = x;
  if (x.viewed != x.shape && x.axes[0] == 0 && x.viewed[0] == x.shape[0]) {
    kernels.weights = in_order(kernels.weights, x.viewed, x.axes);
  } else {
    rows = laid_out(x, Layout::kPlain);
  }
  const std::string name = wanted ? wanted->name : graph_.tensors[*node.outputs.at(0)].name;
  const Held held = emitter_.reshape(rows.held, {x.shape[0], 1, 1, x.shape[1]}, rows.held.holder + "_rows");
  const Extents shape{x.shape[0], w[0]};
  set(node,
      made_of(emitter_.fully_connected(held, kernels, name, wanted), shape, layout_axes(Layout::kPlain, 2)));
}

/// a [..., M, K] times b [..., K, N], both activations.
void OnnxLowering::multiply(const GraphNode& node, OnnxValue a, OnnxValue b,
                            const std::optional<Wanted>& wanted) {
  a = laid_out(a, Layout::kPlain), b = laid_out(b, Layout::kPlain);
  if (a.shape.size() < 2 || b.shape.size() < 2) throw Unsupported("a product with a vector");
  const Extents left(a.shape.begin(), a.shape.end() - 2), right(b.shape.begin(), b.shape.end() - 2);
  Extents shape = broadcast_shape(left, right);
  shape.insert(shape.end(), {a.shape[a.shape.size() - 2], b.shape.back()});
  if (a.shape.back() != b.shape[b.shape.size() - 2])
    throw Unsupported("a product of matrices that do not fit");
  a.held = emitter_.reshape(a.held, at_least_four(a.shape), a.held.holder + "_rows");
  b.held = emitter_.reshape(b.held, at_least_four(b.shape), b.held.holder + "_columns");
  const std::string name = wanted ? wanted->name : graph_.tensors[*node.outputs.at(0)].name;
  Held made = emitter_.product(a.held, b.held, at_least_four(shape), name, wanted);
  made = emitter_.reshape(made, map_shape(shape), name + "_map");
  set(node, made_of(made, shape, layout_axes(Layout::kPlain, shape.size())));
}

void OnnxLowering::gemm(const GraphNode& node, Attributes& attributes) {
  if (attributes.integer("broadcast", 1) != 1) throw Unsupported("a C that is not repeated");  // opset 6
  OnnxValue x = real(node, 0);
  const bool turned = attributes.integer("transB", 0) != 0;
  if (attributes.integer("transA", 0) != 0) {
    if (x.shape.size() != 2) throw Unsupported("a matrix of another rank");
    x = materialised(x);
    std::swap(x.shape[0], x.shape[1]);
    x.viewed = x.shape;
    for (std::int64_t& axis : x.axes) axis = 1 - axis;
  }
  const float alpha = attributes.real("alpha", 1), beta = attributes.real("beta", 1);
  if (!value(node, 1).known()) throw Unsupported("a B that is no constant");
  Kernels kernels = kernels_of(node, 1, turned ? 0 : 1, x.held.scale, node.inputs.size());
  if (kernels.weights.shape.size() != 2) throw Unsupported("weights of another rank");
  if (!turned) kernels.weights = transposed(kernels.weights);
  if (!(alpha > 0)) throw Unsupported(fmt::format("an alpha of {}", alpha));
  for (float& scale : kernels.scales) scale *= alpha;
  const bool scaled = beta != 1 && beta != 0 && has(node, 2);
  if (scaled && (!value(node, 2).known() || value(node, 2).stands))
    throw Unsupported(fmt::format("a beta of {}", beta));
  // beta * C is C with a step that is smaller by that factor.
  if (beta != 0) add_bias(node, 2, scaled ? x.held.scale / beta : x.held.scale, kernels);
  const auto wanted = real_result(node);
  rows_times(node, x, kernels, wanted);
  if (wanted) return;
  sums_to_reals(node, x.held.scale, kernels);
}

void OnnxLowering::quantised_gemm(const GraphNode& node, Attributes& attributes) {
  const OnnxValue x = quantised(node, 0, 1, 2);
  if (attributes.integer("transA", 0) != 0) throw Unsupported("transA");
  if (attributes.real("alpha", 1) != 1) throw Unsupported("alpha");
  Kernels kernels;
  if (!value(node, 3).known()) throw Unsupported("weights that are no constant");
  kernels.weights = *value(node, 3).constant;
  if (kernels.weights.shape.size() != 2) throw Unsupported("weights of another rank");
  if (attributes.integer("transB", 0) == 0) kernels.weights = transposed(kernels.weights);
  for (const double scale : numbers(node, 4)) kernels.scales.push_back(static_cast<float>(scale));
  set_zero_points(numbers(node, 5), 0, kernels);
  add_bias(node, 6, x.held.scale, kernels);
  if (!has(node, 7)) throw Unsupported("a real result");
  rows_times(node, x, kernels, quantised_result(node, 7, 8));
}

/// A factor and a bias, which patterns have left here, go into the scale and the sums.
void OnnxLowering::matmul(const GraphNode& node, Attributes& attributes) {
  const float alpha = attributes.real("alpha", 1);
  OnnxValue x = real(node, 0);
  x.held.scale *= alpha;
  if (!value(node, 1).known() || value(node, 1).constant->shape.size() != 2)
    return multiply(node, x, real(node, 1), need_result(node));
  const Extents w = value(node, 1).constant->shape;
  Kernels kernels = kernels_of(node, 1, 1, x.held.scale, 2);
  const auto wanted = need_result(node);
  if (x.shape.size() == 2) {
    kernels.weights = transposed(kernels.weights);
    return rows_times(node, x, kernels, wanted);
  }
  const OnnxValue rows = laid_out(x, Layout::kPlain);
  if (rows.shape.size() < 2 || rows.shape.back() != w[0])
    throw Unsupported("a product of matrices that do not fit");
  Extents shape = rows.shape, held = rows.held.shape;
  shape.back() = held.back() = w[1];
  set(node, made_of(emitter_.matmul(rows.held, kernels, held, wanted.name, wanted), shape, rows.axes));
}

void OnnxLowering::quantised_matmul(const GraphNode& node, Attributes&) {
  const OnnxValue x = quantised(node, 0, 1, 2);
  const Wanted wanted = quantised_result(node, 6, 7);
  if (!value(node, 3).known() || value(node, 3).constant->shape.size() != 2)
    return multiply(node, x, quantised(node, 3, 4, 5), wanted);
  Kernels kernels;
  kernels.weights = transposed(*value(node, 3).constant);
  for (const double scale : numbers(node, 4)) kernels.scales.push_back(static_cast<float>(scale));
  set_zero_points(numbers(node, 5), 0, kernels);
  if (x.shape.size() == 2) return rows_times(node, x, kernels, wanted);
  const OnnxValue rows = laid_out(x, Layout::kPlain);
  kernels.weights = *value(node, 3).constant;
  if (rows.shape.size() < 2 || rows.shape.back() != kernels.weights.shape[0])
    throw Unsupported("a product of matrices that do not fit");
  Extents shape = rows.shape, held = rows.held.shape;
  shape.back() = held.back() = kernels.weights.shape[1];
  set(node, made_of(emitter_.matmul(rows.held, kernels, held, wanted.name, wanted), shape, rows.axes));
}

void OnnxLowering::integer_matmul(const GraphNode& node, Attributes&) {
  const OnnxValue x = value(node, 0);
  const bool computed = has(node, 2) && !value(node, 2).known();
  if (x.known()) throw Unsupported("a constant operand");
  const std::vector<double> left = has(node, 2) && !computed ? numbers(node, 2) : std::vector<double>{0};
  if (left.size() != 1 || x.held.zero_point != whole_number(left[0]))
    throw Unsupported("a zero point that is not the tensor's");
  const bool other_computed = has(node, 3) && !value(node, 3).known();
  if (!value(node, 1).known()) {
    if (computed || other_computed) throw Unsupported("a product of two results with computed zero points");
    const double right = has(node, 3) ? numbers(node, 3).at(0) : 0;
    if (value(node, 1).held.zero_point != whole_number(right))
      throw Unsupported("a zero point that is not the tensor's");
    return multiply(node, x, value(node, 1), std::nullopt);
  }
  const Extents& w = value(node, 1).constant->shape;
  if (w.size() != 2 || x.shape.empty() || x.shape.back() != w[0] || other_computed)
    throw Unsupported(fmt::format("weights {} on {}", extents_text(w), extents_text(x.shape)));
  Kernels kernels;
  kernels.weights = *value(node, 1).constant;
  kernels.scales = {1};
  set_zero_points(has(node, 3) ? numbers(node, 3) : std::vector<double>{0}, 1, kernels);
  integer_rows(node, x, kernels);
  if (!computed) return;
  // The zero point is a result of its own: a row of nothing else tells what it adds to every column.
  const std::string name = graph_.tensors[*node.outputs.at(0)].name;
  const OnnxValue sums = value_of_output(node);
  const Extents row{1, 1, 1, w[0]};
  const OnnxValue zeros =
      made_of(repeated(value(node, 2).held, row, name + "_zero"), {1, w[0]}, layout_axes(Layout::kPlain, 2));
  integer_rows(node, zeros, kernels);
  set(node, combined_reals("sub_sums", sums, value_of_output(node), name + "_centred"));
}

/// x [..., K] times weights [K, N] as int32.
void OnnxLowering::integer_rows(const GraphNode& node, const OnnxValue& x, Kernels kernels) {
  const std::int64_t columns = kernels.weights.shape[1];
  if (x.shape.size() == 2) {
    kernels.weights = transposed(kernels.weights);
    return rows_times(node, x, kernels, std::nullopt);
  }
  const OnnxValue rows = laid_out(x, Layout::kPlain);
  Extents shape = rows.shape, held = rows.held.shape;
  shape.back() = held.back() = columns;
  set(node, made_of(emitter_.matmul(rows.held, kernels, held, graph_.tensors[*node.outputs.at(0)].name,
                                    std::nullopt),
                    shape, rows.axes));
}

}  // namespace tilebeat
