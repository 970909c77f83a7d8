// Recurrent operators of ONNX, unrolled over their steps.
#include "base/types.h"
#include "import/node_writer.h"
#include "import/problems.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kMostSteps = 1024;  // of all directions

/// One operator while it is written.
class Recurrent {
 public:
  Recurrent(NodeWriter& writer, const GraphNode& node) : w_(writer), node_(node) {
    gates_ = node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1;
  }

  void write() {
    read();
    for (std::int64_t direction = 0; direction < directions_; ++direction) run(direction);
    finish();
  }

 private:
  /// Results of one direction: all hidden states in the order of time, the last one, and the last cell state.
  struct Results {
    std::vector<std::size_t> states;
    Operand last, cell;
  };

  [[noreturn]] static void refuse(const std::string& reason) { throw Unsupported(reason); }

  void read() {
    Attributes attributes(node_);
    const std::string way = attributes.text("direction", "forward");
    if (way != "forward" && way != "reverse" && way != "bidirectional")
      refuse(fmt::format("direction {}", way));
    directions_ = way == "bidirectional" ? 2 : 1;
    backwards_ = way == "reverse";
    batch_first_ = attributes.integer("layout", 0) != 0;
    reset_behind_ = attributes.integer("linear_before_reset", 0) != 0;
    if (attributes.has("clip")) refuse("its attribute clip");
    if (attributes.integer("input_forget", 0) != 0) refuse("its attribute input_forget");
    for (const char* name : {"activation_alpha", "activation_beta"}) {
      if (attributes.has(name)) refuse(fmt::format("its attribute {}", name));
    }
    const std::int64_t hidden = attributes.integer("hidden_size", 0);
    attributes.without_effect("activations");
    attributes.without_effect("output_sequence");  // of opsets below 7
    attributes.finish();
    read_functions();
    x_ = w_.operand(node_, 0);
    if (batch_first_) x_ = w_.transpose(node_, x_, {1, 0, 2});
    const Extents shape = w_.shape(x_);
    if (shape.size() != 3) refuse(fmt::format("an input of shape {}", extents_text(shape)));
    steps_ = shape[0], batch_ = shape[1], inputs_ = shape[2];
    if (steps_ < 1 || steps_ * directions_ > kMostSteps)
      refuse(fmt::format("{} steps, up to {} are unrolled", steps_ * directions_, kMostSteps));
    const Constant *weights = w_.data(node_, 1), *recurrence = w_.data(node_, 2);
    if (weights == nullptr || recurrence == nullptr) refuse("weights that are no constants");
    if (recurrence->shape.size() != 3)
      refuse(fmt::format("weights of shape {}", extents_text(recurrence->shape)));
    hidden_ = recurrence->shape[2];
    if (hidden != 0 && hidden != hidden_) refuse(fmt::format("a hidden_size of {}", hidden));
    if (weights->shape != Extents{directions_, gates_ * hidden_, inputs_} ||
        recurrence->shape != Extents{directions_, gates_ * hidden_, hidden_})
      refuse(fmt::format("weights of shape {} and {}", extents_text(weights->shape),
                         extents_text(recurrence->shape)));
    weights_ = weights->values(), recurrence_ = recurrence->values();
    biases_.assign(to_size(directions_ * 2 * gates_ * hidden_), 0);
    read_list(3, biases_, "a bias");
    read_lengths();
    if (node_.op == "LSTM" && w_.operand(node_, 7)) {
      peepholes_.assign(to_size(directions_ * 3 * hidden_), 0);
      read_list(7, peepholes_, "peepholes");
    }
  }
  void read_list(std::size_t i, std::vector<double>& list, const char* what) {
    if (!w_.operand(node_, i)) return;
    const Constant* found = w_.data(node_, i);
    if (found == nullptr || found->elements() != ssize(list))
      refuse(fmt::format("{} that is no constant of {} numbers", what, list.size()));
    list = found->values();
  }
  void read_lengths() {
    if (!w_.operand(node_, 4)) return;
    const Constant* lengths = w_.data(node_, 4);
    if (lengths == nullptr) refuse("lengths of sequences that are computed");
    for (const std::int64_t length : lengths->integers()) {
      if (length != steps_) refuse(fmt::format("sequences of {} steps among those of {}", length, steps_));
    }
  }
  void read_functions() {
    const std::vector<std::string> one = node_.op == "LSTM"
                                             ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : node_.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                             : std::vector<std::string>{"Tanh"};
    for (std::int64_t i = 0; i < directions_; ++i)
      functions_.insert(functions_.end(), one.begin(), one.end());
    const auto found = node_.attributes.find("activations");
    if (found == node_.attributes.end()) return;
    const auto* list = std::get_if<std::vector<std::string>>(&found->second);
    if (list == nullptr || list->size() != functions_.size()) refuse("activations of another number");
    static const std::set<std::string> known{"Sigmoid",  "Tanh",     "Relu",
                                             "Softsign", "Softplus", "HardSigmoid"};
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (known.count((*list)[i]) == 0) refuse(fmt::format("an activation {}", (*list)[i]));
      functions_[i] = (*list)[i];
    }
  }

  std::size_t function(std::size_t which, Operand x) {
    const std::size_t each = functions_.size() / to_size(directions_);
    return w_.add(node_, functions_.at(to_size(direction_) * each + which), {x});
  }
  std::size_t add(Operand a, Operand b) { return w_.add(node_, "Add", {a, b}); }
  std::size_t mul(Operand a, Operand b) { return w_.add(node_, "Mul", {a, b}); }

  /// Rows `first` to `end` of the weights of a direction, with their columns as rows.
  std::size_t turned(const std::vector<double>& of, std::int64_t columns, std::int64_t first,
                     std::int64_t end) {
    std::vector<double> made;
    const std::int64_t base = direction_ * gates_ * hidden_;
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t row = first; row < end; ++row)
        made.push_back(nth(of, (base + row) * columns + column));
    }
    return w_.reals(node_, {columns, end - first}, made);
  }
  double bias(std::int64_t row, bool of_state) const {
    return nth(biases_, (direction_ * 2 + (of_state ? 1 : 0)) * gates_ * hidden_ + row);
  }
  std::size_t gate(Operand sums, std::int64_t i) {
    return gates_ == 1 ? *sums : w_.slice(node_, sums, 1, i * hidden_, (i + 1) * hidden_);
  }
  Operand initial(std::size_t input) {
    const Operand given = w_.operand(node_, input);
    if (!given) return std::nullopt;
    const Constant* known = w_.data(node_, input);
    if (known != nullptr) {
      const std::vector<double> all = known->values();
      if (std::all_of(all.begin(), all.end(), [](double v) { return v == 0; })) return std::nullopt;
    }
    Operand whole = given;
    if (batch_first_) whole = w_.transpose(node_, whole, {1, 0, 2});
    if (directions_ > 1) whole = w_.slice(node_, whole, 0, direction_, direction_ + 1);
    return w_.reshape(node_, whole, {batch_, hidden_});
  }

  void run(std::int64_t direction) {
    direction_ = direction;
    const std::int64_t rows = gates_ * hidden_;
    // The candidate of a GRU whose reset comes behind the product keeps the bias of its state apart.
    std::vector<double> biases;
    for (std::int64_t row = 0; row < rows; ++row) {
      const bool apart = gates_ == 3 && reset_behind_ && row >= 2 * hidden_;
      biases.push_back(bias(row, false) + (apart ? 0 : bias(row, true)));
    }
    const std::size_t products =
        w_.add(node_, "MatMul", {x_, turned(weights_, inputs_, 0, rows), w_.reals(node_, {rows}, biases)});
    Results made;
    made.last = initial(5);
    if (node_.op == "LSTM") made.cell = initial(6);
    const bool backwards = backwards_ || direction == 1;
    for (std::int64_t step = 0; step < steps_; ++step) {
      const std::int64_t at = backwards ? steps_ - 1 - step : step;
      const std::size_t sums = w_.reshape(
          node_, steps_ == 1 ? products : w_.slice(node_, products, 0, at, at + 1), {batch_, rows});
      if (gates_ == 4) lstm(sums, made);
      if (gates_ == 3) gru(sums, made);
      if (gates_ == 1) made.last = function(0, made.last ? add(sums, of_state(made.last, 0, rows)) : sums);
      made.states.push_back(*made.last);
    }
    if (backwards) std::reverse(made.states.begin(), made.states.end());
    results_.push_back(std::move(made));
  }
  std::size_t of_state(Operand state, std::int64_t first, std::int64_t end, Operand bias = std::nullopt) {
    std::vector<Operand> inputs{state, turned(recurrence_, hidden_, first, end)};
    if (bias) inputs.push_back(bias);
    return w_.add(node_, "MatMul", inputs);
  }

  std::size_t with_peephole(std::size_t sums, std::int64_t which, Operand cell) {
    if (peepholes_.empty() || !cell) return sums;
    const auto begin = peepholes_.begin() + (direction_ * 3 + which) * hidden_;
    return add(sums, mul(cell, w_.reals(node_, {hidden_}, {begin, begin + hidden_})));
  }
  /// Gates in the order input, output, forget, candidate.
  void lstm(std::size_t sums, Results& now) {
    if (now.last) sums = add(sums, of_state(now.last, 0, 4 * hidden_));
    const std::size_t input = function(0, with_peephole(gate(sums, 0), 0, now.cell));
    const std::size_t fresh = mul(input, function(1, gate(sums, 3)));
    if (now.cell) {
      const std::size_t forget = function(0, with_peephole(gate(sums, 2), 2, now.cell));
      now.cell = add(mul(forget, now.cell), fresh);
    } else {
      now.cell = fresh;
    }
    const std::size_t output = function(0, with_peephole(gate(sums, 1), 1, now.cell));
    now.last = mul(output, function(2, now.cell));
  }

  /// Gates in the order update, reset, candidate: h' = n + z * (h - n).
  void gru(std::size_t sums, Results& now) {
    const std::int64_t h = hidden_;
    const std::size_t before = w_.slice(node_, sums, 1, 0, 2 * h);
    const std::size_t both = function(0, now.last ? add(before, of_state(now.last, 0, 2 * h)) : before);
    const std::size_t update = w_.slice(node_, both, 1, 0, h), reset = w_.slice(node_, both, 1, h, 2 * h);
    std::size_t candidate = gate(sums, 2);
    if (reset_behind_) {
      std::vector<double> list;
      for (std::int64_t row = 2 * h; row < 3 * h; ++row) list.push_back(bias(row, true));
      const std::size_t apart = w_.reals(node_, {h}, list);
      const bool none = std::all_of(list.begin(), list.end(), [](double v) { return v == 0; });
      if (now.last) candidate = add(candidate, mul(reset, of_state(now.last, 2 * h, 3 * h, apart)));
      if (!now.last && !none) candidate = add(candidate, mul(reset, apart));
    } else if (now.last) {
      candidate = add(candidate, of_state(mul(reset, now.last), 2 * h, 3 * h));
    }
    const std::size_t fresh = function(1, candidate);
    const std::size_t old =
        now.last ? w_.add(node_, "Sub", {now.last, fresh}) : w_.add(node_, "Neg", {fresh});
    now.last = add(fresh, mul(update, old));
  }

  std::size_t joined(const std::vector<Operand>& parts, std::int64_t axis) {
    return parts.size() == 1 ? *parts[0] : w_.add(node_, "Concat", parts, std::nullopt, {{"axis", axis}});
  }
  void finish() {
    if (const Operand all = NodeWriter::result(node_)) {
      std::vector<Operand> ways;
      for (const Results& made : results_) {
        std::vector<Operand> steps;
        for (const std::size_t state : made.states)
          steps.emplace_back(w_.reshape(node_, state, {1, 1, batch_, hidden_}));
        ways.emplace_back(joined(steps, 0));
      }
      const std::size_t whole = joined(ways, 1);  // [steps, directions, batch, hidden]
      if (batch_first_) {
        w_.transpose(node_, whole, {2, 0, 1, 3}, all);
      } else {
        w_.add(node_, "Identity", {whole}, all);
      }
    }
    finish_last(NodeWriter::result(node_, 1), &Results::last);
    if (node_.op == "LSTM") finish_last(NodeWriter::result(node_, 2), &Results::cell);
  }
  void finish_last(Operand to, Operand Results::*which) {
    if (!to) return;
    std::vector<Operand> ways;
    for (const Results& made : results_)
      ways.emplace_back(w_.reshape(node_, made.*which, {1, batch_, hidden_}));
    const std::size_t whole = joined(ways, 0);
    if (batch_first_) {
      w_.transpose(node_, whole, {1, 0, 2}, to);
    } else {
      w_.add(node_, "Identity", {whole}, to);
    }
  }

  NodeWriter& w_;
  const GraphNode& node_;
  Operand x_;
  std::int64_t gates_ = 1, directions_ = 1, direction_ = 0, steps_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0;
  bool backwards_ = false, batch_first_ = false, reset_behind_ = false;
  std::vector<double> weights_, recurrence_, biases_, peepholes_;
  std::vector<std::string> functions_;
  std::vector<Results> results_;
};

}  // namespace

bool rewrite_recurrent(NodeWriter& writer, const GraphNode& node) {
  if (node.op != "LSTM" && node.op != "GRU" && node.op != "RNN") return false;
  Recurrent(writer, node).write();
  return true;
}

}  // namespace tilebeat
