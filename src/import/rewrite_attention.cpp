// Operators of language models that are written as products, softmaxes and moves once shapes are known (SPEC
// AT-1).
#include "base/types.h"
#include "import/node_writer.h"
#include "import/problems.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Writer = NodeWriter;

[[noreturn]] void refuse(const std::string& reason) {
  throw Unsupported(reason);
}

void refuse_result(const GraphNode& node, std::size_t i, const char* what) {
  if (Writer::result(node, i)) refuse(fmt::format("its result {}: {}", i, what));
}

std::size_t concat(Writer& w, const GraphNode& node, const std::vector<Operand>& parts, std::int64_t axis,
                   Operand to = std::nullopt) {
  return w.add(node, "Concat", parts, to, {{"axis", axis}});
}

// ---- norms of rows ----

void rms_norm(Writer& w, const GraphNode& node, Operand x, Operand gamma, std::int64_t axis, float epsilon) {
  w.add(node, "RMSNormalization", {x, gamma}, Writer::output(node), {{"axis", axis}, {"epsilon", epsilon}});
}

void simplified_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  refuse_result(node, 1, "the inverse of the root");
  attributes.without_effect("stash_type");  // type of the sums
  const std::int64_t axis = attributes.integer("axis", -1);
  rms_norm(w, node, node.inputs.at(0), Writer::operand(node, 1), axis, attributes.real("epsilon", 1e-5F));
}

/// The norm of a sum: x, what is skipped, gamma, beta where the mean is taken away, a bias.
void skip_norm(Writer& w, const GraphNode& node, Attributes& attributes) {
  const bool simplified = node.op == "com.microsoft.SkipSimplifiedLayerNormalization";
  refuse_result(node, 1, "means");
  refuse_result(node, 2, "inverses of roots");
  const Operand bias = Writer::operand(node, simplified ? 3 : 4), sum = Writer::result(node, 3);
  const float epsilon = attributes.real("epsilon", 1e-12F);
  Operand x = w.add(node, "Add", {node.inputs.at(0), Writer::operand(node, 1)}, bias ? std::nullopt : sum);
  if (bias) x = w.add(node, "Add", {x, bias}, sum);
  const Operand gamma = Writer::operand(node, 2);
  if (simplified) return rms_norm(w, node, x, gamma, -1, epsilon);
  std::vector<Operand> operands{x, gamma};
  if (const Operand beta = Writer::operand(node, 3)) operands.push_back(beta);
  w.add(node, "LayerNormalization", operands, Writer::output(node),
        {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

// ---- rotations by position ----

/// Cosines and sines of every position of a sequence, for each pair of elements.
struct Turns {
  std::int64_t maps = 1;       ///< batches that differ, or 1
  std::int64_t positions = 1;  ///< of a sequence
  std::int64_t pairs = 1;
  std::vector<double> cosines, sines;  ///< [maps, positions, pairs]
};

/// The rows of the caches at `places`, or all of them where these are [maps, positions, pairs] themselves.
Turns turns_of(Writer& w, const GraphNode& node, std::size_t cosines, std::size_t sines,
               const std::optional<Extents>& places, const Extents& shape) {
  const Constant *cos = w.data(node, cosines), *sin = w.data(node, sines);
  if (cos == nullptr || sin == nullptr) refuse("cosines or sines that are no constants");
  if (cos->shape != sin->shape) refuse("cosines and sines of different shapes");
  Turns turns;
  turns.pairs = cos->shape.empty() ? 0 : cos->shape.back();
  if (turns.pairs < 1) refuse("no cosines");
  const std::vector<double> of_cos = cos->values(), of_sin = sin->values();
  const std::int64_t rows = ssize(of_cos) / turns.pairs;
  Extents picked = places.value_or(Extents{});
  if (!places) {
    for (std::int64_t i = 0; i < rows; ++i) picked.push_back(i);
  }
  if (shape[2] < 1) refuse("a sequence without positions");
  turns.positions = shape[2], turns.maps = ssize(picked) / turns.positions;
  if (turns.maps * turns.positions != ssize(picked) || (turns.maps != 1 && turns.maps != shape[0]))
    refuse(fmt::format("{} positions of {} sequences of {}", picked.size(), shape[0], turns.positions));
  for (const std::int64_t row : picked) {
    if (row < 0 || row >= rows) refuse(fmt::format("position {} of {}", row, rows));
    for (std::int64_t i = 0; i < turns.pairs; ++i) {
      turns.cosines.push_back(nth(of_cos, row * turns.pairs + i));
      turns.sines.push_back(nth(of_sin, row * turns.pairs + i));
    }
  }
  return turns;
}

/// x [batch, heads, positions, size] times cosines, plus its partners times sines: a pair is (i, i + pairs)
/// or, interleaved, (2 i, 2 i + 1), and elements beyond all pairs stay.
std::size_t turned(Writer& w, const GraphNode& node, Operand x, const Turns& turns, bool interleaved,
                   Operand to = std::nullopt) {
  const Extents shape = w.shape(x);
  const std::int64_t size = shape[3], pairs = turns.pairs;
  if (2 * pairs > size) refuse(fmt::format("{} cosines for {} elements", pairs, size));
  std::vector<double> own, other;
  Extents partner;
  for (std::int64_t row = 0; row < turns.maps * turns.positions; ++row) {
    for (std::int64_t i = 0; i < size; ++i) {
      const bool turns_too = i < 2 * pairs, second = interleaved ? i % 2 == 1 : i >= pairs;
      const std::int64_t pair = row * pairs + (interleaved ? i / 2 : i % pairs);
      own.push_back(turns_too ? nth(turns.cosines, pair) : 1);
      other.push_back(turns_too ? (second ? 1 : -1) * nth(turns.sines, pair) : 0);
      if (row == 0) partner.push_back(!turns_too ? i : interleaved ? i ^ 1 : (i + pairs) % (2 * pairs));
    }
  }
  std::size_t swapped = 0;
  if (interleaved) {
    swapped = w.add(node, "Gather", {x, w.integers(node, {size}, partner)}, std::nullopt,
                    {{"axis", std::int64_t{3}}});
  } else {
    std::vector<Operand> parts{w.slice(node, x, 3, pairs, 2 * pairs), w.slice(node, x, 3, 0, pairs)};
    if (2 * pairs < size) parts.push_back(w.slice(node, x, 3, 2 * pairs, size));
    swapped = concat(w, node, parts, 3);
  }
  const Extents table{turns.maps, 1, turns.positions, size};
  const std::size_t first = w.add(node, "Mul", {x, w.reals(node, table, own)});
  const std::size_t second = w.add(node, "Mul", {swapped, w.reals(node, table, other)});
  return w.add(node, "Add", {first, second}, to);
}

/// A tensor of heads, [batch, heads, positions, size], of one that has them side by side: [batch, positions,
/// heads * size].
std::size_t heads_of(Writer& w, const GraphNode& node, Operand x, std::int64_t heads) {
  const Extents shape = w.shape(x);
  if (shape.size() == 4) return *x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    refuse(fmt::format("{} heads of a tensor of shape {}", heads, extents_text(shape)));
  return w.transpose(node, w.reshape(node, x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}
void side_by_side(Writer& w, const GraphNode& node, Operand x, Operand to) {
  const Extents shape = w.shape(x);
  w.reshape(node, w.transpose(node, x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]}, to);
}

constexpr std::int64_t kMostPositions = std::int64_t{1} << 32;

/// Position numbers [batch, positions], or the first one for all sequences; nothing where there is no
/// operand.
std::optional<Extents> positions_of(Writer& w, const GraphNode& node, std::size_t i, const Extents& shape) {
  if (!Writer::operand(node, i)) return std::nullopt;
  const Constant* found = w.data(node, i);
  if (found == nullptr) refuse("positions that are computed");
  Extents places = found->integers();
  if (places.size() != 1) return places;
  if (places[0] < 0 || places[0] > kMostPositions) refuse(fmt::format("position {}", places[0]));
  for (std::int64_t p = 1; p < shape[2]; ++p) places.push_back(places[0] + p);
  return places;
}

void rotary(Writer& w, const GraphNode& node, Attributes& attributes) {
  const bool microsoft = node.op != "RotaryEmbedding";
  const bool interleaved = attributes.integer("interleaved", 0) != 0;
  std::int64_t heads = attributes.integer("num_heads", 0);
  const std::int64_t given = attributes.integer("rotary_embedding_dim", 0);
  if (attributes.real("scale", 1) != 1) refuse("its attribute scale");
  if (attributes.integer("is_packed_batching", 0) != 0) refuse("sequences of different lengths in one");
  const std::size_t cosines = microsoft ? 2 : 1, sines = cosines + 1, places = microsoft ? 1 : 3;
  const Operand x = node.inputs.at(0);
  const Extents before = w.shape(x);
  const Constant* cos = w.data(node, cosines);
  if (before.size() == 3 && heads == 0 && given == 0 && cos != nullptr && !cos->shape.empty())
    heads = before[2] / std::max<std::int64_t>(1, 2 * cos->shape.back());
  const Operand held = heads_of(w, node, x, heads);
  const Extents shape = w.shape(held);
  const Turns turns = turns_of(w, node, cosines, sines, positions_of(w, node, places, shape), shape);
  if (given != 0 && given != 2 * turns.pairs)
    refuse(fmt::format("rotary_embedding_dim {} with {} cosines", given, turns.pairs));
  if (before.size() == 4) {
    turned(w, node, held, turns, interleaved, Writer::output(node));
  } else {
    side_by_side(w, node, turned(w, node, held, turns, interleaved), Writer::output(node));
  }
}

// ---- attention ----

/// Which of `keys` keys each of `queries` queries sees.
struct Seen {
  std::int64_t past = 0, window = 0;  ///< window 0: all up to the query's own
};

constexpr double kMasked = -1e3;  // added to a score, as what is less: no share of a softmax remains
constexpr double kHidden = -1e9;  // what is added to scores of keys that are not seen

/// What a constant mask says, whose rows are queries and which is the same for all heads.
struct ConstantMask {
  bool all = false;          ///< nothing is masked
  std::optional<Seen> seen;  ///< set where each query sees the keys up to its own
};

ConstantMask read_mask(const Constant& mask, std::int64_t queries, std::int64_t keys) {
  ConstantMask made;
  const std::vector<double> values = mask.values();
  const bool flags = mask.type == ElementType::kBool;
  const auto open = [&](double value) { return flags ? value != 0 : value == 0; };
  made.all = std::all_of(values.begin(), values.end(), open);
  if (made.all || ssize(values) % (queries * keys) != 0) return made;
  Seen seen{-1, 1};
  for (std::int64_t i = 0; i < ssize(values); ++i) {
    const std::int64_t query = i / keys % queries, key = i % keys;
    if (!open(nth(values, i)) && !flags && nth(values, i) > kMasked) return made;
    if (open(nth(values, i)) && query == 0) seen.past = std::max(seen.past, key);
  }
  if (seen.past < 0) return made;
  const auto first_of = [&](std::int64_t query) {
    const auto row = values.begin() + query * keys;
    return std::find_if(row, row + keys, open) - row;
  };
  for (std::int64_t query = 0; query < queries; ++query)
    seen.window = std::max(seen.window, query + seen.past + 1 - first_of(query));
  for (std::int64_t i = 0; i < ssize(values); ++i) {
    const std::int64_t last = i / keys % queries + seen.past, key = i % keys;
    if (open(nth(values, i)) != (key <= last && key > last - seen.window)) return made;
  }
  if (seen.window == queries + seen.past) seen.window = 0;
  made.seen = seen;
  return made;
}

/// Queries, keys and values as [batch, heads, positions, size].
class Attention {
 public:
  Attention(Writer& writer, const GraphNode& node) : w_(writer), node_(node) {}

  Operand q, k, v;
  float factor = 0;  ///< of scores; 0: 1 / sqrt(size)
  float cap = 0;     ///< of scores, by a hyperbolic tangent; 0: none
  std::optional<Seen> seen;
  Operand mask;  ///< added to the scores, or flags

  /// Appends keys and values to those of earlier steps, where there are any.
  void append(Operand past_keys, Operand past_values, Operand keys, Operand values) {
    if (past_keys.has_value() != past_values.has_value()) refuse("earlier keys without earlier values");
    if (!past_keys) {
      if (keys) w_.add(node_, "Identity", {k}, keys);
      if (values) w_.add(node_, "Identity", {v}, values);
      return;
    }
    const Extents of_keys = w_.shape(past_keys), of_values = w_.shape(past_values), of_k = w_.shape(k);
    const bool fits = of_keys.size() == 4 && of_values.size() == 4 && of_k.size() == 4 &&
                      of_keys[0] == of_k[0] && of_keys[1] == of_k[1] && of_keys[2] == of_values[2] &&
                      of_keys[3] == of_k[3];
    if (!fits)
      refuse(fmt::format("earlier keys {} and values {} in front of keys {}", extents_text(of_keys),
                         extents_text(of_values), extents_text(of_k)));
    past_ = of_keys[2];
    if (past_ == 0) return append(std::nullopt, std::nullopt, keys, values);
    k = concat(w_, node_, {past_keys, k}, 2, keys), v = concat(w_, node_, {past_values, v}, 2, values);
  }
  std::int64_t past() const { return past_; }

  /// The results [batch, heads, positions, size of values].
  std::size_t write(Operand to) {
    const Extents of_q = w_.shape(q), of_k = w_.shape(k), of_v = w_.shape(v);
    for (const Extents& shape : {of_q, of_k, of_v}) {
      if (shape.size() != 4) refuse(fmt::format("an operand of shape {}", extents_text(shape)));
    }
    const std::int64_t batch = of_q[0], heads = of_q[1], queries = of_q[2], size = of_q[3];
    const std::int64_t shared = of_k[1], keys = of_k[2];
    for (const Extents& shape : {of_q, of_k, of_v}) {
      if (element_count(shape) == 0) refuse("an operand without elements");
    }
    if (shared < 1 || heads % shared != 0 || of_k[0] != batch || of_v[0] != batch || of_v[1] != shared ||
        of_v[2] != keys || of_k[3] != size)
      refuse(fmt::format("queries {}, keys {} and values {}", extents_text(of_q), extents_text(of_k),
                         extents_text(of_v)));
    const std::int64_t group = heads / shared;  // queries that share keys
    const bool grouped = group > 1 && shared > 1;
    const auto in_groups = [&](Operand x, const Extents& shape) {
      return grouped ? w_.reshape(node_, x, shape) : *x;
    };
    const Extents rows = grouped ? Extents{batch, shared, group, queries, size} : of_q;
    const std::size_t turned_keys = w_.transpose(node_, k, {0, 1, 3, 2});
    const float scale = factor != 0 ? factor : 1 / std::sqrt(static_cast<float>(size));
    Operand scores =
        w_.add(node_, "MatMul", {in_groups(q, rows), in_groups(turned_keys, {batch, shared, 1, size, keys})},
               std::nullopt, {{"alpha", scale}});
    if (cap != 0) {
      const double by = static_cast<double>(cap);
      scores = w_.add(node_, "Tanh", {w_.add(node_, "Mul", {scores, w_.number(node_, 1 / by)})});
      scores = w_.add(node_, "Mul", {scores, w_.number(node_, by)});
    }
    scores = masked(scores, {batch, heads, queries, keys},
                    grouped ? Extents{batch, shared, group, queries, keys} : Extents{});
    const Operand shares = softmax(scores, queries, keys);
    const Operand made = w_.add(node_, "MatMul", {shares, in_groups(v, {batch, shared, 1, keys, of_v[3]})},
                                grouped ? std::nullopt : to);
    return grouped ? w_.reshape(node_, made, {batch, heads, queries, of_v[3]}, to) : *made;
  }

 private:
  // Whether a mask fits scores of this shape. Its last axis is not repeated: a shorter one hides the keys
  // behind it.
  static bool broadcasts(const Extents& mask, const Extents& scores) {
    if (mask.empty() || mask.size() > scores.size() || mask.back() != scores.back()) return false;
    const std::size_t before = scores.size() - mask.size();
    for (std::size_t axis = 0; axis < mask.size(); ++axis) {
      if (mask[axis] != 1 && mask[axis] != scores[before + axis]) return false;
    }
    return true;
  }

  // With a mask added that is not one of those that `seen` stands for. `grouped`: the shape of scores whose
  // heads are in groups, or nothing.
  Operand masked(Operand scores, const Extents& shape, const Extents& grouped) {
    if (!mask) return scores;
    Extents of = w_.shape(mask);
    if (!broadcasts(of, shape))
      refuse(fmt::format("a mask of shape {} for scores of shape {}", extents_text(of), extents_text(shape)));
    if (const auto& data = w_.graph.tensors[*mask].data) {
      const bool by_query = of.size() > 1 && of[of.size() - 2] == shape[2];
      const ConstantMask found = read_mask(*data, by_query ? shape[2] : 1, shape[3]);
      if (found.all) return scores;
      if (by_query && found.seen && found.seen->past + shape[2] <= shape[3] &&
          (!seen || (seen->past == found.seen->past && seen->window == 0))) {
        seen = found.seen;
        return scores;
      }
      std::vector<double> values = data->values();
      const bool flags = data->type == ElementType::kBool;
      for (double& value : values)
        value = (flags ? value == 0 : value <= kMasked) ? kHidden : flags ? 0 : value;
      const Extents kept = data->shape;
      mask = w_.reals(node_, kept, values);
    } else if (w_.graph.tensors[*mask].type == ElementType::kBool) {
      refuse("a mask that is computed");
    }
    if (!grouped.empty()) {
      while (of.size() < 4) of.insert(of.begin(), 1);
      const bool alike = of[1] == 1;
      mask = w_.reshape(node_, mask, {of[0], alike ? 1 : grouped[1], alike ? 1 : grouped[2], of[2], of[3]});
    }
    return w_.add(node_, "Add", {scores, mask});
  }

  Operand softmax(Operand scores, std::int64_t queries, std::int64_t keys) {
    const std::int64_t last = w_.shape(scores).size() > 4 ? 4 : 3;
    if (!seen) return w_.add(node_, "Softmax", {scores}, std::nullopt, {{"axis", last}});
    if (seen->past + queries > keys) {  // late queries see all keys
      std::vector<double> hidden;
      for (std::int64_t i = 0; i < queries * keys; ++i)
        hidden.push_back(i % keys <= i / keys + seen->past ? 0 : kHidden);
      const std::size_t masked = w_.add(node_, "Add", {scores, w_.reals(node_, {queries, keys}, hidden)});
      return w_.add(node_, "Softmax", {masked}, std::nullopt, {{"axis", last}});
    }
    const std::int64_t window = seen->window < keys ? seen->window : 0;
    return w_.add(node_, kCausalSoftmax, {scores}, std::nullopt, {{"past", seen->past}, {"window", window}});
  }

  Writer& w_;
  const GraphNode& node_;
  std::int64_t past_ = 0;
};

void attention(Writer& w, const GraphNode& node, Attributes& attributes) {
  Attention made(w, node);
  const std::int64_t heads = attributes.integer("q_num_heads", 0);
  const std::int64_t shared = attributes.integer("kv_num_heads", 0);
  const bool causal = attributes.integer("is_causal", 0) != 0;
  made.factor = attributes.real("scale", 0), made.cap = attributes.real("softcap", 0);
  attributes.without_effect("softmax_precision");
  attributes.without_effect("qk_matmul_output_mode");
  refuse_result(node, 3, "scores");
  if (Writer::operand(node, 6)) refuse("keys that are padding (nonpad_kv_seqlen)");
  const bool flat = w.shape(node.inputs.at(0)).size() == 3;
  made.q = heads_of(w, node, node.inputs.at(0), heads);
  made.k = heads_of(w, node, Writer::operand(node, 1), shared);
  made.v = heads_of(w, node, Writer::operand(node, 2), shared);
  made.append(Writer::operand(node, 4), Writer::operand(node, 5), Writer::result(node, 1),
              Writer::result(node, 2));
  if (causal) made.seen = Seen{made.past(), 0};
  made.mask = Writer::operand(node, 3);
  if (!flat) {
    made.write(Writer::output(node));
  } else {
    side_by_side(w, node, made.write(std::nullopt), Writer::output(node));
  }
}

/// The newest queries of all sequences are causal behind the keys of earlier steps.
void grouped_attention(Writer& w, const GraphNode& node, Attributes& attributes) {
  Attention made(w, node);
  const std::int64_t heads = attributes.integer("num_heads", 0);
  const std::int64_t shared = attributes.integer("kv_num_heads", 0);
  const std::int64_t window = attributes.integer("local_window_size", -1);
  const bool turns = attributes.integer("do_rotary", 0) != 0;
  const bool interleaved = attributes.integer("rotary_interleaved", 0) != 0;
  made.factor = attributes.real("scale", 0), made.cap = attributes.real("softcap", 0);
  if (attributes.integer("smooth_softmax", 0) > 0) refuse("its attribute smooth_softmax");
  if (heads < 1 || shared < 1) refuse(fmt::format("{} heads that share the keys of {}", heads, shared));
  Operand q = node.inputs.at(0), k = Writer::operand(node, 1), v = Writer::operand(node, 2);
  const Extents packed = w.shape(q);
  if (packed.size() != 3) refuse(fmt::format("queries of shape {}", extents_text(packed)));
  if (heads > packed[2] || shared > packed[2])
    refuse(fmt::format("{} and {} heads in {} features", heads, shared, packed[2]));
  if (!k) {
    const std::int64_t size = packed[2] / (heads + 2 * shared), of_q = heads * size, of_k = shared * size;
    if (of_q + 2 * of_k != packed[2])
      refuse(fmt::format("packed operands of shape {}", extents_text(packed)));
    const Operand all = q;
    q = w.slice(node, all, 2, 0, of_q), k = w.slice(node, all, 2, of_q, of_q + of_k);
    v = w.slice(node, all, 2, of_q + of_k, packed[2]);
  }
  made.q = heads_of(w, node, q, heads), made.k = heads_of(w, node, k, shared);
  made.v = heads_of(w, node, v, shared);
  const Operand earlier = Writer::operand(node, 3);
  const std::int64_t past = earlier ? w.shape(earlier).at(2) : 0, all = past + packed[1];
  const Constant* lengths = w.data(node, 5);
  const std::vector<std::int64_t> last =
      lengths != nullptr ? lengths->integers() : std::vector<std::int64_t>{};
  if (ssize(last) != packed[0] ||
      std::any_of(last.begin(), last.end(), [&](std::int64_t n) { return n + 1 != all; }))
    refuse(fmt::format("lengths of sequences (seqlens_k) that are not {}, of all {} keys", all - 1, all));
  for (std::size_t i = 9; i < node.inputs.size(); ++i) {
    if (node.inputs[i]) refuse(fmt::format("its operand {}", i));
  }
  if (turns) {
    const Extents shape = w.shape(made.q);
    Extents places;
    for (std::int64_t p = 0; p < packed[1]; ++p) places.push_back(past + p);
    const Turns of = turns_of(w, node, 7, 8, places, shape);
    made.q = turned(w, node, made.q, of, interleaved), made.k = turned(w, node, made.k, of, interleaved);
  }
  made.append(earlier, Writer::operand(node, 4), Writer::result(node, 1), Writer::result(node, 2));
  made.seen = Seen{past, window > 0 ? window : 0};
  side_by_side(w, node, made.write(std::nullopt), Writer::output(node));
}

}  // namespace

const std::map<std::string, RewriteRule>& attention_rules() {
  static const std::map<std::string, RewriteRule> all{
      {"SimplifiedLayerNormalization", simplified_norm},
      {"com.microsoft.SimplifiedLayerNormalization", simplified_norm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skip_norm},
      {"com.microsoft.SkipLayerNormalization", skip_norm},
      {"RotaryEmbedding", rotary},
      {"com.microsoft.RotaryEmbedding", rotary},
      {"Attention", attention},
      {"com.microsoft.GroupQueryAttention", grouped_attention}};
  return all;
}

std::optional<NodeAttributes> causal_mask(const Constant& mask, std::int64_t queries, std::int64_t keys) {
  const auto seen = read_mask(mask, queries, keys).seen;
  if (!seen || seen->past + queries > keys) return std::nullopt;
  return NodeAttributes{{"past", seen->past}, {"window", seen->window}};
}

}  // namespace tilebeat
