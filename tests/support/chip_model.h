#pragma once

// What copies do to the memories of a chip, in plain C++, and random copies.

#include "config/hardware_config.h"
#include "isa/address_map.h"
#include "isa/instruction.h"
#include "random_cases.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace tilebeat::testing {

/// One memory: its name in reports, its bytes, and what copies moved from and to it.
struct ModelMemory {
  std::string name;
  std::uint64_t base = 0;
  std::vector<std::uint8_t> bytes;
  std::int64_t read = 0, written = 0;
};

constexpr std::int64_t kModelDramBytes = 65536;

/// The memories of a chip, DRAM as far as `dram_bytes`.
class ChipModel {
 public:
  explicit ChipModel(const ChipConfig& chip, std::int64_t dram_bytes = kModelDramBytes) : chip_(chip) {
    add("dram", 0, dram_bytes);
    for (int k = 0; k < chip.clusters; ++k) {
      add(fmt::format("cluster{}.memory.sram", k), sram_address(k), chip.sram_bytes());
      for (int i = 0; i < chip.cores_per_cluster; ++i) {
        const int core = k * chip.cores_per_cluster + i;
        const std::string name = fmt::format("cluster{}.core{}.", k, i);
        add(name + "nram", nram_address(core), chip.core.nram.size_bytes);
        add(name + "wram", wram_address(core), chip.core.wram.size_bytes);
      }
    }
  }
  /// The memory that an address lies in.
  ModelMemory& at(std::uint64_t address) {
    const auto after = memories_.upper_bound(address);
    if (after == memories_.begin()) throw std::logic_error("no memory");
    return std::prev(after)->second;
  }
  const std::map<std::uint64_t, ModelMemory>& memories() const { return memories_; }

  /// Executes a copy on `cluster`, which a multicast address means.
  void apply(const Copy& copy, int cluster) {
    ModelMemory& source = at(copy.source);
    if ((copy.destination & kMulticast) == 0) {
      source.read += move(copy, source, copy.destination);
      return;
    }
    const bool wram = (copy.destination & kMulticastWram) != 0;
    std::int64_t moved = 0;
    for (int i = 0; i < chip_.cores_per_cluster; ++i) {
      if ((copy.destination >> (kMulticastCoresShift + i) & 1) == 0) continue;
      const int core = cluster * chip_.cores_per_cluster + i;
      moved =
          move(copy, source,
               (wram ? wram_address(core) : nram_address(core)) + (copy.destination & kMulticastOffsetMask));
    }
    source.read += moved;
  }

 private:
  void add(const std::string& name, std::uint64_t base, std::int64_t bytes) {
    memories_[base] = {name, base, std::vector<std::uint8_t>(static_cast<std::size_t>(bytes))};
  }
  // Returns the bytes that were read.
  std::int64_t move(const Copy& c, const ModelMemory& from, std::uint64_t address) {
    ModelMemory& to = at(address);
    std::int64_t moved = 0;
    if (c.transposed_columns > 0) return turn(c, from, address);
    for (int row = 0; row < c.pad_top + c.outer_count + c.pad_bottom; ++row) {
      for (int column = 0; column < c.pad_left + c.inner_count + c.pad_right; ++column) {
        const int h = row - c.pad_top, w = column - c.pad_left;
        const bool border = h < 0 || w < 0 || h >= c.outer_count || w >= c.inner_count;
        const std::uint64_t target = address - to.base + std::uint64_t{c.destination_outer_stride} * row +
                                     std::uint64_t{c.destination_inner_stride} * column;
        for (std::uint32_t i = 0; i < c.run_bytes; ++i, ++to.written) {
          if (border) {
            to.bytes.at(target + i) = c.fill;
            continue;
          }
          ++moved;
          to.bytes.at(target + i) =
              from.bytes.at(c.source - from.base + i + std::uint64_t{c.source_outer_stride} * h +
                            std::uint64_t{c.source_inner_stride} * w);
        }
      }
    }
    return moved;
  }

  // Every block of the source, its runs below each other, arrives column by column.
  std::int64_t turn(const Copy& c, const ModelMemory& from, std::uint64_t address) {
    ModelMemory& to = at(address);
    for (std::uint64_t block = 0; block < c.outer_count; ++block) {
      for (std::uint64_t column = 0; column < c.run_bytes; ++column) {
        const std::uint64_t target = address - to.base + block * c.destination_outer_stride +
                                     column / c.transposed_columns * c.transposed_stride +
                                     column % c.transposed_columns * c.destination_inner_stride;
        for (std::uint64_t row = 0; row < c.inner_count; ++row, ++to.written)
          to.bytes.at(target + row) = from.bytes.at(c.source - from.base + block * c.source_outer_stride +
                                                    row * c.source_inner_stride + column);
      }
    }
    return std::int64_t{c.outer_count} * c.inner_count * c.run_bytes;
  }

  ChipConfig chip_;
  std::map<std::uint64_t, ModelMemory> memories_;
};

/// A random copy that turns blocks of at most 64 bytes, with addresses like those of random_copy.
inline Copy random_turned_copy(std::int64_t source_bytes, std::int64_t destination_bytes) {
  Copy c;
  const auto stride = [](std::int64_t least) {
    return static_cast<std::uint32_t>(one_in(2) ? least : least + number(0, 40));
  };
  c.inner_count = static_cast<std::uint16_t>(number(1, 16)),
  c.outer_count = static_cast<std::uint16_t>(skewed(5));
  c.transposed_columns = static_cast<std::uint16_t>(number(1, 64 / c.inner_count));
  const int groups = number(1, 64 / c.inner_count / c.transposed_columns);
  c.run_bytes = static_cast<std::uint32_t>(c.transposed_columns * groups);
  c.source_inner_stride = stride(c.run_bytes);
  c.source_outer_stride = stride(std::int64_t{c.source_inner_stride} * c.inner_count);
  c.destination_inner_stride = stride(c.inner_count);
  c.transposed_stride = stride(std::int64_t{c.destination_inner_stride} * c.transposed_columns);
  c.destination_outer_stride = stride(std::int64_t{c.transposed_stride} * groups);
  const std::int64_t source_left = source_bytes - std::int64_t{c.source_outer_stride} * c.outer_count;
  const std::int64_t left = destination_bytes - std::int64_t{c.destination_outer_stride} * c.outer_count;
  if (source_left < 0 || left < 0) return random_turned_copy(source_bytes, destination_bytes);
  c.source = static_cast<std::uint64_t>(number(0, static_cast<int>(source_left)));
  c.destination = static_cast<std::uint64_t>(number(0, static_cast<int>(left)));
  return c;
}

/// A random copy of at most 2048 bytes between memories of the given sizes; its destination's runs do not
/// overlap. Addresses count from the memories' first bytes.
inline Copy random_copy(std::int64_t source_bytes, std::int64_t destination_bytes) {
  Copy c;
  c.inner_count = static_cast<std::uint16_t>(skewed(6));
  c.outer_count = static_cast<std::uint16_t>(skewed(5));
  c.run_bytes = static_cast<std::uint32_t>(one_in(4) ? number(1, 68) : 1 << number(0, 6));
  if (one_in(2)) {
    for (std::uint8_t* pad : {&c.pad_top, &c.pad_left, &c.pad_bottom, &c.pad_right})
      *pad = static_cast<std::uint8_t>(number(0, 3));
    c.fill = static_cast<std::uint8_t>(number(0, 255));
  }
  const auto stride = [](std::int64_t least) {
    return static_cast<std::uint32_t>(one_in(2) ? least : least + number(0, 40));
  };
  const std::int64_t run = c.run_bytes;
  c.source_inner_stride = stride(run);
  c.source_outer_stride = stride(std::int64_t{c.source_inner_stride} * (c.inner_count - 1) + run);
  const std::int64_t columns = c.pad_left + c.inner_count + c.pad_right;
  const std::int64_t rows = c.pad_top + c.outer_count + c.pad_bottom;
  c.destination_inner_stride = stride(run);
  c.destination_outer_stride = stride(std::int64_t{c.destination_inner_stride} * (columns - 1) + run);
  const auto extent = [run](std::int64_t outer, std::int64_t outer_stride, std::int64_t inner,
                            std::int64_t inner_stride) {
    return (outer - 1) * outer_stride + (inner - 1) * inner_stride + run;
  };
  const std::int64_t source_left =
      source_bytes - extent(c.outer_count, c.source_outer_stride, c.inner_count, c.source_inner_stride);
  const std::int64_t destination_left =
      destination_bytes - extent(rows, c.destination_outer_stride, columns, c.destination_inner_stride);
  if (source_left < 0 || destination_left < 0) return random_copy(source_bytes, destination_bytes);
  c.source = static_cast<std::uint64_t>(number(0, static_cast<int>(source_left)));
  c.destination = static_cast<std::uint64_t>(number(0, static_cast<int>(destination_left)));
  return c;
}

}  // namespace tilebeat::testing
