#include "import/emitter.h"

#include "import/problems.h"
#include "workload/weights.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

FieldsJson one_or_list(const std::vector<double>& values) {
  if (values.size() == 1) return values.front();
  return values;
}

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

void add_window(const WindowFields& window, FieldsJson& fields) {
  fields["kernel"] = window.kernel;
  fields["stride"] = window.stride;
  if (window.dilation != std::array<std::int64_t, 2>{1, 1}) fields["dilation"] = window.dilation;
  if (window.pads != std::array<std::int64_t, 4>{}) fields["pads"] = window.pads;
}

std::vector<std::string> holders(const std::vector<Held>& inputs) {
  std::vector<std::string> names;
  for (const Held& input : inputs) names.push_back(input.holder);
  return names;
}

}  // namespace

std::array<std::int64_t, 2> element_bounds(ElementType type) {
  if (type == ElementType::kInt16) return {INT16_MIN, INT16_MAX};
  return type == ElementType::kUint8 ? std::array<std::int64_t, 2>{0, 255}
                                     : std::array<std::int64_t, 2>{-128, 127};
}

std::array<std::int64_t, 2> element_range(double low, double high, const Wanted& wanted) {
  const std::array<std::int64_t, 2> bounds = element_bounds(wanted.type);
  const auto element = [&](double real) {
    const double at = std::nearbyint(static_cast<double>(static_cast<float>(real) / wanted.scale)) +
                      static_cast<double>(wanted.zero_point);
    return whole_number(std::clamp(at, static_cast<double>(bounds[0]), static_cast<double>(bounds[1])));
  };
  return {element(low), element(high)};
}

FieldsJson Emitter::scales_of(const Held& x, const Kernels& kernels, const Wanted& wanted) const {
  FieldsJson requant = FieldsJson::object();
  if (builder_.arithmetic() == Arithmetic::kExact) {
    std::vector<double> combined;
    for (const float scale : kernels.scales)
      combined.push_back(static_cast<double>(x.scale) * static_cast<double>(scale) /
                         static_cast<double>(wanted.scale));
    requant["scale"] = one_or_list(combined);
  } else {
    requant["input_scale"] = static_cast<double>(x.scale);
    requant["weight_scale"] = one_or_list(doubles(kernels.scales));
    requant["output_scale"] = static_cast<double>(wanted.scale);
  }
  requant["zero_point"] = wanted.zero_point;
  requant["dtype"] = element_name(wanted.type);
  return requant;
}

FieldsJson Emitter::pointwise_scales(const Wanted& wanted) const {
  FieldsJson requant = FieldsJson::object();
  if (builder_.arithmetic() == Arithmetic::kExact) {
    requant["scale"] = 1 / static_cast<double>(wanted.scale);
  } else {
    requant["output_scale"] = static_cast<double>(wanted.scale);
  }
  requant["zero_point"] = wanted.zero_point;
  requant["dtype"] = element_name(wanted.type);
  return requant;
}

void Emitter::add_range(const Wanted& wanted, FieldsJson& fields) const {
  if (wanted.range && *wanted.range != element_bounds(wanted.type)) fields["output_range"] = *wanted.range;
}

FieldsJson Emitter::weights_of(const Kernels& kernels, const std::string& name, KernelAxes axes) {
  const bool plain = kernels.zero_point == 0 && kernels.weights.type == ElementType::kInt8;
  const std::optional<FourBitForm> wish = kernels.blocks ? kernels.blocks : four_bits_;
  if (wish && plain && wish->group > 0) {
    const FourBitKernels made = four_bit_kernels(kernels.weights, axes, *wish);
    FieldsJson fields = builder_.add_tensor(name, made.codes);
    fields["dtype"] = "int4";
    fields["group"] = wish->group, fields["shift"] = made.shift;
    fields["scales"] = builder_.add_tensor(name + "_scales", made.scales);
    if (made.zero_points)
      fields["zero_points"] = builder_.add_tensor(name + "_zero_points", *made.zero_points);
    return fields;
  }
  FieldsJson fields = builder_.add_tensor(name, kernels.weights);
  const bool is_signed = kernels.weights.type == ElementType::kInt8;
  if (kernels.four_bits && kernels.zero_point == default_zero_point(is_signed) &&
      as_four_bits(kernels.weights)) {
    fields["dtype"] = is_signed ? "int4" : "uint4";
    return fields;
  }
  if (wish && plain && as_four_bits(kernels.weights)) fields["dtype"] = "int4";
  if (kernels.zero_point != 0) fields["zero_point"] = kernels.zero_point;
  return fields;
}

void Emitter::add_accumulators(const Held& x, const Kernels& kernels, const std::string& name,
                               const std::optional<Wanted>& wanted, FieldsJson& fields, KernelAxes axes) {
  fields["weights"] = weights_of(kernels, name + "_weights", axes);
  if (kernels.bias) fields["bias"] = builder_.add_tensor(name + "_bias", *kernels.bias);
  if (kernels.short_sums) fields["sums"] = "int32";
  if (!wanted) return;
  fields["requant"] = scales_of(x, kernels, *wanted);
  add_range(*wanted, fields);
}

Held Emitter::made(const std::string& op, const std::vector<std::string>& inputs, const FieldsJson& fields,
                   const Extents& shape, const std::string& name, const std::optional<Wanted>& wanted) {
  if (wanted && wanted->type == ElementType::kInt16 && builder_.arithmetic() == Arithmetic::kFloat32 &&
      (fields.contains("requant") || op == "average_pool") && !fields.contains("arithmetic")) {
    FieldsJson fixed = fields;
    fixed["arithmetic"] = arithmetic_name(Arithmetic::kFixed);
    return made(op, inputs, fixed, shape, name, wanted);
  }
  Held held{builder_.add_layer(wanted ? wanted->name : name, op, inputs, fields), shape, ElementType::kInt32};
  if (wanted) held.type = wanted->type, held.scale = wanted->scale, held.zero_point = wanted->zero_point;
  return held;
}

Held Emitter::conv2d(const Held& x, const Kernels& kernels, const WindowFields& window, std::int64_t groups,
                     ConvolutionKind kind, const std::string& name, const std::optional<Wanted>& wanted) {
  FieldsJson fields{{"out_channels", kernels.weights.shape[0]}};
  add_window(window, fields);
  if (groups != 1) fields["groups"] = groups;
  const bool looks_depthwise = groups == x.shape[3] && groups > 1;
  if (looks_depthwise != (kind == ConvolutionKind::kDepthwise) && builder_.arithmetic() == Arithmetic::kFixed)
    fields["depthwise"] = kind == ConvolutionKind::kDepthwise;
  add_accumulators(x, kernels, name, wanted, fields);
  Extents shape{x.shape[0], 0, 0, kernels.weights.shape[0]};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
    const std::int64_t room = x.shape[1 + axis] + window.pads[axis] + window.pads[axis + 2] - extent;
    if (room < 0) throw Unsupported("its kernel is larger than the padded map");
    shape[1 + axis] = room / window.stride[axis] + 1;
  }
  return made("conv2d", {x.holder}, fields, shape, name, wanted);
}

Held Emitter::fully_connected(const Held& x, const Kernels& kernels, const std::string& name,
                              const std::optional<Wanted>& wanted) {
  FieldsJson fields{{"out_features", kernels.weights.shape[0]}};
  add_accumulators(x, kernels, name, wanted, fields);
  return made("fully_connected", {x.holder}, fields, {x.shape[0], 1, 1, kernels.weights.shape[0]}, name,
              wanted);
}

Held Emitter::conv_transpose(const Held& x, const Kernels& kernels, const WindowFields& window,
                             std::array<std::int64_t, 2> output_padding, const Extents& shape,
                             const Wanted& wanted) {
  FieldsJson fields{{"out_channels", kernels.weights.shape[0]}};
  add_window(window, fields);
  if (output_padding != std::array<std::int64_t, 2>{}) fields["output_padding"] = output_padding;
  add_accumulators(x, kernels, wanted.name, wanted, fields);
  return made("conv_transpose", {x.holder}, fields, shape, wanted.name, wanted);
}

Held Emitter::matmul(const Held& x, const Kernels& kernels, const Extents& shape, const std::string& name,
                     const std::optional<Wanted>& wanted) {
  const Extents& w = kernels.weights.shape;
  FieldsJson fields{{"out_features", w.back()}};
  if (w.size() > 2) fields["weights_axes"] = Extents(w.begin(), w.end() - 2);
  add_accumulators(x, kernels, name, wanted, fields, KernelAxes::kKernelsLast);
  return made("matmul", {x.holder}, fields, shape, name, wanted);
}

Held Emitter::product(const Held& x, const Held& y, const Extents& shape, const std::string& name,
                      const std::optional<Wanted>& wanted, Roundings roundings) {
  FieldsJson fields = FieldsJson::object();
  if (roundings == Roundings::kTwo) fields["arithmetic"] = arithmetic_name(Arithmetic::kTflm);
  if (wanted) {
    Kernels second;
    second.scales = {y.scale};
    fields["requant"] = scales_of(x, second, *wanted);
    add_range(*wanted, fields);
  }
  return made("matmul", {x.holder, y.holder}, fields, shape, name, wanted);
}

Held Emitter::max_pool(const Held& x, const WindowFields& window, const Extents& shape,
                       const Wanted& wanted) {
  FieldsJson fields = FieldsJson::object();
  add_window(window, fields);
  const Wanted same{wanted.name, x.type, x.scale, x.zero_point, wanted.range};
  add_range(same, fields);
  return made("max_pool", {x.holder}, fields, shape, wanted.name, same);
}

Held Emitter::average_pool(const Held& x, const WindowFields& window, bool count_include_pad,
                           const Extents& shape, const Wanted& wanted) {
  FieldsJson fields = FieldsJson::object();
  add_window(window, fields);
  if (count_include_pad) fields["count_include_pad"] = true;
  const bool same = x.scale == wanted.scale && x.zero_point == wanted.zero_point && x.type == wanted.type;
  if (!same || builder_.arithmetic() == Arithmetic::kFloat32Ort) {
    fields["input_scale"] = static_cast<double>(x.scale);
    fields["requant"] = pointwise_scales(wanted);
  }
  add_range(wanted, fields);
  return made("average_pool", {x.holder}, fields, shape, wanted.name, wanted);
}

Extents Emitter::as_rows(const Extents& shape) {
  constexpr std::size_t kMapAxes = 4;
  if (shape.size() <= kMapAxes) return shape;
  std::int64_t before = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) before *= shape[axis];
  return {1, 1, before, shape.back()};
}

Held Emitter::on_rows(const Held& x, const Wanted& wanted, const std::function<Held(const Held&)>& layer) {
  const Held rows = reshape(x, as_rows(x.shape), x.holder + "_rows");
  return reshape(layer(rows), x.shape, wanted.name + "_axes");
}

Held Emitter::elementwise(const std::string& op, const Held& a, const Held& b, const Extents& shape,
                          const Wanted& wanted, Rounding rounding, FieldsJson fields) {
  fields["input_scales"] = {static_cast<double>(a.scale), static_cast<double>(b.scale)};
  fields["requant"] = pointwise_scales(wanted);
  const bool exact = rounding != Rounding::kRuntime && builder_.arithmetic() != Arithmetic::kExact;
  if (exact) make_exact(wanted, fields);
  add_range(wanted, fields);
  Held held = made(op, {a.holder, b.holder}, fields, shape, wanted.name, wanted);
  if (exact && rounding == Rounding::kExact) name_inexact(held, op);
  return held;
}

void Emitter::make_exact(const Wanted& wanted, FieldsJson& fields) {
  fields["arithmetic"] = "exact";
  fields["requant"].erase("output_scale");
  fields["requant"]["scale"] = 1 / static_cast<double>(wanted.scale);
}

void Emitter::name_inexact(const Held& held, const std::string& op) {
  exact_layers_.push_back(fmt::format("{} ({})", held.holder, op));
}

Held Emitter::resize(const Held& x, const Extents& shape, const std::string& name, FieldsJson fields,
                     Rounding rounding) {
  const bool exact = rounding == Rounding::kExact && builder_.arithmetic() != Arithmetic::kExact;
  if (exact) fields["arithmetic"] = "exact";
  Held held = movement("resize", {x}, shape, name, fields);
  if (exact) name_inexact(held, "resize");
  return held;
}

Held Emitter::function(const std::string& op, const Held& x, const Extents& shape, const Wanted& wanted,
                       FieldsJson fields, Rounding rounding) {
  if (x.shape == shape && x.shape != as_rows(x.shape) && !fields.contains("axes")) {
    return on_rows(x, wanted, [&](const Held& rows) {
      return function(op, rows, rows.shape, wanted, fields, rounding);
    });
  }
  fields["input_scale"] = static_cast<double>(x.scale);
  fields["requant"] = pointwise_scales(wanted);
  const bool exact = rounding != Rounding::kRuntime && builder_.arithmetic() != Arithmetic::kExact;
  if (exact) make_exact(wanted, fields);
  if (x.type == ElementType::kInt16 && builder_.arithmetic() == Arithmetic::kFloat32 && !exact)
    fields["arithmetic"] = arithmetic_name(Arithmetic::kFixed);
  add_range(wanted, fields);
  Held held = made(op, {x.holder}, fields, shape, wanted.name, wanted);
  if (exact && rounding == Rounding::kExact) name_inexact(held, op);
  return held;
}

Held Emitter::table(const Held& x, const std::vector<std::int64_t>& results, const Wanted& wanted,
                    Rounding rounding) {
  if (x.shape != as_rows(x.shape))
    return on_rows(x, wanted, [&](const Held& rows) { return table(rows, results, wanted, rounding); });
  const FieldsJson fields{
      {"table", results}, {"zero_point", wanted.zero_point}, {"dtype", element_name(wanted.type)}};
  Held held = made("table", {x.holder}, fields, x.shape, wanted.name, wanted);
  if (rounding == Rounding::kExact) name_inexact(held, "table");
  return held;
}

Held Emitter::linear(const Held& x, const std::vector<double>& factors, const std::vector<double>& offsets,
                     const Wanted& wanted) {
  if (x.shape != as_rows(x.shape))
    return on_rows(x, wanted, [&](const Held& rows) { return linear(rows, factors, offsets, wanted); });
  std::vector<double> steps = factors;
  for (double& step : steps) step *= static_cast<double>(x.scale);
  FieldsJson fields{{"scale", one_or_list(steps)},
                    {"offset", one_or_list(offsets)},
                    {"requant",
                     {{"scale", 1 / static_cast<double>(wanted.scale)},
                      {"zero_point", wanted.zero_point},
                      {"dtype", element_name(wanted.type)}}}};
  add_range(wanted, fields);
  return made("scale", {x.holder}, fields, x.shape, wanted.name, wanted);
}

Held Emitter::movement(const std::string& op, const std::vector<Held>& inputs, const Extents& shape,
                       const std::string& name, const FieldsJson& fields) {
  const Held& first = inputs.front();
  return made(op, holders(inputs), fields, shape, name,
              Wanted{name, first.type, first.scale, first.zero_point});
}

Held Emitter::reshape(const Held& x, const Extents& shape, const std::string& name) {
  if (x.shape == shape) return x;
  if (element_count(x.shape) != element_count(shape))
    throw Unsupported(fmt::format("a reshape of {} to {}", extents_text(x.shape), extents_text(shape)));
  return movement("reshape", {x}, shape, name, {{"shape", shape}});
}

Held Emitter::quantize(const Held& x, const Wanted& wanted) {
  const FieldsJson requant{{"scale", static_cast<double>(wanted.scale)},
                           {"zero_point", wanted.zero_point},
                           {"dtype", element_name(wanted.type)}};
  if (float_on_host_) return made("host_quantize", {x.holder}, requant, x.shape, wanted.name, wanted);
  const FieldsJson fields{{"requant", requant}};
  return made("quantize", {x.holder}, fields, x.shape, wanted.name, wanted);
}

Held Emitter::dequantize(const Held& x, const std::string& name) {
  const FieldsJson fields{{"scale", static_cast<double>(x.scale)}};
  return made(float_on_host_ ? "host_dequantize" : "dequantize", {x.holder}, fields, x.shape, name,
              Wanted{name, ElementType::kFloat32});
}

}  // namespace tilebeat
