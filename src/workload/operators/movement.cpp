// Operators that move bytes without computing, and resize.
#include "base/types.h"
#include "workload/operators/operator.h"
#include "workload/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

void see_as(std::vector<std::int64_t> shape, const LayerSource& source, Layer& layer) {
  layer.output = source.input();
  layer.output.shape = std::move(shape);
  layer.operation = Reshape{};
}

class DropoutForm : public OperatorForm {
 public:
  void describe(Fields& /*v*/) override {}
  void load(const LayerSource& source, Layer& layer) const override {
    see_as(source.input().shape, source, layer);
  }
};

class FlattenForm : public DropoutForm {
 public:
  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    const std::vector<std::int64_t> flat{shape[0], 1, 1, shape[1] * shape[2] * shape[3]};
    check_shape(flat, source.place);
    see_as(flat, source, layer);
  }
};

class ReshapeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("shape", shape_, kExtent, {1, 8}, "extents of the output, as many elements");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const Place place = source.place.key("shape");
    check_shape(shape_, place);
    const std::int64_t elements = source.input().elements();
    if (TensorInfo{shape_, DType::kInt8, 0}.elements() != elements) {
      place.refuse(shape_text(shape_), fmt::format("a shape of {} elements, as many as {} has", elements,
                                                   shown(source.names.front())));
    }
    see_as(shape_, source, layer);
  }

 private:
  std::vector<std::int64_t> shape_;
};

class ConcatForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("axis", axis_, kAxis, "axis along which they are joined, from the end if negative");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const TensorInfo& first = source.input();
    const std::string first_name = shown(source.names.front());
    const int axis = axis_of(axis_, first.shape.size(), source.place.key("axis"));
    const auto joined = to_size(axis);
    const bool channels = first.shape.size() == 4 && axis == 3;
    layer.output = first;
    layer.operation = Concat{axis};
    for (std::size_t i = 1; i < source.inputs.size(); ++i) {
      const TensorInfo& input = source.inputs[i];
      const std::string name = shown(source.names[i]);
      std::vector<std::int64_t> shape = input.shape;
      if (shape.size() == first.shape.size()) shape[joined] = first.shape[joined];
      if (shape != first.shape) {
        source.input_place(i).refuse(fmt::format("{} with shape {}", name, shape_text(input.shape)),
                                     channels ? fmt::format("a map [{}, {}, {}, C], as {}", first.shape[0],
                                                            first.shape[1], first.shape[2], first_name)
                                              : fmt::format("the shape {} of {} but for axis {}",
                                                            shape_text(first.shape), first_name, axis));
      }
      if (input.dtype != first.dtype || input.zero_point != first.zero_point) {
        source.input_place(i).refuse(
            fmt::format("{} of {} with zero point {}", name, dtype_name(input.dtype), input.zero_point),
            fmt::format("{} with zero point {}, as {}; requantize it first", dtype_name(first.dtype),
                        first.zero_point, first_name));
      }
      layer.output.shape[joined] += input.shape[joined];
    }
    check_shape(layer.output.shape, source.place);
  }

 private:
  int axis_ = -1;
};

class ResizeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 2> kModes{"nearest", "bilinear"};
    constexpr std::array<std::string_view, 4> kCoordinates{"half_pixel", "pytorch_half_pixel",
                                                           "align_corners", "asymmetric"};
    constexpr std::array<std::string_view, 4> kRoundings{"round_prefer_floor", "round_prefer_ceil", "floor",
                                                         "ceil"};
    v.required().integers("size", size_, kTapExtent, "[height, width] of the output in pixels");
    v.choice("mode", resize_.mode, kModes, "the nearest pixel, or a mean of the four around the place");
    v.choice("coordinate_mode", resize_.coordinates, kCoordinates,
             "where the output's pixels lie on the input, as in ONNX");
    v.optional_choice("nearest_mode", rounding_, kRoundings,
                      "which pixel is the nearest, as in ONNX; without it round_prefer_floor");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const TensorInfo& input = source.input();
    if (input.shape[1] > kTapExtent.high || input.shape[2] > kTapExtent.high) {
      source.input_place(0).refuse(
          fmt::format("{} with shape {}", shown(source.names[0]), shape_text(input.shape)),
          fmt::format("a map of at most {} x {} pixels", kTapExtent.high, kTapExtent.high));
    }
    if (rounding_ && resize_.mode != Resize::Mode::kNearest) {
      source.place.key("nearest_mode").refuse("a nearest_mode with mode \"bilinear\"", "mode \"nearest\"");
    }
    layer.output = input;
    layer.output.shape[1] = size_[0], layer.output.shape[2] = size_[1];
    check_shape(layer.output.shape, source.place);
    Resize resize = resize_;
    resize.rounding = rounding_.value_or(Resize::Rounding::kPreferFloor);
    layer.operation = resize;
  }

  void set_arithmetic(const LayerArithmetic& rules, LayerOperation& operation) const override {
    auto& resize = std::get<Resize>(operation);
    const bool named = resize.mode == Resize::Mode::kBilinear && rules.in_fixed_point();
    if (!named) return rules.only_exact();
    resize.arithmetic = Arithmetic::kFixed;
  }

 private:
  std::array<int, 2> size_{1, 1};
  Resize resize_;
  std::optional<Resize::Rounding> rounding_;
};

class PadForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("pads", pad_.pads, kPadding, "[top, left, bottom, right] in pixels");
    v.integers("channel_pads", pad_.channel_pads, kPadding, "[before, after] in channels of every pixel");
    v.optional_integer("value", value_, kZeroPoint, "element of the border; without it the zero point");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    layer.output = source.input();
    Pad pad = pad_;
    pad.value = value_.value_or(layer.output.zero_point);
    check_zero_point(pad.value, layer.output.dtype, source.place.key("value"));
    auto& shape = layer.output.shape;
    shape[1] += pad.pads[0] + pad.pads[2], shape[2] += pad.pads[1] + pad.pads[3];
    shape[3] += pad.channel_pads[0] + pad.channel_pads[1];
    check_shape(shape, source.place);
    layer.operation = pad;
  }

 private:
  Pad pad_;
  std::optional<std::int32_t> value_;
};

class TransposeForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integers("perm", perm_, {0, 5}, {1, 6}, "axis perm[i] of the input is axis i of the output");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    std::vector<int> sorted = perm_;
    std::sort(sorted.begin(), sorted.end());
    bool all = sorted.size() == shape.size();
    for (std::size_t i = 0; i < sorted.size(); ++i) all = all && sorted[i] == to_int(i);
    if (!all)
      source.place.key("perm").refuse(fmt::format("[{}]", fmt::join(perm_, ", ")),
                                      fmt::format("the axes of {}, each once", shape_text(shape)));
    const std::vector<std::int64_t> strides = strides_of(shape);
    Move move;
    layer.output = source.input();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto from = to_size(perm_[axis]);
      layer.output.shape[axis] = shape[from];
      move.strides.push_back(strides[from]);
    }
    move.extents = layer.output.shape;
    layer.operation = std::move(move);
  }

 private:
  std::vector<int> perm_;
};

class SliceForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr Range kIndex{0, kMaxDimension};
    v.required().integers("starts", starts_, kIndex, {1, 6}, "first index, one an axis");
    v.required().integers("ends", ends_, kIndex, {1, 6}, "index behind the last one, one an axis");
    v.integers("steps", steps_, kExtent, {0, 6}, "from index to index, one an axis; without them 1");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    const auto check = [&](const char* key, const std::vector<std::int64_t>& list) {
      if (list.size() != shape.size())
        source.place.key(key).refuse(
            fmt::format("a list of {} entries", list.size()),
            fmt::format("{} entries, one an axis of {}", shape.size(), shape_text(shape)));
    };
    check("starts", starts_), check("ends", ends_);
    if (!steps_.empty()) check("steps", steps_);
    const std::vector<std::int64_t> strides = strides_of(shape);
    Move move;
    layer.output = source.input();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t step = steps_.empty() ? 1 : steps_[axis], first = starts_[axis];
      const std::int64_t end = ends_[axis];
      if (first >= end || end > shape[axis])
        source.place.key("ends").item(axis).refuse_value(
            end, fmt::format("{} to {}, behind the start and inside the input", first + 1, shape[axis]));
      layer.output.shape[axis] = (end - first + step - 1) / step;
      move.strides.push_back(strides[axis] * step);
      move.offset += strides[axis] * first;
    }
    move.extents = layer.output.shape;
    layer.operation = std::move(move);
  }

 private:
  std::vector<std::int64_t> starts_, ends_, steps_;
};

class GatherForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("axis", axis_, kAxis, "axis that is gathered along, from the end if negative");
    v.required().integers("indices", indices_, {0, kMaxDimension - 1}, {1, 65536},
                          "indices of the input along the axis, one an index of the output");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    const int axis = axis_of(axis_, shape.size(), source.place.key("axis"));
    const auto along = to_size(axis);
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      if (indices_[i] >= shape[along])
        source.place.key("indices").item(i).refuse_value(
            indices_[i], fmt::format("0 to {}, the input has {}", shape[along] - 1, shape[along]));
    }
    layer.output = source.input();
    layer.output.shape[along] = ssize(indices_);
    check_shape(layer.output.shape, source.place);
    layer.operation = Gather{axis, indices_};
  }

 private:
  int axis_ = 0;
  std::vector<std::int64_t> indices_;
};

class LookupForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.integer("axis", axis_, kAxis,
              "axis that the first indices number, the second ones the next axis; from the end if negative");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& shape = source.input().shape;
    const int axis = axis_of(axis_, shape.size(), source.place.key("axis"));
    const std::size_t along = to_size(axis), numbers = source.inputs.size() - 1;
    if (along + numbers > shape.size())
      source.place.key("axis").refuse_value(
          axis_, fmt::format("one with another axis behind it in {}", shape_text(shape)));
    const TensorInfo& indices = source.inputs[1];
    if (numbers == 2 && source.inputs[2].elements() != indices.elements())
      source.input_place(2).refuse(
          fmt::format("{} with {} indices", shown(source.names[2]), source.inputs[2].elements()),
          fmt::format("as many as the first ones, {}", indices.elements()));
    layer.output = source.input();
    layer.output.shape[along] = indices.elements();
    if (numbers == 2) layer.output.shape.erase(layer.output.shape.begin() + axis + 1);
    check_shape(layer.output.shape, source.place);
    layer.operation = Lookup{axis};
  }

 private:
  int axis_ = 0;
};

/// The channels of a pixel become a block of pixels.
class DepthToSpaceForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    constexpr std::array<std::string_view, 2> kOrders{"dcr", "crd"};
    v.required().integer("block_size", block_, kTapExtent, "height and width of a block in pixels");
    v.choice("mode", order_, kOrders,
             "what channels are of: dcr: pixel of the block, then channel of the output; crd: the other way "
             "round");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& in = source.input().shape;
    const std::int64_t channels = in[3], b = block_;
    if (channels % (b * b) != 0)
      source.place.key("block_size")
          .refuse_value(block_, fmt::format("a number whose square divides the {} channels", channels));
    const std::int64_t depth = channels / (b * b), pixel = order_ == Order::kPixelFirst ? depth : 1;
    layer.output = source.input();
    layer.output.shape = {in[0], in[1] * b, in[2] * b, depth};
    check_shape(layer.output.shape, source.place);
    // Rows and columns of the output are those of the input, each divided into those of a block.
    const std::int64_t row = in[2] * channels, channel = order_ == Order::kPixelFirst ? 1 : b * b;
    layer.operation =
        Move{{in[0], in[1], b, in[2], b, depth}, {in[1] * row, row, b * pixel, channels, pixel, channel}};
  }

 private:
  enum class Order : std::uint8_t { kPixelFirst, kChannelFirst };

  int block_ = 1;
  Order order_ = Order::kPixelFirst;
};

/// The pixels of a block become the channels of one pixel, block row by block row.
class SpaceToDepthForm : public OperatorForm {
 public:
  void describe(Fields& v) override {
    v.required().integer("block_size", block_, kTapExtent, "height and width of a block in pixels");
  }

  void load(const LayerSource& source, Layer& layer) const override {
    const auto& in = source.input().shape;
    const std::int64_t channels = in[3], b = block_;
    if (in[1] % b != 0 || in[2] % b != 0)
      source.place.key("block_size")
          .refuse_value(block_, fmt::format("a divisor of the height {} and of the width {}", in[1], in[2]));
    layer.output = source.input();
    layer.output.shape = {in[0], in[1] / b, in[2] / b, channels * b * b};
    check_shape(layer.output.shape, source.place);
    const std::int64_t row = in[2] * channels;
    layer.operation = Move{{in[0], in[1] / b, in[2] / b, b, b, channels},
                           {in[1] * row, b * row, b * channels, row, channels, 1}};
  }

 private:
  int block_ = 1;
};

}  // namespace

extern const FormMaker kDepthToSpaceForm = make_form<DepthToSpaceForm>;
extern const FormMaker kSpaceToDepthForm = make_form<SpaceToDepthForm>;
extern const FormMaker kDropoutForm = make_form<DropoutForm>;
extern const FormMaker kFlattenForm = make_form<FlattenForm>;
extern const FormMaker kReshapeForm = make_form<ReshapeForm>;
extern const FormMaker kConcatForm = make_form<ConcatForm>;
extern const FormMaker kResizeForm = make_form<ResizeForm>;
extern const FormMaker kPadForm = make_form<PadForm>;
extern const FormMaker kTransposeForm = make_form<TransposeForm>;
extern const FormMaker kSliceForm = make_form<SliceForm>;
extern const FormMaker kGatherForm = make_form<GatherForm>;
extern const FormMaker kLookupForm = make_form<LookupForm>;

}  // namespace tilebeat
