// Files of tables: written, read back, and refused when anything is wrong with them (SPEC OT-3).
#include "budget.h"
#include "engines/offset_table/table_file.h"
#include "offset_formulas.h"
#include "tilebeat/error.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using offset_table::NamedTables;
using offset_table::read_tables;
using offset_table::TableLibrary;
using offset_table::write_tables;
using Bytes = std::vector<std::uint8_t>;

std::vector<NamedTables> some_tables() {
  std::vector<NamedTables> entries;
  for (int i = number(1, 3); i > 0; --i)
    entries.push_back({"conv" + std::to_string(i), compile_tables(random_table_shape())});
  return entries;
}

/// Puts the checksum right again, so that what lies behind it is tested.
void seal(Bytes& bytes) {
  const std::uint32_t sum = offset_table::checksum(bytes.data(), bytes.size() - 4);
  for (std::size_t i = 0; i < 4; ++i) bytes[bytes.size() - 4 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
}

TEST(OffsetTableFile, OT_3_checksum_is_that_of_zlib) {
  const std::string text = "123456789";
  EXPECT_EQ(offset_table::checksum(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()),
            0xCBF43926U);
}

TEST(OffsetTableFile, OT_3_what_is_written_is_read_back) {
  check_cases(200, [&] {
    const std::vector<NamedTables> entries = some_tables();
    const std::vector<NamedTables> read = read_tables(write_tables(entries), "f");
    RC_ASSERT(read.size() == entries.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto &a = read[i].tables, &b = entries[i].tables;
      RC_ASSERT(read[i].layer == entries[i].layer);
      RC_ASSERT(a.shape == b.shape);
      RC_ASSERT(a.bases == b.bases && a.groups == b.groups && a.offsets == b.offsets);
      RC_ASSERT(a.row_masks == b.row_masks && a.column_masks == b.column_masks);
      RC_ASSERT(a.first_rows == b.first_rows && a.first_columns == b.first_columns);
    }
  });
}

// Damage, also damage whose checksum was put right: one clear line, or tables that stay inside their tensor.
TEST(OffsetTableFile, OT_3_mutated_files_never_lead_outside) {
  int refused = 0, accepted = 0, sealed = 0;
  check_cases(budget(10'000), [&] {
    Bytes bytes = write_tables(some_tables());
    const bool honest = one_in(3);
    if (one_in(4)) bytes.resize(static_cast<std::size_t>(number(0, static_cast<int>(bytes.size()) - 1)));
    for (int flips = number(1, 4); flips > 0 && !bytes.empty(); --flips) {
      const auto at = static_cast<std::size_t>(number(0, static_cast<int>(bytes.size()) - 1));
      if (one_in(2))
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << number(0, 7)));
      else
        bytes[at] = static_cast<std::uint8_t>(one_in(2) ? 0xFF : number(0, 255));
    }
    if (!honest && bytes.size() >= 4) seal(bytes), ++sealed;
    try {
      for (const NamedTables& entry : read_tables(bytes, "file.tables")) {
        const auto& t = entry.tables;
        for (std::int64_t thread = 0; thread < t.shape.threads(); ++thread) {
          for (int group = 0; group < t.shape.groups; ++group) {
            for (int k = 0; k < t.shape.group_channels() * t.shape.taps(); ++k) {
              const offset_table::Tap tap = t.tap(k);
              if (!t.inside(thread, tap.row, tap.column)) continue;
              const std::int64_t at = t.base(thread, group) + t.rel(group, k);
              RC_ASSERT(at >= 0 && at < t.shape.elements());
            }
          }
        }
      }
      ++accepted;
    } catch (const UserError& error) {
      const std::string text = error.what();
      RC_ASSERT(text.find("file.tables: no tables of addresses: ") == 0U);
      RC_ASSERT(text.find('\n') == std::string::npos);
      ++refused;
    }
  });
  EXPECT_GT(refused, budget(7000));
  EXPECT_GT(sealed, budget(5000));
  EXPECT_GT(accepted, 10) << "some changes leave tables that are tables";
}

std::string refusal(const Bytes& bytes) {
  try {
    read_tables(bytes, "f");
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

TEST(OffsetTableFile, OT_3_each_kind_of_damage_is_named) {
  offset_table::TableShape s;
  s.channels = 2, s.height = s.width = 4, s.out_height = s.out_width = 4;
  Bytes whole = write_tables({{"conv", compile_tables(s)}});
  EXPECT_EQ(refusal(whole), "none");
  Bytes bytes = whole;
  bytes[0] = 'X';
  EXPECT_EQ(refusal(bytes), "f: no tables of addresses: it does not begin as they do");
  bytes = whole;
  bytes[8] = 2;
  EXPECT_EQ(refusal(bytes), "f: no tables of addresses: version 2, this is for version 1");
  bytes = whole;
  bytes[40] ^= 1U;
  EXPECT_EQ(refusal(bytes), "f: no tables of addresses: damaged: the checksum is another one");
  bytes = whole;
  bytes.resize(bytes.size() - 5);
  EXPECT_EQ(refusal(bytes), "f: no tables of addresses: damaged: the checksum is another one");
  bytes = whole;
  bytes.insert(bytes.end() - 4, 3, 0);
  seal(bytes);
  EXPECT_EQ(refusal(bytes), "f: no tables of addresses: 3 bytes behind the last table");
  // The number of bases: 4 times that is far beyond the file.
  bytes = whole;
  const std::size_t bases = 8 + 4 + 4 + 4 + 4 + 18 * 4;
  bytes[bases + 3] = 0x7F;
  seal(bytes);
  EXPECT_NE(refusal(bytes).find("bases of "), std::string::npos) << refusal(bytes);
  EXPECT_EQ(refusal({}), "f: no tables of addresses: it does not begin as they do");
}

TEST(OffsetTableFile, OT_3_a_library_finds_tables_by_their_shape_alone) {
  offset_table::TableShape whole;
  whole.channels = 2, whole.height = whole.width = 6, whole.out_height = whole.out_width = 6;
  offset_table::TableShape tile = whole;
  tile.height = tile.out_height = 3;
  TableLibrary writer;
  writer.record();
  writer.tables_of("conv", whole, tile);
  const Bytes bytes = writer.file();
  EXPECT_EQ(read_tables(bytes, "f").size(), 2U) << "of the whole layer and of its tile";

  TableLibrary reader;
  reader.use(bytes, "f");
  reader.tables_of("other name", whole, tile);
  EXPECT_EQ(reader.used(), 1);
  tile.stride_h = 2;
  reader.tables_of("conv", whole, tile);
  EXPECT_EQ(reader.used(), 1) << "another stride needs other tables";
}

// What is used is what the file says, not what would be compiled.
TEST(OffsetTableFile, OT_3_tables_of_a_file_are_those_that_are_used) {
  offset_table::TableShape s;
  s.channels = 2, s.height = s.width = 6, s.out_height = s.out_width = 6;
  NamedTables entry{"conv", compile_tables(s)};
  std::swap(entry.tables.bases[0], entry.tables.bases[1]);
  TableLibrary library;
  library.use(write_tables({entry}), "f");
  EXPECT_EQ(library.tables_of("conv", s, s).bases[0], 2);
}

}  // namespace
}  // namespace tilebeat::testing
