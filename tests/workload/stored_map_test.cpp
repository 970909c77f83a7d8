// Maps in orders other than NHWC (SPEC OT-2): every element lies where the formula says.
#include "workload/tensor.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

class StoredMaps : public ::testing::Test {
 protected:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  std::mt19937 random_{7};
};

// The place of element (n, h, w, c), in elements, as SPEC OT-2 has it.
std::int64_t place_of(MapLayout layout, const std::vector<std::int64_t>& shape, int block, std::int64_t n,
                      std::int64_t h, std::int64_t w, std::int64_t c) {
  const std::int64_t images = shape[0], height = shape[1], width = shape[2], channels = shape[3];
  const std::int64_t q = h * width + w, map = height * width;
  switch (layout) {
    case MapLayout::kNchw:
      return n * channels * map + c * map + q;
    case MapLayout::kCnhw:
      return n * map + c * images * map + q;
    case MapLayout::kNhwc:
      return (n * map + q) * channels + c;
    case MapLayout::kNchwc: {
      const std::int64_t blocks = (channels + block - 1) / block;
      return (n * blocks * map + q) * block + c / block * map * block + c % block;
    }
  }
  return -1;
}

TEST_F(StoredMaps, OT_2_elements_lie_where_the_formulas_say) {
  for (int round = 0; round < 300; ++round) {
    const auto layout = static_cast<MapLayout>(number(0, 3));
    const int block = number(1, 9);
    const TensorInfo info{{number(1, 3), number(1, 6), number(1, 6), number(1, 20)},
                          number(0, 3) == 0 ? DType::kInt32 : DType::kInt8,
                          0};
    const auto element = static_cast<std::size_t>(dtype_size(info.dtype));
    std::vector<std::uint8_t> nhwc(static_cast<std::size_t>(info.size_bytes()));
    for (std::uint8_t& byte : nhwc) byte = static_cast<std::uint8_t>(number(1, 255));
    const StoredMapPointer map = stored_map(4096, info, layout, block);
    const std::vector<std::uint8_t> stored = map ? bytes_to_store(*map, nhwc) : nhwc;
    std::set<std::size_t> filled;
    std::size_t from = 0;
    for (std::int64_t n = 0; n < info.shape[0]; ++n)
      for (std::int64_t h = 0; h < info.shape[1]; ++h)
        for (std::int64_t w = 0; w < info.shape[2]; ++w)
          for (std::int64_t c = 0; c < info.shape[3]; ++c)
            for (std::size_t byte = 0; byte < element; ++byte, ++from) {
              const std::size_t to =
                  static_cast<std::size_t>(place_of(layout, info.shape, block, n, h, w, c)) * element + byte;
              ASSERT_LT(to, stored.size());
              ASSERT_EQ(stored[to], nhwc[from]) << "round " << round;
              filled.insert(to);
            }
    EXPECT_EQ(filled.size(), nhwc.size());
    for (std::size_t at = 0; at < stored.size(); ++at) {
      if (filled.count(at) == 0) {
        EXPECT_EQ(stored[at], 0);
      }
    }
    if (map) {
      EXPECT_EQ(bytes_as_nhwc(*map, stored), nhwc);
    }
  }
}

TEST_F(StoredMaps, OT_2_one_pixel_is_in_order_in_every_layout_but_where_images_alternate) {
  const TensorInfo one{{1, 1, 1, 32}, DType::kInt8, 0}, two{{2, 1, 1, 32}, DType::kInt8, 0};
  EXPECT_EQ(stored_map(0, one, MapLayout::kCnhw, 16), nullptr);
  EXPECT_EQ(stored_map(0, two, MapLayout::kNchw, 16), nullptr);
  EXPECT_EQ(stored_map(0, two, MapLayout::kNchwc, 16), nullptr);
  EXPECT_NE(stored_map(0, two, MapLayout::kNchwc, 24), nullptr);  // the last block is not full
  EXPECT_NE(stored_map(0, two, MapLayout::kCnhw, 16), nullptr);
}

}  // namespace
}  // namespace tilebeat::testing
