#include "tilebeat/engines/offset_table/table_library.h"

#include "tilebeat/base/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::offset_table {

void TableLibrary::use(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  std::vector<NamedTables> read = read_tables(bytes, name);
  for (NamedTables& entry : read) entries_.push_back(std::move(entry));
}

const NamedTables* TableLibrary::find(const TableShape& shape) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const NamedTables& entry) { return entry.tables.shape == shape; });
  return found == entries_.end() ? nullptr : &*found;
}

Tables TableLibrary::tables_of(const std::string& layer, const TableShape& whole, const TableShape& tile) {
  if (records_) {
    for (const TableShape& shape : {whole, tile}) {
      if (find(shape) == nullptr) entries_.push_back({layer, compile_tables(shape)});
    }
  }
  const NamedTables* known = find(tile);
  if (known == nullptr) return compile_tables(tile);
  ++used_;
  return known->tables;
}

std::string TableLibrary::text(const Question& question) const {
  if (question.entry < 0 || static_cast<std::size_t>(question.entry) >= entries_.size())
    throw UserError(fmt::format("there is no table {}, there are {}", question.entry, entries_.size()));
  if (!question.thread && !question.k) {
    std::string text;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      text += fmt::format("{}: {}", i, describe_tables(entries_[i]));
    return text;
  }
  const NamedTables& entry = entries_[static_cast<std::size_t>(question.entry)];
  const TableShape& shape = entry.tables.shape;
  const std::int64_t thread = question.thread.value_or(0), most = std::int64_t{shape.channels} * shape.taps();
  const int k = question.k.value_or(0);
  if (thread < 0 || thread >= shape.threads())
    throw UserError(fmt::format("there is no thread {}, there are {}", thread, shape.threads()));
  if (k < 0 || k >= most) throw UserError(fmt::format("there is no k {}, there are {}", k, most));
  return explain_address(entry.tables, thread, k) + "\n";
}

}  // namespace tilebeat::offset_table
