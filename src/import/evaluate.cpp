// Evaluation of constants during import: dispatch to the operators, and products of matrices.
#include "import/evaluate.h"

#include "base/types.h"
#include "import/problems.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::optional<std::vector<std::int64_t>> list_of(Attributes& attributes, const std::string& name,
                                                 const KnownInputs& inputs, std::size_t input) {
  if (auto list = attributes.integers(name)) return list;
  if (input >= inputs.size()) return std::nullopt;
  if (inputs[input] == nullptr) return std::nullopt;
  return inputs[input]->integers();
}

}  // namespace

bool evaluates(const std::string& op) {
  return is_element_op(op) || is_window_op(op) || is_movement_op(op) || is_product_op(op) || is_norm_op(op) ||
         is_logic_op(op) || is_index_op(op);
}

std::vector<Constant> evaluate(const GraphNode& node, const KnownInputs& inputs, std::int64_t opset) {
  for (const Constant* input : inputs) {
    if (input != nullptr && input->type == ElementType::kOther)
      throw Unsupported("elements of a type that is not read");
  }
  if (node.outputs.empty()) throw Unsupported("it has no outputs");
  Attributes attributes(node);
  Evaluated made;
  try {
    if (is_element_op(node.op)) {
      made = evaluate_element(node, inputs, opset, attributes);
    } else if (is_window_op(node.op)) {
      made = evaluate_window(node, inputs, opset, attributes);
    } else if (is_movement_op(node.op)) {
      made = evaluate_movement(node, inputs, opset, attributes);
    } else if (is_logic_op(node.op)) {
      made = evaluate_logic(node, inputs, opset, attributes);
    } else if (is_index_op(node.op)) {
      made = evaluate_index(node, inputs, opset, attributes);
    } else if (is_norm_op(node.op)) {
      made = evaluate_norm(node, inputs, opset, attributes);
    } else if (is_product_op(node.op)) {
      made = evaluate_product(node, inputs, opset, attributes);
    } else {
      throw Unsupported("is no operator that is built");
    }
  } catch (const std::out_of_range&) {
    throw Unsupported("operands that do not fit each other");
  }
  attributes.finish();
  return made;
}

const Constant& need(const KnownInputs& inputs, std::size_t i) {
  if (i >= inputs.size() || inputs[i] == nullptr) throw Unsupported(fmt::format("it lacks input {}", i));
  return *inputs[i];
}

std::size_t room_for(const Extents& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 27;
  const std::int64_t count = element_count(shape);
  if (count > kMostElements)
    throw Unsupported(
        fmt::format("a result of shape {}, of more than {} elements", extents_text(shape), kMostElements));
  return to_size(count);
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += to_signed(rank);
  if (axis < 0 || axis >= to_signed(rank)) throw Unsupported(fmt::format("axis {} of {}", axis, rank));
  return to_size(axis);
}

std::optional<std::vector<std::int64_t>> axes_of(Attributes& attributes, const KnownInputs& inputs) {
  return list_of(attributes, "axes", inputs, 1);
}

Extents reshaped(const Extents& from, const std::vector<std::int64_t>& wish, bool zeros_stay) {
  Extents shape = wish;
  std::optional<std::size_t> rest;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zeros_stay) {
      if (i >= from.size()) throw Unsupported("a reshape that copies an extent that is not there");
      shape[i] = from[i];
    }
    if (shape[i] == -1) {
      if (rest) throw Unsupported("a reshape with two unknown extents");
      rest = i;
    } else if (shape[i] < 0 || (known *= shape[i]) > (std::int64_t{1} << 31)) {
      throw Unsupported(fmt::format("a reshape to {}", extents_text(wish)));
    }
  }
  const std::int64_t all = element_count(from);
  if (rest) shape[*rest] = known == 0 ? 0 : all / known;
  if (element_count(shape) != all)
    throw Unsupported(fmt::format("a reshape of {} to {}", extents_text(from), extents_text(wish)));
  return shape;
}

Extents broadcast_shape(const Extents& a, const Extents& b) {
  Extents made = a.size() > b.size() ? a : b;
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1)
      throw Unsupported(fmt::format("operands of shape {} and {}", extents_text(a), extents_text(b)));
    made[made.size() - i] = x == 1 ? y : x;
  }
  return made;
}

SliceRange read_slice(Attributes& attributes, const KnownInputs& inputs, const Extents& shape) {
  const auto starts = list_of(attributes, "starts", inputs, 1), ends = list_of(attributes, "ends", inputs, 2);
  const auto axes = list_of(attributes, "axes", inputs, 3), steps = list_of(attributes, "steps", inputs, 4);
  if (!starts || !ends || starts->size() != ends->size())
    throw Unsupported("starts and ends that are not known");
  SliceRange range{Extents(shape.size(), 0), shape, Extents(shape.size(), 1), shape};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && i >= axes->size()) || (steps && i >= steps->size()))
      throw Unsupported("axes that are not known");
    const std::size_t axis = axis_of(axes ? (*axes)[i] : to_signed(i), shape.size());
    const std::int64_t step = steps ? (*steps)[i] : 1, extent = shape[axis];
    if (step == 0) throw Unsupported("a step of 0");
    const auto limited = [&](std::int64_t at) {
      if (at < 0) at = at < -extent ? -1 - extent : at;
      if (at < 0) at += extent;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, extent)
                      : std::clamp<std::int64_t>(at, -1, extent - 1);
    };
    range.starts[axis] = limited((*starts)[i]), range.ends[axis] = limited((*ends)[i]);
    range.steps[axis] = std::clamp<std::int64_t>(step, -extent - 1, extent + 1);
    const std::int64_t length = range.ends[axis] - range.starts[axis], by = range.steps[axis];
    range.shape[axis] = std::max<std::int64_t>(0, (length + by - (by > 0 ? 1 : -1)) / by);
  }
  return range;
}

std::vector<std::int64_t> read_split(Attributes& attributes, const KnownInputs& inputs, std::int64_t extent,
                                     std::size_t outputs) {
  auto parts = list_of(attributes, "split", inputs, 1);
  const std::int64_t count = attributes.integer("num_outputs", to_signed(outputs));
  if (count != to_signed(outputs) || outputs == 0) throw Unsupported(fmt::format("{} outputs", outputs));
  if (!parts) {
    const std::int64_t each = (extent + count - 1) / count;
    parts = std::vector<std::int64_t>(outputs, each);
    parts->back() = extent - each * (count - 1);
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : *parts) {
    if (part < 0 || part > extent) throw Unsupported(fmt::format("a part of {}", part));
    sum += part;
  }
  if (parts->size() != outputs || sum != extent) throw Unsupported("parts that are not the whole");
  return *parts;
}

Extents PadSides::sources(std::size_t axis, std::int64_t extent) const {
  Extents made;
  const bool reflects = mode == "reflect";
  if (extent < 1 || std::max(before[axis], after[axis]) > extent - (reflects ? 1 : 0))
    throw Unsupported(fmt::format("pads beyond the tensor in mode {}", mode));
  for (std::int64_t i = -before[axis]; i < extent + after[axis]; ++i) {
    const std::int64_t edge = std::clamp<std::int64_t>(i, 0, extent - 1);
    made.push_back(mode == "edge" ? edge : reflects ? 2 * edge - i : (i + extent) % extent);
  }
  return made;
}

PadSides read_pad(Attributes& attributes, const KnownInputs& inputs, std::size_t rank) {
  const std::string mode = attributes.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    throw Unsupported(fmt::format("mode {}", mode));
  PadSides sides{Extents(rank, 0), Extents(rank, 0), static_cast<double>(attributes.real("value", 0)), mode};
  const auto pads = list_of(attributes, "pads", inputs, 1);
  if (!pads) throw Unsupported("pads that are not known");
  const std::size_t given = pads->size() / 2;
  std::vector<std::int64_t> axes(given);
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs.size() > 3 && inputs[3] != nullptr) axes = inputs[3]->integers();
  if (axes.size() != given || (inputs.size() <= 3 && given != rank))
    throw Unsupported("pads of another rank");
  for (std::size_t i = 0; i < given; ++i) {
    const std::size_t axis = axis_of(axes[i], rank);
    sides.before[axis] = (*pads)[i], sides.after[axis] = (*pads)[i + given];
    for (const std::int64_t pad : {sides.before[axis], sides.after[axis]}) {
      if (pad < 0 || pad > INT16_MAX) throw Unsupported(fmt::format("a pad of {}", pad));
    }
  }
  if (inputs.size() > 2 && inputs[2] != nullptr && inputs[2]->elements() == 1)
    sides.value = inputs[2]->values()[0];
  return sides;
}

namespace {

/// The matrix of an operand with leading axes `axes` for matrix `index` of a product with leading axes `all`.
std::size_t matrix_of(std::int64_t index, const Extents& axes, const Extents& all) {
  std::size_t matrix = 0;
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= all.size(); ++i) {
    const std::int64_t at = index % all[all.size() - i];
    index /= all[all.size() - i];
    if (i > axes.size()) continue;
    if (axes[axes.size() - i] != 1) matrix += to_size(at * stride);
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
    const double* from = x.data() + matrix_of(matrix, left, all) * to_size(m * k);
    const double* by = y.data() + matrix_of(matrix, right, all) * to_size(k * n);
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

Constant transposed_operand(const Constant& x) {
  if (x.shape.size() != 2) throw Unsupported("a matrix of another rank");
  const std::vector<double> from = x.values();
  std::vector<double> made(from.size());
  const auto rows = to_size(x.shape[0]), columns = to_size(x.shape[1]);
  for (std::size_t i = 0; i < from.size(); ++i) made[i % columns * rows + i / columns] = from[i];
  return make_constant(x.type, {x.shape[1], x.shape[0]}, made);
}

Constant gemm(const KnownInputs& inputs, Attributes& attributes) {
  Constant a = need(inputs, 0), b = need(inputs, 1);
  attributes.without_effect("broadcast");  // an attribute of opset 6: C is repeated if it is smaller
  if (attributes.integer("transA", 0) != 0) a = transposed_operand(a);
  if (attributes.integer("transB", 0) != 0) b = transposed_operand(b);
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
      const auto row = to_signed(i) / made.shape[1], column = to_signed(i) % made.shape[1];
      values[i] += beta * nth(more, (rows ? row * columns : 0) + (columns == 1 ? 0 : column));
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
  Constant made = matmul(need(inputs, 0), need(inputs, 1));
  // The factor and the bias that fold_patterns has put there.
  const double alpha = static_cast<double>(attributes.real("alpha", 1));
  const bool biased = inputs.size() > 2 && inputs[2] != nullptr;
  if (alpha == 1 && !biased) return {made};
  std::vector<double> values = made.values();
  const std::vector<double> bias = biased ? inputs[2]->values() : std::vector<double>{0};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * alpha + bias[i % bias.size()];
  return {make_constant(made.type, made.shape, values)};
}

}  // namespace tilebeat
