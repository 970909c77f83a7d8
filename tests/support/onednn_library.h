#pragma once

// oneDNN's f32 primitives as an independent reference. The library is loaded at run time: only these tests
// need it.

#include "workload/tensor.h"

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

namespace tilebeat::testing {

/// oneDNN's C functions, found by name.
class OneDnn {
 public:
  /// One thread: the layers are small, and the leak sanitizer cannot stop threads of a library loaded this
  /// late.
  OneDnn() {
    setenv("OMP_NUM_THREADS", "1", 1);
    library_ = dlopen("libdnnl.so.2", RTLD_NOW);
  }
  bool available() const { return library_ != nullptr; }
  /// Calls a function that returns a status, which must be success.
  template <class... Parameters, class... Arguments>
  void call(dnnl_status_t (*)(Parameters...), const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<dnnl_status_t (*)(Parameters...)>(dlsym(library_, name));
    if (function == nullptr || function(arguments...) != dnnl_success) throw std::runtime_error(name);
  }

 private:
  void* library_ = nullptr;
};

#define ONEDNN(function, ...) onednn.call(decltype(&function){}, #function, __VA_ARGS__)

inline dnnl_memory_desc_t describe_memory(const OneDnn& onednn, std::vector<std::int64_t> dims,
                                          dnnl_format_tag_t tag) {
  dnnl_memory_desc_t description;
  ONEDNN(dnnl_memory_desc_init_by_tag, &description, static_cast<int>(dims.size()), dims.data(), dnnl_f32,
         tag);
  return description;
}

/// A map [N, H, W, C].
inline dnnl_memory_desc_t describe_map(const OneDnn& onednn, const std::vector<std::int64_t>& shape) {
  return describe_memory(onednn, {shape[0], shape[3], shape[1], shape[2]}, dnnl_nhwc);
}

inline std::vector<float> as_float(const Tensor& tensor, std::int32_t zero_point) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    values.push_back(static_cast<float>(tensor.at(i) - zero_point));
  }
  return values;
}

/// One of a primitive's tensors: DNNL_ARG_..., how its elements lie, and where.
struct OneDnnTensor {
  int argument;
  const dnnl_memory_desc_t& description;
  std::vector<float>& values;
};

/// Runs the primitive that `operation`, an initialised descriptor, describes.
inline void execute(const OneDnn& onednn, const_dnnl_op_desc_t operation,
                    const std::vector<OneDnnTensor>& tensors) {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_desc_t choice = nullptr;
  dnnl_primitive_t primitive = nullptr;
  ONEDNN(dnnl_engine_create, &engine, dnnl_cpu, 0U);
  ONEDNN(dnnl_stream_create, &stream, engine, dnnl_stream_default_flags);
  ONEDNN(dnnl_primitive_desc_create, &choice, operation, nullptr, engine, nullptr);
  ONEDNN(dnnl_primitive_create, &primitive, choice);
  std::vector<dnnl_exec_arg_t> arguments;
  for (const OneDnnTensor& tensor : tensors) {
    arguments.push_back({tensor.argument, nullptr});
    ONEDNN(dnnl_memory_create, &arguments.back().memory, &tensor.description, engine, tensor.values.data());
  }
  ONEDNN(dnnl_primitive_execute, primitive, stream, static_cast<int>(arguments.size()), arguments.data());
  ONEDNN(dnnl_stream_wait, stream);
  for (const auto& argument : arguments) ONEDNN(dnnl_memory_destroy, argument.memory);
  ONEDNN(dnnl_primitive_destroy, primitive);
  ONEDNN(dnnl_primitive_desc_destroy, choice);
  ONEDNN(dnnl_stream_destroy, stream);
  ONEDNN(dnnl_engine_destroy, engine);
}

}  // namespace tilebeat::testing
