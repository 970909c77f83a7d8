#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace tilebeat {

/// The points of a product of axes, by number: the last axis changes first.
class PointSpace {
 public:
  /// `sizes`: the number of values of each axis, at least one.
  explicit PointSpace(std::vector<std::size_t> sizes);

  std::size_t points() const { return points_; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }
  /// The number of the point's value on each axis.
  std::vector<std::size_t> values_of(std::size_t point) const;
  std::size_t point_of(const std::vector<std::size_t>& values) const;

 private:
  std::vector<std::size_t> sizes_;
  std::size_t points_ = 1;
};

/// What points are expected to cost, from those that are known. The logarithm of a cost is taken for a sum of
/// an effect of each axis's value, where neighbours on an axis have similar effects, and of what points
/// nearby differ from that by. With estimates it is the ratio of cost and estimate that is taken for such a
/// sum.
class CostModel {
 public:
  /// `estimates`: empty, or the logarithm of each point's estimate, infinite where a point cannot be run.
  CostModel(const PointSpace& space, const std::map<std::size_t, double>& costs,
            const std::vector<double>& estimates);
  /// The logarithm of the expected cost.
  double expected(std::size_t point) const;

 private:
  double sum_of_effects(const std::vector<std::size_t>& values) const;
  double distance(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) const;

  struct Known {
    std::vector<std::size_t> values;
    double cost, rest;  // logarithms, of the ratio to the estimate where there are estimates
  };
  const PointSpace& space_;
  const std::vector<double>& estimates_;
  double mean_ = 0;
  std::vector<std::vector<double>> effects_;  // by axis and value
  std::vector<Known> known_;
};

/// How a search chooses the points that it runs.
enum class SearchStrategy { kModel, kRandom, kGrid };

/// Chooses points of a space. The same seed, costs and closed points give the same choice.
class PointChoice {
 public:
  /// `wanted`: points that are chosen in all, for the spaces of a grid. `estimates`: as of a CostModel, which
  /// only the strategy of a model uses.
  PointChoice(const PointSpace& space, SearchStrategy strategy, std::uint32_t seed, std::size_t wanted,
              std::vector<double> estimates = {});

  /// The next points, at most `count`, of those that have not been chosen and are not in `closed`; none: all
  /// are chosen or closed. `costs`: of those that were run, infinite where a point failed.
  std::vector<std::size_t> next(std::size_t count, const std::map<std::size_t, double>& costs,
                                const std::set<std::size_t>& closed);

 private:
  bool is_open(std::size_t point, const std::set<std::size_t>& closed) const {
    return chosen_.count(point) == 0 && closed.count(point) == 0;
  }
  void lay_out_first();
  std::vector<std::size_t> by_model(std::size_t count, const std::map<std::size_t, double>& costs,
                                    const std::set<std::size_t>& closed) const;

  const PointSpace& space_;
  SearchStrategy strategy_;
  std::vector<double> estimates_;
  std::mt19937 random_;
  std::vector<std::size_t> order_;  // points in the order of their choice, before a model knows better
  std::size_t next_ = 0;            // of `order_`
  std::set<std::size_t> chosen_;
};

}  // namespace tilebeat
