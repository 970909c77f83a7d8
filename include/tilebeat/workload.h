#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The elements of a tensor, a plain value. Feature maps have shape [N, H, W, C].
struct TensorData {
  enum class Type : std::uint8_t { kInt8, kUint8, kInt32, kFloat32, kInt16, kInt64 };

  std::vector<std::int64_t> shape;
  Type type = Type::kInt8;
  /// The elements in C order (the last axis runs fastest), little-endian: one byte each of int8 and uint8,
  /// two of int16, four of int32 and float32, eight of int64.
  std::vector<std::uint8_t> bytes;
};

/// A layer or network with its weights and the elements of its inputs, as a workload file describes it
/// (docs/workloads.md). Copies share everything until one of them gets other inputs.
class Network {
 public:
  /// Reads a workload file (JSON) and the tensors that it names. Throws UserError that names the file, the
  /// field's JSON path, its value and what is allowed. Files of ONNX and TensorFlow Lite become workload
  /// files by the command `tilebeat import`.
  static Network load(const std::string& path);

  /// The name that the file gives the network.
  const std::string& name() const;
  /// Names of its inputs, in alphabetical order.
  std::vector<std::string> inputs() const;
  /// Names of its outputs: of the layers that make them.
  const std::vector<std::string>& outputs() const;
  /// The elements of an input. Throws UserError when there is no input of that name.
  TensorData input(const std::string& name) const;
  /// Replaces the elements of an input. `bytes` is laid out as in TensorData, in the input's shape and type.
  /// Plans that were made before keep the former elements. Throws UserError when there is no such input or it
  /// takes another number of bytes.
  void set_input(const std::string& name, std::vector<std::uint8_t> bytes);
  /// The outputs of all layers, by layer name, computed from the inputs by plain operators that share nothing
  /// with the simulated hardware: what every simulation must give, bit by bit.
  std::map<std::string, TensorData> reference_outputs() const;

  /// The library's own; users have no definition of it.
  struct Inner;
  explicit Network(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<const Inner>& inner() const { return inner_; }

 private:
  std::shared_ptr<const Inner> inner_;
};

}  // namespace tilebeat
