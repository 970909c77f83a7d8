#pragma once

#include <cstdint>

namespace tilebeat {

/// Functions of a real value that post-processors and the vector unit's tables compute (SPEC NU-2, OP-2).
enum class RealFunction : std::uint8_t { kNone, kLeakyRelu, kSigmoid, kTanh, kHardSwish, kGelu };

/// f(v) as docs/workloads.md has it, in IEEE doubles; `slope` is that of kLeakyRelu. kNone: v.
double apply(RealFunction function, double v, double slope);

}  // namespace tilebeat
