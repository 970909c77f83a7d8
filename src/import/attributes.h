#pragma once

#include "import/graph.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <onnx.pb.h>

namespace tilebeat {

/// The attributes of a node, each of which must be read: `finish` refuses what nobody asked for, so that none
/// is ignored (SPEC RN-1). All functions throw Unsupported when an attribute has another type.
class Attributes {
 public:
  explicit Attributes(const GraphNode& node) : node_(node) {}

  std::int64_t integer(const std::string& name, std::int64_t otherwise);
  float real(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> integers(const std::string& name);
  std::optional<std::vector<float>> reals(const std::string& name);
  const Constant* tensor(const std::string& name);
  bool has(const std::string& name) const { return node_.attributes.count(name) != 0; }
  /// Marks `name` as read: its value does not affect the results.
  void without_effect(const std::string& name) { read_.insert(name); }
  void finish() const;

 private:
  template <class Value>
  const Value* find(const std::string& name, std::string_view kind);

  const GraphNode& node_;
  std::set<std::string> read_;
};

/// The element type of ONNX's number for it.
ElementType onnx_type(std::int32_t type);

/// The tensor with its elements, which may lie in a file beside the model `path`; a type that is not read
/// gives kOther without elements. Throws UserError when the elements do not fit the shape, or the file lies
/// outside of the model's folder.
Constant onnx_constant(const onnx::Tensor& tensor, const std::string& path);

}  // namespace tilebeat
