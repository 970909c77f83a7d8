#pragma once

#include "tilebeat/base/dtype.h"
#include "tilebeat/import/graph.h"
#include "tilebeat/import/imported.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

using FieldsJson = nlohmann::ordered_json;

/// Collects a workload: its JSON text and the tensor files beside it.
class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(Arithmetic arithmetic) : arithmetic_(arithmetic) {}

  Arithmetic arithmetic() const { return arithmetic_; }

  /// A tensor that is there before the run. `source` says what it holds until `run --input` says something
  /// else: {"file": ...} or {"random": ...}. Returns its name.
  std::string add_input(const std::string& wish, const Extents& shape, ElementType type,
                        std::int64_t zero_point, const FieldsJson& source);
  /// A layer with its operator's fields. Returns its name.
  std::string add_layer(const std::string& wish, const std::string& op,
                        const std::vector<std::string>& inputs, const FieldsJson& fields);
  /// A tensor file; returns the object {"file": name} that names it.
  FieldsJson add_tensor(const std::string& wish, const Constant& tensor);
  void add_output(const std::string& layer);
  /// What the float network computes where `layer` has elements of `scale`, in the layer's order.
  void add_float_reference(const std::string& layer, const Constant& values, double scale);
  bool is_layer(const std::string& name) const { return layers_.count(name) != 0; }
  std::size_t layers() const { return layers_.size(); }

  /// The files of the workload: workload.json and the tensors.
  std::map<std::string, std::string> files(const std::string& name) const;

 private:
  std::string unique(const std::string& wish);

  Arithmetic arithmetic_;
  FieldsJson inputs_ = FieldsJson::array(), layer_list_ = FieldsJson::array(), outputs_ = FieldsJson::array(),
             float_references_ = FieldsJson::array();
  std::set<std::string> names_, layers_, written_;
  std::map<std::string, std::string> tensors_;
};

/// `name` with what no name of a workload may have replaced.
std::string workload_name(const std::string& name);

/// The bytes of a .npy file.
std::string constant_npy(const Constant& tensor);

}  // namespace tilebeat
