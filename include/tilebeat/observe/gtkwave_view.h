#pragma once

#include "tilebeat/base/types.h"
#include "tilebeat/observe/trace.h"

#include <string>
#include <vector>

namespace tilebeat {

/// The save file (.gtkw) with which GTKWave opens a dump ready to read (SPEC UI-7): the states of all units
/// first, then a group a scope, each signal with its radix and a colour by kind; the whole time is in view.
/// `dump` is the name of the dump as seen from the save file.
std::string gtkwave_view(const std::vector<SignalInfo>& signals, const std::string& dump, Picoseconds begin,
                         Picoseconds end);

}  // namespace tilebeat
