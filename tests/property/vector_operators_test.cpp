// Every operation of the vector unit on random shapes against the reference operators (SPEC HI-2, NU-1,
// NU-2).
#include "budget.h"
#include "vector_bench.h"

#include <cmath>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

/// One operation: the layer, its operands, the instruction and its parameters.
struct OperatorCase {
  Layer layer;
  std::vector<TensorInfo> infos;
  std::vector<Tensor> tensors;
  VectorRun run;
  std::vector<std::uint8_t> parameters;
  std::optional<Tensor> expected;  ///< where no layer says it

  template <class T>
  void parameter(T value) {
    const std::size_t at = parameters.size();
    parameters.resize(at + sizeof value);
    std::memcpy(parameters.data() + at, &value, sizeof value);
  }
};

double random_factor() {
  return (one_in(3) ? -1.0 : 1.0) * number(1, 4000) * (one_in(4) ? 0.5 : 1e-3);
}

/// Adds an operand of that shape.
const TensorInfo& add_operand(OperatorCase& c, const std::vector<std::int64_t>& shape, DType type) {
  c.infos.push_back({shape, type, type == DType::kInt32 ? 0 : random_zero(type)});
  c.tensors.push_back(random_bytes(c.infos.back()));
  return c.infos.back();
}

/// A shape of one map for an operation that keeps it.
void keep_shape(OperatorCase& c, DType type) {
  const std::vector<std::int64_t> shape{1, number(1, 9), number(1, 9), skewed(90)};
  c.layer.output = TensorInfo{shape, type, 0};
  c.run.rows = static_cast<std::uint16_t>(shape[1]);
  c.run.columns = static_cast<std::uint16_t>(shape[2]);
  c.run.channels = static_cast<std::uint16_t>(shape[3]);
}

TensorRequant random_requant_of(OperatorCase& c, DType type) {
  TensorRequant requant;
  requant.dtype = type;
  requant.zero_point = random_zero(requant.dtype);
  requant.scale = number(1, 3000) * 1e-3;
  c.layer.output.dtype = c.run.out_type = requant.dtype;
  c.layer.output.zero_point = requant.zero_point;
  c.run.out_zero = static_cast<std::int16_t>(requant.zero_point);
  return requant;
}

OperatorCase table_case() {
  OperatorCase c;
  c.run.kind = VectorKind::kTable;
  keep_shape(c, random_byte_type());
  add_operand(c, c.layer.output.shape, random_byte_type());
  for (int i = 0; i < 256; ++i) c.parameters.push_back(static_cast<std::uint8_t>(number(0, 255)));
  c.expected = Tensor{c.layer.output.shape, c.layer.output.dtype, {}};
  for (const std::uint8_t byte : c.tensors.front().bytes) c.expected->bytes.push_back(c.parameters[byte]);
  return c;
}

OperatorCase scale_case() {
  OperatorCase c;
  c.run.kind = VectorKind::kScale;
  keep_shape(c, DType::kInt8);
  const bool wide = one_in(2);  // accumulators
  add_operand(c, c.layer.output.shape, wide ? DType::kInt32 : random_byte_type());
  if (one_in(3)) {
    Requantize requantize;
    requantize.requant = random_requant_of(c, random_byte_type());
    requantize.input_scale = random_factor() * (wide ? 1e-8 : 1);
    c.parameter(requantize.requant.scale);
    for (int i = 0; i < c.run.channels; ++i) c.parameter(requantize.input_scale), c.parameter(0.0);
    c.layer.operation = requantize;
    return c;
  }
  ChannelScale scale;
  scale.requant = random_requant_of(c, random_byte_type());
  c.parameter(scale.requant.scale);
  for (int i = 0; i < c.run.channels; ++i) {
    scale.scale.push_back(random_factor() * (wide ? 1e-8 : 1));
    scale.offset.push_back(random_factor());
    c.parameter(scale.scale.back()), c.parameter(scale.offset.back());
  }
  c.layer.operation = scale;
  return c;
}

OperatorCase elementwise_case() {
  OperatorCase c;
  Elementwise operation;
  constexpr std::array kKinds{VectorKind::kAdd, VectorKind::kSub, VectorKind::kMul,
                              VectorKind::kMul, VectorKind::kMax, VectorKind::kMin};
  operation.kind = static_cast<Elementwise::Kind>(number(0, 5));
  c.run.kind = nth(kKinds, operation.kind);
  c.run.divide = operation.kind == Elementwise::Kind::kDiv;
  keep_shape(c, DType::kInt8);
  const bool wide = one_in(4);  // accumulators
  for (double& scale : operation.input_scales) {
    add_operand(c, c.layer.output.shape, wide ? DType::kInt32 : random_map_type());
    scale = random_factor() * (wide ? 1e-8 : 1);
  }
  operation.relu = c.run.relu = one_in(2);
  operation.requant = random_requant_of(c, random_map_type());
  for (const double factor : {operation.input_scales[0], operation.input_scales[1], operation.requant.scale})
    c.parameter(factor);
  c.layer.operation = operation;
  return c;
}

OperatorCase random_softmax() {
  OperatorCase c;
  c.run.kind = VectorKind::kSoftmax;
  keep_shape(c, DType::kInt8);
  add_operand(c, c.layer.output.shape, random_byte_type());
  Softmax softmax;
  softmax.input_scale = number(1, 200) * 1e-3;
  for (int d = 0; d < 256; ++d)
    c.parameter(std::int64_t{std::llround(std::exp(-d * softmax.input_scale) * (1 << 24))});
  softmax.requant = random_requant_of(c, random_byte_type());
  softmax.requant.scale *= 100;
  c.parameter(softmax.requant.scale);
  c.layer.operation = softmax;
  return c;
}

/// Rows, columns and offsets of an axis: every window has a tap on the map.
struct PoolAxis {
  int extent = 0, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, out = 0;
};
PoolAxis random_axis() {
  PoolAxis p;
  do {
    p = PoolAxis{};
    p.extent = number(1, 14), p.kernel = skewed(6), p.stride = skewed(4), p.dilation = skewed(3);
    p.before = number(0, p.kernel - 1), p.after = number(0, p.kernel - 1);
    const int window = (p.kernel - 1) * p.dilation + 1;
    p.out = (p.extent + p.before + p.after - window) / p.stride + 1;
    if (p.extent + p.before + p.after < window) p.out = 0;
    for (int o = 0; o < p.out; ++o) {
      int taps = 0;
      for (int k = 0; k < p.kernel; ++k) {
        const int at = o * p.stride + k * p.dilation - p.before;
        taps += at >= 0 && at < p.extent ? 1 : 0;
      }
      if (taps == 0) p.out = 0;
    }
  } while (p.out == 0);
  return p;
}

OperatorCase pool_case() {
  OperatorCase c;
  const PoolAxis h = random_axis(), w = random_axis();
  Pooling pool;
  pool.kind = one_in(2) ? Pooling::Kind::kMax : Pooling::Kind::kAverage;
  pool.kernel = {h.kernel, w.kernel}, pool.stride = {h.stride, w.stride};
  pool.dilation = {h.dilation, w.dilation};
  pool.pads = {h.before, w.before, h.after, w.after};
  pool.count_include_pad = pool.kind == Pooling::Kind::kAverage && one_in(2);
  const DType type = random_map_type();
  const std::int64_t channels = skewed(type == DType::kInt16 ? 45 : 90);
  const TensorInfo& info = add_operand(c, {1, h.extent, w.extent, channels}, type);
  c.layer.output = TensorInfo{{1, h.out, w.out, channels}, type, info.zero_point};
  VectorRun& run = c.run;
  run.kind = pool.kind == Pooling::Kind::kMax ? VectorKind::kMaxPool : VectorKind::kAveragePool;
  run.out_type = type, run.out_zero = static_cast<std::int16_t>(info.zero_point);
  run.count_padding = pool.count_include_pad;
  run.rows = static_cast<std::uint16_t>(h.out), run.columns = static_cast<std::uint16_t>(w.out);
  run.height = static_cast<std::uint16_t>(h.extent), run.width = static_cast<std::uint16_t>(w.extent);
  run.channels = static_cast<std::uint16_t>(channels);
  run.kernel_h = static_cast<std::uint16_t>(h.kernel), run.kernel_w = static_cast<std::uint16_t>(w.kernel);
  run.stride_h = static_cast<std::uint8_t>(h.stride), run.stride_w = static_cast<std::uint8_t>(w.stride);
  run.dilation_h = static_cast<std::uint8_t>(h.dilation);
  run.dilation_w = static_cast<std::uint8_t>(w.dilation);
  run.h_offset = static_cast<std::int16_t>(-h.before), run.w_offset = static_cast<std::int16_t>(-w.before);
  c.layer.operation = pool;
  return c;
}

/// Sums of two cores: kept, or made results of as SPEC NU-2 says.
OperatorCase sums_case() {
  OperatorCase c;
  const bool ends = one_in(2);
  const DType type = !ends || one_in(4) ? DType::kInt32 : random_byte_type();
  const std::int64_t pixels = skewed(60), channels = skewed(90);
  for (int i = 0; i < 2; ++i) {
    add_operand(c, {pixels, channels}, DType::kInt32);
    for (std::size_t e = 3; e < c.tensors.back().bytes.size(); e += 4)  // sums that do not leave int32
      c.tensors.back().bytes[e] = static_cast<std::uint8_t>(one_in(2) ? number(0, 60) : -number(1, 60));
  }
  VectorRun& run = c.run;
  run.kind = ends ? VectorKind::kEndSums : VectorKind::kAddSums;
  run.out_type = type,
  run.out_zero = static_cast<std::int16_t>(type == DType::kInt32 ? 0 : random_zero(type));
  run.rows = 1, run.columns = static_cast<std::uint16_t>(pixels);
  run.channels = static_cast<std::uint16_t>(channels);
  const std::int32_t low = one_in(2) ? INT32_MIN : number(-2000, 0),
                     high = one_in(2) ? INT32_MAX : number(0, 1 << 30);
  const bool leaky = type != DType::kInt32 && one_in(3);
  const double output_scale = number(1, 30) * 0.25, slope = number(-8, 8) * 0.125;
  std::vector<PostParameter> records;
  if (ends) {
    c.parameter(low), c.parameter(high);
    c.parameter(std::int32_t{leaky ? 1 : 0}), c.parameter(std::int32_t{0});
    c.parameter(output_scale), c.parameter(slope);
    for (int i = 0; i < channels; ++i) {
      records.push_back({number(1, 1000) * 1e-8, number(-100000, 100000)});
      c.parameter(records.back().scale), c.parameter(records.back().bias), c.parameter(std::int32_t{0});
    }
  }
  Tensor& expected = c.expected.emplace(Tensor{{pixels, channels}, type, {}});
  for (std::int64_t i = 0; i < pixels * channels; ++i) {
    std::int64_t v = std::int64_t{c.tensors[0].at(i)} + c.tensors[1].at(i);
    if (ends) {
      const PostParameter& record = records[static_cast<std::size_t>(i % channels)];
      v = std::clamp<std::int64_t>(v + record.bias, low, high);
      double real = static_cast<double>(v) * record.scale;
      if (leaky) real = (real < 0 ? real * slope : real) * output_scale;
      if (type != DType::kInt32)
        v = std::clamp<std::int64_t>(std::llrint(real) + run.out_zero, dtype_min(type), dtype_max(type));
    }
    for (int byte = 0; byte < dtype_size(type); ++byte)
      expected.bytes.push_back(static_cast<std::uint8_t>(v >> (8 * byte)));
  }
  return c;
}

/// Cycles of the lanes after docs/vector.md.
std::int64_t lane_clocks(const OperatorCase& c, int lanes, int burst_bytes) {
  const VectorRun& run = c.run;
  const auto is_wide = [](const TensorInfo& info) { return info.dtype == DType::kInt16; };
  const bool wide = run.out_type == DType::kInt16 || std::any_of(c.infos.begin(), c.infos.end(), is_wide);
  const auto passes = [&](std::int64_t elements) {
    return (elements * (wide ? 2 : 1) + lanes - 1) / lanes;  // an element of int16 takes two lanes
  };
  const std::int64_t pixels = std::int64_t{run.rows} * run.columns;
  if (run.kind == VectorKind::kSoftmax) return 3 * pixels * passes(run.channels);
  if (run.kind != VectorKind::kMaxPool && run.kind != VectorKind::kAveragePool) {
    const std::int64_t elements = pixels * run.channels,
                       widest = std::max(dtype_size(c.infos.front().dtype), dtype_size(c.infos.back().dtype));
    const std::int64_t step = burst_bytes / widest;
    return elements / step * passes(step) + passes(elements % step);
  }
  std::int64_t taps = 0;
  const auto on_map = [](int out, int extent, int kernel, int stride, int dilation, int offset) {
    std::int64_t count = 0;
    for (int o = 0; o < out; ++o) {
      for (int k = 0; k < kernel; ++k) {
        const int at = o * stride + k * dilation + offset;
        count += at >= 0 && at < extent ? 1 : 0;
      }
    }
    return count;
  };
  taps = on_map(run.rows, run.height, run.kernel_h, run.stride_h, run.dilation_h, run.h_offset) *
         on_map(run.columns, run.width, run.kernel_w, run.stride_w, run.dilation_w, run.w_offset);
  return taps * passes(run.channels);
}

/// Runs a case; nothing, or what is wrong.
std::string run_case(OperatorCase& c, const VectorConfig& config, const DmaConfig& ports,
                     const InterconnectConfig& bus) {
  VectorRun& run = c.run;
  run.a = kVectorA, run.b = kVectorB, run.destination = kVectorDestination,
  run.parameters = kVectorParameters;
  run.a_type = c.infos[0].dtype, run.a_zero = static_cast<std::int16_t>(c.infos[0].zero_point);
  if (c.infos.size() > 1)
    run.b_type = c.infos[1].dtype, run.b_zero = static_cast<std::int16_t>(c.infos[1].zero_point);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) operands.push_back({c.tensors[i], c.infos[i]});
  return run_vector_operation(run, operands, c.parameters,
                              c.expected ? *c.expected : reference_layer(c.layer, operands),
                              lane_clocks(c, config.lanes, ports.burst_bytes), {config, ports, bus});
}

void check_operator(int cases, OperatorCase (*make)()) {
  check_cases(budget(cases, 15), [make] {
    OperatorCase c = make();
    const VectorBenchConfig config = random_vector_bench();
    const std::string wrong = in_child([&] { return run_case(c, config.unit, config.ports, config.bus); });
    RC_ASSERT(wrong == "");
  });
}

TEST(VectorOperators, HI_2_table) {
  check_operator(40, table_case);
}
TEST(VectorOperators, HI_2_scale_and_requantize) {
  check_operator(60, scale_case);
}
TEST(VectorOperators, HI_2_OP_2_two_operands) {
  check_operator(80, elementwise_case);
}
TEST(VectorOperators, HI_2_NU_2_sums) {
  check_operator(80, sums_case);
}
TEST(VectorOperators, HI_2_pooling) {
  check_operator(100, pool_case);
}
TEST(VectorOperators, HI_2_softmax) {
  check_operator(40, random_softmax);
}

}  // namespace
}  // namespace tilebeat::testing
