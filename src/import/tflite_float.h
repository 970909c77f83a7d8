#pragma once

#include "import/graph.h"

namespace tilebeat {

/// A float32 or float16 network of TensorFlow Lite with the operators of ONNX. Tensors keep their numbers;
/// new ones follow. Throws ImportError for operators that are not built, and for hybrid networks.
ModelGraph float_form(const ModelGraph& graph);

/// Makes one dilated convolution of SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND, with the padding
/// "EXPLICIT" and the attribute "pads".
void fold_dilated_convolutions(ModelGraph& graph);

}  // namespace tilebeat
