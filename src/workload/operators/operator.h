#pragma once

#include "workload/workload.h"
#include "workload/workload_values.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilebeat {

/// The weights of the layers that are loaded, with the type that the file or the random source gave them, by
/// a text that tells them from others.
using KnownWeights = std::map<std::string, std::pair<Weights, DType>>;

/// A layer while it is loaded: its description, its inputs, and its place in the file.
struct LayerSource {
  std::string name, op;
  std::vector<std::string> names;  ///< names of the inputs
  std::vector<TensorInfo> inputs;
  Place place;
  std::optional<Arithmetic> own_arithmetic;  ///< the layer's own arithmetic
  Arithmetic of_workload;                    ///< for layers that name none
  KnownWeights& known_weights;               ///< of the workload: layers with the same share them
  bool knows_int16 = false;                  ///< whether the operator computes with int16

  const TensorInfo& input() const { return inputs.front(); }
  Place input_place(std::size_t i) const { return place.key("inputs").item(i); }
  Arithmetic arithmetic() const { return own_arithmetic.value_or(of_workload); }
};

/// The bound of factors from one scale to another: a fixed-point shift reaches it.
constexpr double kMostFactor = 1 << 30;

/// The share by which a scale may differ from the one that fixed point has for shares of int16.
constexpr double kScaleTolerance = 0.001;

/// Sets the arithmetic of a layer's results (SPEC NU-6) and checks that the file has all fields that it
/// needs. All members throw UserError.
class LayerArithmetic {
 public:
  LayerArithmetic(const LayerSource& source, DType output) : source_(source), output_(output) {}

  const Place& place() const { return source_.place; }
  const TensorInfo& input() const { return source_.input(); }
  /// Whether an input or the output is int16.
  bool of_int16() const;
  /// Whether all of them are.
  bool of_int16_alone() const;
  Arithmetic arithmetic() const { return source_.arithmetic(); }
  std::string_view name() const { return arithmetic_name(arithmetic()); }
  /// For operators that SPEC NU-6 does not name: they are exact in every arithmetic of the workload.
  void only_exact() const;
  void only_exact(const std::optional<OutputRange>& range) const;
  /// Whether whole numbers alone are computed with: fixed and tflm.
  bool in_fixed_point() const {
    return arithmetic() == Arithmetic::kFixed || arithmetic() == Arithmetic::kTflm;
  }
  /// Sets the arithmetic of real values. Returns whether it is another one than exact.
  bool begin(TensorRequant& requant) const;
  void need(bool there, const Place& place) const;
  /// Checks that both inputs have one shape.
  void need_one_shape() const;
  /// Checks that the output, of int16 in fixed point, has the scale 2^-15, but for the share `tolerance` of
  /// it.
  void check_shares(const TensorRequant& requant, double tolerance) const;
  /// Checks a factor from input to output, which is less than `most`.
  void check_factor(double factor, const Place& place, double most = kMostFactor) const;
  void check_range(const std::optional<OutputRange>& range) const;
  /// Checks the arithmetic of tensors of int16 (SPEC DT-2), which is exact or fixed; nothing of others.
  void check_int16() const;
  /// The same for an operator that has a rule of fixed point for int16 alone: all tensors are, then.
  void check_int16_alone() const;
  /// The same for an operator that knows int16 in fixed point alone.
  void check_int16_in_fixed_point() const;

 private:
  const LayerSource& source_;
  DType output_;
};

/// The fields of an operator in a workload file, besides those of every layer, and the operation made from
/// them. Operators with the same fields may share a class.
class OperatorForm {
 public:
  virtual ~OperatorForm() = default;
  /// Every field once (schema/fields.h).
  virtual void describe(Fields& v) = 0;
  /// Sets the operation and the description of the output: infers shapes, loads tensors, checks SPEC NU-1 to
  /// NU-3. The inputs are valid for the operator. Throws UserError.
  virtual void load(const LayerSource& source, Layer& layer) const = 0;
  /// Sets the arithmetic of the operation that `load` has made; by default it must be exact.
  virtual void set_arithmetic(const LayerArithmetic& rules, LayerOperation& /*operation*/) const {
    rules.only_exact();
  }
};

using Form = std::unique_ptr<OperatorForm>;
using FormMaker = Form (*)();
template <class T>
Form make_form() {
  return std::make_unique<T>();
}

/// The tensors that an operator can read.
enum class Reads : std::uint8_t {
  kMaps,          ///< bytes [N, H, W, C]: height and width, or groups of channels, define it
  kBytes,         ///< int8 or uint8 of any shape
  kAccumulators,  ///< bytes or int32
  kReals,         ///< float32
  kTable,         ///< bytes, and behind them indices of int32
  kBytesOrReals
};

/// An operator that layers can have: a row of the list.
struct Operator {
  std::string_view name;
  Count inputs;
  Reads reads;
  FormMaker form;               ///< with the defaults
  std::string_view which = "";  ///< distinguishes rows of one name in titles
  bool reads_int16 = false;     ///< besides bytes (SPEC DT-2)
};

/// Whether the host computes its layers.
inline bool is_host(const Operator& op) {
  return op.name.substr(0, 5) == "host_";
}

/// All operators, in the order of the schema. Of several rows with one name, the number of inputs selects
/// one.
const std::vector<Operator>& operators();

// ---- what several operators need ----

constexpr Bounds kPositiveScale{1e-30, 1e9};
constexpr Bounds kReal{-1e12, 1e12};
constexpr Bounds kVariance{0, 1e12};
constexpr Bounds kEpsilon{1e-15, 1e3};
constexpr Bounds kSlope{-1e6, 1e6};
constexpr Range kAxis{-6, 5};

void describe(Fields& v, TensorRequant& r);
void describe_range(Fields& v, std::optional<OutputRange>& range);
/// The required field `requant` and `output_range`.
void describe_requant(Fields& v, TensorRequant& r);
/// The required field `input_scale`.
void describe_input_scale(Fields& v, double& scale);

/// Throws UserError at `place` if `zero_point` is not a value of `dtype`.
void check_zero_point(std::int32_t zero_point, DType dtype, const Place& place);
/// `axis` of a tensor of `rank` axes, counted from the start. Throws UserError at `place` when there is none.
int axis_of(int axis, std::size_t rank, const Place& place);
/// The factors per channel: `values` (one number or a list, written under `key`) expanded to `channels`
/// values.
std::vector<double> one_a_channel(const std::vector<double>& values, std::int64_t channels,
                                  const LayerSource& source, const char* key);
/// The output of a layer that requantises real values, with shape `shape` and the type and zero point of its
/// `requant`.
TensorInfo requantised(const std::vector<std::int64_t>& shape, const TensorRequant& requant,
                       const LayerSource& source);

/// The geometry that convolution and pooling share. Pairs are [height, width], pads are
/// [top, left, bottom, right].
struct WindowShape {
  std::array<int, 2> kernel, stride, dilation;
  std::array<int, 4> pads;

  /// Pixels from the first to the last tap along axis 0 (height) or 1 (width).
  std::int64_t extent(std::size_t axis) const {
    return (kernel[axis] - std::int64_t{1}) * dilation[axis] + 1;
  }
};

/// Output pixels along `axis` of a map of `shape` [N, H, W, C]. Throws UserError at the layer's `place` if
/// the window does not fit the padded map.
std::int64_t output_pixels(const WindowShape& window, const std::vector<std::int64_t>& shape,
                           std::size_t axis, const Place& place);

}  // namespace tilebeat
