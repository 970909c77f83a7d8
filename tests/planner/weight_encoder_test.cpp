// Streams of weights of four bits (SPEC DT-1): what the encoder writes, the decoder of a DMA engine reads, in
// whatever pieces it arrives; and what streams of the orders of engines take.
#include "planner/layer/weight_encoder.h"

#include "isa/weight_stream.h"
#include "random_cases.h"
#include "tilebeat/error.h"
#include "units/weight_decoder.h"
#include "workload/weights.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

/// The weights of a stream that arrives in pieces of `piece()` bytes and is asked for `most()` weights at a
/// time.
template <class Piece, class Most>
std::vector<std::uint8_t> decoded(const std::vector<std::uint8_t>& stream, Piece piece, Most most) {
  WeightDecoder decoder;
  std::vector<std::uint8_t> arrived, weights;
  std::size_t taken = 0;
  while (taken < stream.size() || !arrived.empty()) {
    const std::size_t some = std::min(piece(), stream.size() - taken);
    arrived.insert(arrived.end(), stream.begin() + to_signed(taken),
                   stream.begin() + to_signed(taken + some));
    taken += some;
    for (;;) {
      std::vector<std::uint8_t> made(most());
      const WeightDecoder::Step step =
          decoder.decode(arrived.data(), arrived.size(), made.data(), static_cast<int>(made.size()));
      weights.insert(weights.end(), made.begin(), made.begin() + step.made);
      arrived.erase(arrived.begin(), arrived.begin() + to_signed(step.taken));
      if (step.made == 0 && step.taken == 0) break;
    }
    if (taken == stream.size() && some == 0) break;
  }
  EXPECT_TRUE(arrived.empty()) << "bytes behind the last weight";
  EXPECT_TRUE(decoder.at_end());
  return weights;
}

/// Weights whose scale follows from their place, `scale_of(i)`.
template <class ScaleOf>
EncodableWeights weights_of(std::int64_t count, ScaleOf scale_of) {
  EncodableWeights made;
  made.shift = 3;
  for (std::int64_t i = 0; i < count; ++i) {
    made.codes.push_back(static_cast<std::uint8_t>(i * 7 % 16));
    made.scales.push_back(static_cast<std::uint8_t>(scale_of(i)));
    made.bytes.push_back(
        static_cast<std::uint8_t>(decoded_weight(made.codes.back(), made.scales.back(), 3, true)));
  }
  return made;
}
std::vector<std::uint8_t> all_at_once(const std::vector<std::uint8_t>& stream, std::size_t weights) {
  return decoded(
      stream, [&] { return stream.size(); }, [&] { return weights; });
}

TEST(WeightDecoder, DT_1_every_code_scale_zero_point_and_shift) {
  for (const bool is_signed : {true, false}) {
    for (int shift = 0; shift <= 7; ++shift) {
      for (const int scale : {1, 2, 3, 16, 127, 128, 255}) {
        EncodableWeights all;
        all.shift = shift, all.is_signed = is_signed, all.has_zero_points = true;
        for (int code = 0; code < 256; ++code) {
          // The formula of SPEC DT-1, in real numbers.
          const int w4 = is_signed && code % 16 > 7 ? code % 16 - 16 : code % 16;
          const int z = is_signed && code / 16 > 7 ? code / 16 - 16 : code / 16;
          const double half = shift > 0 ? 0.5 : 0;
          const double exact = std::floor((w4 - z) * scale / std::pow(2.0, shift) + half);
          all.codes.push_back(static_cast<std::uint8_t>(code));
          all.scales.push_back(static_cast<std::uint8_t>(scale));
          all.bytes.push_back(static_cast<std::uint8_t>(static_cast<int>(std::clamp(exact, -128.0, 127.0))));
        }
        const std::vector<std::uint8_t> stream = encoded_stream(all);
        EXPECT_EQ(all_at_once(stream, all.bytes.size()), all.bytes);
        EXPECT_LT(stream.size(), all.bytes.size()) << "no byte is stored as it is: the formula holds for all";
      }
    }
  }
}

// Two weights with scale 1, then seven, more than a run, with scale 3; and the same again.
TEST(WeightDecoder, DT_1_a_tail_longer_than_a_run_goes_on_where_it_was_interrupted) {
  WeightSection section;
  section.run = 2, section.scales = 2, section.tail = 7, section.periods = 2;
  std::vector<std::uint8_t> stream, expected;
  for (int byte = 0; byte < kWeightHeaderBytes; ++byte)
    stream.push_back(static_cast<std::uint8_t>(section.encoded() >> 8 * byte));
  stream.insert(stream.end(), {1, 3});
  for (int i = 0; i < 18; ++i) expected.push_back(static_cast<std::uint8_t>(i % 7 * (i % 9 < 2 ? 1 : 3)));
  for (int i = 0; i < 18; i += 2) stream.push_back(static_cast<std::uint8_t>(i % 7 | (i + 1) % 7 << 4));
  EXPECT_EQ(all_at_once(stream, expected.size()), expected);
  const auto one = [] { return std::size_t{1}; };
  EXPECT_EQ(decoded(stream, one, one), expected);
}

TEST(WeightStreams, DT_1_whatever_is_encoded_is_decoded_in_any_pieces) {
  check_cases(300, [] {
    EncodableWeights weights;
    weights.shift = number(0, 7), weights.is_signed = one_in(2), weights.has_zero_points = one_in(2);
    const int zero = weights.has_zero_points ? 0 : weights.is_signed ? 0 : 8;
    while (weights.bytes.size() < 3000 && !one_in(40)) {
      // Runs of a scale, weights that are filled up, bytes that are none.
      const int kind = number(0, 9), run = number(1, 70), scale = number(0, 4) * 13;
      const int point = weights.has_zero_points ? number(0, 15) : zero;
      for (int i = 0; i < run; ++i) {
        const bool filled = kind == 0, plain = kind == 1;
        const auto code = static_cast<std::uint8_t>(filled ? 0 : number(0, 15) | point << 4);
        weights.codes.push_back(code);
        weights.scales.push_back(static_cast<std::uint8_t>(filled ? 0 : scale));
        const std::int8_t weight =
            decoded_weight(code, weights.scales.back(), weights.shift, weights.is_signed);
        weights.bytes.push_back(static_cast<std::uint8_t>(plain ? number(0, 255) : weight));
      }
    }
    if (weights.bytes.empty()) return;
    const std::vector<std::uint8_t> stream = encoded_stream(weights);
    RC_ASSERT(stream.size() <= weights.bytes.size() + kWeightHeaderBytes);
    const auto piece = [] { return static_cast<std::size_t>(number(1, 90)); };
    const auto most = [] { return static_cast<std::size_t>(number(1, 200)); };
    RC_ASSERT(decoded(stream, piece, most) == weights.bytes);
  });
}

TEST(WeightStreams, DT_1_orders_of_engines_take_half_a_byte_and_a_scale_a_group) {
  constexpr int kKernels = 16, kGroup = 32, kWeights = 16384;
  const auto scale = [](std::int64_t kernel, std::int64_t group) {
    return 1 + (kernel * 31 + group * 17) % 251;
  };
  struct Order {
    const char* name;
    EncodableWeights weights;
  };
  const Order orders[] = {
      // beat after beat, in each all kernels with four channels of a tap; the taps of a channel block
      // together
      {"switch array, 1 x 1",
       weights_of(kWeights,
                  [&](std::int64_t i) { return scale(i / 4 % kKernels, i / (4 * kKernels) * 4 / kGroup); })},
      {"switch array, 3 x 3", weights_of(kWeights / 9 / 512 * 9 * 512,
                                         [&](std::int64_t i) {
                                           const std::int64_t tap = i / 4 / kKernels % 9,
                                                              channel = i / 4 / kKernels / 9 * 4;
                                           return scale(i / 4 % kKernels, 8 * tap + channel / kGroup);
                                         })},
      // kernel after kernel
      {"W-fold", weights_of(kWeights, [&](std::int64_t i) { return scale(i / 1024, i % 1024 / kGroup); })},
      // element after element of all kernels
      {"rolling",
       weights_of(kWeights, [&](std::int64_t i) { return scale(i % kKernels, i / kKernels / kGroup); })}};
  for (const Order& order : orders) {
    SCOPED_TRACE(order.name);
    const std::vector<std::uint8_t> stream = encoded_stream(order.weights);
    EXPECT_EQ(all_at_once(stream, order.weights.bytes.size()), order.weights.bytes);
    const std::size_t weights = order.weights.bytes.size();
    EXPECT_LE(stream.size(), weights / 2 + weights / kGroup + 8 * kWeightHeaderBytes);
  }
}

// Kernels that follow one another and are no multiple of a group: whole groups, and the rest of each kernel.
// The stream begins within a kernel, as it does where loads are cut.
TEST(WeightStreams, DT_1_kernels_of_any_length_take_a_scale_a_group) {
  struct Kernels {
    int k, group;
  };
  for (const Kernels of :
       {Kernels{27, 16}, Kernels{20, 16}, Kernels{36, 16}, Kernels{72, 64}, Kernels{147, 32}}) {
    for (const int skipped : {0, 5, 19}) {
      SCOPED_TRACE(fmt::format("K {}, groups of {}, from weight {}", of.k, of.group, skipped));
      const int groups = (of.k + of.group - 1) / of.group;
      const EncodableWeights weights = weights_of(8000, [&](std::int64_t i) {
        const std::int64_t at = i + skipped;
        return 1 + (at / of.k * groups + at % of.k / of.group) * 37 % 251;
      });
      const std::vector<std::uint8_t> stream = encoded_stream(weights);
      EXPECT_EQ(all_at_once(stream, weights.bytes.size()), weights.bytes);
      const double exact = 0.5 + static_cast<double>(groups) / of.k;
      EXPECT_LE(static_cast<double>(stream.size()) / 8000, 1.04 * exact);
    }
  }
}

/// Every `twins` elements twice, one time behind the other.
std::vector<std::uint8_t> twice(const std::vector<std::uint8_t>& once, std::size_t twins) {
  std::vector<std::uint8_t> made;
  for (std::size_t at = 0; at < once.size(); at += twins) {
    for (int time = 0; time < 2; ++time)
      made.insert(made.end(), once.begin() + to_signed(at), once.begin() + to_signed(at + twins));
  }
  return made;
}

TEST(WeightStreams, DT_2_weights_of_both_halves_are_stored_once) {
  for (const int twins : {1, 5, 16}) {
    SCOPED_TRACE(twins);
    EncodableWeights weights = weights_of(240, [](std::int64_t i) { return 1 + i / 80; });
    const std::size_t in_four_bits = encoded_stream(weights).size();
    for (auto* part : {&weights.bytes, &weights.codes, &weights.scales}) *part = twice(*part, to_size(twins));
    const std::vector<std::uint8_t> coded = stream_of_twins(weights, {twins});
    EXPECT_EQ(all_at_once(coded, 480), weights.bytes);
    EXPECT_LE(coded.size(), in_four_bits + kTwinBytes * 3);
    weights.codes.clear(), weights.scales.clear();
    const std::vector<std::uint8_t> plain = stream_of_twins(weights, {twins});
    EXPECT_EQ(all_at_once(plain, 480), weights.bytes);
    EXPECT_EQ(plain.size(), 240 + kWeightHeaderBytes + kTwinBytes);
  }
}

// Twins begin and end between weights that come once, and go on in the next section.
TEST(WeightStreams, DT_2_whatever_comes_twice_is_decoded_in_any_pieces) {
  check_cases(200, [] {
    EncodableWeights weights;
    const std::vector<int> twins{number(1, 20), number(1, 20)};
    while (weights.bytes.size() < 2000 && !one_in(15)) {
      const int count = number(1, 200), of = one_in(2) ? twins[0] : twins[1];
      std::vector<std::uint8_t> some;
      for (int i = 0; i < count * (one_in(3) ? 1 : of); ++i)
        some.push_back(static_cast<std::uint8_t>(number(0, 255)));
      if (some.size() % static_cast<std::size_t>(of) == 0 && !one_in(4)) some = twice(some, to_size(of));
      weights.bytes.insert(weights.bytes.end(), some.begin(), some.end());
    }
    if (weights.bytes.empty()) return;
    if (one_in(2)) {  // codes that are none, or the weights themselves with a scale of 1
      weights.is_signed = false, weights.has_zero_points = true;
      for (std::uint8_t& byte : weights.bytes) {
        if (byte < 100) byte %= 16;
        weights.codes.push_back(byte < 16 ? byte : 0), weights.scales.push_back(byte < 16 ? 1 : 0);
      }
    }
    const std::vector<std::uint8_t> stream = stream_of_twins(weights, twins);
    RC_ASSERT(stream.size() <= weights.bytes.size() + kWeightHeaderBytes);
    const auto piece = [] { return static_cast<std::size_t>(number(1, 90)); };
    const auto most = [] { return static_cast<std::size_t>(number(1, 200)); };
    RC_ASSERT(decoded(stream, piece, most) == weights.bytes);
  });
}

TEST(WeightStreams, DT_2_few_weights_take_no_more_than_a_header) {
  for (std::size_t size = 1; size < 60; ++size) {
    EncodableWeights weights;
    weights.bytes.assign(size, 7);
    const std::vector<std::uint8_t> stream = stream_of_twins(weights, {1});
    EXPECT_LE(stream.size(), size + kWeightHeaderBytes);
    EXPECT_EQ(all_at_once(stream, size), weights.bytes);
  }
}

TEST(WeightStreams, DT_2_a_section_of_no_twins_is_refused) {
  WeightDecoder decoder;
  std::vector<std::uint8_t> weights(8);
  WeightSection section;
  section.run = 4, section.twins = 1;
  std::vector<std::uint8_t> stream;
  for (int byte = 0; byte < kWeightHeaderBytes; ++byte)
    stream.push_back(static_cast<std::uint8_t>(section.encoded() >> 8 * byte));
  stream.insert(stream.end(), {0, 0, 1, 2, 3, 4});
  EXPECT_THROW(decoder.decode(stream.data(), stream.size(), weights.data(), 8), SimulationError);
}

TEST(WeightStreams, DT_1_a_header_that_no_section_has_is_refused) {
  WeightDecoder decoder;
  std::vector<std::uint8_t> weights(8);
  const std::vector<std::uint8_t> no_frames{1, 0, 1, 0, 1, 0, 0, 0};
  EXPECT_THROW(decoder.decode(no_frames.data(), no_frames.size(), weights.data(), 8), SimulationError);
}

}  // namespace
}  // namespace tilebeat::testing
