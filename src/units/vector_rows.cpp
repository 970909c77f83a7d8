// Operations on all channels of a pixel.
#include "base/numerics.h"
#include "base/types.h"
#include "tilebeat/error.h"
#include "units/post_processing.h"
#include "units/vector_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kFactor = 8;

// Factors come from memory, where a program may have left anything.
std::int32_t result_of(double value, double scale, const VectorRow& operation) {
  if (std::isnan(value * scale))
    throw SimulationError(
        fmt::format("vector.row: the factors of a {} give no number", nth(kRowKindNames, operation.kind)));
  const std::int32_t result = requantize_real(value, scale, operation.out_zero, operation.out_type);
  return within_bounds(result, operation, operation.out_type);
}

}  // namespace

RowSteps::RowSteps(const VectorRow& run, int lanes) : run_(run), lanes_(lanes) {
  if (parameter_bytes(run) == 0) {
    advance();
    return;
  }
  step_.parameters = true;
  step_.a = run.parameters;
  step_.a_bytes = parameter_bytes(run);
}

int RowSteps::parameter_bytes(const VectorRow& run) {
  switch (run.kind) {
    case RowKind::kLayerNorm:
    case RowKind::kRmsNorm:
      return 2 * kFactor + 2 * kFactor * run.channels;
    case RowKind::kLrn:
      return 5 * kFactor;
    case RowKind::kCausalSoftmax:
      return 256 * kFactor + kFactor;
    case RowKind::kArgMax:
    case RowKind::kOneHot:
      break;
  }
  return 0;
}

// The last pass makes the results, also of channels that the pixel does not see.
void RowSteps::advance() {
  if (pixel_ >= run_.pixels) {
    done_ = true;
    return;
  }
  const auto passes = [this](std::int64_t channels) { return (channels + lanes_ - 1) / lanes_; };
  const bool finds = run_.kind == RowKind::kArgMax || run_.kind == RowKind::kOneHot;
  const std::int64_t first = run_.first_seen(pixel_), seen = run_.end_seen(pixel_) - first;
  step_ = VectorStep{};
  step_.a = run_.a + to_unsigned(pixel_ * run_.channels + first);
  step_.a_bytes = to_int(seen);
  step_.results = run_.results();
  step_.result = run_.destination + to_unsigned(pixel_ * run_.results() * dtype_size(run_.out_type));
  step_.clocks = 2 * passes(seen) + (finds ? 0 : passes(run_.channels));
  ++pixel_;
}

void VectorMath::rows(const VectorRow& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                      std::vector<std::uint8_t>& results) {
  row_.clear();
  for (const std::uint8_t byte : a) {
    const std::int32_t x = operation.a_type == DType::kInt8 ? static_cast<std::int8_t>(byte) : byte;
    row_.push_back(x - operation.a_zero);
  }
  switch (operation.kind) {
    case RowKind::kLayerNorm:
    case RowKind::kRmsNorm:
      return normalise(operation, results);
    case RowKind::kLrn:
      return respond(operation, results);
    case RowKind::kCausalSoftmax:
      return share(operation, (step.a - operation.a) % operation.channels, results);
    case RowKind::kArgMax:
    case RowKind::kOneHot:
      break;
  }
  const auto place = std::max_element(row_.begin(), row_.end()) - row_.begin();
  const std::size_t at = results.size();
  if (operation.kind == RowKind::kOneHot) {
    results.resize(at + row_.size(), 0);
    results[at + to_size(place)] = 1;
    return;
  }
  const auto index = static_cast<std::int32_t>(place);
  results.resize(at + sizeof index);
  std::memcpy(results.data() + at, &index, sizeof index);
}

// The sums are exact; the root is taken once a pixel.
void VectorMath::normalise(const VectorRow& operation, std::vector<std::uint8_t>& results) const {
  const auto n = ssize(row_);
  std::int64_t sum = 0, squares = 0;
  for (const std::int64_t v : row_) sum += v, squares += v * v;
  const bool centre = operation.kind == RowKind::kLayerNorm;
  const double spread = centre ? static_cast<double>(n * squares - sum * sum) : ratio_of(squares, n);
  const double root = std::sqrt(spread + factor(0));
  for (std::size_t c = 0; c < row_.size(); ++c) {
    const std::int64_t distance = centre ? n * row_[c] - sum : row_[c];
    const double share = root == 0.0 ? 0.0 : static_cast<double>(distance) / root;
    const double value = share * factor(2 + 2 * c) + factor(3 + 2 * c);
    results.push_back(static_cast<std::uint8_t>(result_of(value, factor(1), operation)));
  }
}

// The row holds the channels that the pixel sees, from `first` on.
void VectorMath::share(const VectorRow& operation, std::size_t first,
                       std::vector<std::uint8_t>& results) const {
  constexpr std::size_t kEntries = 256;
  const std::int64_t greatest = *std::max_element(row_.begin(), row_.end());
  const auto exponential = [&](std::size_t i) { return exponential_of(to_size(greatest - row_[i])); };
  std::uint64_t bits = 0;  // it wraps with entries that no planner makes
  for (std::size_t i = 0; i < row_.size(); ++i) bits += to_unsigned(exponential(i));
  const auto sum = static_cast<double>(to_signed(bits));
  const auto nothing = static_cast<std::uint8_t>(result_of(0, factor(kEntries), operation));
  const std::size_t at = results.size();
  results.resize(at + operation.channels, nothing);
  for (std::size_t i = 0; i < row_.size(); ++i) {
    const double part = static_cast<double>(exponential(i)) / sum;
    results[at + first + i] = static_cast<std::uint8_t>(result_of(part, factor(kEntries), operation));
  }
}

// Scales every channel by its neighbours' squares.
void VectorMath::respond(const VectorRow& operation, std::vector<std::uint8_t>& results) const {
  const double scale = factor(0), weight = factor(1), exponent = factor(2), bias = factor(3), out = factor(4);
  const std::int64_t channels = operation.channels, before = (operation.size - 1) / 2,
                     after = operation.size - 1 - before;
  const auto real = [&](std::int64_t c) { return static_cast<double>(nth(row_, c)) * scale; };
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t i = std::max<std::int64_t>(0, c - before); i <= std::min(channels - 1, c + after); ++i)
      sum += real(i) * real(i);
    const double value = real(c) / std::pow(bias + weight * sum, exponent);
    results.push_back(static_cast<std::uint8_t>(result_of(value, out, operation)));
  }
}

}  // namespace tilebeat
