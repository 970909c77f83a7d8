#pragma once

#include "tilebeat/mapping/task_graph.h"
#include "tilebeat/mapping/transfer.h"
#include "tilebeat/mapping/window.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace tilebeat {

/// A tensor of which an on-chip memory holds some rows at a time, in a ring of places of one row each. Its
/// elements have virtual addresses, in which the whole tensor lies without gaps, image after image; rows are
/// counted over all images; those of several images may be there. Every place is a buffer of its own, so that
/// a task waits for the rows that it touches and for no others.
class HeldTensor {
 public:
  /// `capacity` places of `row_bytes` bytes from `address` on; the virtual addresses begin at `origin`.
  HeldTensor(TaskGraph& graph, std::uint64_t origin, std::uint64_t address, std::int64_t row_bytes,
             int capacity);

  std::uint64_t origin() const { return origin_; }
  /// Rows `rows` come to lie behind those that were made last. They overwrite what lay there.
  void make(Interval rows);
  /// How a task uses rows, all of which are there.
  std::vector<Access> accesses(Interval rows, AccessKind kind) const;
  /// Rows that virtual addresses [address, address + bytes) touch.
  Interval rows_of(std::uint64_t address, std::int64_t bytes) const;

  /// A transfer whose source (or destination) is virtual, as transfers of real addresses: it is cut where
  /// the ring begins again.
  std::vector<Transfer> placed(const Transfer& transfer, TransferEnd end) const;

 private:
  void add_placed(const Transfer& transfer, TransferEnd end, std::vector<Transfer>& to) const;

  std::uint64_t origin_, address_;
  std::int64_t row_bytes_;
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
