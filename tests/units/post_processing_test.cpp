// What results become on their way out of a matrix unit.
#include "units/post_processing.h"

#include <climits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {
namespace {

ConvSetup random_setup() {
  ConvSetup setup;
  setup.requantise = *rc::gen::weightedElement<bool>({{9, true}, {1, false}});
  setup.output_type = setup.requantise ? *rc::gen::element(DType::kInt8, DType::kUint8) : DType::kInt8;
  setup.post_parameters = *rc::gen::arbitrary<bool>();
  setup.clamp = *rc::gen::arbitrary<bool>();
  setup.clamp_low = *rc::gen::inRange(-1000, 1), setup.clamp_high = *rc::gen::inRange(0, 1000000);
  setup.output_zero_point = *rc::gen::inRange(-128, 256);
  setup.rescale = *rc::gen::element(Rescale::kReal64, Rescale::kReal64, Rescale::kReal32,
                                    Rescale::kSingleRounding, Rescale::kDoubleRounding);
  if (setup.rescale == Rescale::kReal64 && *rc::gen::inRange(0, 4) == 0)
    setup.function = RealFunction::kSigmoid, setup.output_scale = 128;
  setup.floor = static_cast<std::uint8_t>(*rc::gen::inRange(0, 140));
  setup.ceiling = static_cast<std::uint8_t>(*rc::gen::inRange(0, 140));
  return setup;
}

PostParameter random_parameter(Rescale rescale) {
  PostParameter parameter;
  const bool fixed = rescale == Rescale::kSingleRounding || rescale == Rescale::kDoubleRounding;
  parameter.scale = fixed ? *rc::gen::inRange(1 << 30, INT_MAX) : *rc::gen::inRange(1, 5000) / 8192.0;
  parameter.bias = *rc::gen::element(0, -7, 12345, INT_MAX, INT_MIN);
  parameter.shift = fixed ? *rc::gen::inRange(-20, 1) : 0;
  return parameter;
}

// Halves that are rounded to even, sums that wrap, bounds that cross: as one by one.
TEST(PostProcessing, NU_2_a_row_of_bytes_becomes_what_its_sums_become_one_by_one) {
  EXPECT_TRUE(rc::check([] {
    const ConvSetup setup = random_setup();
    const int count = *rc::gen::inRange(0, 40);
    std::vector<Sum> sums;
    std::vector<PostParameter> parameters;
    std::vector<std::uint8_t> expected, bytes(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) {
      sums.push_back(
          *rc::gen::element(*rc::gen::inRange(-5000, 5000), *rc::gen::arbitrary<int>(), INT_MAX, INT_MIN));
      parameters.push_back(random_parameter(setup.rescale));
      expected.push_back(static_cast<std::uint8_t>(post_process(sums.back(), setup, parameters.back())));
    }
    post_process_row(sums.data(), count, setup, parameters.data(), bytes.data());
    RC_ASSERT(bytes == expected);
  }));
}

}  // namespace
}  // namespace tilebeat::testing
