// Programs whose tables do not fit the map that they name: both granularities refuse them alike (SPEC CY-3,
// OT-3, HI-2).
#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/offset_table/operations.h"
#include "refused_alike.h"

#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using offset_table::OffsetMap;

struct TableCase {
  const char* name;
  std::optional<std::int32_t>
      first_tap;        ///< bytes from a thread's base to its first operand; none: as planned
  const char* message;  ///< null: runs
};
void PrintTo(const TableCase& c, std::ostream* out) {
  *out << c.name;
}

/// Overwrites four bytes of what DRAM has in the beginning.
void put(Plan& plan, std::uint64_t address, std::int32_t value) {
  for (MemorySegment& segment : plan.image) {
    if (address < segment.address || address + sizeof value > segment.address + segment.bytes.size())
      continue;
    std::memcpy(segment.bytes.data() + (address - segment.address), &value, sizeof value);
    return;
  }
  throw std::runtime_error("nothing lies there");
}

class OffsetTablesByHand : public ::testing::TestWithParam<TableCase> {};

TEST_P(OffsetTablesByHand, OT_3_HI_2_CY_3_both_granularities_refuse_alike) {
  const TableCase& c = GetParam();
  ConvShape shape;
  shape.height = 6, shape.width = 7, shape.channels = 5, shape.out_channels = 3, shape.kernel = {3, 2};
  const HardwareConfig hardware =
      parse_hardware({{"dataflow", "offset"}, {"chip", nlohmann::json::object()}}, "test");
  Plan plan = make_plan(conv_workload(shape), hardware);
  std::vector<std::uint64_t> tables;
  for (const Instruction& instruction : plan.programs.front().instructions) {
    if (const auto* map = instruction.operation.get_if<OffsetMap>()) tables.push_back(map->tables);
  }
  ASSERT_THAT(tables, ::testing::SizeIs(1));
  if (c.first_tap) put(plan, tables.front(), *c.first_tap);  // images begin with the offsets of taps
  expect_same_end(hardware, plan, c.message);
}

// The first run's map has 4 x 7 pixels of 5 bytes, of which a beat takes 4 or the fifth; the last thread
// begins at byte 60.
INSTANTIATE_TEST_SUITE_P(
    Offset, OffsetTablesByHand,
    ::testing::Values(TableCase{"as_planned", std::nullopt, nullptr},
                      TableCase{"in_front_of_the_map", -1,
                                "offset.run: its tables name bytes -1 to 2 of a map of 140 bytes"},
                      TableCase{"up_to_the_last_byte", 75, nullptr},
                      TableCase{"a_byte_beyond_the_last", 76,
                                "offset.run: its tables name bytes 140 to 140 of a map of 140 bytes"},
                      TableCase{"far_behind_the_map", 1 << 30,
                                "offset.run: its tables name bytes 1073741824 to "}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tilebeat::testing
