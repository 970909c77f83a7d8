// Which rows of its input a layer's rows are made of, against the definitions of the operators (SPEC FU-2).
#include "planner/fusion/group_graph.h"
#include "planner/language/problem.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <gtest/gtest.h>

namespace tilebeat {
namespace {

Workload map_of(int height) {
  Workload workload;
  workload.inputs["x"] = {{1, height, 5, 4}, DType::kInt8, 0};
  return workload;
}
Layer layer_of(LayerOperation operation, int out_height) {
  Layer layer;
  layer.name = "y", layer.inputs = {"x"}, layer.operation = std::move(operation);
  layer.output = {{1, out_height, 7, 4}, DType::kInt8, 0};
  return layer;
}

// For every range of outputs: the rows that it needs lie in the range that is said, which begins and ends
// with one of them, or with one less where `slack` rows are taken along.
template <class Needs>
void check(const RowAxis& axis, int outs, int slack, const Needs& needs) {
  for (int begin = 0; begin < outs; ++begin) {
    for (int end = begin + 1; end <= std::min(outs, begin + 7); ++end) {
      std::set<int> rows;
      for (int out = begin; out < end; ++out) needs(out, rows);
      const Interval said = axis.inputs_of({begin, end});
      if (rows.empty()) {
        EXPECT_LE(said.size(), slack) << begin << " to " << end;
        continue;
      }
      EXPECT_LE(said.begin, *rows.begin()) << begin << " to " << end;
      EXPECT_GE(said.begin, *rows.begin() - slack) << begin << " to " << end;
      EXPECT_GE(said.end, *rows.rbegin() + 1) << begin << " to " << end;
      EXPECT_LE(said.end, *rows.rbegin() + 1 + slack) << begin << " to " << end;
    }
  }
}

TEST(RowAxis, FU_2_pad_needs_rows_of_the_map_alone) {
  Pad pad;
  pad.pads = {3, 0, 2, 0};
  const Layer layer = layer_of(pad, 6 + 5);
  check(*row_axis(map_of(6), layer, 0, TensorView::kMaps), 11, 0, [](int out, std::set<int>& rows) {
    if (out >= 3 && out < 9) rows.insert(out - 3);
  });
}

// Row r of a transposed convolution sums what rows h give to h * stride + tap - top.
TEST(RowAxis, FU_2_conv_transpose_takes_what_reaches_its_rows) {
  for (const auto& [height, kernel, stride, top, bottom] :
       {std::array{6, 4, 2, 1, 1}, std::array{5, 9, 2, 4, 3}, std::array{4, 3, 3, 0, 0},
        std::array{7, 5, 1, 2, 0}, std::array{5, 2, 3, 0, 1}, std::array{4, 7, 4, 6, 6}}) {
    Conv2d conv;
    conv.form = ConvForm::kTransposed;
    conv.kernel = {kernel, 1}, conv.stride = {stride, 1}, conv.pads = {top, 0, bottom, 0};
    const int outs = (height - 1) * stride + kernel - top - bottom;
    const RowAxis axis = *row_axis(map_of(height), layer_of(conv, outs), 0, TensorView::kMaps);
    // Rows are made together that need up to a kernel's rows between them.
    const int slack = (kernel + stride - 1) / stride + 1;
    check(axis, outs, slack,
          [&, height = height, kernel = kernel, stride = stride, top = top](int out, std::set<int>& rows) {
            for (int h = 0; h < height; ++h) {
              for (int tap = 0; tap < kernel; ++tap) {
                if (h * stride + tap - top == out) rows.insert(h);
              }
            }
          });
    ASSERT_NE(axis.subpixel(), nullptr);
    EXPECT_EQ(axis.rows_at_a_time(), stride);
    // Every row is made by the outputs that are said to make it.
    for (int begin = 0; begin < outs; ++begin) {
      for (int end = begin + 1; end <= outs; ++end) {
        const Interval made = axis.subpixel()->rows_of(axis.subpixel()->outputs_of({begin, end}), outs);
        EXPECT_LE(made.begin, begin);
        EXPECT_GE(made.end, end);
        EXPECT_LT(made.size(), end - begin + 2 * stride) << "and few others";
      }
    }
  }
}

TEST(RowAxis, FU_2_resize_takes_the_rows_around_a_place) {
  for (const auto& [in, out] : {std::pair{5, 13}, std::pair{13, 5}, std::pair{7, 7}, std::pair{1, 9}}) {
    for (const auto mode : {Resize::Mode::kNearest, Resize::Mode::kBilinear}) {
      Resize resize;
      resize.mode = mode;
      const double scale = static_cast<double>(in) / out;
      check(*row_axis(map_of(in), layer_of(resize, out), 0, TensorView::kMaps), out, 0,
            [&, in = in, mode = mode](int o, std::set<int>& rows) {
              const double place = (o + 0.5) * scale - 0.5;
              const auto row = [&](double at) {
                rows.insert(static_cast<int>(std::clamp(at, 0.0, static_cast<double>(in - 1))));
              };
              if (mode == Resize::Mode::kNearest) {
                row(std::ceil(place - 0.5 - 1e-9));  // halves down
                return;
              }
              row(std::floor(place + 1e-9)), row(std::ceil(place - 1e-9));
            });
    }
  }
}

// One tensor "x" of int8.
Workload tensor_of(const std::vector<std::int64_t>& shape) {
  Workload workload;
  workload.inputs["x"].shape = shape;
  return workload;
}
Layer reshaped(const std::vector<std::int64_t>& shape) {
  Layer layer;
  layer.operation = Reshape{}, layer.inputs = {"x"}, layer.output.shape = shape;
  return layer;
}

TEST(RowAxis, FU_1_another_shape_has_the_rows_of_its_input_or_none) {
  const auto has = [](const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to,
                      TensorView view) {
    return row_axis(tensor_of(from), reshaped(to), 0, view).has_value();
  };
  EXPECT_TRUE(has({1, 1, 1, 64}, {1, 64}, TensorView::kMaps)) << "flatten behind a global pooling";
  EXPECT_FALSE(has({1, 4, 4, 8}, {1, 128}, TensorView::kMaps)) << "one row of all pixels";
  EXPECT_TRUE(has({1, 4, 4, 8}, {1, 4, 4, 8}, TensorView::kMaps)) << "dropout";
  EXPECT_TRUE(has({1, 48, 8}, {48, 8}, TensorView::kMaps));
  EXPECT_FALSE(has({48, 8}, {48, 2, 4}, TensorView::kRows)) << "heads are rows of their own";
  EXPECT_TRUE(has({1, 1, 48, 8}, {48, 8}, TensorView::kRows));
  EXPECT_FALSE(has({1, 1, 48, 8}, {48, 8}, TensorView::kMaps)) << "48 pixels of one row are a map";
}

TEST(RowAxis, FU_1_OP_1_rows_of_a_product_are_rows_of_its_input) {
  Conv2d product;
  product.pixels = PixelAxes::kRows;
  const auto axis = [&](const std::vector<std::int64_t>& shape, TensorView view) {
    Layer layer = reshaped(shape);
    layer.operation = product;
    return row_axis(tensor_of(shape), layer, 0, view);
  };
  EXPECT_FALSE(axis({1, 4, 5, 3}, TensorView::kRows)) << "pixels of a map that is not one list";
  EXPECT_FALSE(axis({1, 1, 48, 8}, TensorView::kMaps));
  const auto rows = axis({1, 1, 48, 8}, TensorView::kRows);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->inputs_of({1, 3}), (Interval{1, 3})) << "of rows_as_map";
  EXPECT_TRUE(axis({48, 8}, TensorView::kMaps));
  Conv2d window;
  EXPECT_FALSE(row_axis(
      tensor_of({1, 1, 48, 8}),
      [&] {
        Layer layer = reshaped({1, 1, 48, 8});
        layer.operation = window;
        return layer;
      }(),
      0, TensorView::kRows))
      << "a window slides over the map as it is";
}

}  // namespace
}  // namespace tilebeat
