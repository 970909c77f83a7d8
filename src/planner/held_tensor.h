#pragma once

#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/mapping/transfer.h"
#include "tilebeat/mapping/window.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilebeat {

/// The extents of a held tensor: bytes of a pixel and of a whole row, columns that a place has room for.
struct HeldRow {
  std::int64_t pixel_bytes = 1, bytes = 1;
  int columns = 1;
  std::int64_t place_bytes() const { return std::min(bytes, columns * pixel_bytes); }
};

/// A tensor of which an on-chip memory holds some rows at a time, or a strip of some columns of them, in a
/// ring of places of one row each. Its elements have virtual addresses, in which the whole tensor lies
/// without gaps, image after image; rows are counted over all images; those of several images may be there.
/// Every place is a buffer of its own, so that a task waits for the rows that it touches and for no others.
class HeldTensor {
 public:
  /// `capacity` places for such rows from `address` on; the virtual addresses begin at `origin`.
  HeldTensor(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, const HeldRow& row, int capacity);

  std::uint64_t origin() const { return origin_; }
  /// The rows that are made from now on begin with column `column`, where places have no room for all.
  void begin_strip(int column);
  /// Rows `rows` come to lie behind those that were made last. They overwrite what lay there.
  void make(Interval rows);
  /// How a task uses rows, all of which are there.
  AccessList accesses(Interval rows, AccessKind kind) const;
  /// Rows that virtual addresses [address, address + bytes) touch.
  Interval rows_of(std::uint64_t address, std::int64_t bytes) const;

  /// A transfer whose source (or destination) is virtual, as transfers of real addresses: it is cut where
  /// the ring begins again. Where places hold strips, a run of bytes lies in one row.
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const;

 private:
  // Bytes from the first place on, if the ring never began again.
  std::int64_t unrolled(std::uint64_t address) const;
  CopyShape with_places(const CopyShape& shape, TransferEnd end) const;
  void add_placed(const Transfer& transfer, std::int64_t begin, TransferEnd end,
                  std::vector<Transfer>& to) const;

  std::uint64_t origin_, address_;
  HeldRow row_;
  std::int64_t place_bytes_;
  std::int64_t skipped_ = 0;  // bytes of a row in front of the strip
  std::vector<BufferId> places_;
  // Rows that were made one behind the other: row r is the (r + shift)-th that was made: place and version
  // follow.
  struct Made {
    Interval rows;
    std::int64_t shift = 0;
  };
  std::int64_t shift_of(int row) const;
  std::deque<Made> made_;  // those of which a row may be there, the newest last
  std::int64_t next_ = 0;
};

}  // namespace tilebeat
