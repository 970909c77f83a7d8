// Images of weights and the decoder at a reading port (SPEC DT-1; docs/types.md, Images): sizes and headers,
// and what is decoded of images that are written here byte by byte.
#include "random_cases.h"
#include "tilebeat/error.h"
#include "units/weight_decoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put_halves(const Bytes& values, Bytes& to) {
  for (std::size_t i = 0; i < values.size(); i += 2)
    to.push_back(static_cast<std::uint8_t>(values[i] | (i + 1 < values.size() ? values[i + 1] << 4 : 0)));
}

/// An image of random contents, written from the description of the format, and its bytes as int8.
struct WrittenImage {
  WeightImage header;
  Bytes bytes, decoded;
};

WrittenImage written_image() {
  WrittenImage made;
  WeightImage& h = made.header;
  ImageFrames& f = h.frames;
  f.run = number(1, 9), f.scales = number(1, 5), f.periods = number(1, 4);
  f.tail = f.scales > 1 && one_in(3) ? number(1, f.run) : 0;
  h.last_scales = one_in(2) ? f.scales : number(1, 5);
  h.shift = number(0, 7), h.is_signed = one_in(2), h.zero_points = one_in(2);
  h.blocks = number(1, 4), h.weights = number(1, 150), h.plain = one_in(2) ? 16 * number(0, 2) : 0;
  h.last_weights = number(1, to_int(h.weights)), h.last_plain = h.plain;
  Bytes scales, zeros, packed;
  for (int block = 0; block < h.blocks; ++block) {
    const bool last_block = block + 1 == h.blocks;
    const std::int64_t weights = last_block ? h.last_weights : h.weights;
    const int of_period = last_block ? h.last_scales : f.scales;
    Bytes codes;
    std::size_t first = 0;  // scale of the frame's first run
    int run = 0, period = 0, in_run = 0;
    for (std::int64_t i = 0; i < weights; ++i) {
      if (run == 0 && period == 0 && in_run == 0) {
        first = scales.size();
        for (int s = 0; s < of_period; ++s) {
          scales.push_back(static_cast<std::uint8_t>(number(0, 255)));
          zeros.push_back(static_cast<std::uint8_t>(h.zero_points ? number(0, 15) : h.is_signed ? 0 : 8));
        }
      }
      const int code = number(0, 15), zero = zeros[first + to_size(run)];
      const auto value = [&](int half) { return h.is_signed && half > 7 ? half - 16 : half; };
      int weight = (value(code) - value(zero)) * scales[first + to_size(run)];
      if (h.shift > 0) weight = (weight + (1 << (h.shift - 1))) >> h.shift;
      made.decoded.push_back(static_cast<std::uint8_t>(std::clamp(weight, -128, 127)));
      codes.push_back(static_cast<std::uint8_t>(code));
      const bool last = run == of_period - 1;
      if (++in_run < (last && f.tail > 0 ? f.tail : f.run)) continue;
      in_run = 0, run = last ? 0 : run + 1;
      if (last) period = (period + 1) % f.periods;
    }
    put_halves(codes, packed);
    for (int i = 0; i < h.plain; ++i) {
      packed.push_back(static_cast<std::uint8_t>(number(0, 255)));
      made.decoded.push_back(packed.back());
    }
  }
  const auto header = h.encoded();
  made.bytes.assign(header.begin(), header.end());
  made.bytes.insert(made.bytes.end(), scales.begin(), scales.end());
  if (h.zero_points) put_halves(zeros, made.bytes);
  made.bytes.resize((made.bytes.size() + 31) / 32 * 32);
  made.bytes.insert(made.bytes.end(), packed.begin(), packed.end());
  return made;
}

TEST(WeightWindow, DT_1_any_part_of_an_image_is_decoded) {
  check_cases(400, [] {
    const WrittenImage written = written_image();
    RC_ASSERT(written.header.bytes() == ssize(written.bytes));
    RC_ASSERT(written.header.decoded_bytes() == ssize(written.decoded));
    WeightWindow window(written.bytes.data(), 1 << 16);
    const auto [scales, zero_points] = window.scales();
    window.take(written.bytes.data() + scales.begin, written.bytes.data() + zero_points.begin);
    for (int i = 0; i < 8; ++i) {
      const int begin = number(0, count_of(written.decoded) - 1),
                end = number(begin + 1, count_of(written.decoded));
      Bytes held, decoded(to_size(end - begin));
      window.image().for_parts(begin, end, [&](const WeightImage::Part& part) {
        const WeightImage::Bytes of = part.bytes();
        held.insert(held.end(), written.bytes.begin() + of.begin,
                    written.bytes.begin() + of.begin + of.count);
      });
      window.decode(begin, end, held.data(), decoded.data());
      RC_ASSERT(decoded == Bytes(written.decoded.begin() + begin, written.decoded.begin() + end));
    }
  });
}

TEST(WeightWindow, DT_1_groups_of_32_take_17_bytes_and_so_hold_1_88_times_as_many_weights) {
  WeightImage image;
  image.frames.run = 32, image.weights = image.last_weights = 32 * 1024;
  EXPECT_EQ(image.bytes(), kImageHeaderBytes + 17 * 1024);
  EXPECT_NEAR(static_cast<double>(image.decoded_bytes()) / static_cast<double>(image.bytes()), 1.88, 0.005);
}

TEST(WeightWindow, DT_1_a_header_that_no_image_has_is_refused) {
  WeightImage image;
  image.frames = {4, 2, 1, 3}, image.last_scales = 2, image.weights = 40, image.last_weights = 40;
  const auto good = image.encoded();
  EXPECT_EQ(WeightImage::decoded(good.data()).frames.tail, 3);
  const auto refused = [&](std::size_t byte, std::uint8_t value) {
    auto header = good;
    header.at(byte) = value;
    EXPECT_THROW(WeightImage::decoded(header.data()), SimulationError) << "byte " << byte;
  };
  refused(0, 0), refused(2, 0), refused(4, 0);    // run, scales, periods
  refused(6, 5);                                  // a tail longer than the runs
  refused(8, 32), refused(9, 1), refused(31, 1);  // bits without a meaning
  refused(26, 0);                                 // scales in the last block
  refused(12, 0), refused(16, 0);                 // weights, blocks
  refused(20, 41);                                // more weights in the last block
}

TEST(WeightWindow, DT_1_counts_that_no_memory_has_are_refused) {
  WeightImage image;
  image.weights = image.last_weights = image.blocks = 0xffffffff;
  EXPECT_THROW(WeightImage::decoded(image.encoded().data()), SimulationError);
}

TEST(WeightWindow, DT_1_a_port_holds_as_many_scales_as_it_has_room_for) {
  WeightImage image;
  image.frames.run = 32, image.weights = image.last_weights = 32 * 100;
  const auto header = image.encoded();
  EXPECT_EQ(WeightWindow(header.data(), 100).scales()[0].count, 100);
  EXPECT_THROW(WeightWindow(header.data(), 99), SimulationError);
  EXPECT_THROW(WeightWindow(header.data(), 0), SimulationError) << "a port without a decoder";
}

TEST(WeightWindow, DT_1_bytes_beyond_an_image_are_refused) {
  WeightImage image;
  image.frames.run = 4, image.weights = image.last_weights = 40, image.plain = image.last_plain = 16;
  const auto visit = [](const WeightImage::Part&) {};
  image.for_parts(0, 56, visit);
  EXPECT_THROW(image.for_parts(0, 57, visit), SimulationError);
  EXPECT_THROW(image.for_parts(-1, 4, visit), SimulationError);
}

}  // namespace
}  // namespace tilebeat::testing
