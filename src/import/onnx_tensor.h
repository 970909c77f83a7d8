#pragma once

#include "tilebeat/import/graph.h"

#include <string>

#include <onnx.pb.h>

namespace tilebeat {

/// The element type of ONNX's number for it.
ElementType onnx_type(std::int32_t type);

/// The tensor with its elements, which may lie in a file beside the model `path`; a type that is not read
/// gives kOther without elements. Throws UserError when the elements do not fit the shape, or the file lies
/// outside of the model's folder.
Constant onnx_constant(const onnx::Tensor& tensor, const std::string& path);

}  // namespace tilebeat
