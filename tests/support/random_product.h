#pragma once

// Random products of matrices, as workload files: operands that are inputs, results of convolutions or of
// other products, transposed or not, with leading axes that are broadcast.

#include "../data/temporary_folder.h"
#include "random_cases.h"
#include "workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// Extents of a random product.
struct ProductLimits {
  int rows = 40, inner = 80, columns = 40;
  int matrices = 8;  ///< of the product, about
};

/// A network of one product or of two, the second of which reads the first.
class RandomProducts {
 public:
  explicit RandomProducts(const ProductLimits& limits) : limits_(limits) {
    file_["name"] = "products";
    file_["inputs"] = json::array(), file_["layers"] = json::array();
    const Matrices a = operand(random_axes(), skewed(limits.rows), skewed(limits.inner));
    const Matrices product = one_in(4) ? weighted(a) : multiplied(a);
    if (!product.wide && one_in(2)) multiplied(product);
    for (const auto& layer : file_["layers"]) file_["outputs"].push_back(layer["name"]);
  }
  std::string text() const { return file_.dump(); }
  Workload load() const {
    const TemporaryFolder folder;
    return load_workload(folder.write("products.json", text()));
  }

 private:
  using json = nlohmann::json;
  using Shape = std::vector<int>;
  /// A tensor of matrices.
  struct Matrices {
    std::string name;
    Shape axes;
    int rows = 1, columns = 1;  ///< as the tensor has them
    bool wide = false;          ///< int32
  };

  static json seed() { return {{"random", {{"seed", number(1, 100000)}}}}; }
  static json random_type(json fields, double scale) {
    const bool is_signed = one_in(2);
    fields["scale"] = scale * number(5, 20);
    fields["dtype"] = is_signed ? "int8" : "uint8";
    fields["zero_point"] = is_signed ? number(-128, 127) : number(0, 255);
    return fields;
  }
  std::string new_name() { return fmt::format("t{}", names_++); }

  Shape random_axes() {
    Shape axes;
    for (int axis = number(0, 3), left = limits_.matrices; axis > 0; --axis) {
      axes.push_back(skewed(left));
      left /= axes.back();
    }
    return axes;
  }
  /// Leading axes that go with `axes`: some of them missing, some of extent 1, some more.
  Shape matching(const Shape& axes) {
    Shape made = axes;
    if (made.size() < 4 && one_in(4)) made.insert(made.begin(), number(1, 2));  // six axes at most
    for (int& extent : made) {
      if (extent == 1 && one_in(4)) extent = number(1, 3);
      if (one_in(3)) extent = 1;
    }
    if (one_in(3)) made.erase(made.begin(), made.begin() + number(0, static_cast<int>(made.size())));
    return made;
  }

  std::string add_input(const Shape& shape) {
    const json type = random_type({}, 1);
    const std::string name = new_name();
    file_["inputs"].push_back({{"name", name},
                               {"shape", shape},
                               {"dtype", type["dtype"]},
                               {"zero_point", type["zero_point"]},
                               {"random", {{"seed", number(1, 100000)}}}});
    return name;
  }
  std::string add_layer(json layer) {
    const std::string name = new_name();
    layer["name"] = name;
    file_["layers"].push_back(std::move(layer));
    return name;
  }

  /// Matrices that nobody has made yet.
  Matrices operand(const Shape& axes, int rows, int columns) {
    Matrices made{"", axes, rows, columns, false};
    Shape shape = axes;
    shape.push_back(rows), shape.push_back(columns);
    const int elements = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
    const int kind = number(0, 3);
    if (kind == 0) {  // a convolution's result in another shape
      const std::string x = add_input({1, 1, elements / columns, number(1, 8)});
      const std::string map = add_layer({{"op", "conv2d"},
                                         {"inputs", {x}},
                                         {"out_channels", columns},
                                         {"kernel", {1, 1}},
                                         {"weights", seed()},
                                         {"requant", random_type({}, 2e-4)}});
      made.name = add_layer({{"op", "reshape"}, {"inputs", {map}}, {"shape", shape}});
    } else if (kind == 1) {  // a product's result
      Shape before = shape;
      before.back() = number(1, 8);
      made.name = add_layer({{"op", "matmul"},
                             {"inputs", {add_input(before)}},
                             {"out_features", columns},
                             {"weights", seed()},
                             {"requant", random_type({}, 2e-4)}});
    } else {
      made.name = add_input(shape);
    }
    return made;
  }

  void finish(json& layer, Matrices& product) {
    if (one_in(2)) layer["bias"] = seed();
    if (one_in(3)) layer["activation"] = "relu";
    if (one_in(4)) layer["activation"] = {{"clamp", {-5000, number(-4000, 90000)}}};
    product.wide = one_in(4);
    if (!product.wide) layer["requant"] = random_type({}, 3e-5);
    if (!product.wide && one_in(4)) layer["activation"] = {{"gelu", {{"output_scale", number(1, 90)}}}};
    if (!product.wide && one_in(2)) {
      layer["requant"]["scale"] = json::array();
      for (int i = 0; i < product.columns; ++i) layer["requant"]["scale"].push_back(number(1, 4000) * 1e-6);
    }
    product.name = add_layer(layer);
  }

  static Shape joined(Shape a, Shape b) {
    const std::size_t count = std::max(a.size(), b.size());
    a.insert(a.begin(), count - a.size(), 1), b.insert(b.begin(), count - b.size(), 1);
    for (std::size_t axis = 0; axis < count; ++axis) a[axis] = std::max(a[axis], b[axis]);
    return a;
  }

  Matrices multiplied(const Matrices& a) {
    json layer{{"op", "matmul"}, {"transpose_a", one_in(3)}, {"transpose_b", one_in(2)}};
    const bool across_a = layer["transpose_a"], across_b = layer["transpose_b"];
    const int inner = across_a ? a.rows : a.columns, columns = skewed(limits_.columns);
    const Matrices b = operand(matching(a.axes), across_b ? columns : inner, across_b ? inner : columns);
    layer["inputs"] = {a.name, b.name};
    Matrices product{"", joined(a.axes, b.axes), across_a ? a.columns : a.rows, columns, false};
    finish(layer, product);
    return product;
  }

  /// Times weights.
  Matrices weighted(const Matrices& a) {
    json layer{
        {"op", "matmul"}, {"transpose_a", one_in(3)}, {"transpose_b", one_in(2)}, {"inputs", {a.name}}};
    const bool across_a = layer["transpose_a"];
    const Shape axes = matching(a.axes);
    Matrices product{"", joined(a.axes, axes), across_a ? a.columns : a.rows, skewed(limits_.columns), false};
    layer["out_features"] = product.columns;
    layer["weights_axes"] = axes;
    layer["weights"] = seed();
    if (one_in(2)) layer["weights"]["dtype"] = "uint8", layer["weights"]["zero_point"] = number(0, 255);
    finish(layer, product);
    return product;
  }

  ProductLimits limits_;
  int names_ = 0;
  json file_;
};

}  // namespace tilebeat::testing
