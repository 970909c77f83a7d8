#pragma once

// One layer of a workload file, run by the reference on elements that a test writes down.

#include "../data/temporary_folder.h"
#include "reference/reference.h"
#include "workload/npy.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// An input: elements in C order.
struct Elements {
  std::vector<std::int64_t> shape;
  std::vector<int> values;
  DType dtype = DType::kInt8;
  int zero_point = 0;
};

inline Tensor byte_tensor(const Elements& elements) {
  Tensor tensor{elements.shape, elements.dtype, {}};
  for (const int value : elements.values) {
    for (int byte = 0; byte < dtype_size(elements.dtype); ++byte)
      tensor.bytes.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
  }
  return tensor;
}

/// Loads a workload of one layer `y` with the fields `fields` that reads `inputs`, called a, b, ...
inline Workload load_one_layer(nlohmann::json fields, const std::vector<Elements>& inputs) {
  const TemporaryFolder folder;
  nlohmann::json file;
  fields["name"] = "y";
  for (const Elements& input : inputs) {
    const std::string name(1, static_cast<char>('a' + fields["inputs"].size()));
    write_npy(folder.path(name + ".npy"), byte_tensor(input));
    fields["inputs"].push_back(name);
    file["inputs"].push_back({{"name", name},
                              {"shape", input.shape},
                              {"dtype", dtype_name(input.dtype)},
                              {"zero_point", input.zero_point},
                              {"file", name + ".npy"}});
  }
  file["layers"] = {fields};
  return load_workload(folder.write("w.json", file.dump()));
}

/// The output of that layer as a tensor, and its elements.
inline Tensor run_layer(const nlohmann::json& fields, const std::vector<Elements>& inputs) {
  const Workload workload = load_one_layer(fields, inputs);
  Tensor y = run_reference(workload).at("y");
  const TensorInfo& info = workload.tensor("y");
  if (y.shape != info.shape || y.dtype != info.dtype)
    throw std::logic_error("the output is not as announced");
  return y;
}
inline std::vector<int> elements_of(const Tensor& tensor) {
  std::vector<int> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.at(i));
  return values;
}
inline std::vector<int> computed(const nlohmann::json& fields, const std::vector<Elements>& inputs) {
  return elements_of(run_layer(fields, inputs));
}

}  // namespace tilebeat::testing
