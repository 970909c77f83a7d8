#include "engines/rolling/choice.h"

#include "base/types.h"

#include <algorithm>
#include <array>
#include <tuple>

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

// The numbers of blocks and cuts that can be stacked: of blocks no more than the longer operand has, limited
// by register groups and by room for s x s output blocks. A configuration that asks for a scheme that stacks
// blocks gets several, where there are several. Of the numbers that are not asked for, powers of two are
// tried.
std::vector<std::pair<int, int>> stacks_of(const Product& product, Variant variant,
                                           const RollingConfig& config) {
  const int longer = std::max(product.m, std::min(product.k, product.group_columns));
  const int present = ceil_div(longer, shape_of(config).lines(variant));
  const int least = config.stacked_blocks > 0 ? config.stacked_blocks : stacks_blocks(config) ? 2 : 1;
  const int most = config.stacked_blocks > 0                   ? config.stacked_blocks
                   : config.blocking == BlockingChoice::kPlain ? 1
                                                               : config.groups;
  std::vector<std::pair<int, int>> stacks;
  for (int blocks = std::min(least, present);
       blocks <= std::min(most, present) && blocks * blocks <= config.result_blocks; blocks *= 2) {
    // One block after the other is what `plain` asks for, unless it is told how many cuts lie in groups.
    const bool one = config.blocking == BlockingChoice::kPlain && config.stacked_cuts == 0;
    const int room = one ? 1 : config.groups / blocks;
    for (int cuts = config.stacked_cuts > 0 ? config.stacked_cuts : room;
         cuts >= std::max(1, config.stacked_cuts) && cuts <= room; --cuts)
      stacks.emplace_back(blocks, cuts);
  }
  return stacks;
}

std::vector<Order> orders_of(const Product& product, Variant variant, const RollingConfig& config) {
  if (config.stationary == Stationary::kOutput)
    return {{variant, Scheme::kOutputStationary, 1, 1, config.wrap}};
  std::vector<Order> orders;
  for (const auto& [blocks, cuts] : stacks_of(product, variant, config)) {
    if (blocks == 1) {
      orders.push_back({variant, Scheme::kPlain, 1, cuts, config.wrap});
      continue;
    }
    if (config.blocking != BlockingChoice::kWholeRolling)
      orders.push_back({variant, Scheme::kGroupRolling, blocks, cuts, config.wrap});
    if (config.blocking != BlockingChoice::kGroupRolling)
      orders.push_back({variant, Scheme::kWholeRolling, blocks, cuts, config.wrap});
  }
  return orders;
}

/// Cycles of an output block.
struct BlockCycles {
  OutputBlock block;
  double array = 0, drain = 0;
};

// Large stacked blocks are drained while smaller ones, at the edges, are multiplied, and the array waits for
// a half of the result buffer: goes through the blocks one by one.
void wait_for_halves(const RollingSchedule& schedule, const std::vector<BlockCycles>& shapes,
                     Estimate& made) {
  double array = 0, drained = 0;
  std::array<double, 2> free_from{};
  for (std::int64_t index = 0; index < schedule.blocks(); ++index) {
    const OutputBlock block = schedule.block(index);
    const auto cycles = std::find_if(shapes.begin(), shapes.end(), [&](const BlockCycles& shape) {
      return shape.block.rows.size == block.rows.size && shape.block.columns.size == block.columns.size;
    });
    double& half = nth(free_from, index % 2);
    array = std::max(array, half) + cycles->array;
    half = drained = std::max(array, drained) + cycles->drain;
  }
  made.array = array, made.last_drain = drained - array;
}

}  // namespace

double Estimate::clocks() const {
  return first_load + last_drain +
         (overlaps ? std::max({array, loads, drain}) : std::max(array + loads, drain));
}

Estimate estimate(const RollingSchedule& schedule, const RollingConfig& config, Records records) {
  Estimate made;
  made.overlaps = config.groups / schedule.order().groups() > 1;
  double a = 0, b = 0;
  std::vector<BlockCycles> shapes;
  for (const auto& [block, count] : schedule.block_shapes()) {
    // All rounds but the last are alike.
    const int rounds = schedule.rounds_per_block();
    const auto first = schedule.clocks(block, 0), last = schedule.clocks(block, rounds - 1);
    const auto array = static_cast<double>((rounds - 1) * first.all + last.all);
    made.beats += count * ((rounds - 1) * first.beats + last.beats);
    const auto blocks = static_cast<double>(count);
    const int longest = std::max(block.rows.size, block.columns.size);
    const int cuts = schedule.cuts_of_round(0).size;
    made.reads += count * schedule.product().n * (std::int64_t{block.rows.size} + block.columns.size);
    made.first_load = std::max(made.first_load, (longest - block.lines) * cuts);
    made.array += blocks * array;
    const int line_clocks = ceil_div(schedule.lanes(), config.port_bytes);
    // A line of A takes an access for each run of contiguous bytes.
    const int length = std::min(schedule.product().n, schedule.lanes()), run = schedule.product().run;
    const bool aligned = run >= schedule.product().n || run % length == 0;
    const double pieces =
        (aligned ? 1 : 1 + static_cast<double>(length - 1) / run) * schedule.product().inside;
    a += blocks * block.rows.size * schedule.cuts() * std::max<double>(line_clocks, pieces);
    const bool across = config.transposition == TranspositionChoice::kWhileLoading;
    const double lines = across ? static_cast<double>(schedule.product().n) * block.parts
                                : static_cast<double>(block.columns.size) * schedule.cuts();
    b += blocks * lines * line_clocks;
    const int realign = config.realign == Realignment::kRolling ? schedule.realignment(block) : 0;
    const double drain = realign + static_cast<double>(block.rows.size) *
                                       ceil_div(block.columns.size * kSumBytes, config.drain_bytes);
    made.last_drain = drain;
    shapes.push_back({block, array, drain});
    made.drain += blocks * drain;
  }
  if (schedule.order().stacked_blocks > 1) wait_for_halves(schedule, shapes, made);
  if (records == Records::kLoaded) b += schedule.product().k;
  made.loads = std::max(a, b);
  return made;
}

Choice choose_order(const Product& product, const RollingConfig& config, Records records) {
  Choice choice;
  for (const Variant variant : variants_of(product, config)) {
    for (const Order& order : orders_of(product, variant, config))
      choice.candidates.push_back(
          {order, estimate(RollingSchedule(shape_of(config), order, product), config, records)});
  }
  // Orders whose estimates differ by less than this are equally fast; of those, the one that reads the fewest
  // elements. Of equal ones, the one that stacks more cuts: neighbouring lines are requested together.
  constexpr double kAsFast = 1.02;
  double fewest = choice.candidates.front().estimate.clocks();
  for (const Candidate& c : choice.candidates) fewest = std::min(fewest, c.estimate.clocks());
  const auto worth = [&](const Candidate& c) {
    const double clocks = c.estimate.clocks();
    // A short last round is not long enough for the load of the next full one.
    const int lanes = shape_of(config).lanes(c.order.variant), stacked = c.order.stacked_cuts;
    const int all = ceil_div(product.n, lanes);
    const bool uneven = c.estimate.overlaps && stacked > 2 && all > stacked && all % stacked != 0;
    return std::tuple(clocks > kAsFast * fewest, c.estimate.reads, clocks, uneven, -stacked);
  };
  choice.order = std::min_element(choice.candidates.begin(), choice.candidates.end(),
                                  [&](const Candidate& x, const Candidate& y) { return worth(x) < worth(y); })
                     ->order;
  return choice;
}

}  // namespace tilebeat::rolling
