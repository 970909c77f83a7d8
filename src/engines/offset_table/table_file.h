#pragma once

#include "config/engine_config.h"
#include "engines/offset_table/tables.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::offset_table {

/// Tables and the layer that they were compiled for.
struct NamedTables {
  std::string layer;
  Tables tables;
};

/// The bytes of a file of tables (docs/offset.md has its format): all numbers little-endian, a checksum at
/// the end.
std::vector<std::uint8_t> write_tables(const std::vector<NamedTables>& entries);

/// The contents of a file of tables. Checks every size against the file's length before it is used, and every
/// address that tables reach against their tensor. Throws UserError, one line that begins with `name`, for
/// anything but a complete file of this version.
std::vector<NamedTables> read_tables(const std::vector<std::uint8_t>& bytes, const std::string& name);

/// The CRC-32 of zlib and PNG.
std::uint32_t checksum(const std::uint8_t* bytes, std::size_t count);

/// A description of tables, in lines; and their entry for thread `thread` and `k`: "thread 37, k 5: n 0, oh
/// 2, ow 5, v 1, u 2, c 0 -> element 71", or that the tap lies on padding. `k` counts the elements of all
/// groups and so selects the group.
std::string describe_tables(const NamedTables& entry);
std::string explain_address(const Tables& tables, std::int64_t thread, int k);

/// Tables compiled ahead of runs (SPEC OT-3), found by their shape: those of whole layers, for people, and
/// those of the tiles that a plan makes of the layers, for runs.
class TableLibrary : public CompiledAhead {
 public:
  void use(const std::vector<std::uint8_t>& bytes, const std::string& name) override;
  int used() const override { return used_; }
  void record() override { records_ = true; }
  std::vector<std::uint8_t> file() const override { return write_tables(entries_); }
  std::string text(const Question& question) const override;

  /// The tables of a tile of `layer`, whose tables as a whole have shape `whole`: read from a file, else
  /// compiled.
  Tables tables_of(const std::string& layer, const TableShape& whole, const TableShape& tile);

 private:
  const NamedTables* find(const TableShape& shape) const;

  std::vector<NamedTables> entries_;
  bool records_ = false;
  int used_ = 0;
};

}  // namespace tilebeat::offset_table
