// Transfers from and to maps that lie in another order than NHWC move the same bytes (SPEC OT-2, MA-2).
#include "planner/language/relayout.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using Bytes = std::map<std::uint64_t, std::uint8_t>;

// Byte by byte, as a transfer says.
void carry_out(const Transfer& t, const Bytes& from, Bytes& to, int& written) {
  const CopyShape& s = t.shape;
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t c = 0; c < s.columns; ++c)
      for (std::int64_t i = 0; i < s.run; ++i, ++written)
        to[t.destination + static_cast<std::uint64_t>(r * s.destination_row + c * s.destination_column + i)] =
            from.at(t.source + static_cast<std::uint64_t>(r * s.source_row + c * s.source_column + i));
}

class MovedTransfers : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMap = 4096, kElsewhere = 1 << 20;

  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  TensorInfo random_map() {
    return {{number(1, 3), number(1, 6), number(1, 6), number(1, 20)},
            number(0, 3) == 0 ? DType::kInt32 : DType::kInt8,
            0};
  }
  // Some bytes of the map: a box of images' rows, of pixels, of channels' bytes, or any run.
  Transfer random_part(const TensorInfo& info) {
    const std::int64_t pixel = info.shape[3] * dtype_size(info.dtype), row = info.shape[2] * pixel;
    Transfer t;
    CopyShape& s = t.shape;
    std::int64_t at = 0;
    switch (number(0, 3)) {
      case 0: {  // any run
        at = number(0, static_cast<int>(info.size_bytes()) - 1);
        s = one_run(number(1, static_cast<int>(info.size_bytes() - at)));
        break;
      }
      case 1: {  // whole pixels of rows
        const int w = number(0, static_cast<int>(info.shape[2]) - 1);
        const int h = number(0, static_cast<int>(info.shape[0] * info.shape[1]) - 1);
        s = one_run(pixel * number(1, static_cast<int>(info.shape[2]) - w));
        s.rows = number(1, static_cast<int>(info.shape[0] * info.shape[1]) - h), s.source_row = row;
        at = h * row + w * pixel;
        break;
      }
      case 2: {  // some bytes of the pixels of rows
        const int w = number(0, static_cast<int>(info.shape[2]) - 1);
        const int h = number(0, static_cast<int>(info.shape[0] * info.shape[1]) - 1);
        const int c = number(0, static_cast<int>(pixel) - 1);
        s = one_run(number(1, static_cast<int>(pixel) - c));
        s.columns = number(1, static_cast<int>(info.shape[2]) - w), s.source_column = pixel;
        s.rows = number(1, static_cast<int>(info.shape[0] * info.shape[1]) - h), s.source_row = row;
        at = h * row + w * pixel + c;
        break;
      }
      default: {  // parts of a pixel one by one, as a load of blocks of channels has them
        const int part = number(1, static_cast<int>(pixel));
        s = one_run(part);
        s.columns = pixel / part, s.source_column = part;
        s.rows = info.shape[0] * info.shape[1] * info.shape[2], s.source_row = pixel;
      }
    }
    s.destination_column = s.run + number(0, 1) * number(0, 9);
    s.destination_row = s.destination_column * (s.columns - 1) + s.run + number(0, 1) * number(0, 9);
    t.source = kMap + static_cast<std::uint64_t>(at), t.destination = kElsewhere;
    return t;
  }
  static Transfer transposed_round(const Transfer& t) {
    Transfer back{t.destination, t.source, t.shape};
    std::swap(back.shape.source_row, back.shape.destination_row);
    std::swap(back.shape.source_column, back.shape.destination_column);
    return back;
  }
  static Bytes bytes_at(std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
    Bytes memory;
    for (const std::uint8_t byte : bytes) memory[address++] = byte;
    return memory;
  }

  // Reads a random part of a map, and writes it into an empty one, byte by byte as `map` says.
  void check_part(const TensorInfo& info, const StoredMapPointer& map, int round) {
    std::vector<std::uint8_t> nhwc(static_cast<std::size_t>(info.size_bytes()));
    for (std::uint8_t& byte : nhwc) byte = static_cast<std::uint8_t>(number(1, 255));
    const Transfer part = random_part(info);

    const Bytes plain = bytes_at(kMap, nhwc),
                stored = bytes_at(kMap, map ? bytes_to_store(*map, nhwc) : nhwc);
    Bytes expected, read;
    int bytes = 0, moved_bytes = 0;
    carry_out(part, plain, expected, bytes);
    for (const Transfer& t : relaid(map, {part}, TransferEnd::kSource))
      carry_out(t, stored, read, moved_bytes);
    ASSERT_EQ(read, expected) << "round " << round;
    ASSERT_EQ(moved_bytes, bytes) << "round " << round;

    // Back into an empty map: only the part's bytes come to lie there.
    Bytes written, back;
    int written_bytes = 0, back_bytes = 0;
    for (const Transfer& t : relaid(map, {transposed_round(part)}, TransferEnd::kDestination))
      carry_out(t, expected, written, written_bytes);
    ASSERT_EQ(written_bytes, bytes);
    for (const auto& [address, byte] : written) ASSERT_EQ(stored.at(address), byte) << "round " << round;
    for (const Transfer& t : relaid(map, {part}, TransferEnd::kSource))
      carry_out(t, written, back, back_bytes);
    ASSERT_EQ(back, expected) << "round " << round;
  }

  std::mt19937 random_{3};
};

TEST_F(MovedTransfers, OT_2_reads_and_writes_of_any_part_of_any_map) {
  for (int round = 0; round < 4000; ++round) {
    const TensorInfo info = random_map();
    const auto layout = static_cast<MapLayout>(number(0, 3));
    ASSERT_NO_FATAL_FAILURE(check_part(info, stored_map(kMap, info, layout, number(1, 9)), round));
  }
}

// Images are those of the map, or rows of it.
TEST_F(MovedTransfers, AT_2_reads_and_writes_of_any_part_of_images_with_room_between_them) {
  for (int round = 0; round < 4000; ++round) {
    const TensorInfo info = random_map();
    const std::int64_t images = info.shape[0] * (number(0, 1) == 1 ? info.shape[1] : 1);
    const std::int64_t bytes = info.size_bytes() / images;
    const std::int64_t pixel = info.shape[3] * dtype_size(info.dtype);
    const StoredMapPointer map =
        spaced_map(kMap, info.size_bytes(), images, pixel, bytes + number(0, 3) * pixel);
    ASSERT_NO_FATAL_FAILURE(check_part(info, map, round));
  }
}

TEST_F(MovedTransfers, AT_2_what_is_appended_to_every_image_is_one_transfer) {
  // Three heads of ten tokens of 64 bytes, with room for sixteen.
  const StoredMapPointer map = spaced_map(kMap, 3 * 640, 3, 64, 1024);
  Transfer token{kElsewhere, kMap + 9 * 64, one_run(64)};
  token.shape.columns = 3, token.shape.source_column = 64, token.shape.destination_column = 640;
  const std::vector<Transfer> made = relaid(map, {token}, TransferEnd::kDestination);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].destination, kMap + 9 * 64);
  EXPECT_EQ(made[0].shape.run, 64);
  EXPECT_EQ(made[0].shape.columns, 3);
  EXPECT_EQ(made[0].shape.destination_column, 1024);
  EXPECT_EQ(relaid(map, {{kMap, kElsewhere, one_run(3 * 640)}}, TransferEnd::kSource).size(), 1U);
}

TEST_F(MovedTransfers, OT_2_a_whole_map_is_one_transfer_in_blocks_and_one_run_in_its_own_order) {
  const TensorInfo info{{1, 7, 5, 32}, DType::kInt8, 0};
  const StoredMapPointer map = stored_map(kMap, info, MapLayout::kNchwc, 16);
  Transfer all{kMap, kElsewhere, one_run(info.size_bytes())};
  EXPECT_EQ(relaid(map, {all}, TransferEnd::kSource).size(), 1U);
  // Into the same order: pixel by pixel, in each block by block.
  Transfer same{kMap, kElsewhere, one_run(16)};
  same.shape.columns = 2, same.shape.source_column = 16, same.shape.destination_column = 35 * 16;
  same.shape.rows = 35, same.shape.source_row = 32, same.shape.destination_row = 16;
  const std::vector<Transfer> runs = relaid(map, {same}, TransferEnd::kSource);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].shape.run, 2 * 35 * 16);
  EXPECT_EQ(runs[0].shape.rows * runs[0].shape.columns, 1);
}

// Parts of rows, of NCHW: a transfer a row at most, not one a channel or pixel.
TEST_F(MovedTransfers, OT_2_tiles_of_many_channels_take_a_transfer_a_row_at_most) {
  const TensorInfo info{{1, 9, 8, 512}, DType::kInt8, 0};
  const StoredMapPointer map = stored_map(kMap, info, MapLayout::kNchw, 1);
  Transfer tile{kMap + 2 * 512, kElsewhere, one_run(4 * 512)};
  tile.shape.rows = 7, tile.shape.source_row = 8 * 512, tile.shape.destination_row = 4 * 512;
  EXPECT_LE(relaid(map, {tile}, TransferEnd::kSource).size(), 7U);
  Transfer stored{kElsewhere, kMap + 2 * 512 + 64, one_run(16)};
  stored.shape.columns = 4, stored.shape.source_column = 16, stored.shape.destination_column = 512;
  stored.shape.rows = 7, stored.shape.source_row = 64, stored.shape.destination_row = 8 * 512;
  EXPECT_LE(relaid(map, {stored}, TransferEnd::kDestination).size(), 7U);
}

TEST_F(MovedTransfers, OT_2_without_a_map_nothing_changes) {
  const Transfer t{kMap, kElsewhere, one_run(100)};
  EXPECT_EQ(relaid(nullptr, {t}, TransferEnd::kSource).front().shape.run, 100);
}

}  // namespace
}  // namespace tilebeat::testing
