#include "tilebeat/mapping/matrix_backend.h"

namespace tilebeat {

std::int64_t MatrixLayer::ifm_row_bytes(const Window& w) const {
  return std::int64_t{w.ins} * problem().channels;
}

MapLoad MatrixLayer::load_map(const OutputTile& tile, const TensorLayout& source,
                              std::uint64_t destination) const {
  MapLoad load;
  load.transfer.source = source.at(tile.image, tile.h.in, tile.w.in);
  load.transfer.destination = destination;
  load.transfer.shape = one_run(std::int64_t{tile.w.ins} * problem().channels);
  load.transfer.shape.rows = tile.h.ins;
  load.transfer.shape.source_row = source.row_stride;
  load.transfer.shape.destination_row = ifm_row_bytes(tile.w);
  return load;
}

}  // namespace tilebeat
