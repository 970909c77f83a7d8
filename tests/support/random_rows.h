#pragma once

// Random networks on rows: products with weights, normalisations and operators on single rows, as the
// feed-forward parts of transformers have them, as workload files.

#include "../data/temporary_folder.h"
#include "random_cases.h"
#include "workload/workload.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// Rows [T, K], [1, T, K] or [1, 1, T, K], and layers that take each row for itself.
class RandomRows {
 public:
  explicit RandomRows(int layers) : rows_(number(1, 96)) {
    file_["name"] = "rows";
    const Rows input{"x", number(1, 3), skewed(40)};
    file_["inputs"] = {{{"name", "x"}, {"shape", shape(input)}, {"random", {{"seed", number(1, 100000)}}}}};
    tensors_ = {input};
    for (int i = 0; i < layers; ++i) add_layer();
    file_["outputs"] = {tensors_.back().name};
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("rows.json", text()));
  }

 private:
  using json = nlohmann::json;
  struct Rows {
    std::string name;
    int rank = 1;  // axes in front of the last one
    int features = 1;
  };

  std::vector<int> shape(const Rows& rows) const {
    std::vector<int> shape(static_cast<std::size_t>(rows.rank - 1), 1);
    shape.push_back(rows_), shape.push_back(rows.features);
    return shape;
  }
  void finish(json layer, Rows rows) {
    rows.name = fmt::format("y{}", file_["layers"].size());
    layer["name"] = rows.name;
    file_["layers"].push_back(std::move(layer));
    tensors_.push_back(std::move(rows));
  }
  void add_layer() {
    Rows rows = one_in(3)
                    ? tensors_[static_cast<std::size_t>(number(0, static_cast<int>(tensors_.size()) - 1))]
                    : tensors_.back();
    json layer{{"inputs", {rows.name}}};
    const auto seed = [] { return json{{"random", {{"seed", number(1, 100000)}}}}; };
    switch (number(0, 7)) {
      case 0:
        layer["op"] = "layernorm", layer["input_scale"] = 0.03, layer["requant"] = {{"scale", 32.0}};
        return finish(layer, rows);
      case 1:
        layer["op"] = "gelu", layer["input_scale"] = 0.03, layer["requant"] = {{"scale", 32.0}};
        return finish(layer, rows);
      case 2:
        layer["op"] = "softmax", layer["input_scale"] = 0.05, layer["requant"] = {{"scale", 100.0}};
        return finish(layer, rows);
      case 3:
        return join(layer, rows, "add");
      case 4:
        return join(layer, rows, "concat");
      case 5:
        rows.rank = number(1, 3);
        layer["op"] = "reshape", layer["shape"] = shape(rows);
        return finish(layer, rows);
      default:
        layer["op"] = "matmul", layer["out_features"] = rows.features = skewed(60);
        layer["weights"] = seed(), layer["requant"] = {{"scale", number(1, 4000) * 1e-6}};
        if (one_in(2)) layer["bias"] = seed();
        return finish(layer, rows);
    }
  }
  // With another tensor of as many axes.
  void join(json layer, Rows rows, const std::string& op) {
    Rows other = rows;
    for (const Rows& candidate : tensors_) {
      const bool fits =
          candidate.rank == rows.rank &&
          (op == "concat" ? candidate.features + rows.features <= 100 : candidate.features == rows.features);
      if (fits && one_in(2)) other = candidate;
    }
    layer["op"] = op;
    layer["inputs"].push_back(other.name);
    if (op == "concat")
      rows.features += other.features;
    else
      layer["requant"] = {{"scale", 0.6}};
    finish(layer, rows);
  }

  json file_;
  int rows_;
  std::vector<Rows> tensors_;
};

}  // namespace tilebeat::testing
