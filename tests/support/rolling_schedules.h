#pragma once

// Schedules of the rolling-register unit for tests.

#include "engines/rolling/schedule.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace tilebeat::rolling {

constexpr std::array<Variant, 8> kAll{Variant::kRightBUp,   Variant::kRightBDown, Variant::kRightAUp,
                                      Variant::kRightADown, Variant::kLeftALeft,  Variant::kLeftARight,
                                      Variant::kLeftBLeft,  Variant::kLeftBRight};

inline Shape array_of(int rows, int columns, int groups = 4) {
  Shape shape;
  shape.rows = rows, shape.columns = columns, shape.groups = groups;
  return shape;
}
inline Product product_of(int m, int n, int k) {
  Product product;
  product.m = m, product.n = n, product.k = k, product.group_columns = k;
  return product;
}
inline Order order_of(Variant variant, Scheme scheme = Scheme::kPlain, int blocks = 1, int cuts = 1) {
  Order order;
  order.variant = variant, order.scheme = scheme;
  order.stacked_blocks = blocks, order.stacked_cuts = cuts;
  return order;
}
/// Element (row, column) as the document names it, from 1.
inline std::string name_of(const Element& e) {
  return fmt::format("c{}{}", e.row + 1, e.column + 1);
}

/// All steps of a round.
inline std::vector<Step> steps_of(const RollingSchedule& schedule, const OutputBlock& block, int round) {
  std::vector<Step> steps{schedule.first_step(block, round)};
  for (Step step = steps.back(); schedule.advance(block, round, step);) steps.push_back(step);
  return steps;
}
inline int count(const std::vector<Step>& steps, Step::Kind kind) {
  return static_cast<int>(
      std::count_if(steps.begin(), steps.end(), [&](const Step& s) { return s.kind == kind; }));
}

}  // namespace tilebeat::rolling
