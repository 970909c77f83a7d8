#pragma once

// TensorFlow Lite models that tests write with the schema's builder.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <tflite_generated.h>

namespace tilebeat::testing {

/// A model under construction: tensors by number, operators in order.
class TfliteModel {
 public:
  TfliteModel() { buffers_.push_back(tflite::CreateBuffer(builder_)); }
  int tensor(const std::vector<int>& shape, tflite::TensorType type, float scale, std::int64_t zero,
             const std::vector<std::uint8_t>& data = {}) {
    return add(shape, type, {scale}, {zero}, data);
  }
  int channels(const std::vector<int>& shape, const std::vector<float>& scales, int axis,
               const std::vector<std::uint8_t>& data, std::vector<std::int64_t> zeros = {},
               tflite::TensorType type = tflite::TensorType::INT8) {
    zeros.resize(scales.size(), 0);
    return add(shape, type, scales, zeros, data, axis);
  }
  /// A sparse tensor: `data` are its elements other than 0.
  int sparse(const std::vector<int>& shape, float scale, const std::vector<std::uint8_t>& data) {
    sparsity_ = tflite::CreateSparsityParameters(builder_);
    const int made = add(shape, tflite::TensorType::INT8, {scale}, {0}, data);
    sparsity_ = 0;
    return made;
  }
  int real(const std::vector<int>& shape) { return add(shape, tflite::TensorType::FLOAT32, {}, {}, {}); }
  int integers(const std::vector<int>& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(int));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return add({static_cast<int>(values.size())}, tflite::TensorType::INT32, {}, {}, bytes);
  }
  void op(tflite::Builtin code, const std::vector<int>& inputs, const std::vector<int>& outputs,
          tflite::Options type = tflite::Options::NONE, flatbuffers::Offset<void> options = 0) {
    codes_.push_back(tflite::CreateOperatorCode(
        builder_, static_cast<std::int8_t>(std::min(127, static_cast<int>(code))), 0, 1, code));
    operators_.push_back(tflite::CreateOperator(builder_, static_cast<std::uint32_t>(codes_.size() - 1),
                                                builder_.CreateVector(inputs), builder_.CreateVector(outputs),
                                                type, options));
  }
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  std::string bytes(const std::vector<int>& inputs, const std::vector<int>& outputs) {
    const auto graph =
        tflite::CreateSubGraph(builder_, builder_.CreateVector(tensors_), builder_.CreateVector(inputs),
                               builder_.CreateVector(outputs), builder_.CreateVector(operators_));
    const std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs{graph};
    builder_.Finish(tflite::CreateModel(builder_, 3, builder_.CreateVector(codes_),
                                        builder_.CreateVector(graphs), 0, builder_.CreateVector(buffers_)),
                    tflite::ModelIdentifier());
    return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
  }

 private:
  int add(const std::vector<int>& shape, tflite::TensorType type, const std::vector<float>& scales,
          const std::vector<std::int64_t>& zeros, const std::vector<std::uint8_t>& data, int axis = 0) {
    std::uint32_t buffer = 0;
    if (!data.empty()) {
      buffers_.push_back(tflite::CreateBuffer(builder_, builder_.CreateVector(data)));
      buffer = static_cast<std::uint32_t>(buffers_.size() - 1);
    }
    const auto q = tflite::CreateQuantizationParameters(builder_, 0, 0, builder_.CreateVector(scales),
                                                        builder_.CreateVector(zeros), 0, axis);
    tensors_.push_back(tflite::CreateTensor(builder_, builder_.CreateVector(shape), type, buffer,
                                            builder_.CreateString("t" + std::to_string(tensors_.size())), q,
                                            false, sparsity_));
    return static_cast<int>(tensors_.size()) - 1;
  }

  flatbuffers::FlatBufferBuilder builder_;
  flatbuffers::Offset<tflite::SparsityParameters> sparsity_ = 0;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
};

}  // namespace tilebeat::testing
