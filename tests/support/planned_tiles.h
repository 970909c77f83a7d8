#pragma once

// How a plan cuts a layer of a switch array, read from its instructions.

#include "engines/switch_array/operations.h"
#include "program/plan.h"

#include <algorithm>
#include <cstdint>

namespace tilebeat::testing {

using switch_array::ConvRun;

/// A full tile, the tiles of one map, the channel blocks of the largest chunk, and the chunks in all.
struct PlannedTiles {
  int tile_rows = 0, tile_columns = 0;
  int row_tiles = 0, column_tiles = 0;
  int channel_blocks = 0;
  std::int64_t chunks = 0;
};

/// Of a plan with one layer whose map has `out_height` x `out_width` outputs.
inline PlannedTiles planned_tiles(const Plan& plan, int out_height, int out_width) {
  PlannedTiles tiles;
  for (const Instruction& instruction : plan.programs.at(0).instructions) {
    const auto* run = instruction.operation.get_if<ConvRun>();
    if (run == nullptr) continue;
    tiles.tile_rows = std::max<int>(tiles.tile_rows, run->rows);
    tiles.tile_columns = std::max<int>(tiles.tile_columns, run->columns);
    tiles.channel_blocks = std::max<int>(tiles.channel_blocks, run->planes);
    tiles.chunks += run->blocks;
  }
  tiles.row_tiles = (out_height + tiles.tile_rows - 1) / tiles.tile_rows;
  tiles.column_tiles = (out_width + tiles.tile_columns - 1) / tiles.tile_columns;
  return tiles;
}

}  // namespace tilebeat::testing
