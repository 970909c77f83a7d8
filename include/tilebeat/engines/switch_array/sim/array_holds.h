#pragma once

#include "tilebeat/fabric/holds.h"

namespace tilebeat {

/// What the runs of a switch array use of its buffers; the channels keep away from it.
struct ArrayHolds {
  Holds input{"the input banks"};            ///< words of a bank, those of the second copy behind the first
  Holds parameters{"the parameter buffer"};  ///< words of a column
  Holds records{"the post-parameters"};      ///< records
  Holds output{"the output buffer"};         ///< bytes
};

}  // namespace tilebeat
