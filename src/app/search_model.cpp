#include "app/search_model.h"

#include "base/types.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tilebeat {

PointSpace::PointSpace(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {
  for (const std::size_t size : sizes_) points_ *= size;
}

std::vector<std::size_t> PointSpace::values_of(std::size_t point) const {
  std::vector<std::size_t> values(sizes_.size());
  for (std::size_t axis = sizes_.size(); axis-- > 0; point /= sizes_[axis])
    values[axis] = point % sizes_[axis];
  return values;
}

std::size_t PointSpace::point_of(const std::vector<std::size_t>& values) const {
  std::size_t point = 0;
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) point = point * sizes_[axis] + values[axis];
  return point;
}

namespace {

// What to learn from: a point that failed, though it has an estimate, is a little worse than the worst that
// did not.
std::map<std::size_t, double> logarithms(const std::map<std::size_t, double>& costs,
                                         const std::vector<double>& estimates) {
  std::map<std::size_t, double> made;
  double worst = 0;
  for (const auto& [point, cost] : costs) {
    if (std::isinf(cost)) continue;
    const double estimate = estimates.empty() ? 0 : estimates[point];
    if (std::isinf(estimate)) continue;
    const double logarithm = std::log(cost) - estimate;
    worst = made.empty() ? logarithm : std::max(worst, logarithm);
    made[point] = logarithm;
  }
  for (const auto& [point, cost] : costs) {
    const bool known_to_fail = !estimates.empty() && std::isinf(estimates[point]);
    if (std::isinf(cost) && !known_to_fail) made[point] = worst + 1;
  }
  return made;
}

}  // namespace

CostModel::CostModel(const PointSpace& space, const std::map<std::size_t, double>& costs,
                     const std::vector<double>& estimates)
    : space_(space), estimates_(estimates) {
  for (const auto& [point, cost] : logarithms(costs, estimates)) {
    known_.push_back({space.values_of(point), cost, 0});
    mean_ += cost;
  }
  if (!known_.empty()) mean_ /= static_cast<double>(known_.size());
  for (const std::size_t size : space.sizes()) effects_.emplace_back(size, 0.0);
  // Each effect is the mean of what its points have beyond the other effects, drawn to those of its
  // neighbours and, where it has few points, to none.
  constexpr int kRounds = 30;
  constexpr double kNone = 0.1, kNeighbour = 0.5;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 0; axis < effects_.size(); ++axis) {
      std::vector<double>& effects = effects_[axis];
      std::vector<double> sums(effects.size(), 0.0), weights(effects.size(), kNone);
      for (const Known& known : known_) {
        const std::size_t value = known.values[axis];
        sums[value] += known.cost - sum_of_effects(known.values) + effects[value];
        weights[value] += 1;
      }
      for (std::size_t v = 0; v < effects.size(); ++v) {
        double sum = sums[v], weight = weights[v];
        if (v > 0) sum += kNeighbour * effects[v - 1], weight += kNeighbour;
        if (v + 1 < effects.size()) sum += kNeighbour * effects[v + 1], weight += kNeighbour;
        effects[v] = sum / weight;
      }
    }
  }
  for (Known& known : known_) known.rest = known.cost - sum_of_effects(known.values);
}

double CostModel::sum_of_effects(const std::vector<std::size_t>& values) const {
  double sum = mean_;
  for (std::size_t axis = 0; axis < values.size(); ++axis) sum += effects_[axis][values[axis]];
  return sum;
}

double CostModel::distance(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) const {
  double sum = 0;
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] == b[axis]) continue;
    const std::size_t steps = a[axis] > b[axis] ? a[axis] - b[axis] : b[axis] - a[axis];
    sum += ratio_of(steps, space_.sizes()[axis] - 1);
  }
  return sum;
}

double CostModel::expected(std::size_t point) const {
  constexpr double kReach = 0.4, kDoubt = 0.3;
  const std::vector<std::size_t> values = space_.values_of(point);
  double rest = 0, weights = kDoubt;
  for (const Known& known : known_) {
    const double weight = std::exp(-distance(values, known.values) / kReach);
    rest += weight * known.rest, weights += weight;
  }
  const double estimate = estimates_.empty() ? 0 : estimates_[point];
  return estimate + sum_of_effects(values) + rest / weights;
}

PointChoice::PointChoice(const PointSpace& space, SearchStrategy strategy, std::uint32_t seed,
                         std::size_t wanted, std::vector<double> estimates)
    : space_(space), strategy_(strategy), estimates_(std::move(estimates)), random_(seed) {
  if (strategy == SearchStrategy::kModel) {
    if (estimates_.empty()) lay_out_first();
    return;
  }
  std::vector<std::size_t> others(space.points());
  std::iota(others.begin(), others.end(), std::size_t{0});
  if (strategy == SearchStrategy::kRandom) {
    std::shuffle(others.begin(), others.end(), random_);
  } else {
    for (std::size_t i = 0; i < wanted; ++i) order_.push_back(i * space.points() / wanted);
  }
  order_.insert(order_.end(), others.begin(), others.end());
}

// The first points have every value of each axis once, in a random order of its own.
void PointChoice::lay_out_first() {
  const std::size_t most = *std::max_element(space_.sizes().begin(), space_.sizes().end());
  std::vector<std::vector<std::size_t>> values(most);
  for (const std::size_t size : space_.sizes()) {
    std::vector<std::size_t> order(most);
    for (std::size_t i = 0; i < most; ++i) order[i] = i * size / most;
    std::shuffle(order.begin(), order.end(), random_);
    for (std::size_t i = 0; i < most; ++i) values[i].push_back(order[i]);
  }
  for (const auto& point : values) order_.push_back(space_.point_of(point));
}

std::vector<std::size_t> PointChoice::next(std::size_t count, const std::map<std::size_t, double>& costs,
                                           const std::set<std::size_t>& closed) {
  std::vector<std::size_t> made;
  for (; made.size() < count && next_ < order_.size(); ++next_) {
    if (!is_open(order_[next_], closed)) continue;
    made.push_back(order_[next_]);
    chosen_.insert(order_[next_]);
  }
  if (strategy_ == SearchStrategy::kModel && made.empty()) made = by_model(count, costs, closed);
  chosen_.insert(made.begin(), made.end());
  return made;
}

// Points that are expected to cost least; the last one is the best known one with the value in place of its
// own that was run least often, so that no value of an axis is given up for a wrong model.
std::vector<std::size_t> PointChoice::by_model(std::size_t count, const std::map<std::size_t, double>& costs,
                                               const std::set<std::size_t>& closed) const {
  std::vector<std::vector<std::size_t>> tried;  // by axis and value
  for (const std::size_t size : space_.sizes()) tried.emplace_back(size, 0);
  for (const auto& [point, cost] : costs) {
    const std::vector<std::size_t> values = space_.values_of(point);
    for (std::size_t axis = 0; axis < values.size(); ++axis) ++tried[axis][values[axis]];
  }
  const CostModel model(space_, costs, estimates_);
  // What was run seldom is hoped to cost less; estimates are trusted more than a model without any.
  const double hope_of_value = estimates_.empty() ? 1 : 0.02;
  std::vector<std::pair<double, std::size_t>> open;
  for (std::size_t point = 0; point < space_.points(); ++point) {
    if (!is_open(point, closed)) continue;
    const std::vector<std::size_t> values = space_.values_of(point);
    double hope = 0;
    for (std::size_t axis = 0; axis < values.size(); ++axis)
      hope += hope_of_value / static_cast<double>(1 + tried[axis][values[axis]]);
    open.emplace_back(model.expected(point) - hope, point);
  }
  std::sort(open.begin(), open.end());
  std::vector<std::size_t> made;
  for (const auto& [expected, point] : open) {
    if (made.size() < count) made.push_back(point);
  }
  if (made.size() < count || count < 2 || costs.empty()) return made;
  const auto best = std::min_element(costs.begin(), costs.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  std::size_t least = costs.size() + 1;
  for (std::size_t axis = 0; axis < tried.size(); ++axis) {
    for (std::size_t value = 0; value < tried[axis].size(); ++value) {
      std::vector<std::size_t> other = space_.values_of(best->first);
      other[axis] = value;
      const std::size_t point = space_.point_of(other);
      if (tried[axis][value] >= least || !is_open(point, closed)) continue;
      if (!estimates_.empty() && std::isinf(estimates_[point])) continue;
      if (std::find(made.begin(), made.end() - 1, point) != made.end() - 1) continue;
      least = tried[axis][value], made.back() = point;
    }
  }
  return made;
}

}  // namespace tilebeat
