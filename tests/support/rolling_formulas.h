#pragma once

// Cycles of the rolling-register unit, from SPEC RO-1 to RO-6 alone: nothing of src/ is used.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilebeat::testing {

enum class RollingScheme : std::uint8_t { kPlain, kGroups, kWhole, kOutputStationary };

/// One product m x n times n x k on the unit between memories that answer a request in the cycle after it.
struct RollingCase {
  int m = 1, n = 1, k = 1;
  int lines = 16, lanes = 16;            ///< of a block; output-stationary: rows, and cuts of n
  int columns = 16;                      ///< output-stationary: of a block
  int tree_lanes = 16;                   ///< of the adder trees
  int groups = 4, blocks = 1, cuts = 1;  ///< register groups, and how many blocks and cuts are stacked
  int multipliers = 1;                   ///< of a PE: groups of a beat
  RollingScheme scheme = RollingScheme::kPlain;
  bool a_stays = true, to_front = true;  ///< which operand rolls, and whether up or left
  bool wrap_buffer = false, spare_shared = false, tags = false, records = false;
  bool assigned = false;  ///< register groups are assigned as a round needs them
  int record_slots = 6;   ///< columns of blocks whose records are held
  int drain_bytes = 16, post_latency = 4;
  int first_line = 3;   ///< the first cycle in which a line can enter; the command arrives in cycle 0
  int write_bytes = 0;  ///< that a port of its own writes a cycle; 0: a row is a request with a response
};
struct RollingClocks {
  std::int64_t done = 0;  ///< cycle of the report that all is written; the command arrives in cycle 0
  std::int64_t released = 0;
  std::int64_t beats = 0, moves = 0;  ///< cycles that are beats, and those of exchanges, corrections, wraps
  std::int64_t realign = 0;
};

inline int parts_of(int size, int part) {
  return (size + part - 1) / part;
}
/// Size of part `index` of `size` in parts of `part`.
inline int size_of_part(int size, int part, int index) {
  return std::clamp(size - index * part, 0, part);
}

/// Beats, moves and the longest ring of one round.
struct RollingRound {
  std::int64_t beats = 0, moves = 0;
  int longest = 1;
};
inline RollingRound rolling_round(const RollingCase& c, int rows, int columns, int cuts) {
  RollingRound round;
  const int longer = std::max(rows, columns);
  const int parts = parts_of(longer, c.lines);
  // A computation of `working` groups, after which `rings` of them roll, unless it is the last one of all.
  std::int64_t last_wraps = 0;
  const auto compute = [&](int working, int rings) {
    round.beats += parts_of(working * cuts, c.multipliers);
    last_wraps = c.wrap_buffer ? 2 * rings * cuts : c.spare_shared ? rings * cuts - 1 : 0;
    round.moves += last_wraps;
  };
  if (c.scheme == RollingScheme::kWhole) {
    const int part = parts_of(longer, parts), ring = parts * part;
    for (int t = 0; t < ring; ++t) compute(parts_of(c.a_stays ? rows : columns, part), parts);
    if (parts > 1) round.moves += ring - 1;
    round.longest = ring;
  } else {
    for (int e = 0; e < parts; ++e) {
      std::vector<int> rings;
      for (int p = 0; p < parts; ++p) {
        const int stays = size_of_part(c.a_stays ? rows : columns, c.lines, p);
        const int rolling =
            size_of_part(c.a_stays ? columns : rows, c.lines, (c.to_front ? p + e : p + parts - e) % parts);
        if (stays > 0 && rolling > 0) rings.push_back(std::max(stays, rolling));
      }
      const int computations = *std::max_element(rings.begin(), rings.end());
      for (int t = 0; t < computations; ++t) {
        const auto working = std::count_if(rings.begin(), rings.end(), [&](int ring) { return t < ring; });
        compute(static_cast<int>(working), static_cast<int>(working));
      }
      round.longest = std::max(round.longest, computations);
    }
    round.moves += parts - 1;
  }
  round.moves -= last_wraps;
  return round;
}

/// Goes through blocks and rounds: when lines enter, when rounds begin, when sums leave.
inline RollingClocks rolling_clocks(const RollingCase& c) {
  const bool streams = c.scheme == RollingScheme::kOutputStationary;
  const int row_step = streams ? c.lines : c.lines * c.blocks;
  const int column_step = streams ? c.columns : c.lines * c.blocks;
  const int all_cuts = parts_of(c.n, c.lanes), sets = c.groups / (c.blocks * c.cuts);
  int tree = 1;
  for (int products = 1; !streams && products < c.tree_lanes; products *= 2) ++tree;
  for (int sums = 1; sums < c.multipliers; sums *= 2) ++tree;
  RollingClocks clocks;
  std::vector<std::int64_t> ends, left, column_left;
  std::vector<std::int64_t> free_from(static_cast<std::size_t>(c.groups), 0);  // by register group
  int next_group = 0;
  // The cycle in which the last line of A, of B entered: of stubs, a request in 1 brings bytes in 2.
  std::int64_t a = c.first_line - 1, b = a;
  std::int64_t way_out_free = 0, port_free = 0;
  for (int column = 0; column < c.k; column += column_step) {
    const int columns = std::min(column_step, c.k - column);
    std::int64_t records = 0;
    for (int row = 0; row < c.m; row += row_step) {
      const int rows = std::min(row_step, c.m - row);
      RollingRound round;
      for (int cut = 0; cut < all_cuts; cut += c.cuts) {
        const int cuts = std::min(c.cuts, all_cuts - cut);
        const bool last = cut + cuts == all_cuts;
        const auto number = static_cast<std::int64_t>(ends.size());
        // The register groups: a fixed set, or as many as there are block pairs.
        const int pairs = streams ? 1 : parts_of(std::max(rows, columns), c.lines) * cuts;
        const int taken = c.assigned ? pairs : c.blocks * c.cuts;
        const int first = c.assigned ? next_group : static_cast<int>(number % sets) * taken;
        next_group = (first + taken) % c.groups;
        std::int64_t free = 0;
        const auto group = [&](int i) -> std::int64_t& {
          return free_from[static_cast<std::size_t>((first + i) % c.groups)];
        };
        for (int i = 0; i < taken; ++i) free = std::max(free, group(i));
        for (int line = 0; line < rows * cuts; ++line) a = std::max(a, free) + 1;
        for (int line = 0; line < columns * cuts; ++line) b = std::max(b, free) + 1;
        std::int64_t begin = std::max({a, b, ends.empty() ? 0 : ends.back()}) + 1;
        // Records follow the lines into a free slot; nothing but draining waits for them.
        if (c.records && last && row == 0) {
          const auto held = static_cast<std::ptrdiff_t>(column_left.size()) - c.record_slots;
          if (held >= 0) b = std::max(b, column_left[static_cast<std::size_t>(held)]);
          records = b += columns;
        }
        if (cut == 0 && left.size() >= 2) begin = std::max(begin, left[left.size() - 2] + 1);
        if (streams) {
          round.beats = std::min(c.lanes, c.n - cut * c.lanes);
          round.moves = last ? rows : 0;
        } else {
          round = rolling_round(c, rows, columns, cuts);
        }
        clocks.beats += round.beats, clocks.moves += round.moves;
        ends.push_back(begin + round.beats + round.moves - 1);
        for (int i = 0; i < taken; ++i) group(i) = ends.back();
      }
      const int realign = streams || c.tags ? 0 : round.longest - 1;
      clocks.realign += realign;
      const std::int64_t aligned = std::max(ends.back() + tree + 1, way_out_free) + realign;
      const std::int64_t drain = std::max(aligned, records + 1);
      left.push_back(drain + std::int64_t{rows} * parts_of(columns * 4, c.drain_bytes) - 1);
      way_out_free = left.back() + 1;
      for (int r = 1; c.write_bytes > 0 && r <= rows; ++r) {
        const std::int64_t row_left = drain + std::int64_t{r} * parts_of(columns * 4, c.drain_bytes);
        port_free = std::max(port_free, row_left + c.post_latency) + parts_of(columns * 4, c.write_bytes);
      }
    }
    column_left.push_back(left.back());
  }
  clocks.released = std::max(a, b) + 1;
  clocks.done = c.write_bytes > 0 ? port_free : left.back() + 1 + c.post_latency + 2;
  return clocks;
}

}  // namespace tilebeat::testing
