#pragma once

#include "tilebeat/config/compiled_ahead.h"
#include "tilebeat/engines/offset_table/table_file.h"
#include "tilebeat/engines/offset_table/tables.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat::offset_table {

/// Tables that are compiled ahead of runs (SPEC OT-3): those of whole layers, for people, and those of the
/// tiles that a plan makes of them, which runs use. They are found by their shape.
class TableLibrary : public CompiledAhead {
 public:
  void use(const std::vector<std::uint8_t>& bytes, const std::string& name) override;
  int used() const override { return used_; }
  void record() override { records_ = true; }
  std::vector<std::uint8_t> file() const override { return write_tables(entries_); }
  std::string text(const Question& question) const override;

  /// The tables of a tile of `layer`, whose tables are those of `whole`: those that were read from a file,
  /// else compiled.
  Tables tables_of(const std::string& layer, const TableShape& whole, const TableShape& tile);

 private:
  const NamedTables* find(const TableShape& shape) const;

  std::vector<NamedTables> entries_;
  bool records_ = false;
  int used_ = 0;
};

}  // namespace tilebeat::offset_table
