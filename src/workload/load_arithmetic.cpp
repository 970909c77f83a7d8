// Which arithmetic makes a layer's results (SPEC NU-6), and whether the file says all that it needs.
#include "base/types.h"
#include "workload/load_layer.h"

#include <cmath>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Bounds of a factor from one scale to another: float32 keeps it, and a fixed-point shift reaches it.
constexpr double kLeastFactor = 1e-30, kMostFactor = 1 << 30;

class ArithmeticSetter {
 public:
  ArithmeticSetter(const LayerSource& source, Layer& layer)
      : source_(source), layer_(layer), arithmetic_(source.spec.arithmetic.value_or(source.arithmetic)) {}

  void operator()(Conv2d& conv) const {
    if (!conv.requant) {
      if (const auto& range = range_of_accumulators()) refuse_range(*range, "requant");
      return;
    }
    Requant& r = *conv.requant;
    r.range = range_of_accumulators();
    check_range(r.range);
    if (arithmetic_ == Arithmetic::kExact) return;
    r.arithmetic = arithmetic_;
    const Place place = source_.place.key("requant");
    need(r.input_scale.has_value(), place.key("input_scale"));
    need(!r.weight_scale.empty(), place.key("weight_scale"));
    need(r.output_scale.has_value(), place.key("output_scale"));
    if (conv.activation.kind == ActivationKind::kClamp || conv.activation.kind == ActivationKind::kFunction)
      source_.place.key("activation")
          .refuse(fmt::format("another activation than \"relu\" in arithmetic {}", name()),
                  R"("none" or "relu"; "output_range" keeps the result within bounds)");
    for (const double weight_scale : r.weight_scale)
      check_factor(*r.input_scale * weight_scale / *r.output_scale, place);
  }

  void operator()(Pooling& pool) const {
    check_range(pool.range);
    if (pool.kind == Pooling::Kind::kMax || layer_.op == "global_average_pool") return without_rule();
    pool.arithmetic = arithmetic_;
    check_factor(pool.input_scale / pool.output_scale, source_.place.key("requant"));
  }

  void operator()(Elementwise& e) const {
    if (e.kind == Elementwise::Kind::kDiv) {
      without_rule();
      return check_range(e.requant.range);
    }
    if (!begin(e.requant)) return;
    const double sy = *e.requant.output_scale;
    const bool product = e.kind == Elementwise::Kind::kMul;
    const double sa = e.input_scales[0], sb = e.input_scales[1];
    const Place place = source_.place.key("input_scales");
    if (product) return check_factor(sa * sb / sy, place);
    check_factor(sa / sy, place), check_factor(sb / sy, place);
    // The sum's shift has a place before the point; the greater multiplier has 21 bits.
    constexpr double kMostRatio = 1 << 19, kLeastRatio = 1.0 / (1 << 30);
    const double greater = std::max(sa, sb) / sy;
    if (greater >= kMostRatio || greater < kLeastRatio)
      place.refuse(fmt::format("a greater scale of {} of the output's", greater),
                   fmt::format("{} to {}", kLeastRatio, kMostRatio));
  }

  void operator()(ByteFunction& f) const {
    const bool has_rule = f.kind == ByteFunction::Kind::kSigmoid || f.kind == ByteFunction::Kind::kTanh;
    if (has_rule) {
      begin(f.requant);
    } else {
      without_rule();
      check_range(f.requant.range);
    }
  }
  void operator()(ChannelScale& scale) const {
    without_rule();
    check_range(scale.requant.range);
  }
  void operator()(Requantize& r) const {
    if (source_.input().dtype == DType::kInt32) {
      without_rule();
      check_range(r.requant.range);
    } else if (begin(r.requant)) {
      check_factor(r.input_scale / *r.requant.output_scale, source_.place.key("input_scale"));
    }
  }
  void operator()(Softmax& softmax) const {
    if (!begin(softmax.requant)) return;
    if (arithmetic_ == Arithmetic::kFloat32Ort && softmax.beta != 1)
      source_.place.key("beta").refuse_value(softmax.beta, "1 in arithmetic float32_ort");
  }
  void operator()(RowNorm& norm) const {
    without_rule();
    check_range(norm.requant.range);
  }
  void operator()(Lrn& lrn) const {
    without_rule();
    check_range(lrn.requant.range);
  }
  void operator()(Reduce& reduce) const {
    if (reduce.kind != Reduce::Kind::kMean) {
      without_rule();
      return check_range(reduce.requant.range);
    }
    if (begin(reduce.requant))
      check_factor(reduce.input_scale / *reduce.requant.output_scale, source_.place.key("input_scale"));
  }
  // The rest has one arithmetic: it moves elements, or is float32 by itself.
  template <class Other>
  void operator()(Other&) const {
    without_rule();
  }

 private:
  std::string_view name() const { return arithmetic_name(arithmetic_); }

  void need(bool there, const Place& place) const {
    if (!there) place.fail(fmt::format("is missing, arithmetic {} needs it", name()));
  }
  // Sets the arithmetic of real values; whether it is another one than exact.
  bool begin(TensorRequant& requant) const {
    check_range(requant.range);
    requant.arithmetic = arithmetic_;
    if (arithmetic_ == Arithmetic::kExact) return false;
    need(requant.output_scale.has_value(), source_.place.key("requant").key("output_scale"));
    return true;
  }
  // An operator that SPEC NU-6 does not name is exact in every arithmetic of the workload.
  void without_rule() const {
    if (source_.spec.arithmetic.value_or(Arithmetic::kExact) != Arithmetic::kExact)
      source_.place.key("arithmetic")
          .refuse(fmt::format("\"{}\" for op {}", name(), layer_.op), R"("exact", it has no other)");
  }
  void check_factor(double factor, const Place& place) const {
    if (!(factor >= kLeastFactor && factor < kMostFactor))
      place.refuse(fmt::format("a factor of {} from input to output", factor),
                   fmt::format("{} to {}", kLeastFactor, kMostFactor));
  }
  std::optional<OutputRange> range_of_accumulators() const {
    const auto of = [](const auto& spec) -> std::optional<OutputRange> {
      using Spec = std::decay_t<decltype(spec)>;
      if constexpr (std::is_same_v<Spec, Conv2dSpec>) {
        return spec.range;
      } else if constexpr (std::is_same_v<Spec, ConvTransposeSpec> ||
                           std::is_same_v<Spec, FullyConnectedSpec> || std::is_same_v<Spec, MatmulSpec> ||
                           std::is_same_v<Spec, ProductSpec>) {
        return spec.layer.range;
      } else {
        return std::nullopt;
      }
    };
    return std::visit(of, source_.spec.parameters);
  }
  [[noreturn]] void refuse_range(const OutputRange& range, const char* needs) const {
    source_.place.key("output_range")
        .refuse(fmt::format("[{}, {}]", range[0], range[1]), fmt::format("nothing without a {}", needs));
  }
  void check_range(const std::optional<OutputRange>& range) const {
    if (!range) return;
    const DType type = layer_.output.dtype;
    if ((*range)[0] <= (*range)[1] && (*range)[0] >= dtype_min(type) && (*range)[1] <= dtype_max(type))
      return;
    source_.place.key("output_range")
        .refuse(fmt::format("[{}, {}]", (*range)[0], (*range)[1]),
                fmt::format("[low, high] with low <= high, both from {} to {}", dtype_min(type),
                            dtype_max(type)));
  }

  const LayerSource& source_;
  Layer& layer_;
  Arithmetic arithmetic_;
};

}  // namespace

void set_arithmetic(const LayerSource& source, Layer& layer) {
  std::visit(ArithmeticSetter(source, layer), layer.operation);
}

}  // namespace tilebeat
