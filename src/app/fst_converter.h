#pragma once

#include "output_files.h"

namespace tilebeat {

/// Throws UserError when GTKWave's converter `vcd2fst` is not installed.
void require_fst_converter();

/// Converts the dump `vcd`, which is complete, into `fst`. The result has no date. Throws UserError when the
/// converter fails.
void convert_to_fst(OutputFile& vcd, OutputFile& fst);

}  // namespace tilebeat
