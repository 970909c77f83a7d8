#pragma once

namespace tilebeat {

/// The `tilebeat` program (SPEC section 8). Exit status: 0 when everything ran and every check passed, 1 for
/// a failed check or a simulation error, 2 for a wrong command line or file.
int run_command_line(int argc, char** argv);

}  // namespace tilebeat
