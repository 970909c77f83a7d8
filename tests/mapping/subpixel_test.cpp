// Transposed convolutions as sub-pixel convolutions (SPEC OP-2): geometry and kernels of every phase.
#include "planner/language/problem.h"

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

Conv2d transposed(int kernel, int stride, int pad) {
  Conv2d conv;
  conv.form = ConvForm::kTransposed;
  conv.kernel = {kernel, kernel}, conv.stride = {stride, stride}, conv.pads = {pad, pad, pad, pad};
  return conv;
}

TEST(Subpixel, OP_2_an_axis_has_as_few_taps_as_a_phase_can_have) {
  const SubpixelAxis doubled = subpixel_axis(transposed(4, 2, 1), 0, 16);  // 8 pixels become 16
  EXPECT_EQ(doubled.taps, 2);
  EXPECT_EQ(doubled.lead, 1) << "the first of two rows is cut off";
  EXPECT_EQ(doubled.outs, 9);
  EXPECT_EQ(doubled.pad, 1);
  const SubpixelAxis fsrcnn = subpixel_axis(transposed(9, 2, 4), 1, 1920);  // of 960
  EXPECT_EQ(fsrcnn.taps, 5);
  EXPECT_EQ(fsrcnn.lead, 0);
  EXPECT_EQ(fsrcnn.outs, 960);
  EXPECT_EQ(fsrcnn.pad, 2);
  EXPECT_EQ(fsrcnn.kernel_tap(0, 4), 0) << "the pixel itself comes last";
  EXPECT_EQ(fsrcnn.kernel_tap(0, 0), 8);
  EXPECT_EQ(fsrcnn.kernel_tap(1, 0), 9) << "which is none";
}

TEST(Subpixel, OP_2_a_kernel_a_phase) {
  Conv2d conv = transposed(3, 2, 0);
  conv.kernel = {1, 3}, conv.stride = {1, 2};
  conv.out_channels = 2, conv.weight_zero_point = 9;
  conv.weights = Tensor{{2, 1, 3, 1}, DType::kInt8, {1, 2, 3, 4, 5, 6}};
  conv.bias = {70, 80};
  conv.requant = Requant{{0.5, 0.25}, 1, DType::kInt8};
  const SubpixelConv made = subpixel_conv(conv, {1, 1, 5, 2});  // of two pixels
  EXPECT_EQ(made.conv.out_channels, 4);
  EXPECT_EQ(made.conv.kernel, (std::array<int, 2>{1, 2}));
  EXPECT_EQ(made.conv.weights.int8()->bytes, (std::vector<std::uint8_t>{3, 1, 6, 4, 9, 2, 9, 5}))
      << "phase 0 has taps 2 and 0 of both kernels, phase 1 nothing and tap 1";
  EXPECT_EQ(made.conv.bias, (std::vector<std::int64_t>{70, 80, 70, 80}));
  EXPECT_EQ(made.conv.requant->scale, (std::vector<double>{0.5, 0.25, 0.5, 0.25}));
  EXPECT_EQ(made.outs, (std::array<int, 2>{1, 3}));
  EXPECT_EQ(made.interleaving.width, 5) << "the sixth pixel is left out";
  EXPECT_EQ(made.interleaving.channels, 2);
}

}  // namespace
}  // namespace tilebeat
