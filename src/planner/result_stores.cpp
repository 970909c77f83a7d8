#include "result_stores.h"

namespace tilebeat {

std::vector<Transfer> store_transfers(const Problem& p, const TensorLayout& output, const OutputTile& tile,
                                      Interval blocks, std::uint64_t source) {
  Transfer transfer;
  CopyShape& shape = transfer.shape;
  shape = one_run(std::int64_t{p.kernels_of(blocks)} * p.element_bytes());
  shape.columns = tile.w.outs, shape.rows = tile.h.outs;
  shape.source_column = shape.run, shape.source_row = shape.run * tile.w.outs;
  shape.destination_column = output.pixel_stride, shape.destination_row = output.row_stride;
  transfer.source = source;
  transfer.destination =
      output.at(tile.image, tile.h.out, tile.w.out) +
      static_cast<std::uint64_t>(std::int64_t{blocks.begin} * p.block_kernels * p.element_bytes());
  return {transfer};
}

}  // namespace tilebeat
