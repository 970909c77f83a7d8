#pragma once

// The matrix engines of the simulator, in the order of the documentation; the first is the default. A new
// engine is one entry here: its folder defines NAME_description() and, in sim/, make_NAME_unit().
#define TILEBEAT_ENGINES(ENGINE) \
  ENGINE(switch_array)           \
  ENGINE(wfold)
