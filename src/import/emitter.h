#pragma once

#include "base/dtype.h"
#include "import/four_bits.h"
#include "import/graph.h"
#include "import/imported.h"
#include "workload/operators.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

using FieldsJson = nlohmann::ordered_json;

/// Collects a workload: its JSON text and the tensor files beside it.
class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(Arithmetic arithmetic) : arithmetic_(arithmetic) {}

  Arithmetic arithmetic() const { return arithmetic_; }

  /// Adds a tensor that exists before the run. `source` gives its contents unless `run --input` replaces
  /// them: {"file": ...} or {"random": ...}. Returns its name.
  std::string add_input(const std::string& wish, const Extents& shape, ElementType type,
                        std::int64_t zero_point, const FieldsJson& source);
  /// A layer with its operator's fields. Returns its name.
  std::string add_layer(const std::string& wish, const std::string& op,
                        const std::vector<std::string>& inputs, const FieldsJson& fields);
  /// A tensor file; returns the object {"file": name} that names it.
  FieldsJson add_tensor(const std::string& wish, const Constant& tensor);
  void add_output(const std::string& layer);
  /// Adds the values of the float network for layer `layer`, whose elements have scale `scale`, in the
  /// layer's order.
  void add_float_reference(const std::string& layer, const Constant& values, double scale);
  /// The node of the model file that the next layers are made of, for messages.
  void set_source(const std::string& node) { source_ = node; }
  /// These nodes, by layer.
  const std::vector<std::string>& sources() const { return sources_; }
  bool is_layer(const std::string& name) const { return layers_.count(name) != 0; }
  std::size_t layers() const { return layers_.size(); }

  /// The files of the workload: workload.json and the tensors.
  std::map<std::string, std::string> files(const std::string& name) const;

 private:
  std::string unique(const std::string& wish);

  Arithmetic arithmetic_;
  std::string source_;
  std::vector<std::string> sources_;
  FieldsJson inputs_ = FieldsJson::array(), layer_list_ = FieldsJson::array(), outputs_ = FieldsJson::array(),
             float_references_ = FieldsJson::array();
  std::set<std::string> names_, layers_, written_;
  std::map<std::string, std::string> tensors_;
};

/// `name` with characters replaced that names of a workload may not have.
std::string workload_name(const std::string& name);

/// The bytes of a .npy file.
std::string constant_npy(const Constant& tensor);

/// A tensor of the workload that is made.
struct Held {
  std::string holder;  ///< layer or input
  Extents shape;
  ElementType type = ElementType::kInt8;
  float scale = 1;
  std::int64_t zero_point = 0;
};

/// The required result of a layer: name, type, scale, zero point, and the range that its elements are limited
/// to.
struct Wanted {
  std::string name;
  ElementType type = ElementType::kInt8;
  float scale = 1;
  std::int64_t zero_point = 0;
  std::optional<std::array<std::int64_t, 2>> range = std::nullopt;
};

/// The kernels of a convolution, [Co, Kh, Kw, Ci], or of a fully connected layer, [out, K].
struct Kernels {
  Constant weights;
  std::vector<float> scales;  ///< one, or one an output channel
  std::int64_t zero_point = 0;
  std::optional<Constant> bias = std::nullopt;
  bool four_bits = false;                            ///< the file stores the weights as int4 or uint4
  std::optional<FourBitForm> blocks = std::nullopt;  ///< the file stores them so
  bool short_sums = false;                           ///< of an int16 map: sums of 32 bits that wrap
};

/// Sets the zero point of weights whose output channels lie along `axis`; several that differ are subtracted
/// from them. Throws Unsupported where that leaves int8.
void set_zero_points(const std::vector<double>& zeros, std::int64_t axis, Kernels& kernels);

/// Pairs are [height, width], pads [top, left, bottom, right].
struct WindowFields {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};
};

/// The runtime's kind of a convolution, which determines its rounding.
enum class ConvolutionKind : std::uint8_t { kPlain, kDepthwise };

/// Whether a layer gives the runtime's bytes, is exact because NU-6 does not name its operator, or is exact
/// and gives the runtime's bytes because nothing is rounded.
enum class Rounding : std::uint8_t { kRuntime, kExact, kSame };

/// Writes layers, one function an operator, with the fields that the workload's arithmetic needs.
class Emitter {
 public:
  /// `float_on_host`: the host computes what reads or makes float32. `four_bits`: int8 weights without zero
  /// point are stored with four bits.
  explicit Emitter(WorkloadBuilder& builder, bool float_on_host = false,
                   std::optional<FourBitForm> four_bits = std::nullopt)
      : builder_(builder), float_on_host_(float_on_host), four_bits_(four_bits) {}

  WorkloadBuilder& builder() { return builder_; }

  /// Without `wanted`, int32 accumulators under the name `name`.
  Held conv2d(const Held& x, const Kernels& kernels, const WindowFields& window, std::int64_t groups,
              ConvolutionKind kind, const std::string& name, const std::optional<Wanted>& wanted);
  Held fully_connected(const Held& x, const Kernels& kernels, const std::string& name,
                       const std::optional<Wanted>& wanted);
  /// `window.pads` are cut off the output; `shape` is the output's.
  Held conv_transpose(const Held& x, const Kernels& kernels, const WindowFields& window,
                      std::array<std::int64_t, 2> output_padding, const Extents& shape, const Wanted& wanted);
  /// x [..., M, K] times y [..., K, N], weights [..., K, N] or another tensor.
  Held matmul(const Held& x, const Kernels& kernels, const Extents& shape, const std::string& name,
              const std::optional<Wanted>& wanted);
  Held product(const Held& x, const Held& y, const Extents& shape, const std::string& name,
               const std::optional<Wanted>& wanted, Roundings roundings = Roundings::kByRule);
  Held max_pool(const Held& x, const WindowFields& window, const Extents& shape, const Wanted& wanted);
  Held average_pool(const Held& x, const WindowFields& window, bool count_include_pad, const Extents& shape,
                    const Wanted& wanted);
  /// op: add, sub, mul or div; `fields` are others than scales and requant.
  Held elementwise(const std::string& op, const Held& a, const Held& b, const Extents& shape,
                   const Wanted& wanted, Rounding rounding = Rounding::kRuntime,
                   FieldsJson fields = FieldsJson::object());
  /// op: an operator of one input with input_scale and requant; `fields` are its others.
  Held function(const std::string& op, const Held& x, const Extents& shape, const Wanted& wanted,
                FieldsJson fields = FieldsJson::object(), Rounding rounding = Rounding::kRuntime);
  /// Any function of one element: its result for every element of x, from the least to the greatest.
  Held table(const Held& x, const std::vector<std::int64_t>& results, const Wanted& wanted,
             Rounding rounding);
  /// x * factors + offsets in real numbers, exactly; one factor and offset, or one per index of the last
  /// axis.
  Held linear(const Held& x, const std::vector<double>& factors, const std::vector<double>& offsets,
              const Wanted& wanted);
  /// op: one that keeps type, scale and zero point.
  Held movement(const std::string& op, const std::vector<Held>& inputs, const Extents& shape,
                const std::string& name, const FieldsJson& fields);
  /// The same for an operator that moves elements, except for means of several (resize); with kExact it is
  /// computed exactly, and named.
  Held resize(const Held& x, const Extents& shape, const std::string& name, FieldsJson fields,
              Rounding rounding);
  /// Names a layer whose bytes may differ from the runtime's.
  void name_inexact(const Held& held, const std::string& op);
  /// x in another shape with as many elements; x itself where it has that shape.
  Held reshape(const Held& x, const Extents& shape, const std::string& name);
  Held quantize(const Held& x, const Wanted& wanted);
  Held dequantize(const Held& x, const std::string& name);

  /// The layers, with their operators, whose bytes are exact where a runtime's might differ.
  const std::vector<std::string>& exact_layers() const { return exact_layers_; }

 private:
  FieldsJson scales_of(const Held& x, const Kernels& kernels, const Wanted& wanted) const;
  FieldsJson pointwise_scales(const Wanted& wanted) const;
  /// Replaces the scales of a runtime's arithmetic by those of an exact layer.
  static void make_exact(const Wanted& wanted, FieldsJson& fields);
  /// The shape of a tensor as a map whose pixels are the rows along the last axis.
  static Extents as_rows(const Extents& shape);
  /// What `layer` makes of x as such a map, in the shape of x.
  Held on_rows(const Held& x, const Wanted& wanted, const std::function<Held(const Held&)>& layer);
  void add_range(const Wanted& wanted, FieldsJson& fields) const;
  void add_accumulators(const Held& x, const Kernels& kernels, const std::string& name,
                        const std::optional<Wanted>& wanted, FieldsJson& fields,
                        KernelAxes axes = KernelAxes::kKernelsFirst);
  FieldsJson weights_of(const Kernels& kernels, const std::string& name, KernelAxes axes);
  Held made(const std::string& op, const std::vector<std::string>& inputs, const FieldsJson& fields,
            const Extents& shape, const std::string& name, const std::optional<Wanted>& wanted);

  WorkloadBuilder& builder_;
  bool float_on_host_;
  std::optional<FourBitForm> four_bits_;
  std::vector<std::string> exact_layers_;
};

/// Least and greatest element of a type of quantised maps.
std::array<std::int64_t, 2> element_bounds(ElementType type);
/// The elements of the real numbers from `low` to `high`.
std::array<std::int64_t, 2> element_range(double low, double high, const Wanted& wanted);

}  // namespace tilebeat
