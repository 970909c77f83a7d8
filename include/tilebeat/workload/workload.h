#pragma once

#include "tilebeat/base/dtype.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tilebeat {

/// A tensor: C-order elements. int8 and uint8 take one byte an element, int32 four, little-endian.
struct Tensor {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::vector<std::uint8_t> bytes;

  std::int64_t elements() const;
  /// Element `index` (C order) widened to 32 bits.
  std::int32_t at(std::int64_t index) const;
};

/// What every run knows of a tensor before it is computed. Maps are NHWC (SPEC NU-4).
struct TensorInfo {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kInt8;
  std::int32_t zero_point = 0;
  std::int64_t elements() const;
  std::int64_t size_bytes() const { return elements() * dtype_size(dtype); }
};

/// An activation between bias and requantisation (SPEC NU-2). `kClamp` keeps low <= acc <= high in
/// accumulator units.
enum class ActivationKind : std::uint8_t { kNone, kRelu, kClamp };
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  std::int32_t low = INT32_MIN;
  std::int32_t high = INT32_MAX;
};

/// Requantisation: saturate(round_half_even(acc * scale[c]) + zero_point) (SPEC NU-2).
struct Requant {
  std::vector<double> scale;  ///< one element, or one an output channel
  std::int32_t zero_point = 0;
  DType dtype = DType::kInt8;
};

/// A convolution (SPEC UI-6). Pairs are [height, width], pads are [top, left, bottom, right].
struct Conv2d {
  std::array<int, 2> kernel{1, 1};
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> dilation{1, 1};
  std::array<int, 4> pads{0, 0, 0, 0};
  int groups = 1;
  int out_channels = 1;
  Tensor weights;  ///< int8 [Co, Kh, Kw, Ci/groups]; uint8 files are shifted by -128 when loaded
  std::int32_t weight_zero_point = 0;  ///< shifted along
  std::vector<std::int32_t> bias;      ///< empty, or one an output channel
  Activation activation;
  std::optional<Requant> requant;  ///< absent: int32 accumulators are the output
};

/// One layer; its output tensor carries the layer's name.
struct Layer {
  std::string name;
  std::string op;                   ///< as written in the file, for example "conv2d"
  std::string scene;                ///< label of the program that the layer belongs to (SPEC SW-6)
  std::vector<std::string> inputs;  ///< names of workload inputs or of other layers
  std::variant<Conv2d> operation;
  TensorInfo output;
};

/// A workload: checked, shapes inferred, layers in an order in which every input is there before it is read.
struct Workload {
  std::string name;
  std::map<std::string, TensorInfo> inputs;
  std::map<std::string, Tensor> input_data;
  std::vector<Layer> layers;
  std::vector<std::string> outputs;        ///< names of the tensors that a run writes
  std::map<std::string, Tensor> expected;  ///< by layer name

  /// The description of a workload input or of a layer's output.
  const TensorInfo& tensor(const std::string& name) const;
};

/// Reads and checks a workload file (SPEC UI-6, NU-1 to NU-4). Throws UserError naming file, JSON path, value
/// and allowed range.
Workload load_workload(const std::string& path);

/// Useful multiply-accumulates: N*Ho*Wo*Co*Kh*Kw*Ci/groups, taps on padding included.
std::int64_t useful_macs(const Workload& workload, const Layer& layer);

}  // namespace tilebeat
