#include "engines/rolling/choice.h"

#include "base/types.h"

#include <algorithm>

namespace tilebeat::rolling {
namespace {

constexpr int kSumBytes = 4;

// The longer operand rolls; the direction only affects the order of the sums.
std::vector<Variant> variants_of(const Product& product, const RollingConfig& config) {
  if (const auto variant = forced_variant(config.variant)) return {*variant};
  if (config.stationary == Stationary::kOutput) return {Variant::kRightBUp};
  const bool b_rolls = product.k >= product.m;
  std::vector<Variant> variants{b_rolls ? Variant::kRightBUp : Variant::kRightAUp};
  const bool square = config.rows - config.start_row == config.columns - config.start_column;
  if (!square) variants.push_back(b_rolls ? Variant::kLeftBLeft : Variant::kLeftALeft);
  return variants;
}

// The numbers of blocks and cuts that can be stacked, limited by register groups and by room for s x s output
// blocks. A configuration that asks for a scheme that stacks blocks gets several, where possible.
std::vector<std::pair<int, int>> stacks_of(const RollingConfig& config) {
  std::vector<std::pair<int, int>> stacks;
  const bool asked =
      config.blocking == BlockingChoice::kGroupRolling || config.blocking == BlockingChoice::kWholeRolling;
  const bool several =
      asked && config.groups / std::max(1, config.stacked_cuts) >= 2 && config.result_blocks >= 4;
  for (int blocks = several ? 2 : 1; blocks <= config.groups && blocks * blocks <= config.result_blocks;
       ++blocks) {
    const int most = config.groups / blocks;
    for (int cuts = config.stacked_cuts > 0 ? config.stacked_cuts : most;
         cuts >= (config.stacked_cuts > 0 ? config.stacked_cuts : 1) && cuts <= most; --cuts)
      stacks.emplace_back(blocks, cuts);
  }
  return stacks;
}

std::vector<Order> orders_of(Variant variant, const RollingConfig& config) {
  if (config.stationary == Stationary::kOutput)
    return {{variant, Scheme::kOutputStationary, 1, 1, config.wrap}};
  std::vector<Order> orders;
  const auto allowed = [&](BlockingChoice choice) {
    return config.blocking == BlockingChoice::kAuto || config.blocking == choice;
  };
  if (allowed(BlockingChoice::kPlain)) orders.push_back({variant, Scheme::kPlain, 1, 1, config.wrap});
  for (const auto& [blocks, cuts] : stacks_of(config)) {
    if (blocks == 1 && cuts == 1 && config.blocking == BlockingChoice::kAuto) continue;
    if (allowed(BlockingChoice::kGroupRolling))
      orders.push_back({variant, Scheme::kGroupRolling, blocks, cuts, config.wrap});
    if (allowed(BlockingChoice::kWholeRolling) && (blocks > 1 || config.blocking != BlockingChoice::kAuto))
      orders.push_back({variant, Scheme::kWholeRolling, blocks, cuts, config.wrap});
  }
  return orders;
}

}  // namespace

double Estimate::clocks() const {
  return overlaps ? std::max({array, loads, drain}) + last_drain
                  : std::max(array + loads, drain) + last_drain;
}

Estimate estimate(const RollingSchedule& schedule, const RollingConfig& config, Records records) {
  Estimate made;
  made.overlaps = config.groups / schedule.order().groups() > 1;
  double a = 0, b = 0;
  for (const auto& [block, count] : schedule.block_shapes()) {
    double array = 0;
    for (int round = 0; round < schedule.rounds_per_block(); ++round) {
      const RollingSchedule::Clocks clocks = schedule.clocks(block, round);
      array += static_cast<double>(clocks.all);
      made.beats += count * clocks.beats;
    }
    const auto blocks = static_cast<double>(count);
    made.array += blocks * array;
    const int line_clocks = ceil_div(schedule.lanes(), config.port_bytes);
    // A line of A takes an access for each run of contiguous bytes.
    const int length = std::min(schedule.product().n, schedule.lanes()), run = schedule.product().run;
    const bool aligned = run >= schedule.product().n || run % length == 0;
    const double pieces =
        (aligned ? 1 : 1 + static_cast<double>(length - 1) / run) * schedule.product().inside;
    a += blocks * block.rows.size * schedule.cuts() * std::max<double>(line_clocks, pieces);
    const bool across = config.transposition == Transposition::kWhileLoading;
    const double lines = across ? static_cast<double>(schedule.product().n) * block.parts
                                : static_cast<double>(block.columns.size) * schedule.cuts();
    b += blocks * lines * line_clocks;
    const int realign = config.realign == Realignment::kRolling ? schedule.realignment(block) : 0;
    made.last_drain = realign + static_cast<double>(block.rows.size) *
                                    ceil_div(block.columns.size * kSumBytes, config.drain_bytes);
    made.drain += blocks * made.last_drain;
  }
  if (records == Records::kLoaded) b += schedule.product().k;
  made.loads = std::max(a, b);
  return made;
}

Choice choose_order(const Product& product, const RollingConfig& config, Records records) {
  Choice choice;
  for (const Variant variant : variants_of(product, config)) {
    for (const Order& order : orders_of(variant, config))
      choice.candidates.push_back(
          {order, estimate(RollingSchedule(shape_of(config), order, product), config, records)});
  }
  // Of equal candidates, takes the one that stacks more cuts, because neighbouring lines are requested
  // together. Stacked blocks need fewer lines but wait for whole rounds, which the estimate hardly covers.
  constexpr double kStackedShare = 0.95;  // of the cycles without stacked blocks
  const auto worth = [](const Candidate& c) {
    const double clocks = c.estimate.clocks() * (c.order.stacked_blocks > 1 ? 1 / kStackedShare : 1);
    return std::pair(clocks, -c.order.stacked_cuts);
  };
  choice.order = std::min_element(choice.candidates.begin(), choice.candidates.end(),
                                  [&](const Candidate& x, const Candidate& y) { return worth(x) < worth(y); })
                     ->order;
  return choice;
}

}  // namespace tilebeat::rolling
