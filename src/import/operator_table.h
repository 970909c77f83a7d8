#pragma once

#include "import/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// What import promises of the bytes of an operator between quantised tensors (docs/arithmetic.md).
enum class Promise : std::uint8_t {
  kRule,     ///< they are the runtime's
  kMoves,    ///< elements are moved or compared, nothing is rounded
  kByClass,  ///< the runtime's for some attributes or shapes, of others the layer is named
  kInexact   ///< the layer is named
};

/// Why import has no operator of this name, such as "random numbers".
std::string_view why_refused(const std::string& op);
/// The same as a message; one that float32 networks may have is read with samples.
std::string not_built(const std::string& op);

/// What import does with the operators of ONNX and TensorFlow Lite, as the importers' own tables say it:
/// Markdown tables, each below a line with its name.
std::string operator_tables();

// What the importers say of an operator.
bool is_rewritten(const std::string& op);
/// An operator of ONNX between quantised tensors, or of constants and shapes; none: there is no layer.
std::optional<Promise> onnx_promise(const std::string& op);
std::optional<Promise> tflite_promise(const std::string& op);
bool runs_on_host(const std::string& op);    ///< of ONNX, with --float-on-host
bool has_float_form(const std::string& op);  ///< of TensorFlow Lite, with samples

}  // namespace tilebeat
