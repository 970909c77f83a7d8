// Products of tensors by letters (Einsum), as products of matrices.
#include "base/types.h"
#include "import/node_writer.h"
#include "import/problems.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// The letters of an Einsum: those of its operands, and those of its result.
struct Letters {
  std::vector<std::string> operands;
  std::string result;
};
Letters letters_of(std::string text, std::size_t operands) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text.find("...") != std::string::npos) throw Unsupported("an ellipsis in its equation");
  Letters made;
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    made.operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (made.operands.size() != operands) throw Unsupported(fmt::format("an equation {}", text));
  if (arrow != std::string::npos) {
    made.result = text.substr(arrow + 2);
  } else {
    for (char letter = 'A'; letter <= 'z'; ++letter) {
      if (std::isalpha(static_cast<unsigned char>(letter)) != 0 &&
          std::count(left.begin(), left.end(), letter) == 1)
        made.result += letter;
    }
  }
  for (const std::string& operand : made.operands) {
    for (const char letter : operand) {
      if (std::count(operand.begin(), operand.end(), letter) > 1)
        throw Unsupported(fmt::format("a diagonal in {}", text));
    }
  }
  return made;
}

/// An operand of an Einsum while its axes are summed and moved.
struct Lettered {
  Operand tensor;
  std::string letters;
};
bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

class Einsum {
 public:
  Einsum(NodeWriter& w, const GraphNode& node, const Letters& letters)
      : w_(w), node_(node), letters_(letters) {
    for (std::size_t i = 0; i < letters.operands.size(); ++i) {
      const Extents shape = w.shape(node.inputs.at(i));
      if (shape.size() != letters.operands[i].size())
        throw Unsupported(
            fmt::format("{} for an operand of shape {}", letters.operands[i], extents_text(shape)));
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        extents_[letters.operands[i][axis]] = shape[axis];
    }
  }

  void write() {
    Lettered all{node_.inputs.at(0), letters_.operands[0]};
    for (std::size_t i = 1; i < letters_.operands.size(); ++i) {
      std::string needed = letters_.result;
      for (std::size_t later = i + 1; later < letters_.operands.size(); ++later)
        needed += letters_.operands[later];
      all = product(all, {node_.inputs.at(i), letters_.operands[i]}, needed);
    }
    all = summed(all, letters_.result);
    if (all.letters.size() != letters_.result.size()) throw Unsupported("a letter of the result alone");
    const Operand output = NodeWriter::result(node_);
    if (!output) throw Unsupported("it lacks its output");
    w_.add(node_, "Identity", {ordered(all, letters_.result).tensor}, output);
  }

 private:
  /// Sums over the axes that nothing needs.
  Lettered summed(const Lettered& x, const std::string& needed) {
    Extents axes;
    Lettered made = x;
    made.letters.clear();
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
      if (has(needed, x.letters[i])) {
        made.letters += x.letters[i];
      } else {
        axes.push_back(to_signed(i));
      }
    }
    if (!axes.empty()) made.tensor = w_.reduce(node_, "ReduceSum", x.tensor, axes, std::nullopt, false);
    return made;
  }
  Lettered ordered(const Lettered& x, const std::string& order) {
    if (x.letters == order) return x;
    Extents perm;
    for (const char letter : order) {
      if (!has(x.letters, letter)) throw Unsupported(fmt::format("no {} in {}", letter, x.letters));
      perm.push_back(to_signed(x.letters.find(letter)));
    }
    return {w_.transpose(node_, x.tensor, perm), order};
  }
  std::int64_t count(const std::string& letters) const {
    std::int64_t all = 1;
    for (const char letter : letters) all *= extents_.at(letter);
    return all;
  }
  /// As a product of matrices [shared, rows, sums] and [shared, sums, columns].
  Lettered product(Lettered a, Lettered b, const std::string& needed) {
    a = summed(a, needed + b.letters), b = summed(b, needed + a.letters);
    std::string shared, rows, sums, columns;
    for (const char letter : a.letters)
      (!has(b.letters, letter) ? rows : has(needed, letter) ? shared : sums) += letter;
    for (const char letter : b.letters) {
      if (!has(a.letters, letter)) columns += letter;
    }
    a = ordered(a, shared + rows + sums), b = ordered(b, shared + sums + columns);
    const Constant* weights = shared.empty() ? constant(b.tensor) : nullptr;
    Extents left{count(shared), count(rows), count(sums)}, right{count(shared), count(sums), count(columns)};
    if (weights != nullptr) right.erase(right.begin());
    const std::size_t made =
        w_.add(node_, "MatMul", {w_.reshape(node_, a.tensor, left), w_.reshape(node_, b.tensor, right)});
    const std::string letters = shared + rows + columns;
    Extents shape;
    for (const char letter : letters) shape.push_back(extents_.at(letter));
    return {w_.reshape(node_, made, shape), letters};
  }
  const Constant* constant(Operand tensor) const {
    const auto& data = w_.graph.tensors[tensor.value()].data;
    return data ? &*data : nullptr;
  }

  NodeWriter& w_;
  const GraphNode& node_;
  const Letters& letters_;
  std::map<char, std::int64_t> extents_;
};

}  // namespace

void rewrite_einsum(NodeWriter& w, const GraphNode& node, Attributes& attributes) {
  const Letters letters = letters_of(attributes.text("equation", ""), node.inputs.size());
  Einsum(w, node, letters).write();
}

}  // namespace tilebeat
