// Operators along the last axis, and those that move elements.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "arithmetic.h"
#include "operators.h"
#include "runtime_arithmetic.h"

namespace tilebeat {
namespace {

using Values = std::vector<std::int32_t>;

std::uint8_t result(double v, const TensorRequant& r) {
  return static_cast<std::uint8_t>(bounded(rounded(v * r.scale, r.zero_point, r.dtype), r.dtype, r.range));
}

/// Calls `row` with every row of elements less their zero point.
template <class Row>
void for_rows(const Operand& x, std::int32_t zero_point, Row row) {
  const Values values = centred<std::int32_t>(x.tensor, zero_point);
  const std::int64_t length = x.info.shape.back();
  for (auto first = values.begin(); first != values.end(); first += length)
    row(Values(first, first + length));
}

}  // namespace

Tensor reference_norm(const Operand& x, const RowNorm& norm, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  for_rows(x, x.info.zero_point, [&](const Values& row) {
    const auto n = static_cast<std::int64_t>(row.size());
    std::int64_t sum = 0, squares = 0;
    for (const std::int64_t v : row) sum += v, squares += v * v;
    const bool centre = norm.kind == RowNorm::Kind::kLayerNorm;
    const double steps = (centre ? static_cast<double>(n) : 1) / norm.input_scale;
    const double spread = centre ? static_cast<double>(n * squares - sum * sum)
                                 : static_cast<double>(squares) / static_cast<double>(n);
    const double root = std::sqrt(spread + norm.epsilon * (steps * steps));
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double distance = static_cast<double>(centre ? n * row[c] - sum : row[c]);
      const double share = root == 0 ? 0 : distance / root;
      made.bytes.push_back(result(share * norm.gamma[c] + norm.beta[c], norm.requant));
    }
  });
  return made;
}

Tensor reference_lrn(const Operand& x, const Lrn& lrn, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  for_rows(x, x.info.zero_point, [&](const Values& row) {
    const int channels = static_cast<int>(row.size()), before = (lrn.size - 1) / 2,
              after = lrn.size - 1 - before;
    for (int c = 0; c < channels; ++c) {
      double sum = 0;
      for (int i = std::max(0, c - before); i <= std::min(channels - 1, c + after); ++i) {
        const double v = row[static_cast<std::size_t>(i)] * lrn.input_scale;
        sum += v * v;
      }
      const double v = row[static_cast<std::size_t>(c)] * lrn.input_scale;
      made.bytes.push_back(
          result(v / std::pow(lrn.bias + lrn.alpha / lrn.size * sum, lrn.beta), lrn.requant));
    }
  });
  return made;
}

Tensor reference_argmax(const Operand& x, const ArgMax& operation, const TensorInfo& output) {
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
    made.bytes[made.bytes.size() - row.size() + static_cast<std::size_t>(index)] = 1;
  });
  return made;
}

Tensor reference_move(const Operand& x, const Move& move, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  for (std::int64_t i = 0; i < output.elements(); ++i) {
    std::int64_t rest = i, from = move.offset;
    for (std::size_t axis = output.shape.size(); axis-- > 0; rest /= output.shape[axis])
      from += rest % output.shape[axis] * move.strides[axis];
    made.bytes.push_back(x.tensor.bytes[static_cast<std::size_t>(from)]);
  }
  return made;
}

Tensor reference_gather(const Operand& x, const Gather& gather, const TensorInfo& output) {
  Tensor made{output.shape, output.dtype, {}};
  std::int64_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(gather.axis) + 1; axis < output.shape.size(); ++axis)
    inner *= output.shape[axis];
  const std::int64_t extent = x.info.shape[static_cast<std::size_t>(gather.axis)];
  for (std::int64_t outer = 0; outer < x.info.elements() / (extent * inner); ++outer) {
    for (const std::int64_t index : gather.indices) {
      const auto first = x.tensor.bytes.begin() + (outer * extent + index) * inner;
      made.bytes.insert(made.bytes.end(), first, first + inner);
    }
  }
  return made;
}

}  // namespace tilebeat
