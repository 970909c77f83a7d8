// Generated variants (SPEC RN-6 to RN-9): operators of ONNX and TensorFlow Lite with random attributes,
// shapes and scales, each against a formula that is written out here. A push tries some sixty of them, a
// night a thousand.
#include "budget.h"
#include "onnx_import.h"
#include "tflite_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>

namespace tilebeat::testing {
namespace {

using Reals = std::vector<double>;

/// A tensor of real numbers.
struct Array {
  Extents shape;
  Reals values;

  std::size_t count() const { return values.size(); }
  Extents place(std::size_t i) const {
    Extents at(shape.size());
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = shape.size(); axis-- > 0;) at[axis] = rest % shape[axis], rest /= shape[axis];
    return at;
  }
  double& at(const Extents& place) {
    std::int64_t i = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) i = i * shape[axis] + place[axis];
    return values.at(static_cast<std::size_t>(i));
  }
  double at(const Extents& place) const { return const_cast<Array&>(*this).at(place); }
};
Array filled(const Extents& shape, double value = 0) {
  return {shape, Reals(static_cast<std::size_t>(element_count(shape)), value)};
}
/// All elements computed from their places.
Array made_by(const Extents& shape, const std::function<double(const Extents&)>& f) {
  Array made = filled(shape);
  for (std::size_t i = 0; i < made.count(); ++i) made.values[i] = f(made.place(i));
  return made;
}
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  bool coin() { return whole(0, 1) == 1; }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  float scale(double low, double high) {
    return static_cast<float>(std::exp(real(std::log(low), std::log(high))));
  }
  Extents shape(std::size_t rank, int least, int most) {
    Extents made;
    for (std::size_t i = 0; i < rank; ++i) made.push_back(whole(least, most));
    return made;
  }
  Array array(const Extents& shape, double low = -2, double high = 2) {
    return made_by(shape, [&](const Extents&) { return real(low, high); });
  }
  std::vector<int> bytes(std::size_t count, int low = -128, int high = 127) {
    std::vector<int> made(count);
    for (int& value : made) value = whole(low, high);
    return made;
  }

 private:
  std::mt19937 engine_;
};

std::vector<float> floats(const Reals& values) {
  return {values.begin(), values.end()};
}

// ---- float operators, which calibration brings in ----

/// A network over x, and what it has to make of it.
struct FloatCase {
  OnnxModel model{18};
  Array x, wanted;
  double cosine = 0.99;
};

struct FloatKind {
  const char* name;
  void (*build)(Chance&, FloatCase&);
};
std::ostream& operator<<(std::ostream& out, const FloatKind& kind) {
  return out << kind.name;
}

Extents reduced(const Extents& at, std::size_t axis) {
  Extents made = at;
  made[axis] = 0;
  return made;
}

void log_softmax(Chance& chance, FloatCase& c) {
  c.x = chance.array(chance.shape(static_cast<std::size_t>(chance.whole(2, 4)), 2, 6));
  const auto axis = static_cast<std::size_t>(chance.whole(0, static_cast<int>(c.x.shape.size()) - 1));
  OnnxModel::attribute(c.model.node("LogSoftmax", {"x"}, {"y"}), "axis", {static_cast<std::int64_t>(axis)});
  Extents kept = c.x.shape;
  kept[axis] = 1;
  Array sums = filled(kept);
  for (std::size_t i = 0; i < c.x.count(); ++i)
    sums.at(reduced(c.x.place(i), axis)) += std::exp(c.x.values[i]);
  c.wanted = made_by(c.x.shape,
                     [&](const Extents& at) { return c.x.at(at) - std::log(sums.at(reduced(at, axis))); });
}

/// InstanceNormalization, or GroupNormalization with factors a channel or a group.
void group_norm(Chance& chance, FloatCase& c) {
  const bool instances = chance.coin(), by_channel = instances || chance.coin();
  const std::int64_t groups = chance.whole(1, 3), each = instances ? 1 : chance.whole(2, 3),
                     channels = groups * each;
  c.model = OnnxModel(by_channel ? 21 : 18);
  c.x = chance.array({chance.whole(1, 2), channels, chance.whole(2, 5), chance.whole(2, 5)});
  const std::int64_t count = by_channel ? channels : groups;
  const Array factor = chance.array({count}, 0.3, 2), offset = chance.array({count});
  c.model.floats("g", {count}, floats(factor.values)).floats("b", {count}, floats(offset.values));
  onnx::Node& node =
      c.model.node(instances ? "InstanceNormalization" : "GroupNormalization", {"x", "g", "b"}, {"y"});
  if (!instances) OnnxModel::attribute(node, "num_groups", {groups});
  Array mean = filled({c.x.shape[0], groups}), square = mean;
  const double share = 1.0 / static_cast<double>(each * c.x.shape[2] * c.x.shape[3]);
  for (std::size_t i = 0; i < c.x.count(); ++i) {
    const Extents at = c.x.place(i);
    mean.at({at[0], at[1] / each}) += c.x.values[i] * share;
    square.at({at[0], at[1] / each}) += c.x.values[i] * c.x.values[i] * share;
  }
  c.wanted = made_by(c.x.shape, [&](const Extents& at) {
    const double m = mean.at({at[0], at[1] / each}), v = square.at({at[0], at[1] / each}) - m * m;
    const std::int64_t k = by_channel ? at[1] : at[1] / each;
    return (c.x.at(at) - m) / std::sqrt(v + 1e-5) * factor.at({k}) + offset.at({k});
  });
}

void running_sum(Chance& chance, FloatCase& c) {
  c.x = chance.array(chance.shape(static_cast<std::size_t>(chance.whole(1, 4)), 2, 6));
  const auto axis = static_cast<std::size_t>(chance.whole(0, static_cast<int>(c.x.shape.size()) - 1));
  const bool exclusive = chance.coin(), reverse = chance.coin();
  c.model.longs("axis", {}, {static_cast<std::int64_t>(axis)});
  onnx::Node& node = c.model.node("CumSum", {"x", "axis"}, {"y"});
  OnnxModel::attribute(node, "exclusive", {exclusive ? 1 : 0});
  OnnxModel::attribute(node, "reverse", {reverse ? 1 : 0});
  c.wanted = made_by(c.x.shape, [&](const Extents& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < c.x.shape[axis]; ++k) {
      Extents from = at;
      from[axis] = k;
      const std::int64_t behind = reverse ? k - at[axis] : at[axis] - k;
      if (behind > 0 || (behind == 0 && !exclusive)) sum += c.x.at(from);
    }
    return sum;
  });
}

void gather_elements(Chance& chance, FloatCase& c) {
  c.x = chance.array(chance.shape(static_cast<std::size_t>(chance.whole(1, 4)), 2, 5));
  const auto axis = static_cast<std::size_t>(chance.whole(0, static_cast<int>(c.x.shape.size()) - 1));
  Extents shape = c.x.shape;
  shape[axis] = chance.whole(1, 6);
  const Array indices =
      made_by(shape, [&](const Extents&) { return chance.whole(0, static_cast<int>(c.x.shape[axis]) - 1); });
  std::vector<std::int64_t> list;
  for (const double i : indices.values)
    list.push_back(static_cast<std::int64_t>(i) - (chance.coin() ? c.x.shape[axis] : 0));
  c.model.longs("i", shape, list);
  OnnxModel::attribute(c.model.node("GatherElements", {"x", "i"}, {"y"}), "axis",
                       {static_cast<std::int64_t>(axis)});
  c.wanted = made_by(shape, [&](const Extents& at) {
    Extents from = at;
    from[axis] = static_cast<std::int64_t>(indices.at(at));
    return c.x.at(from);
  });
}

/// A product of letters: batches, rows, sums and columns in random orders.
void einsum(Chance& chance, FloatCase& c) {
  std::string shared, rows, sums = "k", columns;
  if (chance.coin()) shared = "b";
  if (chance.coin()) rows = chance.coin() ? "ij" : "i";
  if (rows.empty() || chance.coin()) columns = chance.coin() ? "mn" : "n";
  std::map<char, std::int64_t> extents;
  for (const char letter : std::string("bijkmn")) extents[letter] = chance.whole(2, 4);
  const auto shuffled = [&](std::string text) {
    for (std::size_t i = text.size(); i-- > 1;)
      std::swap(text[i], text[static_cast<std::size_t>(chance.whole(0, static_cast<int>(i)))]);
    return text;
  };
  const std::string left = shuffled(shared + rows + sums), right = shuffled(shared + sums + columns),
                    made = shuffled(shared + rows + columns);
  const auto shape_of = [&](const std::string& letters) {
    Extents shape;
    for (const char letter : letters) shape.push_back(extents[letter]);
    return shape;
  };
  c.x = chance.array(shape_of(left));
  const Array w = chance.array(shape_of(right));
  c.model.floats("w", w.shape, floats(w.values));
  add_text(c.model.node("Einsum", {"x", "w"}, {"y"}), "equation", (left + "," + right + "->" + made).c_str());
  c.wanted = made_by(shape_of(made), [&](const Extents& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < extents['k']; ++k) {
      const auto place = [&](const std::string& letters) {
        Extents of;
        for (const char letter : letters) of.push_back(letter == 'k' ? k : at[made.find(letter)]);
        return of;
      };
      sum += c.x.at(place(left)) * w.at(place(right));
    }
    return sum;
  });
}

void select(Chance& chance, FloatCase& c) {
  c.x = chance.array(chance.shape(3, 2, 6));
  const bool computed = chance.coin(), number = chance.coin();
  const double limit = chance.real(-1, 1), other = chance.real(-1, 1), slope = chance.real(-0.5, 0.5);
  c.model.floats("limit", {}, {static_cast<float>(limit)}).floats("other", {}, {static_cast<float>(other)});
  c.model.floats("slope", {}, {static_cast<float>(slope)}).node("Mul", {"x", "slope"}, {"scaled"});
  const Array mask =
      made_by({c.x.shape[1], c.x.shape[2]}, [&](const Extents&) { return chance.whole(0, 1); });
  if (computed) {
    c.model.node("Greater", {"x", "limit"}, {"mask"});
  } else {
    c.model.integers("mask", 9, mask.shape, std::vector<int>(mask.values.begin(), mask.values.end()));
  }
  c.model.node("Where", {"mask", "x", number ? "other" : "scaled"}, {"y"});
  c.wanted = made_by(c.x.shape, [&](const Extents& at) {
    const double x = c.x.at(at);
    const bool takes = computed ? x > limit : mask.at({at[1], at[2]}) != 0;
    return takes ? x : number ? other : slope * x;
  });
  c.cosine = computed ? 0.97 : 0.99;  // elements near the limit fall on either side
}

/// The weights of a recurrent operator, and one direction of it.
struct Cell {
  std::int64_t gates, inputs, hidden;
  Array w, r, b;

  /// gate[g][j] of input row x and state h; the candidate of a GRU may leave its state out.
  double sum(std::int64_t d, std::int64_t row, const Reals& x, const Reals& h, bool of_input,
             bool of_state) const {
    double made = 0;
    for (std::int64_t i = 0; i < inputs && of_input; ++i)
      made += w.at({d, row, i}) * x[static_cast<std::size_t>(i)];
    for (std::int64_t i = 0; i < hidden && of_state; ++i)
      made += r.at({d, row, i}) * h[static_cast<std::size_t>(i)];
    if (of_input) made += b.at({d, row});
    if (of_state) made += b.at({d, gates * hidden + row});
    return made;
  }
};

void recurrent(Chance& chance, FloatCase& c) {
  const int kind = chance.whole(0, 2);  // LSTM, GRU, RNN
  const std::int64_t steps = chance.whole(1, 5), batch = chance.whole(1, 3), inputs = chance.whole(1, 5),
                     hidden = chance.whole(1, 4),
                     gates = kind == 0   ? 4
                             : kind == 1 ? 3
                                         : 1;
  const int way = chance.whole(0, 2);
  const std::int64_t ways = way == 2 ? 2 : 1;
  const bool behind = chance.coin();
  c.x = chance.array({steps, batch, inputs});
  const Cell cell{gates,
                  inputs,
                  hidden,
                  chance.array({ways, gates * hidden, inputs}, -1, 1),
                  chance.array({ways, gates * hidden, hidden}, -1, 1),
                  chance.array({ways, 2 * gates * hidden}, -1, 1)};
  c.model.floats("w", cell.w.shape, floats(cell.w.values)).floats("r", cell.r.shape, floats(cell.r.values));
  c.model.floats("b", cell.b.shape, floats(cell.b.values));
  onnx::Node& node = c.model.node(kind == 0   ? "LSTM"
                                  : kind == 1 ? "GRU"
                                              : "RNN",
                                  {"x", "w", "r", "b"}, {"y"});
  OnnxModel::attribute(node, "hidden_size", {hidden});
  add_text(node, "direction", way == 0 ? "forward" : way == 1 ? "reverse" : "bidirectional");
  if (kind == 1) OnnxModel::attribute(node, "linear_before_reset", {behind ? 1 : 0});
  c.wanted = filled({steps, ways, batch, hidden});
  for (std::int64_t d = 0; d < ways; ++d) {
    for (std::int64_t n = 0; n < batch; ++n) {
      Reals h(static_cast<std::size_t>(hidden), 0), memory = h;
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t t = way == 1 || d == 1 ? steps - 1 - step : step;
        Reals x, reset = h, next = h;
        for (std::int64_t i = 0; i < inputs; ++i) x.push_back(c.x.at({t, n, i}));
        for (std::int64_t j = 0; j < hidden && kind == 1; ++j)
          reset[static_cast<std::size_t>(j)] *= sigmoid(cell.sum(d, hidden + j, x, h, true, true));
        for (std::int64_t j = 0; j < hidden; ++j) {
          const auto all = [&](std::int64_t gate) {
            return cell.sum(d, gate * hidden + j, x, h, true, true);
          };
          const auto k = static_cast<std::size_t>(j);
          if (kind == 2) next[k] = std::tanh(all(0));
          if (kind == 0) {
            memory[k] = sigmoid(all(2)) * memory[k] + sigmoid(all(0)) * std::tanh(all(3));
            next[k] = sigmoid(all(1)) * std::tanh(memory[k]);
          }
          if (kind == 1) {
            const double of_input = cell.sum(d, 2 * hidden + j, x, h, true, false);
            const double of_state = behind ? sigmoid(all(1)) * cell.sum(d, 2 * hidden + j, x, h, false, true)
                                           : cell.sum(d, 2 * hidden + j, x, reset, false, true);
            const double z = sigmoid(all(0));
            next[k] = (1 - z) * std::tanh(of_input + of_state) + z * h[k];
          }
        }
        h = next;
        for (std::int64_t j = 0; j < hidden; ++j) c.wanted.at({t, d, n, j}) = h[static_cast<std::size_t>(j)];
      }
    }
  }
  c.cosine = 0.98;
}

void element(Chance& chance, FloatCase& c) {
  struct Function {
    const char* name;
    double (*of)(double);
    double low;
  };
  static const std::array<Function, 10> functions{
      {{"Elu", [](double x) { return x > 0 ? x : std::exp(x) - 1; }, -2},
       {"Softplus", [](double x) { return std::log(1 + std::exp(x)); }, -2},
       {"Mish", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }, -2},
       {"Log", [](double x) { return std::log(x); }, 0.2},
       {"Reciprocal", [](double x) { return 1 / x; }, 0.4},
       {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, -2},
       {"Atan", [](double x) { return std::atan(x); }, -2},
       {"Sinh", [](double x) { return std::sinh(x); }, -2},
       {"Abs", [](double x) { return std::abs(x); }, -2},
       {"Cos", [](double x) { return std::cos(x); }, -2}}};
  const Function& f = functions.at(static_cast<std::size_t>(chance.whole(0, 9)));
  c.x = chance.array(chance.shape(static_cast<std::size_t>(chance.whole(1, 5)), 1, 5), f.low);
  c.model.node(f.name, {"x"}, {"y"});
  c.wanted = made_by(c.x.shape, [&](const Extents& at) { return f.of(c.x.at(at)); });
}

void repeat(Chance& chance, FloatCase& c) {
  c.x = chance.array(chance.shape(static_cast<std::size_t>(chance.whole(1, 4)), 1, 4));
  Extents times, shape = c.x.shape;
  for (std::int64_t& extent : shape) times.push_back(chance.whole(1, 3)), extent *= times.back();
  c.model.longs("times", {static_cast<std::int64_t>(times.size())}, times)
      .node("Tile", {"x", "times"}, {"y"});
  c.wanted = made_by(shape, [&](Extents at) {
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] %= c.x.shape[axis];
    return c.x.at(at);
  });
}

void dilated(Chance& chance, FloatCase& c) {
  const std::int64_t b = chance.whole(2, 3), n = chance.whole(1, 2), in = chance.whole(1, 3),
                     out = chance.whole(1, 3), k = chance.whole(1, 3), h = b * chance.whole(k, 4),
                     w = b * chance.whole(k, 4), h2 = h / b - k + 1, w2 = w / b - k + 1;
  const bool blocks = chance.coin(), last = chance.coin();
  // x lies as [N, C, H, W] or [N, H, W, C].
  c.x = chance.array(last ? Extents{n, h, w, in} : Extents{n, in, h, w});
  const Array kernels = chance.array({out, in, k, k});
  c.model.floats("w", kernels.shape, floats(kernels.values));
  const auto transposed = [&](const std::string& x, const std::string& y, const Extents& perm) {
    OnnxModel::attribute(c.model.node("Transpose", {x}, {y}), "perm", perm);
  };
  if (blocks) {
    transposed("x", "a", last ? Extents{3, 0, 1, 2} : Extents{1, 0, 2, 3});
    OnnxModel::attribute(c.model.node("SpaceToDepth", {"a"}, {"p"}), "blocksize", {b});
    transposed("p", "d", {1, 0, 2, 3});
  } else {
    c.model.longs("r1", {6}, last ? Extents{n, h / b, b, w / b, b, in} : Extents{n, in, h / b, b, w / b, b});
    c.model.longs("r2", {4}, {n * b * b, in, h / b, w / b});
    c.model.node("Reshape", {"x", "r1"}, {"a"});
    transposed("a", "p", last ? Extents{2, 4, 0, 5, 1, 3} : Extents{3, 5, 0, 1, 2, 4});
    c.model.node("Reshape", {"p", "r2"}, {"d"});
  }
  c.model.node("Conv", {"d", "w"}, {"e"});
  if (blocks) {
    transposed("e", "f", {1, 0, 2, 3});
    OnnxModel::attribute(c.model.node("DepthToSpace", {"f"}, {"g"}), "blocksize", {b});
    transposed("g", "y", last ? Extents{1, 2, 3, 0} : Extents{1, 0, 2, 3});
  } else {
    c.model.longs("r3", {6}, {b, b, n, out, h2, w2});
    c.model.longs("r4", {4}, last ? Extents{n, h2 * b, w2 * b, out} : Extents{n, out, h2 * b, w2 * b});
    c.model.node("Reshape", {"e", "r3"}, {"f"});
    transposed("f", "g", last ? Extents{2, 4, 0, 5, 1, 3} : Extents{2, 3, 4, 0, 5, 1});
    c.model.node("Reshape", {"g", "r4"}, {"y"});
  }
  c.wanted = made_by(
      last ? Extents{n, h2 * b, w2 * b, out} : Extents{n, out, h2 * b, w2 * b}, [&](const Extents& at) {
        const std::int64_t co = last ? at[3] : at[1], y = last ? at[1] : at[2], x = last ? at[2] : at[3];
        double sum = 0;
        for (std::int64_t ci = 0; ci < in; ++ci) {
          for (std::int64_t i = 0; i < k; ++i) {
            for (std::int64_t j = 0; j < k; ++j) {
              const Extents from =
                  last ? Extents{at[0], y + i * b, x + j * b, ci} : Extents{at[0], ci, y + i * b, x + j * b};
              sum += c.x.at(from) * kernels.at({co, ci, i, j});
            }
          }
        }
        return sum;
      });
}

class FloatVariants : public OnnxImport, public ::testing::WithParamInterface<FloatKind> {
 protected:
  /// The real numbers of a result, in the order of the source.
  static Array in_source_order(const SourceTensor& tensor, const Tensor& made, const Extents& shape) {
    Array found = filled(shape);
    Extents axes = tensor.axes;
    if (axes.empty()) {
      axes.resize(shape.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    Extents held;
    for (const std::int64_t axis : axes) held.push_back(shape[static_cast<std::size_t>(axis)]);
    const Array order = filled(held);
    for (std::size_t i = 0; i < found.count(); ++i) {
      const Extents at = order.place(i);
      Extents to(shape.size());
      for (std::size_t axis = 0; axis < axes.size(); ++axis)
        to[static_cast<std::size_t>(axes[axis])] = at[axis];
      float value = 0;
      std::memcpy(&value, made.bytes.data() + i * sizeof value, sizeof value);
      found.at(to) = static_cast<double>(value);
    }
    return found;
  }
  static double cosine_of(const Reals& a, const Reals& b) {
    double both = 0, left = 0, right = 0;
    for (std::size_t i = 0; i < a.size(); ++i) both += a[i] * b[i], left += a[i] * a[i], right += b[i] * b[i];
    return left * right == 0 ? (left == right ? 1 : 0) : both / std::sqrt(left * right);
  }
};

TEST_P(FloatVariants, RN_3_RN_8_random_variants_give_what_their_formula_says) {
  const int cases = budget(50, 6);
  const unsigned first = std::random_device{}();
  for (int i = 0; i < cases; ++i) {
    const unsigned seed = first + static_cast<unsigned>(i);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Chance chance(seed);
    FloatCase c;
    GetParam().build(chance, c);
    c.model.input("x", kFloat, c.x.shape).output("y");
    ImportOptions options;
    options.calibration[""] = make_constant(ElementType::kFloat32, c.x.shape, c.x.values);
    const ImportedNetwork network = imported(c.model, options);
    const auto made = run_reference(loaded(network));
    const auto y = std::find_if(network.tensors.begin(), network.tensors.end(),
                                [](const SourceTensor& tensor) { return tensor.name == "y"; });
    ASSERT_NE(y, network.tensors.end());
    const Tensor& held = made.at(y->holder.value());
    ASSERT_EQ(static_cast<std::size_t>(held.elements()), c.wanted.count());
    const Array found = in_source_order(*y, held, c.wanted.shape);
    ASSERT_GT(cosine_of(found.values, c.wanted.values), c.cosine);
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, FloatVariants,
                         ::testing::Values(FloatKind{"log_softmax", log_softmax},
                                           FloatKind{"group_norm", group_norm},
                                           FloatKind{"running_sum", running_sum},
                                           FloatKind{"gather_elements", gather_elements},
                                           FloatKind{"einsum", einsum}, FloatKind{"select", select},
                                           FloatKind{"recurrent", recurrent}, FloatKind{"element", element},
                                           FloatKind{"repeat", repeat}, FloatKind{"dilated", dilated}));

}  // namespace
}  // namespace tilebeat::testing
