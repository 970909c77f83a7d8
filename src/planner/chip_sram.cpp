// Movements cut so that they pass through buffers of the SRAM.
#include <algorithm>

#include "chip_plan.h"

namespace tilebeat {
namespace {

// The part of a transfer from some row and column on, whole runs.
Transfer runs_of(const Transfer& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) {
  const CopyShape& s = whole.shape;
  Transfer part = whole;
  part.source += static_cast<std::uint64_t>(row * s.source_row + column * s.source_column);
  part.destination += static_cast<std::uint64_t>(row * s.destination_row + column * s.destination_column);
  part.shape.rows = rows, part.shape.columns = columns;
  return part;
}

// Puts parts one behind the other into parcels.
class Packer {
 public:
  explicit Packer(std::int64_t bytes) : bytes_(bytes) {}

  void add(const Transfer& transfer) {
    const CopyShape& s = transfer.shape;
    const std::int64_t row = s.run * s.columns;
    if (row <= bytes_) {
      const std::int64_t most = bytes_ / row;
      for (std::int64_t r = 0; r < s.rows; r += most)
        put(runs_of(transfer, r, std::min(most, s.rows - r), 0, s.columns));
      return;
    }
    for (std::int64_t r = 0; r < s.rows; ++r) {
      if (s.run <= bytes_) {
        const std::int64_t most = bytes_ / s.run;
        for (std::int64_t c = 0; c < s.columns; c += most)
          put(runs_of(transfer, r, 1, c, std::min(most, s.columns - c)));
        continue;
      }
      for (std::int64_t c = 0; c < s.columns; ++c) cut_run(runs_of(transfer, r, 1, c, 1));
    }
  }
  std::vector<Parcel> take() { return std::move(parcels_); }

 private:
  void cut_run(const Transfer& run) {
    for (std::int64_t at = 0; at < run.shape.run; at += bytes_) {
      Transfer part = run;
      part.source += static_cast<std::uint64_t>(at), part.destination += static_cast<std::uint64_t>(at);
      part.shape.run = std::min(bytes_, run.shape.run - at);
      put(part);
    }
  }
  void put(const Transfer& part) {
    if (parcels_.empty() || part.shape.bytes() > left_) {
      parcels_.emplace_back();
      left_ = bytes_;
    }
    parcels_.back().push_back(part);
    left_ -= part.shape.bytes();
  }

  std::int64_t bytes_, left_ = 0;
  std::vector<Parcel> parcels_;
};

}  // namespace

std::vector<Parcel> parcels_of(const Movement& movement, std::int64_t bytes) {
  Packer packer(bytes);
  for (const Transfer& transfer : movement.transfers) packer.add(transfer);
  return packer.take();
}

std::vector<Transfer> into_sram(const Parcel& parcel, std::uint64_t sram) {
  std::vector<Transfer> legs = parcel;
  for (Transfer& leg : legs) {
    leg.destination = sram;
    leg.shape.destination_column = leg.shape.run;
    leg.shape.destination_row = leg.shape.run * leg.shape.columns;
    sram += static_cast<std::uint64_t>(leg.shape.bytes());
  }
  return legs;
}

std::vector<Transfer> out_of_sram(const Parcel& parcel, std::uint64_t sram) {
  std::vector<Transfer> legs = parcel;
  for (Transfer& leg : legs) {
    leg.source = sram;
    leg.shape.source_column = leg.shape.run;
    leg.shape.source_row = leg.shape.run * leg.shape.columns;
    sram += static_cast<std::uint64_t>(leg.shape.bytes());
  }
  return legs;
}

}  // namespace tilebeat
